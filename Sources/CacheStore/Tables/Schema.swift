internal import CSQLite
internal import PlatformC

/// Recognises a store by its header, and creates the tables in an empty file.
enum Schema {
  /// `application_id`: "CFCH".
  static let application: Int64 = 0x4346_4348

  enum Content: Sendable { case empty, store }

  /// Reads `user_version` and `application_id`; throws where the file is not a store of this release.
  ///
  /// Reads both in one transaction, since another process may be creating the tables.
  static func content(of database: Database) throws(CacheStoreError) -> Content {
    if isForeign(firstPageOf: database) { throw foreign(database) }
    return try database.snapshot { () throws(CacheStoreError) in try contentNow(of: database) }
  }

  private static func contentNow(of database: Database) throws(CacheStoreError) -> Content {
    let version = try database.integer("PRAGMA user_version") ?? 0
    let application = try database.integer("PRAGMA application_id") ?? 0
    // An empty file, or a store whose creation was interrupted.
    if application == 0, version == 0,
      try database.integer("SELECT count(*) FROM sqlite_schema") == 0,
      // SQLite takes a file of one byte for an empty one too.
      FileStatus(path: database.path)?.bytes != 1
    {
      return .empty
    }
    guard application == self.application else { throw foreign(database) }
    // No release will ever have such a version: the header is damaged.
    guard version > 0, version < 10_000 else {
      throw CacheStoreError.sqlite(SQLITE_CORRUPT, path: database.path)
    }
    guard version <= Migrations.version else {
      throw CacheStoreError(
        .newerSchema(found: Int(version)),
        "the store \(database.path) was written by a newer release (schema \(version), this one knows "
          + "\(Migrations.version))")
    }
    guard version == Migrations.version else {
      throw CacheStoreError(
        .earlierSchema(isOfRelease: version >= Migrations.first),
        "an earlier version of this program made the store \(database.path) (schema \(version), this one has "
          + "\(Migrations.version))")
    }
    return .store
  }

  /// Whether the first page, as it stands in the file, is another program's. SQLite is asked only after that: its first
  /// read of a database in WAL mode puts a log and its index beside the file.
  private static func isForeign(firstPageOf database: Database) -> Bool {
    guard let page = database.firstBytes(105), page.starts(with: Array("SQLite format 3\0".utf8)) else {
      return false
    }
    let (version, application) = (Array(page[60..<64]), Array(page[68..<72]))
    if application == Array("CFCH".utf8) { return false }
    // The page of a store whose tables are still in the log, or have not been created: a leaf without a cell.
    let isEmpty = page[100] == 0x0D && page[103] == 0 && page[104] == 0
    guard !isEmpty || (version + application).contains(where: { $0 != 0 }) else { return false }
    // Beside a store in use a log may have a sound page in the place of a damaged one.
    return [database.logPath, StoreFiles(path: database.path).lock].contains { FileStatus(path: $0) == nil }
  }

  /// Whether the beginning of a file has the store's `application_id` or one of its tables.
  static func isMentioned(in bytes: UnsafeRawBufferPointer) -> Bool {
    let hasNumber = bytes.count >= 72 && bytes[68..<72].elementsEqual("CFCH".utf8)
    return hasNumber || contains("TABLE last_request", in: bytes)
  }

  /// Swift's view of the C library has no `memmem`.
  private static func contains(_ wanted: StaticString, in bytes: UnsafeRawBufferPointer) -> Bool {
    guard var rest = bytes.baseAddress else { return false }
    let length = wanted.utf8CodeUnitCount
    let end = rest + bytes.count
    while end - rest >= length,
      let found = memchr(rest, Int32(wanted.utf8Start.pointee), end - rest - length + 1)
    {
      if memcmp(found, wanted.utf8Start, length) == 0 { return true }
      rest = UnsafeRawPointer(found) + 1
    }
    return false
  }

  private static func foreign(_ database: Database) -> CacheStoreError {
    CacheStoreError(.foreignFile, CacheStoreError.notAStore(database.path))
  }

  /// The settings of a connection that writes.
  static func configureWriting(_ database: Database) throws(CacheStoreError) {
    // NORMAL: a commit survives the process because it is in the log, which is synced before a checkpoint. Half of
    // SQLite's default cache: a long body would fill it with pages that are not read again. The size limit truncates
    // a longer log when it restarts; a log of the usual length keeps its blocks.
    try database.execute(
      """
      PRAGMA synchronous = NORMAL; PRAGMA temp_store = MEMORY; PRAGMA cell_size_check = ON;
      PRAGMA secure_delete = OFF; PRAGMA cache_size = -1024;
      PRAGMA journal_size_limit = \(LogPolicy.veryLong * 5 / 4)
      """)
  }

  /// Creates the tables. The caller holds `LockFile.Place.file`; a kill at any point leaves an empty store.
  static func create(_ database: Database, pageBytes: Int64, usesLog: Bool = true) throws(CacheStoreError) {
    // Changing the journal mode writes the first page, and these two settings with it.
    try database.execute("PRAGMA page_size = \(pageBytes); PRAGMA auto_vacuum = INCREMENTAL")
    if usesLog { try useLog(database) }
    try database.writing(isStoring: false) { () throws(CacheStoreError) in
      try database.execute(text)
      try database.execute(firstAccount)
      try database.execute(firstBody)
    }
  }

  /// `schema.sql`.
  private static var text: String { String(decoding: PackageResources.schema_sql, as: UTF8.self) }

  /// Starts the account identifiers of each new store at a random multiple, so that an identifier shows whether this
  /// store assigned it (see `ResponseStore.isRevoked(accountID:)`).
  private static let firstAccount = """
    INSERT INTO sqlite_sequence (name, seq)
    SELECT 'account', (random() & \(mostStores - 1)) + 1 << \(accountBits)
    WHERE NOT EXISTS (SELECT 1 FROM sqlite_sequence WHERE name = 'account')
    """

  /// Starts the body identifiers of each new store at a random multiple too, so that work on a store that was removed
  /// finds no body of its number in the store that took the place.
  ///
  /// The highest bit is set, so that the identifiers of every store take as many bytes in the file. They begin below
  /// 2^40: the seed of a chunk's checksum holds forty bits of them, and with a chunk's number behind them they fit an
  /// `Int64`.
  private static let firstBody = """
    INSERT INTO sqlite_sequence (name, seq)
    SELECT 'body', (random() & \(mostStores - 1)) + \(mostStores) << \(bodyBits)
    WHERE NOT EXISTS (SELECT 1 FROM sqlite_sequence WHERE name = 'body')
    """

  /// The lower bits number the account; the bits above identify the store.
  static let accountBits: Int64 = 24
  /// The lower bits number the body. More bodies than these bits count do no harm: they only reach into the numbers of
  /// another store.
  private static let bodyBits: Int64 = 18
  private static let mostStores: Int64 = 1 << 21

  /// Returns to WAL a store that was written without it, where memory can be shared again. The journal mode stays
  /// while another process has the store open.
  static func returnToLog(_ database: Database) throws(CacheStoreError) {
    guard try database.integer("SELECT journal_mode <> 'wal' FROM pragma_journal_mode") == 1,
      database.canShareMemory
    else { return }
    do throws(CacheStoreError) {
      try database.execute("PRAGMA journal_mode = WAL")
    } catch {
      guard error.reason == .busy else { throw error }
    }
  }

  /// Changes to WAL where the file system supports it; elsewhere the rollback journal stays.
  ///
  /// The change needs an exclusive lock and returns SQLITE_BUSY without calling the busy handler, so it is retried.
  private static func useLog(_ database: Database) throws(CacheStoreError) {
    while true {
      do throws(CacheStoreError) {
        try database.execute("PRAGMA journal_mode = WAL")
        return
      } catch {
        guard error.reason == .busy, Platform.monotonicNanoseconds() < database.waiting.deadline else {
          throw error
        }
        Platform.rest(nanoseconds: 1_000_000)
      }
    }
  }
}
