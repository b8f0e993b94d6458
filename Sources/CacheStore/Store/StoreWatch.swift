/// Reports when the store's files change, appear, disappear or are replaced, by any process. Costs nothing while
/// nothing happens.
///
/// A commit writes the log before readers can see it, so an observer must look more than once.
package final class StoreWatch: Sendable {
  private let watched: WatchedFiles

  /// A watch that calls `onChange` on a queue of its own until it is released; `nil` where the system grants no more
  /// watches.
  init?(_ files: StoreFiles, _ onChange: @escaping @Sendable () -> Void) {
    guard let watched = WatchedFiles(files, onChange) else { return nil }
    self.watched = watched
  }

  deinit { watched.end() }
}

extension ResponseStore {
  /// Calls `onChange`, on the watch's own queue, whenever the store may have changed.
  package func watch(_ onChange: @escaping @Sendable () -> Void) -> StoreWatch? {
    StoreWatch(files, onChange)
  }
}

/// A connection used only to detect commits of other connections.
///
/// `PRAGMA data_version` compares with what the same connection read before, so it needs a connection of its own.
struct VersionObserver {
  // @unchecked: only ever used inside the store's lock around the observer.
  private struct Watch: @unchecked Sendable { let connection: Connection }

  private var watch: Watch?
  /// The number of files seen so far, in the upper half of the version, so that a replaced file counts as a change.
  private var fileNumber: Int64 = 0
  private let isClosed: Bool

  init(isClosed: Bool = false) { self.isClosed = isClosed }

  mutating func version(of files: StoreFiles) throws(CacheStoreError) -> Int64 {
    guard !isClosed else { throw CacheStoreError(.closed, "the store was closed") }
    let status = try files.checkedStatus()
    if watch?.connection.identity != status?.identity {
      watch = nil
      fileNumber += 1
    }
    guard status != nil else { return fileNumber << 32 }
    let connection: Connection
    if let open = watch?.connection {
      connection = open
    } else {
      guard let new = try Connection.openToRead(files, waitingUntil: 0) else { return fileNumber << 32 }
      connection = new
      // A connection that reads without locks sees no change of the file.
      if new.purpose.isShared { watch = Watch(connection: new) }
    }
    let version = try connection.integer("PRAGMA data_version") ?? 0
    return fileNumber << 32 + version
  }
}
