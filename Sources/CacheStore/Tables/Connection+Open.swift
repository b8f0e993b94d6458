/// Opens a store for reading: shared with other processes where possible, else alone, else without locks.
extension Connection {
  /// Opens a connection for reading.
  ///
  /// - Parameter deadline: Monotonic nanoseconds until which to wait for another process's lock; 0: not at all.
  /// - Returns: `nil` where the file is still empty.
  static func openToRead(_ files: StoreFiles, waitingUntil deadline: Int64) throws(CacheStoreError)
    -> Connection?
  {
    try files.checkCompanions()
    do throws(CacheStoreError) {
      return try open(files, for: .reading, waitingUntil: deadline)
    } catch {
      // A process ended during a transaction: a connection that may write must roll it back first.
      if error.needsRollback { return try open(files, for: .writing, waitingUntil: deadline) }
      if error.mayBeOfFolder, !files.isFolderWritable {
        return try openAsItStands(files, waitingUntil: deadline)
      }
      // The file system cannot share memory: read with an exclusive lock, for one query at a time.
      guard error.isOfSharedMemory || error.mayBeOfFolder else { throw error }
      do throws(CacheStoreError) {
        return try open(files, for: .readingAlone, waitingUntil: deadline)
      } catch let second {
        // Another process has the file open, so memory can be shared after all: the first error was the cause.
        throw second.reason == .busy ? error : second
      }
    }
  }

  /// Opens a store in a folder that may not be written, where not even the log's shared index can be created.
  ///
  /// No lock keeps another user from writing meanwhile, so such a connection serves one query and is not reused;
  /// everything it reads is verified as usual.
  static func openAsItStands(
    _ files: StoreFiles, waitingUntil deadline: Int64
  ) throws(CacheStoreError) -> Connection? {
    let hasLog = FileStatus(path: files.log) != nil
    return try open(files, for: hasLog ? .readingUnlocked : .readingUnchanging, waitingUntil: deadline)
  }

  private static func open(
    _ files: StoreFiles, for purpose: Purpose, waitingUntil deadline: Int64
  ) throws(CacheStoreError) -> Connection? {
    let connection = try Connection(path: files.resolved(), named: files.database, for: purpose, files.vfs)
    connection.waiting.deadline = deadline
    let content = try Schema.content(of: connection)
    if files.isUntrusted, content == .store { try connection.distrust() }
    // The first read opened the log and the shared memory by name: they belong to this database only if no other file
    // has taken its name since.
    guard connection.isCurrent else {
      throw CacheStoreError.sqlite(CacheStoreError.movedCode, path: files.database)
    }
    try files.checkOpenedCompanions()
    return content == .store ? connection : nil
  }
}
