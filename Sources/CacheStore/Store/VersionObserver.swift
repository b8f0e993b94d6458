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
