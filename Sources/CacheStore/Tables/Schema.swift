internal import CSQLite

/// What is in a file that was opened, and how an empty one becomes a store.
enum Schema {
  /// `user_version` of the files this release writes.
  static let version = 1
  /// `application_id`: "CFCH".
  static let application: Int64 = 0x4346_4348

  enum Content: Sendable { case empty, store }

  /// Looks at the two numbers in the file's header; throws for what is not this release's.
  ///
  /// In one transaction: another process may be making the tables, and the numbers with them.
  static func content(of connection: Connection) throws(CacheStoreError) -> Content {
    try connection.snapshot { () throws(CacheStoreError) in try contentNow(of: connection) }
  }

  private static func contentNow(of connection: Connection) throws(CacheStoreError) -> Content {
    let version = try connection.integer("PRAGMA user_version") ?? 0
    let application = try connection.integer("PRAGMA application_id") ?? 0
    // An empty file, or the first pages of a store whose making was cut off.
    if application == 0, version == 0,
      try connection.integer("SELECT count(*) FROM sqlite_schema") == 0
    {
      return .empty
    }
    guard application == self.application else {
      throw CacheStoreError(.foreignFile, CacheStoreError.notAStore(connection.path))
    }
    // Numbers no release will ever have: the header is damaged.
    guard version > 0, version < 10_000 else {
      throw CacheStoreError.sqlite(SQLITE_CORRUPT, path: connection.path)
    }
    guard version <= self.version else {
      throw CacheStoreError(
        .newerSchema(found: Int(version)),
        "the store \(connection.path) was written by a newer release (schema \(version), this one knows "
          + "\(self.version))")
    }
    return .store
  }

  /// The settings of a connection that writes.
  static func configureWriting(_ connection: Connection) throws(CacheStoreError) {
    // NORMAL: a commit is in the log, so it survives the process; the log is synced before it is written back.
    // Half of SQLite's usual cache: a long body fills it with pages that nobody asks for again.
    // A log that was longer once is cut to the limit when it begins anew; one of the usual length keeps its blocks.
    try connection.execute(
      """
      PRAGMA synchronous = NORMAL; PRAGMA temp_store = MEMORY; PRAGMA cell_size_check = ON;
      PRAGMA secure_delete = OFF; PRAGMA cache_size = -1024;
      PRAGMA journal_size_limit = \(LogPolicy.veryLong * 5 / 4)
      """)
  }

  /// Makes the tables. The caller holds the lock on the file's making; a kill at any point leaves an empty store.
  static func create(_ connection: Connection, pageBytes: Int64, usesLog: Bool = true) throws(CacheStoreError)
  {
    // The first two are written with the first page, which changing the journal mode writes.
    try connection.execute("PRAGMA page_size = \(pageBytes); PRAGMA auto_vacuum = INCREMENTAL")
    if usesLog { try useLog(connection) }
    try connection.transaction { () throws(CacheStoreError) in
      try connection.execute(text)
      try connection.execute(firstAccount)
    }
  }

  /// `schema.sql`.
  private static var text: String { String(decoding: PackageResources.schema_sql, as: UTF8.self) }

  /// The statement that makes a table, for a store made before it was there.
  static func text(of table: String) -> String {
    let text = text
    guard let start = text.firstRange(of: "CREATE TABLE \(table) ")?.lowerBound,
      let end = text[start...].firstRange(of: "\n)")?.upperBound,
      let last = text[end...].firstIndex(of: ";")
    else { return "" }
    return String(text[start...last])
  }

  /// Where the identifiers of a new store's accounts begin: at another place in each, so that one of them tells whether it
  /// was given out by this store at all (see `ResponseStore.isRevoked(accountID:)`).
  private static let firstAccount = """
    INSERT INTO sqlite_sequence (name, seq)
    SELECT 'account', (random() & \(mostStores - 1)) + 1 << \(accountBits)
    WHERE NOT EXISTS (SELECT 1 FROM sqlite_sequence WHERE name = 'account')
    """

  /// The lower bits of an account's identifier; those above are the store's.
  static let accountBits: Int64 = 24
  private static let mostStores: Int64 = 1 << 21

  /// Goes back to the log in a store that was written without it, where memory can be shared again; while others have
  /// it open, it stays as it is.
  static func returnToLog(_ connection: Connection) throws(CacheStoreError) {
    guard try connection.integer("SELECT journal_mode <> 'wal' FROM pragma_journal_mode") == 1,
      connection.canShareMemory
    else { return }
    do throws(CacheStoreError) {
      try connection.execute("PRAGMA journal_mode = WAL")
    } catch {
      guard error.reason == .busy else { throw error }
    }
  }

  /// Changes to the write-ahead log, where the file system can; elsewhere the rollback journal stays.
  ///
  /// The change needs the file for itself and says "busy" without asking the busy handler, so it is tried again.
  static func useLog(_ connection: Connection) throws(CacheStoreError) {
    while true {
      do throws(CacheStoreError) {
        try connection.execute("PRAGMA journal_mode = WAL")
        return
      } catch {
        guard error.reason == .busy, Platform.monotonicNanoseconds() < connection.waiting.deadline else {
          throw error
        }
        Platform.rest(nanoseconds: 1_000_000)
      }
    }
  }
}
