/// Changes to rows that stay.
extension ResponseStore {
  /// Lets the selected rows be evicted again.
  /// - Returns: How many were pinned.
  @discardableResult package func unpin(_ selection: EntrySelection) async throws(CacheStoreError) -> Int {
    try await inBatches(selection) { (some, connection) throws(CacheStoreError) in
      try Self.change(
        "UPDATE last_request SET pinned = 0 WHERE pinned = 1 AND id IN (\(some.text("r.id")))", some,
        connection)
    }
  }

  /// Removes a tag from the selected rows.
  /// - Returns: How many rows had it.
  @discardableResult package func untag(
    _ selection: EntrySelection, _ tag: String
  ) async throws(CacheStoreError) -> Int {
    try await inBatches(selection) { (some, connection) throws(CacheStoreError) in
      let text = "DELETE FROM tag WHERE name = :untagged AND request_id IN (\(some.text("r.id")))"
      return try Self.change(text, some, connection) { $0.bind(":untagged", tag) }
    }
  }

  /// Pins a row if asked to, and adds tags. Does nothing if the row has another body.
  package func mark(_ row: StoredResponse, _ marks: RowMarks) async throws(CacheStoreError) {
    try await writer.change(isStoring: true) { (connection) throws(CacheStoreError) in
      guard let found = try connection.rowHead(row.id), found.isSound, found.row.body.id == row.body.id
      else { return }
      if marks.isPinned, !row.isPinned {
        let statement = try connection.statement(.setPinned)
        statement.bind(1, row.id)
        statement.bind(2, 1)
        try statement.run()
      }
      try connection.addTags(marks.tags, to: row.id)
    }
  }

  /// Marks the selected rows invalid, so that they are stale whatever their fields say. Exchanges that began before
  /// `started` can no longer store or freshen what the selection means; rows of later exchanges stay as they are.
  /// - Returns: How many were marked.
  @discardableResult package func invalidate(
    _ selection: EntrySelection, started: StartMark
  ) async throws(CacheStoreError) -> Int {
    try await fence(selection, started: started)
    return try await inBatches(selection) { (some, connection) throws(CacheStoreError) in
      var count = 0
      for id in try Self.rowIDs(some, connection) {
        guard var found = try connection.rowHead(id), found.isSound else { continue }
        try self.rowWriter.recordTombstone(
          found.key.target, found.row.accountID, started, connection)
        guard !self.rowWriter.isBefore(started, found.row.started), !found.row.isInvalid else { continue }
        found.row.isInvalid = true
        try connection.update(&found.row, found.key)
        count += 1
      }
      return count
    }
  }

  /// Runs work on the rows selected now, in short transactions, so that other processes can write in between.
  private func inBatches(
    _ selection: EntrySelection,
    _ work: @escaping @Sendable (EntrySelection, Connection) throws(CacheStoreError) -> Int
  ) async throws(CacheStoreError) -> Int {
    guard FileStatus(path: files.database) != nil else { return 0 }
    let chosen = try await writer.perform { (connection) throws(CacheStoreError) in
      try Self.rowIDs(selection, connection)
    }
    var count = 0
    for some in selection.batches(of: chosen) {
      count += try await writer.change { (connection) throws(CacheStoreError) in
        try work(some, connection)
      }
    }
    return count
  }

  private static func change(
    _ text: String, _ selection: EntrySelection, _ connection: Connection,
    _ bind: (Statement) -> Void = { _ in }
  ) throws(CacheStoreError) -> Int {
    try connection.withStatement(text) { (statement) throws(CacheStoreError) in
      selection.bind(to: statement)
      bind(statement)
      try statement.run()
    }
    return connection.changes
  }
}

extension EntrySelection {
  /// The rows of one transaction.
  private static let batch = 64

  /// The selection split by rows. Each part keeps the other conditions, since a row's identifier may have been reused
  /// meanwhile.
  func batches(of rows: [Int64]) -> [EntrySelection] {
    stride(from: 0, to: rows.count, by: Self.batch).map { start in
      var some = self
      some.rowIDs = Array(rows[start..<min(start + Self.batch, rows.count)])
      return some
    }
  }
}
