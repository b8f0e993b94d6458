internal import PlatformFoundation

/// Shared steps for writing and releasing bodies; all of them run inside a transaction.
extension ResponseStore {
  func insertBody(
    accountID: Int64, checksum: Int64?, partial: UnfinishedBody.Partial? = nil, _ connection: Connection
  ) throws(CacheStoreError) -> Int64 {
    let statement = try connection.statement(.insertBody)
    statement.bind(1, accountID)
    statement.bind(2, checksum)
    statement.bind(3, partial?.key.target)
    statement.bind(4, partial?.strongETag)
    statement.bind(5, partial?.wholeLength)
    statement.bind(6, configuration.now())
    try statement.run()
    let id = connection.lastInsertedRow
    if let partial { try insert(partial, of: id, connection) }
    return id
  }

  private func insert(
    _ partial: UnfinishedBody.Partial, of body: Int64, _ connection: Connection
  ) throws(CacheStoreError) {
    let statement = try connection.statement(.insertPartial, making: "partial")
    statement.bind(1, body)
    statement.bind(2, partial.key.extra)
    statement.bind(3, partial.variant)
    statement.bind(4, partial.url)
    try statement.run(borrowing: partial.fields.wire, at: 5)
  }

  /// - Returns: The chunk's checksum.
  func insertChunk(
    _ bytes: Data, number: Int, of body: Int64, _ connection: Connection
  ) throws(CacheStoreError) -> Int64 {
    let checksum = Checksum.ofChunk(bytes, body: body, number: number)
    let statement = try connection.statement(.insertChunk)
    statement.bind(1, body)
    statement.bind(2, number)
    statement.bind(3, checksum)
    try statement.run(borrowing: bytes, at: 4)
    guard connection.changes == 1 else { throw CacheStoreError(.signedOut, "the account was signed out") }
    return checksum
  }

  /// The checksum of a complete body, of one chunk or several; `nil` where the body is gone.
  func wholeChecksum(
    of body: Int64, length: Int64, _ connection: Connection
  ) throws(CacheStoreError) -> Int64? {
    let first = try connection.statement(.chunk)
    defer { first.reset() }
    first.bind(1, body)
    first.bind(2, 0)
    guard try first.step() else { return nil }
    return first.bytes(1).count == length
      ? Checksum.ofBody(chunk: first.integer(0)) : try connection.bodyChecksum(of: body)
  }

  /// Deletes a replaced body of one chunk, and keeps a longer one for its readers (law 10).
  func releaseReplaced(body: Int64, length: Int64, _ connection: Connection) throws(CacheStoreError) {
    if length <= configuration.chunkBytes, try !hasSecondChunk(body, connection) {
      let statement = try connection.statement(.deleteBody)
      statement.bind(1, body)
      try statement.run()
    } else {
      try connection.release(body: body, at: configuration.now())
    }
  }

  /// Whether a short body has more than one chunk, as one has whose download was cut off and resumed.
  private func hasSecondChunk(_ body: Int64, _ connection: Connection) throws(CacheStoreError) -> Bool {
    let second = try connection.statement(.chunk)
    defer { second.reset() }
    second.bind(1, body)
    second.bind(2, 1)
    return try second.step()
  }

  /// Deletes a body of one chunk; releases a longer one for the collection, which deletes it chunk by chunk.
  func discard(body: Int64, length: Int64, _ connection: Connection) throws(CacheStoreError) {
    if length <= configuration.chunkBytes {
      let statement = try connection.statement(.deleteBody)
      statement.bind(1, body)
      try statement.run()
    } else {
      try connection.release(body: body, at: 0)
    }
  }

  /// Deletes a row and its body. The number of a damaged row's body may be another's, which then stays (law 10).
  ///
  /// - Parameter isReplaced: Whether a long body is kept for its readers.
  func deleteRow(
    _ row: Int64, withBody body: Int64, length: Int64, isReplaced: Bool = false, _ connection: Connection
  ) throws(CacheStoreError) {
    let isSound = try connection.rowHead(row)?.isSound == true
    try deleteRow(row, connection)
    if !isSound, try !isOrphan(body, connection) { return }
    if isReplaced {
      try releaseReplaced(body: body, length: length, connection)
    } else {
      try discard(body: body, length: length, connection)
    }
  }

  /// Whether a body is complete and belongs to no row.
  private func isOrphan(_ body: Int64, _ connection: Connection) throws(CacheStoreError) -> Bool {
    guard try connection.bodyChecksum(of: body) != nil else { return false }
    return try connection.first(Query.rowOfBodyText, [body]) == nil
  }

  func deleteRow(_ row: Int64, _ connection: Connection) throws(CacheStoreError) {
    try storeUsageJournal(connection)
    let statement = try connection.statement(.deleteRow)
    statement.bind(1, row)
    try statement.run()
  }
}
