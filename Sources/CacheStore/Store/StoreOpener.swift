internal import CSQLite
internal import PlatformC

/// Opens a store for writing, and creates it where there is none: with a write-ahead log shared by all processes, or
/// with the rollback journal where they cannot share memory.
struct StoreOpener: Sendable {
  let files: StoreFiles
  let lockFile: LockFile
  let configuration: StoreConfiguration

  /// Opens a connection to the store, and creates the store where there is none.
  func open(waitingUntil deadline: Int64) throws(CacheStoreError) -> Connection {
    guard !configuration.isReadOnly else {
      throw CacheStoreError(.readOnly, "the store \(files.database) was opened for reading only")
    }
    do throws(CacheStoreError) {
      return try openShared(waitingUntil: deadline, usesLog: true)
    } catch {
      if error.mayBeOfFolder, FileStatus(path: files.database) != nil, !files.isFolderWritable {
        throw CacheStoreError.sqlite(SQLITE_READONLY, path: files.database)
      }
      guard error.isOfSharedMemory || error.sqliteCode & 0xFF == SQLITE_CANTOPEN && !error.isOfDescriptors,
        try leaveLog(waitingUntil: deadline)
      else { throw error }
      return try openShared(waitingUntil: deadline, usesLog: false)
    }
  }

  /// Changes to the rollback journal where processes cannot share the log's index.
  /// - Returns: `false` where they can share it after all.
  private func leaveLog(waitingUntil deadline: Int64) throws(CacheStoreError) -> Bool {
    guard FileStatus(path: files.database) != nil else { return false }
    let connection = try connect(waitingUntil: deadline)
    guard !connection.canShareMemory else { return false }
    // With an exclusive lock SQLite needs no shared memory for the checkpoint. The log must go: SQLite would
    // read one that stays.
    try connection.execute("PRAGMA locking_mode = EXCLUSIVE; PRAGMA journal_mode = DELETE")
    return true
  }

  private func openShared(
    waitingUntil deadline: Int64, usesLog: Bool
  ) throws(CacheStoreError) -> Connection {
    guard let connection = try openExisting(waitingUntil: deadline) else {
      return try create(waitingUntil: deadline, usesLog: usesLog)
    }
    if usesLog { try Schema.returnToLog(connection) }
    return connection
  }

  /// Opens a connection to an existing store; `nil` where there is none, or only an empty file.
  func openExisting(waitingUntil deadline: Int64) throws(CacheStoreError) -> Connection? {
    guard try files.checkedStatus() != nil else { return nil }
    let connection: Connection
    do throws(CacheStoreError) {
      connection = try connect(waitingUntil: deadline)
    } catch {
      // Whoever begins a store anew may have removed it meanwhile.
      guard try files.checkedStatus() != nil else { return nil }
      throw error
    }
    guard try Schema.content(of: connection) == .store else { return nil }
    if files.isUntrusted { try connection.distrust() }
    guard connection.isCurrent else {
      throw CacheStoreError.sqlite(CacheStoreError.movedCode, path: files.database)
    }
    try files.checkOpenedCompanions()
    try Schema.configureWriting(connection)
    return connection
  }

  private func connect(waitingUntil deadline: Int64) throws(CacheStoreError) -> Connection {
    try files.checkCompanions()
    let connection = try Connection(path: files.resolved(), named: files.database, for: .writing, files.vfs)
    connection.waiting.deadline = deadline
    connection.pageBytes = configuration.pageBytes
    guard !connection.isReadOnly else {
      throw CacheStoreError.sqlite(SQLITE_READONLY, path: files.database)
    }
    return connection
  }

  /// Creates the store, one process at a time; a second process finds it created.
  private func create(waitingUntil deadline: Int64, usesLog: Bool) throws(CacheStoreError) -> Connection {
    let left = max(0, deadline - Platform.monotonicNanoseconds())
    try lockFile.lock(.file, within: .nanoseconds(left))
    defer { lockFile.unlock(.file) }
    try QuarantinedFiles(files: files).finishExchange()
    if try files.checkedStatus() == nil { try files.makeDatabase() }
    let connection = try connect(waitingUntil: deadline)
    try Schema.configureWriting(connection)
    if try Schema.content(of: connection) == .empty {
      try files.checkOpenedCompanions()
      try Schema.create(connection, pageBytes: configuration.pageBytes, usesLog: usesLog)
    }
    return connection
  }
}
