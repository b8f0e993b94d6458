internal import FoundationEssentials

/// Reads a row that a statement stands on, and verifies it (law 10).
enum RowReading {
  /// How much of the body is read and verified with the row.
  enum Extent { case firstChunk, head }

  /// - Parameters:
  ///   - statement: It gives the columns of `Query.rowColumns`, in their order; with `head` the last is a length.
  ///   - key: What the row was asked for by; a row that an index leads to wrongly does not match its checksum.
  /// - Returns: `nil` where a checksum does not match or a part is missing.
  static func read(
    _ statement: Statement, key: RequestKey, extent: Extent = .firstChunk
  ) throws(CacheStoreError) -> StoredResponse? {
    let connection = statement.connection
    guard !statement.isNull(21) else { return nil }
    let bodyID = statement.integer(18)
    let length = statement.integer(19)
    let chunkChecksum = statement.integer(21)
    let chunkLength: Int64
    var chunk = Data()
    switch extent {
    case .firstChunk:
      let bytes = statement.bytes(22)
      chunkLength = Int64(bytes.count)
      guard chunkLength <= length,
        RowHasher.chunkChecksum(bytes, body: bodyID, number: 0) == chunkChecksum
      else { return nil }
      if let base = bytes.baseAddress { chunk = Data(bytes: base, count: bytes.count) }
    case .head:
      chunkLength = statement.integer(22)
    }
    let bodyChecksum =
      chunkLength == length
      ? RowHasher.bodyChecksum(ofChunk: chunkChecksum) : try longBodyChecksum(bodyID, connection)
    guard let bodyChecksum else { return nil }
    var row = unverified(
      statement,
      body: StoredResponse.Body(
        id: bodyID, length: length, firstChunk: chunk, checksum: bodyChecksum, accountID: statement.integer(0)
      ))
    let checksum = connection.hasher.checksum(of: row, key: key, bodyChecksum: bodyChecksum)
    guard checksum == statement.integer(20), row.isPlausible else { return nil }
    row.clamp()
    return row
  }

  /// The row as it stands there, for a list that shows damaged rows too.
  static func unverified(_ statement: Statement) -> StoredResponse {
    var row = unverified(
      statement,
      body: StoredResponse.Body(id: statement.integer(18), length: statement.integer(19), firstChunk: Data()))
    row.clamp()
    return row
  }

  private static func unverified(_ statement: Statement, body: StoredResponse.Body) -> StoredResponse {
    StoredResponse(
      id: statement.integer(1), accountID: statement.integer(0), isGood: statement.flag(2),
      variant: statement.text(3), vary: statement.text(4),
      started: StartMark(boot: boot(statement), nanoseconds: statement.integer(6)),
      responseURL: statement.optionalText(7), httpVersion: statement.text(8),
      status: Int(statement.integer(9)),
      reason: statement.text(10), fields: HTTPFields(wire: Array(statement.bytes(11))),
      requestedAt: statement.integer(12), receivedAt: statement.integer(13), changedAt: statement.integer(14),
      exchangeMilliseconds: statement.integer(15), isInvalid: statement.flag(16),
      isPinned: statement.flag(17),
      body: body)
  }

  /// The key of a row read by `Query.rowByID`.
  static func key(_ statement: Statement) -> RequestKey {
    RequestKey(
      account: statement.text(23), target: statement.text(24), method: statement.text(25),
      extra: statement.text(26))
  }

  private static func longBodyChecksum(_ body: Int64, _ connection: Connection) throws(CacheStoreError)
    -> Int64?
  {
    let statement = try connection.statement(.bodyChecksum)
    defer { statement.reset() }
    statement.bind(1, body)
    guard try statement.step(), !statement.isNull(0) else { return nil }
    return statement.integer(0)
  }

  /// The row's boot mark; nearly always the one of the row before.
  private static func boot(_ statement: Statement) -> String {
    let connection = statement.connection
    if !statement.isText(5, connection.lastBoot) { connection.lastBoot = statement.text(5) }
    return connection.lastBoot
  }
}
