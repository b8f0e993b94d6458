internal import Synchronization

/// The right to refresh one request, held by at most one process at a time.
///
/// Let go of it after the commit; it is also let go of when the value is gone and when the process ends.
public final class Lease: Sendable {
  private let place: LockFile.Place
  private let file: Mutex<LockFile?>

  init(_ place: LockFile.Place, of file: LockFile) {
    self.place = place
    self.file = Mutex(file)
  }

  deinit { release() }

  /// Lets go of the lease; may be called on any thread, and more than once.
  public func release() {
    let file = file.withLock { file in
      defer { file = nil }
      return file
    }
    file?.unlock(place)
  }
}
