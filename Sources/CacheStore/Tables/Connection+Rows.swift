// The rows of `last_request`, one at a time; `RowCoder` knows their columns.
extension Connection {
  /// Inserts a row under its `id`, or under a new one where that is 0; sets `id`.
  func insert(_ row: inout StoredResponse, _ key: RequestKey) throws(CacheStoreError) {
    try coder.run(try statement(.insertRow), .insert(identifier: row.id != 0), &row, key)
    row.id = lastInsertedRow
  }

  /// Sets everything but the key of the row with that identifier.
  func update(_ row: inout StoredResponse, _ key: RequestKey) throws(CacheStoreError) {
    try coder.run(try statement(.updateRow), .update, &row, key)
  }

  /// The current row of a lookup statement; see ``RowCoder/read(_:from:_:ofLongBody:)``.
  func row(
    _ statement: Statement, from first: Int32, _ key: RequestKey
  ) throws(CacheStoreError) -> StoredResponse? {
    try coder.read(statement, from: first, key) { (body) throws(CacheStoreError) in
      try bodyChecksum(of: body)
    }
  }

  /// A row by its identifier without its body; `nil` where it is not there.
  func rowHead(_ id: Int64) throws(CacheStoreError) -> RowCoder.Found? {
    let statement = try statement(.rowByID)
    defer { statement.reset() }
    return try row(statement, id, .head)
  }

  /// A row by its identifier, its first chunk included; `nil` where it is not there.
  func wholeRow(_ id: Int64) throws(CacheStoreError) -> RowCoder.Found? {
    try withStatement(Query.wholeRowText) { (statement) throws(CacheStoreError) in
      try row(statement, id, .firstChunk)
    }
  }

  private func row(
    _ statement: Statement, _ id: Int64, _ extent: RowCoder.Extent
  ) throws(CacheStoreError) -> RowCoder.Found? {
    statement.bind(1, id)
    guard try statement.step() else { return nil }
    return try coder.readWithKey(statement, extent) { (body) throws(CacheStoreError) in
      try bodyChecksum(of: body)
    }
  }
}
