internal import CSQLite

/// A value as SQLite stores it.
public enum SQLiteValue: Sendable, Hashable, ExpressibleByIntegerLiteral, ExpressibleByStringLiteral,
  ExpressibleByNilLiteral
{
  case null
  case integer(Int64)
  case real(Double)
  case text(String)
  case blob([UInt8])

  /// An integer literal is an `integer`.
  public init(integerLiteral value: Int64) { self = .integer(value) }
  /// A string literal is a `text`.
  public init(stringLiteral value: String) { self = .text(value) }
  /// `nil` is `null`.
  public init(nilLiteral: ()) { self = .null }

  /// The number, if it is an integer.
  public var integer: Int64? { if case .integer(let value) = self { value } else { nil } }
  /// The text, if it is one.
  public var text: String? { if case .text(let value) = self { value } else { nil } }
  /// The bytes, if it is a blob.
  public var bytes: [UInt8]? { if case .blob(let value) = self { value } else { nil } }
}

/// A connection to a database that shares no code with the store. Tests use it to inspect and damage files.
///
/// Not Sendable: one thread at a time. Waits up to five minutes for a locked file.
public final class RawDatabase {
  /// An error of SQLite.
  public struct Failed: Error, CustomStringConvertible {
    /// The extended result code.
    public let code: Int32
    /// The message.
    public let message: String
    /// Both.
    public var description: String { "SQLite \(code): \(message)" }
  }

  private var handle: OpaquePointer?

  /// Opens a file that exists, or creates one if asked.
  public init(_ path: String, create: Bool = false) throws {
    let flags = SQLITE_OPEN_READWRITE | (create ? SQLITE_OPEN_CREATE : 0) | SQLITE_OPEN_NOMUTEX
    try check(sqlite3_open_v2(path, &handle, flags, nil))
    sqlite3_busy_timeout(handle, 300_000)
  }

  deinit { sqlite3_close_v2(handle) }

  /// Runs any number of statements and drops their rows.
  public func execute(_ sql: String) throws { try check(sqlite3_exec(handle, sql, nil, nil, nil)) }

  /// The rows of one statement.
  public func rows(_ sql: String) throws -> [[SQLiteValue]] {
    var statement: OpaquePointer?
    try check(sqlite3_prepare_v2(handle, sql, -1, &statement, nil))
    defer { sqlite3_finalize(statement) }
    var rows: [[SQLiteValue]] = []
    while true {
      let code = sqlite3_step(statement)
      if code == SQLITE_DONE { return rows }
      guard code == SQLITE_ROW else { throw failure(code) }
      rows.append((0..<sqlite3_column_count(statement)).map { value(statement, $0) })
    }
  }

  private func value(_ statement: OpaquePointer?, _ column: Int32) -> SQLiteValue {
    let count = Int(sqlite3_column_bytes(statement, column))
    switch sqlite3_column_type(statement, column) {
    case SQLITE_INTEGER: return .integer(sqlite3_column_int64(statement, column))
    case SQLITE_FLOAT: return .real(sqlite3_column_double(statement, column))
    case SQLITE_TEXT:
      let text = UnsafeRawBufferPointer(start: sqlite3_column_text(statement, column), count: count)
      return .text(String(decoding: text, as: UTF8.self))
    case SQLITE_BLOB:
      return .blob(Array(UnsafeRawBufferPointer(start: sqlite3_column_blob(statement, column), count: count)))
    default: return .null
    }
  }

  private func check(_ code: Int32) throws { if code != SQLITE_OK { throw failure(code) } }

  private func failure(_ code: Int32) -> Failed {
    let message = sqlite3_errmsg(handle).map { String(cString: $0) } ?? ""
    return Failed(code: handle == nil ? code : sqlite3_extended_errcode(handle), message: message)
  }
}
