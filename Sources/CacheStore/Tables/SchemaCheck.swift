internal import CSQLite
internal import PlatformC

/// Checks that an untrusted file has this release's tables and nothing else that SQLite would run: a view or a
/// trigger in the place of a table runs its author's SQL when the table is read.
enum SchemaCheck {
  /// Tables that SQLite itself creates.
  private static let ofSQLite = [
    "CREATE TABLE sqlite_sequence(name,seq)", "CREATE TABLE sqlite_stat1(tbl,idx,stat)",
  ]

  /// Throws unless every object's SQL is a statement of `schema.sql`. A missing object does no harm: the statement
  /// that needs it fails.
  static func check(_ database: Database) throws(CacheStoreError) {
    var schema = KnownStatements()
    try database.withStatement("SELECT sql, name FROM sqlite_schema") {
      (statement) throws(CacheStoreError) in
      while try statement.step() {
        if statement.isNull(0), statement.text(1).hasPrefix("sqlite_autoindex_") { continue }
        let text = statement.bytes(0)
        // Compared first, and only for short texts: these are not in the order of `schema.sql`.
        if text.count < 64, ofSQLite.contains(String(decoding: text, as: UTF8.self)) { continue }
        guard schema.has(text) else {
          throw CacheStoreError(
            .otherSchema,
            "\(database.path) is not a store as this release makes them (\(statement.text(1)))")
        }
      }
    }
  }
}

/// The statements of `schema.sql`, searched in their order, which is the order in most files.
private struct KnownStatements {
  private let text = PackageResources.schema_sql
  private var next = 0
  /// The text without comments and line breaks; built only for a file that formats its schema differently.
  private lazy var plain = Self.plain(text)

  mutating func has(_ statement: UnsafeRawBufferPointer) -> Bool {
    guard statement.count > 0 else { return false }
    let end = text.withUnsafeBytes { text in
      Self.end(of: statement, in: text, from: next) ?? Self.end(of: statement, in: text, from: 0)
    }
    if let end {
      next = end
      return true
    }
    let wanted = Self.plain(Array(statement)) + [0x3B]
    return plain.firstRange(of: wanted) != nil
  }

  /// The end of the statement in the text, where it stands whole from the beginning of a line.
  private static func end(
    of statement: UnsafeRawBufferPointer, in text: UnsafeRawBufferPointer, from start: Int
  ) -> Int? {
    guard let base = text.baseAddress, let wanted = statement.baseAddress else { return nil }
    var line = start
    while line + statement.count < text.count {
      if text[line] == 0x43, memcmp(base + line, wanted, statement.count) == 0,
        text[line + statement.count] == 0x3B
      {
        return line + statement.count
      }
      guard let found = memchr(base + line, 0x0A, text.count - line) else { return nil }
      line = base.distance(to: UnsafeRawPointer(found)) + 1
    }
    return nil
  }

  private static func plain(_ text: [UInt8]) -> [UInt8] {
    var plain: [UInt8] = []
    for line in text.split(separator: 0x0A) {
      var end = line.endIndex
      for index in line.indices.dropLast() where line[index] == 0x2D && line[index + 1] == 0x2D {
        end = index
        break
      }
      for byte in line[..<end] + [0x20] {
        if byte != 0x20, byte != 0x09 { plain.append(byte) } else if plain.last != 0x20 { plain.append(0x20) }
      }
    }
    while plain.last == 0x20 { plain.removeLast() }
    return plain
  }
}
