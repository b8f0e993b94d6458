internal import CSQLite

/// One open connection to a database file, with its prepared statements and its log. Used by one thread at a time.
///
/// Does not depend on the schema: see ``Connection``.
class Database {
  enum Purpose: Sendable {
    case reading, writing
    /// Reading without a change even to the log's index, where there are both.
    case readingUntouched
    /// Reading with an exclusive lock, where memory cannot be shared with other processes.
    case readingAlone
    /// Reading without locks, where neither the file nor its log may be written.
    case readingUnlocked
    /// Reading without locks a file that has no log.
    case readingUnchanging

    /// Whether other connections can write meanwhile and this one sees it.
    var isShared: Bool { self == .reading || self == .writing || self == .readingUntouched }
  }

  final let path: String
  final let purpose: Purpose
  /// The identity of the file that was opened; another file of the same name is not this connection's.
  final let identity: FileIdentity?
  final let waiting = BusyWaiting()
  /// The bound on steps; set for an untrusted file only.
  final private var budget: StepBudget?
  /// Frames in the write-ahead log after this connection's latest commit.
  final var logFrames: Int32 = 0
  /// The size of the file's pages, in bytes.
  final var pageBytes = StoreConfiguration.usualPageBytes
  /// The size of the database file without its log when the current transaction began, in bytes.
  final private(set) var fileBytes: Int64 = 0
  /// The identity of the log in use; `nil` before the first transaction and in a store without a log.
  final private var logIdentity: FileIdentity?
  /// The size of database and log together for which the disk was last found to have space.
  final private var roomyBytes: Int64 = 0
  /// Whether the latest transaction was one that stores something.
  final private(set) var isStoring = false
  /// The name of the log.
  final let logPath: String
  /// The length at which the log is restarted: longer after an attempt that a reader blocked, so that not every write
  /// waits for that reader.
  final var restartBytes = LogPolicy.veryLong
  /// The log's length at the start of the latest background checkpoint, in bytes.
  final var checkpointedBytes: Int64 = 0
  /// Created by the first write of a chunk; see ``LogWriteback``.
  final private(set) lazy var logWriteback = LogWriteback(log: logPath)

  final let handle: OpaquePointer
  final private let statementCount: Int
  final private var statements: PlaceTable<Statement>

  /// Opens an existing file; links are refused.
  ///
  /// - Parameters:
  ///   - path: The name with all links of the folder resolved.
  ///   - count: The number of the caller's statements for ``prepared(_:_:)``.
  init(
    path: String, named name: String, for purpose: Purpose, _ vfs: String?, statements count: Int
  ) throws(CacheStoreError) {
    self.path = name
    logPath = name + "-wal"
    self.purpose = purpose
    statementCount = count
    statements = PlaceTable(count: count + Own.allCases.count)
    let isLocking = purpose == .writing || purpose == .readingAlone
    let access = isLocking ? SQLITE_OPEN_READWRITE : SQLITE_OPEN_READONLY
    var flags =
      access | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_PRIVATECACHE | SQLITE_OPEN_NOFOLLOW | SQLITE_OPEN_EXRESCODE
    let setting =
      purpose == .readingUnchanging ? "immutable" : purpose == .readingUntouched ? "readonly_shm" : nil
    if setting != nil { flags |= SQLITE_OPEN_URI }
    // SQLite opens this file unless the name changes in between, which `isCurrent` detects after the first read.
    identity = FileStatus(path: path)?.identity
    var handle: OpaquePointer?
    let code = sqlite3_open_v2(
      setting.map { Self.name(path, $0) } ?? path, &handle, flags,
      purpose == .readingUnlocked ? "unix-none" : vfs ?? BoundedSleep.name)
    guard code == SQLITE_OK, let handle else {
      let systemError = sqlite3_system_errno(handle)
      sqlite3_close_v2(handle)
      throw CacheStoreError.sqlite(code, systemError: systemError, path: name)
    }
    self.handle = handle
    waiting.install(on: handle)
    configure()
  }

  deinit {
    for statement in statements.all {
      sqlite3_finalize(statement.raw)
      statement.texts?.deallocate()
    }
    sqlite3_close_v2(handle)
  }
}

// MARK: Settings

extension Database {
  /// A URI with a setting: `immutable` makes SQLite take no lock and look for no log.
  private static func name(_ path: String, _ setting: String) -> String {
    var name = "file:"
    for byte in path.utf8 {
      // Every other byte has, or may have, a special meaning in a URI.
      let isPlain =
        byte == UInt8(ascii: "/") || (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
        || (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte | 0x20)
      name +=
        isPlain
        ? String(UnicodeScalar(byte)) : "%" + String(byte >> 4, radix: 16) + String(byte & 15, radix: 16)
    }
    return name + "?\(setting)=1"
  }

  /// Settings of the connection itself; none of them reads the file.
  private func configure() {
    _ = cachefetch_db_config_flag(handle, SQLITE_DBCONFIG_ENABLE_FKEY, 1)
    // Functions and virtual tables in a crafted schema must not run.
    _ = cachefetch_db_config_flag(handle, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0)
    _ = cachefetch_db_config_flag(handle, SQLITE_DBCONFIG_DEFENSIVE, 1)
    // The log is kept at close, and `performMaintenance` checkpoints it: a new log costs two syncs at its first
    // commit.
    _ = cachefetch_db_config_flag(handle, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)
    // No value or row of a store is larger than this.
    sqlite3_limit(handle, SQLITE_LIMIT_LENGTH, 64 << 20)
    // With an exclusive lock SQLite keeps the log's index in its own memory.
    if purpose == .readingAlone || purpose == .readingUnlocked {
      sqlite3_exec(handle, "PRAGMA locking_mode = EXCLUSIVE", nil, nil, nil)
    }
    guard purpose == .writing else { return }
    // Replaces SQLite's automatic checkpoint, which is a WAL hook too: `PRAGMA wal_autocheckpoint` would remove this
    // one.
    sqlite3_wal_hook(
      handle,
      { context, _, _, frames in
        if let context { Unmanaged<Database>.fromOpaque(context).takeUnretainedValue().logFrames = frames }
        return SQLITE_OK
      }, Unmanaged.passUnretained(self).toOpaque())
  }

  /// Begins a piece of work that waits for other connections' locks until the deadline.
  func begin(waitingUntil deadline: Int64) {
    waiting.deadline = deadline
    budget?.restart()
  }

  /// Bounds the steps of each piece of work by the file's size, since the file is untrusted.
  func distrustFile() throws(CacheStoreError) {
    let budget = StepBudget(fileBytes: FileStatus(path: path)?.bytes ?? 0)
    budget.install(on: handle)
    self.budget = budget
    // A store has no views; a sorter must not spill to disk.
    _ = cachefetch_db_config_flag(handle, SQLITE_DBCONFIG_ENABLE_VIEW, 0)
    try execute("PRAGMA temp_store = MEMORY")
  }

  /// Whether the file that was opened still has its name.
  var isCurrent: Bool { FileStatus(path: path)?.identity == identity }

  /// Throws if the file that was opened no longer has its name; ``DatabaseWriter`` then opens the file that
  /// has it.
  func requireCurrent() throws(CacheStoreError) {
    guard isCurrent else { throw CacheStoreError.sqlite(CacheStoreError.movedCode, path: path) }
  }

  /// Whether this connection cannot write the file.
  var isReadOnly: Bool { sqlite3_db_readonly(handle, "main") != 0 }

  /// Rows changed by the latest statement.
  var changes: Int { Int(sqlite3_changes(handle)) }

  var lastInsertedRow: Int64 { sqlite3_last_insert_rowid(handle) }

  /// Whether a transaction is open.
  var isInTransaction: Bool { sqlite3_get_autocommit(handle) == 0 }

  /// The first bytes of the file as they stand there: read without a lock, and without the log. `nil` where there are
  /// fewer. Through SQLite's descriptor, since closing another one of this process would drop its locks.
  func firstBytes(_ count: Int) -> [UInt8]? {
    var file: UnsafeMutablePointer<sqlite3_file>?
    guard sqlite3_file_control(handle, "main", SQLITE_FCNTL_FILE_POINTER, &file) == SQLITE_OK, let file,
      let read = file.pointee.pMethods?.pointee.xRead
    else { return nil }
    var bytes = [UInt8](repeating: 0, count: count)
    return read(file, &bytes, Int32(count), 0) == SQLITE_OK ? bytes : nil
  }

  /// The pages this connection has read from the file since the last call, for tests of a lookup's cost.
  func pagesRead() -> Int {
    var current: Int32 = 0
    var highest: Int32 = 0
    sqlite3_db_status(handle, SQLITE_DBSTATUS_CACHE_MISS, &current, &highest, 1)
    return Int(current)
  }
}

// MARK: Statements

extension Database {
  /// The statements of this class; their indices follow those of the callers of ``prepared(_:_:)``.
  private enum Own: Int, CaseIterable {
    case begin, commit, rollback

    var sql: String {
      switch self {
      case .begin: "BEGIN IMMEDIATE"
      case .commit: "COMMIT"
      case .rollback: "ROLLBACK"
      }
    }
  }

  private func run(_ own: Own) throws(CacheStoreError) {
    try prepared(statementCount + own.rawValue, own.sql).run()
  }

  /// The prepared form of a statement, kept for the next use.
  ///
  /// - Parameter index: The statement's index among the caller's.
  func prepared(_ index: Int, _ sql: @autoclosure () -> String) throws(CacheStoreError) -> Statement {
    if let known = statements[index] { return known }
    let raw = try prepare(sql(), flags: UInt32(SQLITE_PREPARE_PERSISTENT))
    let statement = Statement(raw: raw, path: path, texts: TextSpace())
    statements[index] = statement
    return statement
  }

  /// Prepares a statement for one use, and finalises it afterwards.
  func withStatement<Result>(
    _ sql: String, _ body: (Statement) throws(CacheStoreError) -> Result
  ) throws(CacheStoreError) -> Result {
    let raw = try prepare(sql, flags: 0)
    defer { sqlite3_finalize(raw) }
    return try body(Statement(raw: raw, path: path, texts: nil))
  }

  private func prepare(_ sql: String, flags: UInt32) throws(CacheStoreError) -> OpaquePointer {
    var raw: OpaquePointer?
    let code = sqlite3_prepare_v3(handle, sql, -1, flags, &raw, nil)
    // The statements are fixed: where one does not compile, the schema is not the one its version claims.
    if code == SQLITE_ERROR { throw failure(SQLITE_CORRUPT, sql: sql) }
    guard code == SQLITE_OK, let raw else { throw failure(code, sql: sql) }
    return raw
  }

  /// Runs statements without parameters or result rows.
  func execute(_ sql: String) throws(CacheStoreError) {
    let code = sqlite3_exec(handle, sql, nil, nil, nil)
    guard code == SQLITE_OK else { throw failure(code, sql: sql.utf8.count > 200 ? nil : sql) }
  }

  /// The integer that a statement such as a PRAGMA returns; `nil` where it returns no row.
  func integer(_ sql: String) throws(CacheStoreError) -> Int64? {
    try withStatement(sql) { (statement) throws(CacheStoreError) in
      try statement.step() ? statement.integer(0) : nil
    }
  }

  /// Runs a statement with integer parameters and text parameters after them; returns the first column of its first
  /// row.
  func first(
    _ sql: String, _ integers: [Int64], _ texts: [String] = []
  ) throws(CacheStoreError) -> Int64? {
    try withStatement(sql) { (statement) throws(CacheStoreError) in
      for (index, value) in integers.enumerated() { statement.bind(Int32(index + 1), value) }
      for (index, value) in texts.enumerated() { statement.bind(Int32(integers.count + index + 1), value) }
      let isRow = try statement.step()
      let value = isRow && !statement.isNull(0) ? statement.integer(0) : nil
      if isRow { while try statement.step() {} }
      return value
    }
  }
}

// MARK: Transactions

extension Database {
  /// Reads in one transaction, so that `body` sees one snapshot.
  func snapshot<Result>(_ body: () throws(CacheStoreError) -> Result) throws(CacheStoreError) -> Result {
    try execute("BEGIN")
    do throws(CacheStoreError) {
      let result = try body()
      try execute("COMMIT")
      return result
    } catch {
      if isInTransaction { sqlite3_exec(handle, "ROLLBACK", nil, nil, nil) }
      throw error
    }
  }

  /// Runs `body` in one transaction that holds the write lock from its beginning.
  ///
  /// - Parameter isStoring: Whether it stores something new. The last space of a disk is reserved for removals and
  ///   checkpoints, which both need some.
  func writing<Result>(
    isStoring: Bool, _ body: () throws(CacheStoreError) -> Result
  ) throws(CacheStoreError) -> Result {
    self.isStoring = isStoring
    try run(.begin)
    do throws(CacheStoreError) {
      // Quarantining needs the write lock, so this check cannot go stale inside the transaction.
      guard let status = FileStatus(path: path), status.identity == identity else {
        throw CacheStoreError.sqlite(CacheStoreError.movedCode, path: path)
      }
      fileBytes = status.bytes
      let log = FileStatus(path: logPath)
      // The log was removed while in use: no process would find what is written to it now.
      if let logIdentity, log?.identity != logIdentity {
        throw CacheStoreError.sqlite(CacheStoreError.movedCode, path: path)
      }
      logIdentity = log?.identity
      if isStoring { try checkRoom(log: log?.bytes ?? 0) }
      let result = try body()
      try run(.commit)
      return result
    } catch {
      // A failed commit may or may not have ended the transaction; where it has, there is nothing to roll back.
      if isInTransaction { try run(.rollback) }
      throw error
    }
  }

  /// Throws where the file system lacks the space for a checkpoint and a removal beside this write.
  ///
  /// Checked only after the files have grown: overwriting existing pages needs no space.
  private func checkRoom(log: Int64) throws(CacheStoreError) {
    guard fileBytes + log > roomyBytes else { return }
    if let free = Platform.freeBytes(at: path), free < log + Self.keptFree {
      throw CacheStoreError.sqlite(SQLITE_FULL, path: path)
    }
    roomyBytes = fileBytes + log
  }

  /// Whether the disk has little more space than what is kept free.
  var isShortOfRoom: Bool {
    guard let free = Platform.freeBytes(at: path) else { return false }
    return free < (FileStatus(path: logPath)?.bytes ?? 0) + 2 * Self.keptFree
  }

  /// The bytes kept free on a disk: what a transaction of many rows can add, and a removal after it.
  private static let keptFree: Int64 = 2 << 20

  /// A number that changes with every change of the file: at once with this connection's own, and with other
  /// connections' at the beginning of a transaction.
  var contentVersion: UInt32 {
    var version: UInt32 = 0
    sqlite3_file_control(handle, "main", SQLITE_FCNTL_DATA_VERSION, &version)
    return version
  }
}

// MARK: Errors

extension Database {
  func failure(_ code: Int32, sql: String?) -> CacheStoreError {
    .sqlite(code, on: handle, path: path, sql: sql)
  }
}

/// Settings for all of SQLite in a process, for programs in which no other code uses this SQLite.
package enum SQLiteLibrary {
  /// Turns off SQLite's memory statistics, which take one lock for all threads at each allocation and release. Call
  /// it before any store is used; later it has no effect.
  package static func forgoMemoryCounts() { _ = cachefetch_config_memory_counts(0) }

  /// Allocates the pages of a connection's cache one at a time, as they are read, and not twenty when the first is: a
  /// short process reads fewer. Call it before any store is used; later it has no effect.
  package static func allocatePagesWhenRead() { _ = cachefetch_config_pages_ahead(0) }

  /// SQLite's version, such as `3.40.1`.
  package static var version: String { String(cString: sqlite3_libversion()) }
}
