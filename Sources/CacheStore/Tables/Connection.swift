internal import CSQLite
internal import PlatformC

/// One open connection to a store: a database with this release's tables, and what it caches between transactions.
final class Connection: Database {
  private let coder = RowCoder()
  /// The number of rows; `nil` until the first call of `rowCount(most:)`.
  var rowTally: RowTally?

  /// The store's own limits, whether the table of removals has rows, and whether bodies are released; `nil` where that
  /// must be read.
  private var knownLimits: StoreLimits?
  private var hasRemovals: Bool?
  private var hasReleasedBodies: Bool?
  /// The `contentVersion` as of which these hold.
  private var knownVersion: UInt32 = 0

  /// Whether the current transaction has released a body.
  private(set) var hasReleased = false

  /// Whether the current transaction has stored the usage journal, and what to call after its commit.
  var hasStoredUsageJournal = false
  var afterCommit: (() -> Void)?

  /// Opens an existing file; links are refused.
  ///
  /// - Parameter path: The name with all links of the folder resolved.
  init(
    path: String, named name: String, for purpose: Purpose, _ vfs: String?
  ) throws(CacheStoreError) {
    try super.init(path: path, named: name, for: purpose, vfs, statements: Query.allCases.count)
  }

  /// Treats the file as untrusted, before anything is read from its tables.
  func distrust() throws(CacheStoreError) {
    try distrustFile()
    try SchemaCheck.check(self)
  }

  /// Runs `body` in one transaction that holds the write lock from its beginning; see
  /// ``Database/writing(isStoring:_:)``.
  func transaction<Result>(
    isStoring: Bool = false, _ body: () throws(CacheStoreError) -> Result
  ) throws(CacheStoreError) -> Result {
    do throws(CacheStoreError) {
      let result = try writing(isStoring: isStoring) { () throws(CacheStoreError) in
        hasStoredUsageJournal = false
        afterCommit = nil
        hasReleased = false
        forgetIfChanged()
        return try body()
      }
      knownVersion = contentVersion
      afterCommit?()
      afterCommit = nil
      return result
    } catch {
      afterCommit = nil
      forgetKnown()
      forgetRowCount()
      throw error
    }
  }
}

// MARK: Statements

extension Connection {
  /// The prepared form of a statement, kept for the next use.
  func statement(_ query: Query) throws(CacheStoreError) -> Statement {
    try prepared(query.rawValue, query.sql)
  }

  /// The integer that a prepared statement without parameters returns; 0 where it returns no row.
  func value(_ query: Query) throws(CacheStoreError) -> Int64 {
    let statement = try statement(query)
    defer { statement.reset() }
    return try statement.step() ? statement.integer(0) : 0
  }

  /// The first integer that a prepared statement with integer parameters returns; `nil` where it returns no row.
  func first(_ query: Query, _ integers: [Int64]) throws(CacheStoreError) -> Int64? {
    let statement = try statement(query)
    defer { statement.reset() }
    for (index, value) in integers.enumerated() { statement.bind(Int32(index + 1), value) }
    return try statement.step() ? statement.integer(0) : nil
  }
}

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
    if files.isForeign {
      // Without a log or its index no process has the file open, and SQLite would make them.
      guard FileStatus(path: files.log) != nil, FileStatus(path: files.sharedMemory) != nil else {
        return try openAsItStands(files, waitingUntil: deadline)
      }
      return try open(files, for: .readingUntouched, waitingUntil: deadline)
    }
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

  /// Whether the file's first pages are those of a store, beside its lock file.
  private func wasStore(_ files: StoreFiles) -> Bool {
    guard let status = FileStatus(path: path), FileStatus(path: files.lock)?.kind == .file,
      let bytes = firstBytes(Int(min(status.bytes, 64 << 10)))
    else { return false }
    return bytes.withUnsafeBytes(Schema.isMentioned)
  }

  private static func open(
    _ files: StoreFiles, for purpose: Purpose, waitingUntil deadline: Int64
  ) throws(CacheStoreError) -> Connection? {
    let connection = try Connection(path: files.resolved(), named: files.database, for: purpose, files.vfs)
    connection.waiting.deadline = deadline
    let content: Schema.Content
    do throws(CacheStoreError) {
      content = try Schema.content(of: connection)
    } catch {
      // A store whose header is gone is replaced, and not left alone as another program's file is.
      guard error.reason == .foreignFile, connection.wasStore(files) else { throw error }
      throw CacheStoreError.sqlite(SQLITE_CORRUPT, path: files.database)
    }
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

// The table `store_limit`: the store's own limits, and which rows have been checked by them.
extension Connection {
  /// The store's own limits; inside a writing transaction. Read anew only after a commit of another connection, which
  /// SQLite reports without a query.
  func ownLimits() throws(CacheStoreError) -> StoreLimits {
    if let limits = knownLimits { return limits }
    let limits = try readLimits()
    knownLimits = limits
    return limits
  }

  /// The store's own limits as of the latest statement; outside a transaction.
  func limitsNow() throws(CacheStoreError) -> StoreLimits {
    forgetIfChanged()
    let limits = try ownLimits()
    // What else is known may be older than what was read.
    forgetIfChanged()
    knownLimits = limits
    return limits
  }

  /// Whether a removal may forbid a write: nearly always nothing was removed of late.
  func mayHaveRemovals() throws(CacheStoreError) -> Bool {
    guard isInTransaction else { return true }
    if let hasRemovals { return hasRemovals }
    let isAny = try value(.anyRemoval) != 0
    hasRemovals = isAny
    return isAny
  }

  /// Notes that this transaction writes a removal.
  func noteRemoval() { hasRemovals = true }

  /// Whether there may be a released body; inside a writing transaction.
  var mayHaveReleased: Bool { hasReleasedBodies ?? true }

  /// Notes that no body is released; inside a writing transaction.
  func noteNothingReleased() { hasReleasedBodies = false }

  /// Notes that this transaction releases bodies.
  func noteReleased() {
    hasReleased = true
    hasReleasedBodies = true
  }

  /// Forgets what is known if another connection has committed since.
  private func forgetIfChanged() {
    guard knownVersion != contentVersion else { return }
    forgetKnown()
    knownVersion = contentVersion
  }

  private func forgetKnown() { (knownLimits, hasRemovals, hasReleasedBodies) = (nil, nil, nil) }

  /// Marks a body as released: no row refers to it any more.
  /// - Parameter instant: 0 where it goes at once, even if it is read.
  func release(body: Int64, at instant: Int64) throws(CacheStoreError) {
    noteReleased()
    let statement = try statement(.releaseBody)
    statement.bind(1, body)
    statement.bind(2, instant)
    try statement.run()
  }

  /// The last row whose age has been checked; 0 where all have been.
  func checkedRow() throws(CacheStoreError) -> Int64 {
    try first("SELECT checked_id FROM store_limit WHERE id = 1", []) ?? 0
  }

  /// Stores the last row whose age has been checked.
  func noteChecked(_ row: Int64) throws(CacheStoreError) {
    _ = try first("UPDATE store_limit SET checked_id = ?1 WHERE id = 1 AND checked_id <> ?1", [row])
  }

  /// The store's own limits, as the file has them.
  func readLimits() throws(CacheStoreError) -> StoreLimits {
    let statement = try statement(.storeLimits)
    defer { statement.reset() }
    guard try statement.step() else { return StoreLimits() }
    // A number below 1, which `setLimits` writes as it is given, is no limit.
    func positive(_ column: Int32) -> Int64? {
      statement.isNull(column) || statement.integer(column) <= 0 ? nil : statement.integer(column)
    }
    return StoreLimits(
      maximumBytes: positive(0), maximumRows: positive(1).map { Int($0) },
      maximumAge: positive(2).map { .milliseconds($0) })
  }

  /// Writes the limits, inside a transaction.
  func writeLimits(_ limits: StoreLimits) throws(CacheStoreError) {
    try withStatement(
      """
      INSERT INTO store_limit (id, maximum_bytes, maximum_rows, maximum_ms) VALUES (1, ?1, ?2, ?3)
      ON CONFLICT DO UPDATE SET maximum_bytes = excluded.maximum_bytes, maximum_rows = excluded.maximum_rows,
        maximum_ms = excluded.maximum_ms, checked_id = 0
      """
    ) { (statement) throws(CacheStoreError) in
      statement.bind(1, limits.maximumBytes)
      statement.bind(2, limits.maximumRows.map { Int64($0) })
      statement.bind(3, limits.maximumAge.map { max(1, $0.wholeNanoseconds / 1_000_000) })
      try statement.run()
    }
    knownLimits = nil
  }
}

// The rows of `last_request`, one at a time; `RowCoder` knows their columns.
extension Connection {
  /// Inserts a row under its `id`, or under a new one where that is 0; sets `id`.
  func insert(_ row: inout StoredResponse, _ key: RequestKey) throws(CacheStoreError) {
    try coder.run(try statement(.insertRow), .insert(identifier: row.id != 0), &row, key)
    row.id = lastInsertedRow
  }

  /// Sets everything but the key of the row with that identifier.
  func update(_ row: inout StoredResponse, _ key: RequestKey) throws(CacheStoreError) {
    try coder.run(try statement(.updateRow), .update, &row, key)
  }

  /// The current row of a lookup statement; see ``RowCoder/read(_:from:_:ofLongBody:)``.
  func row(
    _ statement: Statement, from first: Int32, _ key: RequestKey
  ) throws(CacheStoreError) -> StoredResponse? {
    try coder.read(statement, from: first, key) { (body) throws(CacheStoreError) in
      try bodyChecksum(of: body)
    }
  }

  /// A row by its identifier without its body; `nil` where it is not there.
  func rowHead(_ id: Int64) throws(CacheStoreError) -> RowCoder.Found? {
    let statement = try statement(.rowByID)
    defer { statement.reset() }
    return try row(statement, id, .head)
  }

  /// A row by its identifier, its first chunk included; `nil` where it is not there.
  func wholeRow(_ id: Int64) throws(CacheStoreError) -> RowCoder.Found? {
    try withStatement(Query.wholeRowText) { (statement) throws(CacheStoreError) in
      try row(statement, id, .firstChunk)
    }
  }

  /// Adds tags to a row; those that it has stay.
  func addTags(_ tags: [String], to row: Int64) throws(CacheStoreError) {
    for tag in tags {
      let statement = try statement(.insertTag)
      statement.bind(1, tag)
      statement.bind(2, row)
      try statement.run()
    }
  }

  /// Whether an account has that identifier.
  func hasAccount(_ id: Int64) throws(CacheStoreError) -> Bool {
    try withStatement("SELECT 1 FROM account WHERE id = ?1") { (statement) throws(CacheStoreError) in
      statement.bind(1, id)
      return try statement.step()
    }
  }

  private func row(
    _ statement: Statement, _ id: Int64, _ extent: RowCoder.Extent
  ) throws(CacheStoreError) -> RowCoder.Found? {
    statement.bind(1, id)
    guard try statement.step() else { return nil }
    return try coder.readWithKey(statement, extent) { (body) throws(CacheStoreError) in
      try bodyChecksum(of: body)
    }
  }
}

/// The number of rows in the store, without counting them for each new row.
///
/// An update hook counts the rows this connection inserts and deletes; `data_version` tells when another connection
/// has committed. The tally then has only an upper bound: the last count, plus one for each body that was unfinished
/// then, plus one for each body inserted since, whose identifiers are never reused. The rows are counted only where
/// that bound exceeds the limit.
final class RowTally {
  fileprivate var count: Int64 = 0
  fileprivate var version: Int64 = 0
  fileprivate var lastBody: Int64 = 0
  fileprivate var arriving: Int64 = 0

  fileprivate func listen(to database: OpaquePointer) {
    sqlite3_update_hook(
      database,
      { context, operation, _, table, _ in
        guard operation != SQLITE_UPDATE, let context, let table, strcmp(table, "last_request") == 0 else {
          return
        }
        let tally = Unmanaged<RowTally>.fromOpaque(context).takeUnretainedValue()
        tally.count += operation == SQLITE_INSERT ? 1 : -1
      }, Unmanaged.passUnretained(self).toOpaque())
  }
}

extension Connection {
  /// An upper bound of the number of rows, and the exact number where the bound exceeds `most`; inside a writing
  /// transaction.
  func rowCount(most: Int64) throws(CacheStoreError) -> Int64 {
    let version = try value(.dataVersion)
    if let rowTally, rowTally.version == version { return rowTally.count }
    let lastBody = try value(.lastBody)
    if let rowTally {
      let bound = rowTally.count + rowTally.arriving + (lastBody - rowTally.lastBody)
      if bound <= most { return bound }
    }
    let tally = rowTally ?? RowTally()
    tally.count = try value(.rowCount)
    tally.arriving = try value(.unfinishedCount)
    (tally.version, tally.lastBody) = (version, lastBody)
    if rowTally == nil {
      tally.listen(to: handle)
      rowTally = tally
    }
    return tally.count
  }

  /// Forgets the number of rows after a rollback, which the update hook does not report.
  func forgetRowCount() {
    guard rowTally != nil else { return }
    sqlite3_update_hook(handle, nil, nil)
    rowTally = nil
  }
}
