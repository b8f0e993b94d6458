import CSQLite
import CacheStore

/// A plain SQLite connection, to look at the file or to damage it as the store itself never would.
final class RawDatabase {
  private let handle: OpaquePointer

  init(_ path: String) throws {
    var handle: OpaquePointer?
    let code = sqlite3_open_v2(path, &handle, SQLITE_OPEN_READWRITE, nil)
    guard code == SQLITE_OK, let handle else { throw CacheStoreError(.other, "cannot open \(path)") }
    self.handle = handle
    sqlite3_busy_timeout(handle, 10_000)
  }

  deinit { sqlite3_close_v2(handle) }

  @discardableResult func run(_ text: String) throws -> [[String]] {
    var rows: [[String]] = []
    var rest = text
    while !rest.isEmpty {
      let (row, tail) = try runFirst(rest)
      rows += row
      rest = tail
    }
    return rows
  }

  private func runFirst(_ text: String) throws -> ([[String]], String) {
    var statement: OpaquePointer?
    var tail = ""
    let code = text.withCString { start in
      var end: UnsafePointer<CChar>?
      let code = sqlite3_prepare_v2(handle, start, -1, &statement, &end)
      tail = end.map { String(cString: $0) } ?? ""
      return code
    }
    guard code == SQLITE_OK else { throw failure() }
    guard let statement else { return ([], "") }
    defer { sqlite3_finalize(statement) }
    var rows: [[String]] = []
    while true {
      switch sqlite3_step(statement) {
      case SQLITE_ROW:
        rows.append(
          (0..<sqlite3_column_count(statement)).map { column in
            sqlite3_column_text(statement, column).map { String(cString: $0) } ?? "NULL"
          })
      case SQLITE_DONE: return (rows, tail)
      default: throw failure()
      }
    }
  }

  private func failure() -> CacheStoreError {
    CacheStoreError(
      .other, String(cString: sqlite3_errmsg(handle)), sqliteCode: sqlite3_extended_errcode(handle))
  }
}
