/// How a store is opened to be read: as all its users do where that can be, else alone and as it stands.
extension Connection {
  /// A connection for reading.
  ///
  /// - Parameter deadline: Monotonic nanoseconds until which another process's lock is waited for; 0: not at all.
  /// - Returns: `nil` where the file is still empty.
  static func openToRead(_ files: StoreFiles, waitingUntil deadline: Int64) throws(CacheStoreError)
    -> Connection?
  {
    try files.checkCompanions()
    do throws(CacheStoreError) {
      return try open(files, for: .reading, waitingUntil: deadline)
    } catch {
      // A process ended while it made the file: whoever may write must first roll that back.
      if error.needsRollback { return try open(files, for: .writing, waitingUntil: deadline) }
      if error.mayBeOfFolder, !files.isFolderWritable {
        return try openAsItStands(files, waitingUntil: deadline)
      }
      // A file system on which memory cannot be shared: alone, for one look at a time.
      guard error.isOfSharedMemory || error.mayBeOfFolder && FileStatus(path: files.log) != nil else {
        throw error
      }
      do throws(CacheStoreError) {
        return try open(files, for: .readingAlone, waitingUntil: deadline)
      } catch let second {
        // Others have it open: with them memory is shared, and what went wrong was something else.
        throw second.reason == .busy ? error : second
      }
    }
  }

  /// Reads where nothing can be made beside the file, not even the log's shared index.
  ///
  /// Nothing keeps another user's writes away meanwhile, so such a connection serves one look and is not kept; what it
  /// reads is verified like everything else.
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
    // The first read has opened the log and the shared memory by name: all three belong together only if no other
    // file was put in the database's place meanwhile.
    guard connection.isCurrent else {
      throw CacheStoreError.sqlite(CacheStoreError.movedCode, path: files.database)
    }
    try files.checkOpenedCompanions()
    return content == .store ? connection : nil
  }
}
