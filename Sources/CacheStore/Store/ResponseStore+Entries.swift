extension ResponseStore {
  /// The selected rows without their bodies, by account, target and variant.
  package func entries(_ selection: EntrySelection = .all) async throws(CacheStoreError) -> [StoredEntry] {
    // The journal holds the latest times of use; the list waits for it 100 ms at most.
    if UsageJournal(files: files).isThere { await flushUsage(within: .milliseconds(100)) }
    return try await read { deadline throws(CacheStoreError) in
      try self.pool.withConnection(waitingUntil: deadline) { (connection) throws(CacheStoreError) in
        try Self.entries(selection, connection)
      } ?? []
    }
  }

  private static func entries(
    _ selection: EntrySelection, _ connection: Connection
  ) throws(CacheStoreError) -> [StoredEntry] {
    let ids = try connection.withStatement(
      selection.text("r.id")
        + " ORDER BY a.name, r.target, r.method, r.extra, r.good DESC, r.variant"
    ) { (statement) throws(CacheStoreError) -> [Int64] in
      selection.bind(to: statement)
      var ids: [Int64] = []
      while try statement.step() { ids.append(statement.integer(0)) }
      return ids
    }
    var entries: [StoredEntry] = []
    for id in ids {
      if let entry = try entry(id, connection) { entries.append(entry) }
    }
    return entries
  }

  private static func entry(_ id: Int64, _ connection: Connection) throws(CacheStoreError) -> StoredEntry? {
    guard let found = try connection.rowHead(id) else { return nil }
    return StoredEntry(
      rowID: id, key: found.key, response: found.row, isSound: found.isSound,
      usedAt: try usedAt(id, connection), tags: try tags(of: id, connection))
  }

  private static func usedAt(_ id: Int64, _ connection: Connection) throws(CacheStoreError) -> Int64? {
    let statement = try connection.statement(.usedAt)
    defer { statement.reset() }
    statement.bind(1, id)
    return try statement.step() ? statement.integer(0).asInstant : nil
  }

  private static func tags(of id: Int64, _ connection: Connection) throws(CacheStoreError) -> [String] {
    let statement = try connection.statement(.tagsOfRow)
    defer { statement.reset() }
    statement.bind(1, id)
    var tags: [String] = []
    while try statement.step() { tags.append(statement.text(0)) }
    return tags
  }
}
