#if os(Linux)
  internal import CPlatform
#endif

internal import PlatformC

/// Asks the system to begin to write the log to the disk, without waiting for it.
///
/// The sync before the log is written back into the database then finds most of it written: the disk has worked while
/// the next chunk arrived. Nothing depends on it, and a system that cannot be asked is not.
final class LogWriteback {
  /// The log, opened beside SQLite, which locks no byte of it: closing this one frees no lock. Negative where there is
  /// none.
  private let file: Int32

  init(log path: String) { file = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW) }

  deinit { if file >= 0 { close(file) } }

  func begin() {
    #if os(Linux)
      if file >= 0 { _ = cplatform_begin_writing(file) }
    #endif
  }
}
