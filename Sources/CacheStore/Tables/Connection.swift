/// One open connection to a store: a database with this release's tables, and what is known of them from one piece of work
/// to the next.
final class Connection: Database {
  let coder = RowCoder()
  /// How many rows there are, once somebody has wanted to know.
  var rowTally: RowTally?

  /// The store's own limits as last read, and whether no one can have changed them since; see ``ownLimits()``.
  var knownLimits: StoreLimits?
  var areLimitsCurrent = false
  /// Which change of the file they are of.
  private var limitsVersion: UInt32 = 0

  /// Whether the transaction under way has stored what waits in the usage journal, and what follows its commit.
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

  /// Takes the file for one that somebody else may have made, before anything is read from its tables.
  func distrust() throws(CacheStoreError) {
    try distrustFile()
    try SchemaCheck.check(self)
  }

  /// Runs `body` in one transaction that holds the write lock from its beginning; see ``Database/writing(isStoring:_:)``.
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
      return result
    } catch {
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

  /// The same of a table that a store made earlier may lack; `nil` where it does.
  func optionalStatement(_ query: Query) throws(CacheStoreError) -> Statement? {
    try preparedIfKnown(query.rawValue, query.sql)
  }

  /// The same, and a table that is not there is made first; inside a transaction.
  func statement(_ query: Query, making table: String) throws(CacheStoreError) -> Statement {
    if let statement = try optionalStatement(query) { return statement }
    try execute(Schema.text(of: table))
    return try statement(query)
  }

  /// The integer that a prepared statement without parameters gives; 0 where it gives none.
  func value(_ query: Query) throws(CacheStoreError) -> Int64 {
    let statement = try statement(query)
    defer { statement.reset() }
    return try statement.step() ? statement.integer(0) : 0
  }

  /// The integer that a prepared statement with integer parameters gives first; `nil` where it gives none.
  func first(_ query: Query, _ integers: [Int64]) throws(CacheStoreError) -> Int64? {
    let statement = try statement(query)
    defer { statement.reset() }
    for (index, value) in integers.enumerated() { statement.bind(Int32(index + 1), value) }
    return try statement.step() ? statement.integer(0) : nil
  }
}
