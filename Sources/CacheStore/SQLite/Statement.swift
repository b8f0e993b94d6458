internal import CSQLite
internal import PlatformFoundation

/// A prepared statement in use: bind its parameters, step through its rows, then reset it for the next use.
///
/// Parameters are numbered from 1, columns from 0, as SQLite does.
struct Statement {
  let raw: OpaquePointer
  /// The database's path as its user wrote it, for errors.
  let path: String
  /// `nil` for a statement that is prepared for one use.
  let texts: TextSpace?

  // MARK: Parameters

  func bind(_ index: Int32, _ value: Int64) { sqlite3_bind_int64(raw, index, value) }

  func bind(_ index: Int32, _ value: Int) { sqlite3_bind_int64(raw, index, Int64(value)) }

  func bind(_ index: Int32, _ value: Bool) { sqlite3_bind_int64(raw, index, value ? 1 : 0) }

  func bind(_ index: Int32, _ value: Int64?) {
    if let value { sqlite3_bind_int64(raw, index, value) } else { sqlite3_bind_null(raw, index) }
  }

  func bind(_ index: Int32, _ value: String?) {
    if let value { bind(index, value) } else { sqlite3_bind_null(raw, index) }
  }

  func bind(_ index: Int32, _ value: String) {
    var value = value
    value.withUTF8 { bytes in
      bytes.withMemoryRebound(to: CChar.self) { text in
        if text.isEmpty {
          // A null pointer would bind NULL instead of the empty text.
          _ = cachefetch_bind_text_static(raw, index, "", 0)
        } else if let kept = texts?.copy(text) {
          _ = cachefetch_bind_text_static(raw, index, kept, Int32(text.count))
        } else {
          _ = cachefetch_bind_text_copy(raw, index, text.baseAddress, Int32(text.count))
        }
      }
    }
  }

  /// Binds bytes without copying them: they must stay valid until the statement is reset.
  func bind(_ index: Int32, borrowing bytes: UnsafeRawBufferPointer) {
    if let base = bytes.baseAddress, bytes.count > 0 {
      _ = cachefetch_bind_blob_static(raw, index, base, Int32(bytes.count))
    } else {
      sqlite3_bind_zeroblob(raw, index, 0)
    }
  }

  // MARK: Running

  /// Steps to the next row; `false` after the last.
  func step() throws(CacheStoreError) -> Bool {
    switch sqlite3_step(raw) {
    case SQLITE_ROW: return true
    case SQLITE_DONE: return false
    default: throw .sqlite(failing: raw, path: path)
    }
  }

  /// Runs to the end and resets the statement.
  func run() throws(CacheStoreError) {
    defer { reset() }
    while try step() {}
  }

  /// Runs to the end with one parameter bound to bytes that are not copied.
  func run(borrowing bytes: Data, at index: Int32) throws(CacheStoreError) {
    // The closure of `withUnsafeBytes` cannot throw a typed error, so it returns a `Result`.
    try bytes.withUnsafeBytes { outcome(borrowing: $0, at: index) }.get()
  }

  /// Runs to the end with one parameter bound to bytes that are not copied.
  func run(borrowing bytes: [UInt8], at index: Int32) throws(CacheStoreError) {
    try bytes.withUnsafeBytes { outcome(borrowing: $0, at: index) }.get()
  }

  private func outcome(borrowing bytes: UnsafeRawBufferPointer, at index: Int32) -> Result<
    Void, CacheStoreError
  > {
    bind(index, borrowing: bytes)
    do throws(CacheStoreError) { return .success(try run()) } catch { return .failure(error) }
  }

  func reset() {
    sqlite3_reset(raw)
    sqlite3_clear_bindings(raw)
    texts?.removeAll()
  }

  // MARK: Columns

  func integer(_ column: Int32) -> Int64 { sqlite3_column_int64(raw, column) }

  func flag(_ column: Int32) -> Bool { sqlite3_column_int64(raw, column) != 0 }

  func isNull(_ column: Int32) -> Bool { sqlite3_column_type(raw, column) == SQLITE_NULL }

  func text(_ column: Int32) -> String {
    // `sqlite3_column_text` would copy the text to append a NUL.
    String(decoding: bytes(column), as: UTF8.self)
  }

  /// Whether the column is this text, byte for byte: `String` equality treats canonically equivalent texts as equal.
  func isText(_ column: Int32, _ text: String) -> Bool {
    var text = text
    return text.withUTF8 { UnsafeRawBufferPointer($0).isSame(as: bytes(column)) }
  }

  func optionalText(_ column: Int32) -> String? { isNull(column) ? nil : text(column) }

  /// The column's bytes without a copy; valid until the next step or reset.
  func bytes(_ column: Int32) -> UnsafeRawBufferPointer {
    guard let bytes = sqlite3_column_blob(raw, column) else {
      return UnsafeRawBufferPointer(start: nil, count: 0)
    }
    return UnsafeRawBufferPointer(start: bytes, count: Int(sqlite3_column_bytes(raw, column)))
  }

  func data(_ column: Int32) -> Data {
    let bytes = bytes(column)
    guard let base = bytes.baseAddress else { return Data() }
    return Data(bytes: base, count: bytes.count)
  }
}

// MARK: Parameters by name

extension Statement {
  func bind(_ name: String, _ value: String) {
    let index = sqlite3_bind_parameter_index(raw, name)
    if index > 0 { bind(index, value) }
  }

  func bind(_ name: String, _ value: Int64) {
    let index = sqlite3_bind_parameter_index(raw, name)
    if index > 0 { bind(index, value) }
  }
}
