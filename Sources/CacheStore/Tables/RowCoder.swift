internal import PlatformFoundation

/// Writes and reads the rows of `last_request`, and verifies those it reads (law 10).
///
/// Everything done with a row goes through one list of its columns, ``visit(_:_:_:with:)``: the SQL, the parameters,
/// the reading and the checksum. A new column is one line there and one in `schema.sql`.
final class RowCoder {
  /// Calls the visitor with each column of the table and its value, in the table's order.
  ///
  /// The checksum uses this order too: a changed order would make every stored row fail its checksum.
  static func visit<Visitor: ColumnVisitor & ~Copyable>(
    _ row: inout StoredResponse, _ key: inout RequestKey, _ checksum: inout Int64,
    with visitor: inout Visitor
  ) {
    visitor.visit(Column("id", .identifier), &row.id)
    visitor.visit(Column("account_id", .account), &row.accountID)
    visitor.visit(Column("target", .request), &key.target)
    visitor.visit(Column("method", .request), &key.method)
    visitor.visit(Column("extra", .request), &key.extra)
    visitor.visit(Column("good", .place), &row.isGood)
    visitor.visit(Column("variant", .place), &row.variant)
    visitor.visit(Column("vary"), &row.vary)
    visitor.visit(Column("started_boot"), &row.head.started.boot)
    visitor.visit(Column("started_ns"), &row.head.started.nanoseconds)
    visitor.visit(Column("response_url"), &row.head.url)
    visitor.visit(Column("http_version"), &row.head.version)
    visitor.visit(Column("status", within: .status), &row.head.status)
    visitor.visit(Column("reason"), &row.head.reason)
    visitor.visit(Column("fields"), &row.head.fields)
    visitor.visit(Column("decoded"), &row.head.isDecoded)
    visitor.visit(Column("requested_at_ms", within: .instants), &row.head.requestedAt)
    visitor.visit(Column("received_at_ms", within: .instants), &row.head.receivedAt)
    visitor.visit(Column("changed_at_ms", within: .instants), &row.changedAt)
    visitor.visit(Column("exchange_ms", within: .counts), &row.head.exchangeMilliseconds)
    visitor.visit(Column("invalid"), &row.isInvalid)
    visitor.visit(Column("body_id"), &row.body.id)
    visitor.visit(Column("body_bytes", within: .counts), &row.body.length)
    visitor.visit(Column("checksum", .checksum), &checksum)
    visitor.visit(Column("pinned", .mark), &row.isPinned)
  }

  /// The bytes a row's checksum is computed from, in memory reused for the next row: for so few bytes, one pass over
  /// contiguous memory costs a tenth of a streaming hash.
  private var layout = ByteLayout()

  // MARK: Writing

  /// Runs a statement with the row as its parameters: one of ``insertText`` or ``updateText``.
  func run(
    _ statement: Statement, _ purpose: ParameterBinder.Purpose, _ row: inout StoredResponse, _ key: RequestKey
  ) throws(CacheStoreError) {
    var key = key
    var checksum = checksum(of: &row, &key, bodyChecksum: row.body.checksum)
    var binder = ParameterBinder(statement, purpose)
    Self.visit(&row, &key, &checksum, with: &binder)
    try statement.run(borrowing: row.head.fields.wire, at: binder.fieldsPosition)
  }

  // MARK: Reading

  /// How much of the body is read and verified with the row.
  enum Extent { case firstChunk, head }

  /// A row that was looked up by its identifier.
  struct Found {
    var row = StoredResponse.blank
    var key = RequestKey(target: "")
    /// Whether the checksums match; where they do not, no other property is reliable.
    var isSound = false
  }

  /// Looks up the checksum of a body of several chunks by the body's identifier; `nil` where there is none.
  typealias LongBodyChecksum = (Int64) throws(CacheStoreError) -> Int64?

  /// Reads the current row of a statement by identifier, whose columns are ``selectedWithRequest`` and, after them, the
  /// first chunk's checksum, the chunk (or its length, with `head`), and the account's name.
  func readWithKey(
    _ statement: Statement, _ extent: Extent, ofLongBody: LongBodyChecksum
  ) throws(CacheStoreError) -> Found {
    var found = Found()
    var reader = ColumnReader(statement, from: 0, readsRequest: true)
    found.isSound = try read(&found.row, &found.key, &reader, extent, ofLongBody)
    return found
  }

  /// Reads the current row of a lookup statement.
  ///
  /// - Parameters:
  ///   - first: The position of ``selected``'s first column.
  ///   - key: The request key. It is part of the checksum, so a row that a damaged index leads to does not match.
  /// - Returns: `nil` where a checksum does not match or a part is missing.
  func read(
    _ statement: Statement, from first: Int32, _ key: RequestKey, ofLongBody: LongBodyChecksum
  ) throws(CacheStoreError) -> StoredResponse? {
    var key = key
    var row = StoredResponse.blank
    var reader = ColumnReader(statement, from: first, readsRequest: false)
    guard try read(&row, &key, &reader, .firstChunk, ofLongBody) else { return nil }
    return row
  }

  /// The account that a lookup found, and the identifier of the current row; `nil` where the account has no such
  /// row.
  static func identifiers(_ statement: Statement, from first: Int32) -> (account: Int64, row: Int64?) {
    (statement.integer(first + 1), statement.isNull(first) ? nil : statement.integer(first))
  }

  /// - Returns: Whether the row is as it was written.
  private func read(
    _ row: inout StoredResponse, _ key: inout RequestKey, _ reader: inout ColumnReader, _ extent: Extent,
    _ ofLongBody: LongBodyChecksum
  ) throws(CacheStoreError) -> Bool {
    let statement = reader.statement
    var written: Int64 = 0
    Self.visit(&row, &key, &written, with: &reader)
    // After the row's columns come its first chunk's checksum, the chunk or its length, and the account's name.
    let chunk = reader.position
    if reader.readsRequest { key.account = statement.text(chunk + 2) }
    let isPlausible = row.status >= 100 && row.status <= 999 && row.body.length >= 0
    var isSound = false
    if let bodyChecksum = try bodyChecksum(of: &row.body, statement, chunk, extent, ofLongBody) {
      row.body.checksum = bodyChecksum
      row.body.accountID = row.accountID
      isSound = checksum(of: &row, &key, bodyChecksum: bodyChecksum) == written && isPlausible
    }
    var clamp = Clamp()
    Self.visit(&row, &key, &written, with: &clamp)
    return isSound
  }

  /// The checksum of a row's whole body; with `firstChunk`, that chunk is verified. `nil` where it does not match or
  /// the body is unfinished.
  private func bodyChecksum(
    of body: inout StoredResponse.Body, _ statement: Statement, _ column: Int32, _ extent: Extent,
    _ ofLongBody: LongBodyChecksum
  ) throws(CacheStoreError) -> Int64? {
    guard !statement.isNull(column) else { return nil }
    let checksum = statement.integer(column)
    let length: Int64
    switch extent {
    case .firstChunk:
      let bytes = statement.bytes(column + 1)
      length = Int64(bytes.count)
      guard length <= body.length, Checksum.ofChunk(bytes, body: body.id, number: 0) == checksum else {
        return nil
      }
      if let base = bytes.baseAddress { body.firstChunk = Data(bytes: base, count: bytes.count) }
    case .head: length = statement.integer(column + 1)
    }
    return length == body.length ? Checksum.ofBody(chunk: checksum) : try ofLongBody(body.id)
  }

  // MARK: Checksum

  /// The checksum of a row: everything delivered from it, the account that owns it, and its body's checksum.
  ///
  /// It covers the account's name beside the identifier, so that not even a damaged index can lead from one account's
  /// name to another's row.
  private func checksum(
    of row: inout StoredResponse, _ key: inout RequestKey, bodyChecksum: Int64
  ) -> Int64 {
    var none: Int64 = 0
    layout.removeAll()
    key.account.add(to: &layout)
    Self.visit(&row, &key, &none, with: &layout)
    layout.add(bodyChecksum)
    return Checksum.hash(layout.bytes)
  }
}

// MARK: Statements

extension RowCoder {
  /// The columns that a lookup selects, of a row `r` of an account `a`, without the request key, which the caller
  /// knows.
  static let selected = text(.selected)
  /// ``selected`` with the request key.
  static let selectedWithRequest = text(.selectedWithRequest)

  /// NULL as the identifier assigns a new one.
  static let insertText =
    "INSERT INTO last_request (\(text(.names))) VALUES (\(text(.parameters)))"

  /// The parameters are those of ``insertText``.
  static let updateText = "UPDATE last_request SET \(text(.assignments)) WHERE id = ?1"

  private static func text(_ part: ColumnText.Part) -> String {
    var found = Found()
    var checksum: Int64 = 0
    var text = ColumnText(part)
    visit(&found.row, &found.key, &checksum, with: &text)
    return text.text
  }
}
