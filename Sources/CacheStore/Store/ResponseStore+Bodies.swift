package import PlatformFoundation

extension ResponseStore {
  /// Begins a body whose chunks are committed one by one.
  ///
  /// - Parameter partial: Where given, a download that is cut off can be resumed; an earlier cut-off download of the
  ///   same key is discarded.
  package func beginBody(
    accountID: Int64, partial: UnfinishedBody.Partial? = nil
  ) async throws(CacheStoreError) -> UnfinishedBody {
    try await beginBody(accountID: accountID, partial: partial, makingRoom: false)
  }

  func beginBody(
    accountID: Int64, partial: UnfinishedBody.Partial?, makingRoom: Bool
  ) async throws(CacheStoreError) -> UnfinishedBody {
    try await writer.change(isStoring: true) { (connection) throws(CacheStoreError) in
      if let partial { try self.forgetPartials(of: partial.key, accountID, connection) }
      let id = try self.ofAccount(accountID, connection) { () throws(CacheStoreError) in
        try self.insertUnfinished(accountID: accountID, partial: partial, connection)
      }
      // The lease is taken before the commit: another process would collect a body without one.
      return UnfinishedBody(
        id: id, accountID: accountID, makesRoom: makingRoom, lease: try self.lease(.body(id)), store: self)
    }
  }

  private func insertUnfinished(
    accountID: Int64, partial: UnfinishedBody.Partial?, _ connection: Connection
  ) throws(CacheStoreError) -> Int64 {
    let id = try rowWriter.insertBody(
      accountID: accountID, checksum: nil, target: partial?.key.target, strongETag: partial?.strongETag,
      wholeLength: partial?.wholeLength, connection)
    if let partial { try insert(partial, of: id, accountID: accountID, connection) }
    return id
  }

  private func insert(
    _ partial: UnfinishedBody.Partial, of body: Int64, accountID: Int64, _ connection: Connection
  ) throws(CacheStoreError) {
    let statement = try connection.statement(.insertPartial)
    statement.bind(1, body)
    statement.bind(2, partial.key.extra)
    statement.bind(3, partial.variant)
    statement.bind(4, partial.url)
    statement.bind(6, partial.checksum(of: body, accountID: accountID))
    try statement.run(borrowing: partial.fields.wire, at: 5)
  }

  /// A cut-off download of the key, to be resumed, after its head and its chunks have been verified.
  ///
  /// - Returns: `nil` where there is none, or another process is receiving it.
  package func partialBody(
    accountID: Int64, key: RequestKey
  ) async throws(CacheStoreError) -> (body: UnfinishedBody, partial: UnfinishedBody.Partial)? {
    let found = try await writer.perform(within: Self.resumptionTimeout) {
      (connection) throws(CacheStoreError) in
      // `DiskRoom` checks the lease inside a writing transaction, so it runs entirely before this one or after it.
      try connection.transaction { () throws(CacheStoreError) in
        try self.takePartial(of: key, accountID, connection)
      }
    }
    guard let found else { return nil }
    guard let chunks = try await verifiedChunks(of: found.id) else {
      // A chunk is damaged: discard the download. It is collected once the lease is released.
      try await writer.change { (connection) throws(CacheStoreError) in
        try self.forgetPartials(of: key, accountID, connection)
      }
      return nil
    }
    let body = UnfinishedBody(
      id: found.id, accountID: accountID, chunks: chunks, lease: found.lease, store: self)
    return (body, found.partial)
  }

  /// The longest an exchange waits to learn where to resume.
  private static let resumptionTimeout = Duration.milliseconds(250)

  private struct TakenPartial: Sendable {
    var id: Int64
    var partial: UnfinishedBody.Partial
    var lease: Lease
  }

  private func takePartial(
    of key: RequestKey, _ accountID: Int64, _ connection: Connection
  ) throws(CacheStoreError) -> TakenPartial? {
    try connection.withStatement(Self.partialText) {
      (statement) throws(CacheStoreError) -> TakenPartial? in
      statement.bind(1, accountID)
      statement.bind(2, key.target)
      statement.bind(3, key.extra)
      guard try statement.step() else { return nil }
      let id = statement.integer(0)
      let partial = UnfinishedBody.Partial(
        key: key, variant: statement.text(3), url: statement.text(4),
        fields: HTTPFields(wire: Array(statement.bytes(5))), strongETag: statement.text(1),
        wholeLength: statement.isNull(2) ? nil : statement.integer(2))
      guard partial.checksum(of: id, accountID: accountID) == statement.integer(6) else {
        try self.forgetPartials(of: key, accountID, connection)
        return nil
      }
      guard let lease = try self.lease(.body(id)) else { return nil }
      return TakenPartial(id: id, partial: partial, lease: lease)
    }
  }

  /// The first chunk of this very body: one of a single chunk is rewritten in place, so that its identifier alone may
  /// lead to a later response's bytes.
  ///
  /// - Throws: `replaced` where they are another's by now; else as ``chunk(_:of:accountID:)``.
  package func firstChunk(of body: StoredResponse.Body) async throws(CacheStoreError) -> Data {
    let bytes = try await chunk(0, of: body.id, accountID: body.accountID)
    let checksum: Int64?
    if Int64(bytes.count) == body.length {
      checksum = Checksum.ofBody(chunk: Checksum.ofChunk(bytes, body: body.id, number: 0))
    } else {
      // A body of several chunks, which is never rewritten, or by now a shorter or longer one of a single chunk.
      checksum =
        try await query { (connection) throws(CacheStoreError) in
          try connection.bodyChecksum(of: body.id)
        } ?? nil
    }
    guard checksum == body.checksum else {
      throw CacheStoreError(.replaced, "the stored body was replaced meanwhile")
    }
    return bytes
  }

  private static let partialText = """
    SELECT b.id, b.partial_etag, b.partial_bytes, p.variant, p.url, p.fields, p.checksum
    FROM body b JOIN partial p ON p.body_id = b.id
    WHERE b.checksum IS NULL AND b.account_id = ?1 AND b.partial_target = ?2 AND b.released_at_ms IS NULL
      AND p.extra = ?3
    ORDER BY b.id DESC LIMIT 1
    """

  private func forgetPartials(
    of key: RequestKey, _ accountID: Int64, _ connection: Connection
  ) throws(CacheStoreError) {
    let text = """
      UPDATE body SET partial_target = NULL, partial_etag = NULL, partial_bytes = NULL
      WHERE checksum IS NULL AND account_id = ?1 AND partial_target = ?2
        AND id IN (SELECT body_id FROM partial WHERE extra = ?3)
      """
    try connection.withStatement(text) { (statement) throws(CacheStoreError) in
      statement.bind(1, accountID)
      statement.bind(2, key.target)
      statement.bind(3, key.extra)
      try statement.run()
    }
  }

  /// The chunks of a body from the first on, read one at a time; `nil` where one is damaged.
  private func verifiedChunks(of body: Int64) async throws(CacheStoreError) -> UnfinishedBody.Chunks? {
    var chunks = UnfinishedBody.Chunks()
    while true {
      let number = chunks.checksums.count
      let found =
        try await query { (connection) throws(CacheStoreError) in
          try ChunkReading.read(number, of: body, keepingBytes: number == 0, connection)
        } ?? nil
      guard let chunk = found else { return chunks }
      guard let checksum = chunk.checksum else { return nil }
      chunks.checksums.append(checksum)
      chunks.length += Int64(chunk.length)
      if number == 0 { chunks.first = chunk.bytes }
    }
  }
}

extension UnfinishedBody.Partial {
  /// The checksum of all that is known of a cut-off download, with its body and the account that owns it.
  fileprivate func checksum(of body: Int64, accountID: Int64) -> Int64 {
    var layout = ByteLayout()
    for number in [body, accountID, wholeLength ?? -1] { layout.add(number) }
    for text in [key.target, key.extra, variant, url, strongETag] { layout.add(text) }
    fields.wire.withUnsafeBytes { layout.add($0) }
    return Checksum.hash(layout.bytes)
  }
}
