extension ResponseStore {
  /// Whether the target, or all of the account, was removed or invalidated after an exchange began (law 8).
  package func isRemoved(
    _ target: String, accountID: Int64, since started: StartMark
  ) async throws(CacheStoreError) -> Bool {
    try await query { (connection) throws(CacheStoreError) in
      try self.rowWriter.hasTombstone(target, accountID, started, connection)
    } ?? false
  }

  /// Marks every row of the targets invalid after an unsafe request to them (RFC 9111 section 4.4).
  ///
  /// Exchanges that began before `started` can no longer overwrite or freshen them.
  /// - Returns: How many rows were marked.
  @discardableResult package func invalidate(
    accountName: String, targets: [String], started: StartMark
  ) async throws(CacheStoreError) -> Int {
    try await writer.perform { (connection) throws(CacheStoreError) in
      guard let accountID = try self.accountID(named: accountName, connection) else { return 0 }
      return try self.invalidate(accountID, targets, started, connection)
    }
  }

  /// Marks an account's rows invalid, by the account's identifier; throws `signedOut` where the account is gone.
  @discardableResult package func invalidate(
    accountID: Int64, targets: [String], started: StartMark
  ) async throws(CacheStoreError) -> Int {
    try await writer.perform { (connection) throws(CacheStoreError) in
      try self.invalidate(accountID, targets, started, connection)
    }
  }

  private func invalidate(
    _ accountID: Int64, _ targets: [String], _ started: StartMark, _ connection: Connection
  ) throws(CacheStoreError) -> Int {
    try connection.transaction { () throws(CacheStoreError) in
      var count = 0
      for target in targets {
        try ofAccount(accountID, connection) { () throws(CacheStoreError) in
          try rowWriter.recordTombstone(target, accountID, started, connection)
        }
        for id in try rows(of: target, accountID, connection) {
          guard var found = try connection.rowHead(id), found.isSound,
            !rowWriter.isBefore(started, found.row.started)
          else { continue }
          found.row.isInvalid = true
          try connection.update(&found.row, found.key)
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

  /// Keeps exchanges that began before `started` from storing what the selection means, whether or not a row is there.
  package func fence(_ selection: EntrySelection, started: StartMark) async throws(CacheStoreError) {
    guard FileStatus(path: files.database) != nil,
      !Fence.names(selection, now: configuration.now()).isEmpty
    else { return }
    try await writer.perform { (connection) throws(CacheStoreError) in
      let record = { () throws(CacheStoreError) in
        try connection.transaction { () throws(CacheStoreError) in
          try self.rowWriter.recordFence(selection, started, connection)
        }
      }
      do throws(CacheStoreError) {
        try record()
      } catch {
        // A full disk has room for this once the log is empty (see `Connection.transaction`).
        guard error.reason == .full else { throw error }
        _ = try? connection.checkpoint(.truncating)
        try record()
      }
    }
  }

  /// Removes the selected rows with their bodies, whenever they were written; an exchange that began before `started`
  /// stores nothing that the selection means.
  ///
  /// Removes the rows selected when the call begins, in short transactions, so that other processes can write in
  /// between. Cut-off downloads go with them; see ``removeCutOff(_:where:)``.
  /// - Returns: How many rows were removed.
  @discardableResult package func remove(
    _ selection: EntrySelection, started: StartMark
  ) async throws(CacheStoreError) -> Int {
    guard FileStatus(path: files.database) != nil else { return 0 }
    try await fence(selection, started: started)
    try await removeCutOff(selection)
    let chosen = try await writer.perform { (connection) throws(CacheStoreError) in
      try Self.rowIDs(selection, connection)
    }
    var count = 0
    var hosts: Set<CountedHost> = []
    for batch in selection.batches(of: chosen) {
      let removed = try await writer.perform { (connection) throws(CacheStoreError) in
        try self.removingOnFullDisk(batch, connection) { (part) throws(CacheStoreError) in
          try connection.transaction { () throws(CacheStoreError) in
            try self.removeAll(part, started, connection)
          }
        }
      }
      count += removed.count
      hosts.formUnion(removed.hosts)
    }
    if count > 0 { try await Trimming(of: self).collectReleased() }
    await giveBackOnShortDisk()
    try await forgetCounts(ofEmpty: hosts)
    return count
  }

  /// Removes the selected cut-off downloads, with what has arrived of them: an exchange that resumed one would bring
  /// back bytes from before the removal (law 8), and its URL would stay in the file (decision 10). Those that a process
  /// is receiving stay. A selection by what only a row has selects none of them.
  ///
  /// - Parameter isIncluded: Whether the download of that key is meant.
  /// - Returns: How many were removed.
  @discardableResult package func removeCutOff(
    _ selection: EntrySelection, where isIncluded: @escaping @Sendable (RequestKey) -> Bool = { _ in true }
  ) async throws(CacheStoreError) -> Int {
    guard selection.selectsCutOff, FileStatus(path: files.database) != nil else { return 0 }
    // Read without the writer: where there is none, a store that may not be written is none the worse.
    let chosen =
      try await query { (connection) throws(CacheStoreError) in
        try Self.cutOff(selection, where: isIncluded, connection)
      } ?? []
    var count = 0
    for body in chosen {
      let isReleased = try await writer.change { (connection) throws(CacheStoreError) -> Bool in
        // It may have become a row's meanwhile. Whoever resumes it takes the lease inside a writing transaction, and
        // so before this one or after it.
        guard try connection.bodyChecksum(of: body) == nil, try !self.lockFile.isLocked(.body(body)) else {
          return false
        }
        try connection.release(body: body, at: 0)
        return connection.changes == 1
      }
      if isReleased { count += 1 }
    }
    if count > 0 { try await Trimming(of: self).collectReleased() }
    return count
  }

  private static func cutOff(
    _ selection: EntrySelection, where isIncluded: (RequestKey) -> Bool, _ connection: Connection
  ) throws(CacheStoreError) -> [Int64] {
    try connection.withStatement(selection.text("r.id, a.name, r.target, r.extra", of: cutOffText)) {
      (statement) throws(CacheStoreError) in
      selection.bind(to: statement)
      var bodies: [Int64] = []
      while try statement.step() {
        let key = RequestKey(
          account: statement.text(1), target: statement.text(2), extra: statement.text(3))
        if isIncluded(key) { bodies.append(statement.integer(0)) }
      }
      return bodies
    }
  }

  /// Cut-off downloads with those columns of a row that they can be selected by.
  private static let cutOffText = """
    (SELECT b.id, b.account_id, b.partial_target AS target, 'GET' AS method, p.extra,
       b.begun_at_ms AS received_at_ms
     FROM body b INDEXED BY body_unfinished JOIN partial p ON p.body_id = b.id
     WHERE b.checksum IS NULL AND b.partial_target IS NOT NULL AND b.released_at_ms IS NULL)
    """

  /// Runs work on a selection of rows. Where the disk is full, runs it again row by row, with a checkpoint after
  /// each: there is always enough space for one row (see `Connection.transaction`).
  private func removingOnFullDisk(
    _ selection: EntrySelection, _ connection: Connection,
    _ work: (EntrySelection) throws(CacheStoreError) -> Removed
  ) throws(CacheStoreError) -> Removed {
    do throws(CacheStoreError) {
      return try work(selection)
    } catch {
      guard error.reason == .full else { throw error }
    }
    var all = Removed()
    _ = try? connection.checkpoint(.truncating)
    for row in selection.rowIDs ?? [] {
      var one = selection
      one.rowIDs = [row]
      let removed = try work(one)
      all.count += removed.count
      all.hosts.formUnion(removed.hosts)
      _ = try? connection.checkpoint(.truncating)
    }
    return all
  }

  /// Returns the freed space to a file system that has little left.
  private func giveBackOnShortDisk() async {
    // The rows are already removed; where the space cannot be returned now, maintenance returns it.
    _ = try? await writer.perform { [writer] (connection) throws(CacheStoreError) in
      if connection.isShortOfRoom { writer.room.giveBack(connection) }
    }
  }

  /// An account and host that have counts.
  private struct CountedHost: Hashable, Sendable {
    var account: Int64
    var host: String
  }

  private struct Removed: Sendable {
    var count = 0
    var hosts: Set<CountedHost> = []
  }

  /// Deletes the counts of hosts without stored rows, so that the statistics no longer show what was removed.
  private func forgetCounts(ofEmpty hosts: Set<CountedHost>) async throws(CacheStoreError) {
    guard !hosts.isEmpty else { return }
    try await writer.change { (connection) throws(CacheStoreError) in
      for host in hosts where try !Self.hasRows(host, connection) {
        _ = try connection.first(
          "DELETE FROM usage WHERE account_id = ?1 AND host = ?2", [host.account], [host.host])
      }
    }
  }

  private static func hasRows(_ host: CountedHost, _ connection: Connection) throws(CacheStoreError) -> Bool {
    // A path, a query or nothing follows the host. With OR SQLite would read every row of the account.
    let rows = "SELECT 1 FROM last_request WHERE account_id = ?1 AND target"
    let text = """
      \(rows) = ?2 UNION ALL \(rows) >= ?2 || '/' AND target < ?2 || '0'
      UNION ALL \(rows) >= ?2 || '?' AND target < ?2 || '@' LIMIT 1
      """
    for prefix in host.host.hasPrefix("key:") ? [""] : ["https://", "http://"] {
      if try connection.first(text, [host.account], [prefix + host.host]) != nil { return true }
    }
    return false
  }

  static func rowIDs(
    _ selection: EntrySelection, _ connection: Connection
  ) throws(CacheStoreError) -> [Int64] {
    try connection.withStatement(selection.text("r.id")) {
      (statement) throws(CacheStoreError) in
      selection.bind(to: statement)
      var ids: [Int64] = []
      while try statement.step() { ids.append(statement.integer(0)) }
      return ids
    }
  }

  /// Removes one row.
  /// - Returns: Whether it was there.
  @discardableResult package func remove(rowID: Int64, started: StartMark) async throws(CacheStoreError)
    -> Bool
  {
    var selection = EntrySelection.all
    selection.rowIDs = [rowID]
    return try await remove(selection, started: started) > 0
  }

  private func removeAll(
    _ selection: EntrySelection, _ started: StartMark, _ connection: Connection
  ) throws(CacheStoreError) -> Removed {
    let found = try connection.withStatement(
      selection.text("r.id, r.account_id, r.target, r.body_id, r.body_bytes")
    ) {
      (statement) throws(CacheStoreError) -> [(
        row: Int64, account: Int64, target: String, body: Int64, length: Int64
      )]
      in
      selection.bind(to: statement)
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
      try rowWriter.recordTombstone(row.target, row.account, started, connection)
      try rowWriter.deleteRow(row.row, withBody: row.body, length: row.length, connection)
    }
    return Removed(
      count: found.count,
      hosts: Set(found.map { CountedHost(account: $0.account, host: Self.host(of: $0.target)) }))
  }
}
