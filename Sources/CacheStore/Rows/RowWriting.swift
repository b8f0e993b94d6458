/// Writes a row's columns with its checksum.
enum RowWriting {
  /// Inserts a row, under an identifier of its own or a given one.
  /// - Returns: The row's identifier.
  static func insert(
    _ row: StoredResponse, _ key: RequestKey, _ connection: Connection, id: Int64? = nil
  ) throws(CacheStoreError) -> Int64 {
    let statement = try connection.statement(.insertRow)
    statement.bind(1, row.accountID)
    statement.bind(2, key.target)
    statement.bind(3, key.method)
    statement.bind(4, key.extra)
    statement.bind(5, row.isGood)
    statement.bind(6, row.variant)
    statement.bind(24, id)
    try run(row, key, statement)
    return connection.lastInsertedRow
  }

  /// Sets everything but the key of the row with that identifier.
  static func update(
    _ row: StoredResponse, _ key: RequestKey, _ connection: Connection
  ) throws(CacheStoreError) {
    let statement = try connection.statement(.updateRow)
    statement.bind(1, row.id)
    try run(row, key, statement)
  }

  private static func run(
    _ row: StoredResponse, _ key: RequestKey, _ statement: Statement
  ) throws(CacheStoreError) {
    let checksum = statement.connection.hasher.checksum(of: row, key: key, bodyChecksum: row.body.checksum)
    statement.bind(7, row.vary)
    statement.bind(8, row.started.boot)
    statement.bind(9, row.started.nanoseconds)
    statement.bind(10, row.responseURL)
    statement.bind(11, row.httpVersion)
    statement.bind(12, row.status)
    statement.bind(13, row.reason)
    statement.bind(15, row.requestedAt)
    statement.bind(16, row.receivedAt)
    statement.bind(17, row.changedAt)
    statement.bind(18, row.exchangeMilliseconds)
    statement.bind(19, row.isInvalid)
    statement.bind(20, row.body.id)
    statement.bind(21, row.body.length)
    statement.bind(22, checksum)
    statement.bind(23, row.isPinned)
    try statement.run(borrowing: row.fields.wire, at: 14)
  }
}
