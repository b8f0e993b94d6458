extension ResponseStore {
  /// The update of a row after a 304; its body stays.
  package struct Freshening: Sendable {
    /// The row that the exchange validated.
    package var rowID: Int64
    /// The body that was validated, as the lookup gave it.
    package var body: StoredResponse.Body
    /// The merged fields and the times of the exchange; the rest of the row's head stays.
    package var head: ReceivedHead
    /// What selects the row from now on; `nil` where the 304 leaves the names in `Vary` as they are.
    package var variant: (vary: String, variant: String)?
    /// The pin and the tags that the row gets.
    package var marks: RowMarks

    /// Makes a description.
    package init(
      rowID: Int64, body: StoredResponse.Body, head: ReceivedHead,
      variant: (vary: String, variant: String)? = nil, marks: RowMarks = RowMarks()
    ) {
      self.rowID = rowID
      self.body = body
      self.head = head
      self.variant = variant
      self.marks = marks
    }
  }

  /// Freshens a row after a 304; its body stays as it is. Returns after the commit.
  ///
  /// - Returns: `superseded` where the row is gone or damaged, has another body by now, or was written by an exchange
  ///   that began later; also where such an exchange wrote the row that has the place of its new variant.
  package func freshen(_ freshening: Freshening) async throws(CacheStoreError) -> Overwritten {
    try await awaited { freshen(freshening, completion: $0) }
  }

  /// Freshens a row as ``freshen(_:)`` does, and calls `completion` on the store's queue once it is committed or has
  /// failed.
  package func freshen(
    _ freshening: Freshening, soon: (@escaping @Sendable () -> Void) -> Void = { $0() },
    completion: @escaping @Sendable (Result<Overwritten, CacheStoreError>) -> Void
  ) {
    configuration.onWrite?(freshening.body.firstChunk)
    writer.write(
      bytes: 0, soon: soon,
      { (connection) throws(CacheStoreError) in
        try self.freshen(freshening, connection)
      }, completion: completion)
  }

  private func freshen(
    _ freshening: Freshening, _ connection: Connection
  ) throws(CacheStoreError) -> Overwritten {
    guard let found = try connection.rowHead(freshening.rowID), found.isSound else { return .superseded }
    var row = found.row
    guard row.body.id == freshening.body.id, row.body.checksum == freshening.body.checksum,
      !rowWriter.isBefore(freshening.head.started, row.started),
      try !rowWriter.hasTombstone(
        found.key.target, row.accountID, freshening.head.started, tags: freshening.marks.tags, connection)
    else { return .superseded }
    // What a program has stored is an origin's from then on.
    if row.isLocal { row.head.version = freshening.head.version }
    row.head.freshen(by: freshening.head)
    row.isInvalid = false
    row.isPinned = row.isPinned || freshening.marks.isPinned
    if let (vary, variant) = freshening.variant {
      row.vary = vary
      guard try rowWriter.move(&row, of: found.key, to: variant, connection) else { return .superseded }
    }
    try connection.update(&row, found.key)
    try connection.addTags(freshening.marks.tags, to: row.id)
    if row.fields.wire.count > found.row.fields.wire.count {
      try eviction.keepWithinLimit(writing: row.id, connection)
    }
    return .stored(rowID: row.id, body: freshening.body)
  }
}
