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
    /// Whether the row is to be pinned; `false` leaves a pinned row pinned.
    package var isPinned: Bool
    /// Tags to add to the row.
    package var tags: [String]

    /// Makes a description.
    package init(
      rowID: Int64, body: StoredResponse.Body, head: ReceivedHead,
      variant: (vary: String, variant: String)? = nil, isPinned: Bool = false, tags: [String] = []
    ) {
      self.rowID = rowID
      self.body = body
      self.head = head
      self.variant = variant
      self.isPinned = isPinned
      self.tags = tags
    }
  }

  /// Freshens a row after a 304; its body stays as it is.
  ///
  /// - Returns: `false` where the row is gone or damaged, has another body by now, or was written by an exchange that
  ///   began later; also where such an exchange wrote the row that has the place of its new variant.
  package func freshen(_ freshening: Freshening) async throws(CacheStoreError) -> Bool {
    try await freshen(freshening, isOneOfMany: false)
  }

  /// Freshens a row as ``freshen(_:)`` does; with `isOneOfMany`, in a transaction shared with other waiting writes.
  package func freshen(
    _ freshening: Freshening, isOneOfMany: Bool, soon: (@escaping @Sendable () -> Void) -> Void = { $0() }
  ) async throws(CacheStoreError) -> Bool {
    if isOneOfMany {
      return try await writer.performTogether(bytes: 0, soon: soon) { (connection) throws(CacheStoreError) in
        try self.freshen(freshening, connection)
      }
    }
    return try await writer.perform { (connection) throws(CacheStoreError) in
      try connection.transaction(isStoring: true) { () throws(CacheStoreError) in
        try self.freshen(freshening, connection)
      }
    }
  }

  private func freshen(_ freshening: Freshening, _ connection: Connection) throws(CacheStoreError) -> Bool {
    guard let found = try connection.rowHead(freshening.rowID), found.isSound else { return false }
    var row = found.row
    guard row.body.id == freshening.body.id, row.body.checksum == freshening.body.checksum,
      !rowWriter.isBefore(freshening.head.started, row.started),
      try !rowWriter.hasTombstone(
        found.key.target, row.accountID, freshening.head.started, tags: freshening.tags, connection)
    else { return false }
    row.head.freshen(by: freshening.head)
    row.isInvalid = false
    row.isPinned = row.isPinned || freshening.isPinned
    if let (vary, variant) = freshening.variant {
      row.vary = vary
      guard try rowWriter.move(&row, of: found.key, to: variant, connection) else { return false }
    }
    try connection.update(&row, found.key)
    try connection.addTags(freshening.tags, to: row.id)
    if row.fields.wire.count > found.row.fields.wire.count {
      try eviction.keepWithinLimit(writing: row.id, connection)
    }
    return true
  }
}
