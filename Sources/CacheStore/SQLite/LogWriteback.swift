#if os(Linux) && !PORTABLE
  internal import CPlatform
#endif

internal import PlatformC

/// Asks the system to begin writing the log to the disk, without waiting for it.
///
/// The sync before a checkpoint then finds most of the log on the disk, written while the next chunk arrived. This is
/// a hint: no operation depends on it, and systems other than Linux get none.
final class LogWriteback {
  /// The log, opened beside SQLite, which locks no byte of it, so that closing this descriptor drops no lock.
  /// Negative where there is no log.
  private let file: Int32

  init(log path: String) { file = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW) }

  deinit { if file >= 0 { close(file) } }

  func begin() {
    #if os(Linux) && !PORTABLE
      if file >= 0 { _ = cplatform_begin_writing(file) }
    #endif
  }
}
