internal import CSQLite
internal import PlatformC

extension CacheStoreError {
  /// What an SQLite result code means to a caller of the store.
  ///
  /// - Parameters:
  ///   - code: The extended result code.
  ///   - systemError: The operating system's error number behind it, 0 where there is none.
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

  /// The message for a file that is something else.
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
    // Only a budget of steps interrupts: see ``StepBudget``.
    case SQLITE_INTERRUPT: .otherSchema
    case SQLITE_FULL: .full
    case SQLITE_READONLY: .readOnly
    case SQLITE_CANTOPEN, SQLITE_PERM, SQLITE_AUTH: .cannotOpen
    default: .other
    }
  }
}

extension CacheStoreError {
  /// SQLITE_READONLY_DBMOVED: the file is no longer the one of that name.
  static let movedCode: Int32 = SQLITE_READONLY | 4 << 8

  var isMoved: Bool { sqliteCode == Self.movedCode }

  /// SQLITE_READONLY_ROLLBACK: a journal waits to be rolled back, which a reader may not do.
  var needsRollback: Bool { sqliteCode == SQLITE_READONLY | 3 << 8 }

  /// Whether SQLite, or the schema, says that the file is damaged, or is no database at all.
  var isDamage: Bool { sqliteCode != 0 && reason == .corrupt || reason == .foreignFile }

  /// The same, with what helps where the store may be written: a damaged file is then replaced without anybody's doing.
  package func advised(isReadOnly: Bool) -> CacheStoreError {
    guard reason == .corrupt, sqliteCode != 0, !isReadOnly else { return self }
    return CacheStoreError(
      reason, message, hint: "it is set aside, and what can be read of it is carried over",
      sqliteCode: sqliteCode, sql: sql)
  }
}

extension CacheStoreError {
  /// SQLITE_IOERR_SHMOPEN, _SHMSIZE, _SHMLOCK, _SHMMAP: the log's index cannot be shared.
  var isOfSharedMemory: Bool {
    sqliteCode & 0xFF == SQLITE_IOERR && (18...21).contains(sqliteCode >> 8) && !isOfDescriptors
  }

  /// What SQLite says where the log or its index would have to be made and cannot.
  var mayBeOfFolder: Bool {
    (sqliteCode & 0xFF == SQLITE_CANTOPEN || sqliteCode & 0xFF == SQLITE_READONLY && !isMoved)
      && !isOfDescriptors
  }
}
