extension ResponseStore {
  /// Whether the target, or all of the account, was removed or invalidated after the exchange began (design law 8).
  func isFenced(
    _ target: String, _ accountID: Int64, _ started: StartMark, _ connection: Connection
  ) throws(CacheStoreError) -> Bool {
    let statement = try connection.statement(.removedSince)
    defer { statement.reset() }
    statement.bind(1, accountID)
    statement.bind(2, RowHasher.targetHash(target))
    statement.bind(3, started.boot)
    statement.bind(4, started.nanoseconds)
    return try statement.step()
  }

  private func fence(
    _ targetHash: Int64, _ accountID: Int64, _ started: StartMark, _ connection: Connection
  ) throws(CacheStoreError) {
    let statement = try connection.statement(.recordRemoval)
    statement.bind(1, accountID)
    statement.bind(2, targetHash)
    statement.bind(3, started.boot)
    statement.bind(4, started.nanoseconds)
    statement.bind(5, configuration.now())
    try statement.run()
  }

  /// Marks every row of the targets invalid after an unsafe request to them (RFC 9111 section 4.4).
  ///
  /// Exchanges that began before `started` can no longer overwrite or freshen them.
  /// - Returns: How many rows were marked.
  @discardableResult public func invalidate(
    accountName: String, targets: [String], started: StartMark
  ) async throws(CacheStoreError) -> Int {
    try await writes.perform { (connection) throws(CacheStoreError) in
      guard let accountID = try self.accountID(named: accountName, connection) else { return 0 }
      return try self.invalidate(accountID, targets, started, connection)
    }
  }

  /// The same for an account by its row; throws `signedOut` where that is gone.
  @discardableResult public func invalidate(
    accountID: Int64, targets: [String], started: StartMark
  ) async throws(CacheStoreError) -> Int {
    try await writes.perform { (connection) throws(CacheStoreError) in
      try self.invalidate(accountID, targets, started, connection)
    }
  }

  private func invalidate(
    _ accountID: Int64, _ targets: [String], _ started: StartMark, _ connection: Connection
  ) throws(CacheStoreError) -> Int {
    try connection.transaction { () throws(CacheStoreError) in
      var count = 0
      for target in targets {
        try fence(RowHasher.targetHash(target), accountID, started, connection)
        for id in try rows(of: target, accountID, connection) {
          guard let (found, key) = try row(id, connection), var row = found, !started.isBefore(row.started)
          else { continue }
          row.isInvalid = true
          try RowWriting.update(row, key, connection)
          count += 1
        }
      }
      return count
    }
  }

  private func rows(
    of target: String, _ accountID: Int64, _ connection: Connection
  ) throws(CacheStoreError) -> [Int64] {
    let statement = try connection.statement(.rowsOfTarget)
    defer { statement.reset() }
    statement.bind(1, accountID)
    statement.bind(2, target)
    var found: [Int64] = []
    while try statement.step() { found.append(statement.integer(0)) }
    return found
  }

  /// Removes the selected rows with their bodies; an exchange begun before `started` does not bring them back.
  ///
  /// Works in short transactions, so that others can write in between.
  /// - Returns: How many rows were removed.
  @discardableResult public func remove(
    _ selection: EntrySelection, started: StartMark
  ) async throws(CacheStoreError) -> Int {
    guard FileStatus(path: files.database) != nil else { return 0 }
    var count = 0
    while true {
      let removed = try await writes.perform { (connection) throws(CacheStoreError) in
        try connection.transaction { () throws(CacheStoreError) in
          try self.removeSome(selection, started, connection)
        }
      }
      count += removed
      guard removed > 0 else { break }
    }
    if count > 0 { try await collectReleased() }
    return count
  }

  /// Removes one row.
  /// - Returns: Whether it was there.
  @discardableResult public func remove(rowID: Int64, started: StartMark) async throws(CacheStoreError)
    -> Bool
  {
    var selection = EntrySelection.all
    selection.rowIDs = [rowID]
    return try await remove(selection, started: started) > 0
  }

  /// Rows removed in one transaction.
  private static let batch = 64

  private func removeSome(
    _ selection: EntrySelection, _ started: StartMark, _ connection: Connection
  ) throws(CacheStoreError) -> Int {
    let found = try connection.withStatement(
      selection.text(Self.removalColumns, limit: Self.batch, and: Self.beganBefore)
    ) {
      (statement) throws(CacheStoreError) -> [(
        row: Int64, account: Int64, target: String, body: Int64, length: Int64
      )]
      in
      selection.bind(to: statement)
      statement.bind(":boot", started.boot)
      statement.bind(":started", started.nanoseconds)
      var found: [(row: Int64, account: Int64, target: String, body: Int64, length: Int64)] = []
      while try statement.step() {
        found.append(
          (
            statement.integer(0), statement.integer(1), statement.text(2), statement.integer(3),
            statement.integer(4)
          ))
      }
      return found
    }
    for row in found {
      try fence(RowHasher.targetHash(row.target), row.account, started, connection)
      try deleteRow(row.row, connection)
      try discard(body: row.body, length: row.length, connection)
    }
    return found.count
  }

  /// A row whose exchange began after the removal is newer than it.
  private static let beganBefore = "(r.started_boot <> :boot OR r.started_ns <= :started)"

  private static let removalColumns = "r.id, r.account_id, r.target, r.body_id, r.body_bytes"

  /// Removes a row whose checksum failed, once the look-up that found it is over; checks again before.
  func removeDamaged(_ id: Int64) {
    guard !configuration.isReadOnly else { return }
    writes.submit { [self] (connection) throws(CacheStoreError) in
      // Reported by the look-up; where it cannot be removed now, the next look-up finds it again.
      let wasRemoved = try connection.transaction { () throws(CacheStoreError) in
        try removeIfDamaged(id, connection)
      }
      if wasRemoved { configuration.onEvent?(.removedDamagedRow(path: files.database)) }
    }
  }

  /// - Returns: Whether the row was damaged, and is removed.
  func removeIfDamaged(_ id: Int64, _ connection: Connection) throws(CacheStoreError) -> Bool {
    let (body, length, isSound) = try connection.withStatement(Query.wholeRowText) {
      (statement) throws(CacheStoreError) -> (Int64, Int64, Bool) in
      statement.bind(1, id)
      guard try statement.step() else { return (0, 0, true) }
      let row = try RowReading.read(statement, key: RowReading.key(statement))
      return (statement.integer(18), statement.integer(19), row != nil)
    }
    guard !isSound else { return false }
    try deleteRow(id, connection)
    try discard(body: body, length: length, connection)
    return true
  }
}
