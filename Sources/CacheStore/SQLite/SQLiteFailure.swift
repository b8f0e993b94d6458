internal import CSQLite
internal import PlatformC

extension CacheStoreError {
  /// The error of a statement that failed.
  static func sqlite(failing statement: OpaquePointer, path: String) -> CacheStoreError {
    let handle: OpaquePointer = sqlite3_db_handle(statement)
    let sql = sqlite3_sql(statement).map { String(cString: $0) }
    return sqlite(sqlite3_extended_errcode(handle), on: handle, path: path, sql: sql)
  }

  /// The error of a call on a connection.
  static func sqlite(_ code: Int32, on handle: OpaquePointer, path: String, sql: String?) -> CacheStoreError {
    let number = sqlite3_system_errno(handle)
    let isOfLog = number == 0 && code & 0xFF == SQLITE_IOERR
    return sqlite(code, systemError: isOfLog ? logErrorNumber(handle) : number, path: path, sql: sql)
  }

  /// The system's error number of the log's latest failure, which SQLite does not report after a failed COMMIT.
  private static func logErrorNumber(_ handle: OpaquePointer) -> Int32 {
    var file: UnsafeMutablePointer<sqlite3_file>?
    var number: Int32 = 0
    guard sqlite3_file_control(handle, "main", SQLITE_FCNTL_JOURNAL_POINTER, &file) == SQLITE_OK, let file,
      let methods = file.pointee.pMethods
    else { return 0 }
    _ = methods.pointee.xFileControl(file, SQLITE_FCNTL_LAST_ERRNO, &number)
    return number
  }

  /// The store's error for an SQLite result code.
  ///
  /// - Parameters:
  ///   - code: The extended result code.
  ///   - systemError: The operating system's error number that caused it, 0 where there is none.
  ///   - path: The database file, for the message.
  ///   - sql: The failing statement; it holds no bound value.
  static func sqlite(_ code: Int32, systemError: Int32 = 0, path: String, sql: String? = nil)
    -> CacheStoreError
  {
    if Platform.isOfDescriptors(systemError) {
      return CacheStoreError(
        .cannotOpen, "cannot open the store \(path): \(Platform.noDescriptors)", sqliteCode: code, sql: sql)
    }
    let reason = reason(for: code, systemError: systemError)
    let words = String(cString: sqlite3_errstr(code))
    let message =
      switch reason {
      case .corrupt: "the store \(path) is damaged (\(words))"
      case .busy: "the store \(path) is in use by another process"
      case .full: "no room left for the store \(path)"
      case .readOnly: "the store \(path) may not be written"
      case .cannotOpen:
        "cannot open the store \(path): \(systemError == 0 ? words : Platform.describe(systemError))"
      case .foreignFile: notAStore(path)
      case .signedOut: "the account was signed out"
      case .otherSchema: "reading \(path) takes more steps than a store of its size has, which is refused"
      default: "the store \(path) failed: \(words)"
      }
    return CacheStoreError(reason, message, sqliteCode: code, sql: sql)
  }

  /// The message for a file that is not a store.
  static func notAStore(_ path: String) -> String {
    "\(path) is not a store of cachefetch"
  }

  private static func reason(for code: Int32, systemError: Int32) -> Reason {
    if systemError == EFBIG || systemError == EDQUOT || systemError == ENOSPC, code & 0xFF == SQLITE_IOERR {
      return .full
    }
    // SQLITE_CONSTRAINT_FOREIGNKEY and SQLITE_IOERR_SHORT_READ, which are expressions Swift cannot import.
    if code == SQLITE_CONSTRAINT | 3 << 8 { return .signedOut }
    if code == SQLITE_IOERR | 2 << 8 { return .corrupt }
    return switch code & 0xFF {
    case SQLITE_BUSY, SQLITE_LOCKED, SQLITE_PROTOCOL: .busy
    case SQLITE_CORRUPT, SQLITE_FORMAT: .corrupt
    case SQLITE_NOTADB: .foreignFile
    // Only ``StepBudget`` interrupts statements.
    case SQLITE_INTERRUPT: .otherSchema
    case SQLITE_FULL: .full
    case SQLITE_READONLY: .readOnly
    case SQLITE_CANTOPEN, SQLITE_PERM, SQLITE_AUTH: .cannotOpen
    default: .other
    }
  }
}

extension CacheStoreError {
  /// SQLITE_READONLY_DBMOVED: the open file no longer has its name.
  static let movedCode: Int32 = SQLITE_READONLY | 4 << 8

  var isMoved: Bool { sqliteCode == Self.movedCode }

  /// Whether the file could not be opened, as when it is removed just after it was made.
  var isNotThere: Bool { reason == .cannotOpen && sqliteCode & 0xFF == SQLITE_CANTOPEN }

  /// SQLITE_READONLY_ROLLBACK: a hot journal must be rolled back, which a read-only connection cannot do.
  var needsRollback: Bool { sqliteCode == SQLITE_READONLY | 3 << 8 }

  /// Whether SQLite or the schema check reports that the file is damaged, of an earlier revision, or not a database:
  /// whether `Quarantine` has to look at it.
  var isDamage: Bool {
    sqliteCode != 0 && reason == .corrupt || reason == .foreignFile || isOfEarlierRevision
  }

  /// No file has the store's name at this moment, because a repair is between its two renames, or its process ended
  /// there. It counts as damage, so that a lookup waits for the end of the repair instead of finding nothing.
  static func betweenRenames(path: String) -> CacheStoreError {
    CacheStoreError(
      .corrupt, "the store \(path) is being repaired", remedy: .tryAgain, sqliteCode: SQLITE_CORRUPT)
  }

  /// The error with a hint for a writable store, which is quarantined without a person's help.
  package func advised(isReadOnly: Bool) -> CacheStoreError {
    guard reason == .corrupt, sqliteCode != 0, !isReadOnly else { return self }
    return CacheStoreError(
      reason, message, hint: "it is quarantined, and what can be read of it is carried over",
      sqliteCode: sqliteCode, sql: sql)
  }
}

extension CacheStoreError {
  /// SQLITE_IOERR_SHMOPEN, _SHMSIZE, _SHMLOCK, _SHMMAP: the log's index cannot be shared.
  var isOfSharedMemory: Bool {
    sqliteCode & 0xFF == SQLITE_IOERR && (18...21).contains(sqliteCode >> 8) && !isOfDescriptors
  }

  /// Whether it may be that the log or its index cannot be created in this folder.
  var mayBeOfFolder: Bool {
    (sqliteCode & 0xFF == SQLITE_CANTOPEN || sqliteCode & 0xFF == SQLITE_READONLY && !isMoved)
      && !isOfDescriptors
  }
}
