/// One open connection to a store: a database with this release's tables, and what it caches between transactions.
final class Connection: Database {
  let coder = RowCoder()
  /// The number of rows; `nil` until the first call of `rowCount(most:)`.
  var rowTally: RowTally?

  /// The store's own limits as last read, and whether they are certainly still current; see ``ownLimits()``.
  var knownLimits: StoreLimits?
  var areLimitsCurrent = false
  /// The `contentVersion` at which they were read.
  private var limitsVersion: UInt32 = 0

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
        areLimitsCurrent = limitsVersion == contentVersion
        return try body()
      }
      if areLimitsCurrent { limitsVersion = contentVersion }
      afterCommit?()
      afterCommit = nil
      return result
    } catch {
      afterCommit = nil
      knownLimits = nil
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

  /// A statement on a table that an older store may lack; `nil` where it is missing.
  func optionalStatement(_ query: Query) throws(CacheStoreError) -> Statement? {
    try preparedIfKnown(query.rawValue, query.sql)
  }

  /// A statement on a table that is created first where it is missing; inside a transaction.
  func statement(_ query: Query, making table: String) throws(CacheStoreError) -> Statement {
    if let statement = try optionalStatement(query) { return statement }
    try execute(Schema.text(of: table))
    return try statement(query)
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
