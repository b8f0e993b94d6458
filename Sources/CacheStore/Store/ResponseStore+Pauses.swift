extension ResponseStore {
  /// Records an origin's `Retry-After` for every process, and deletes pauses that are over. A pause of the same
  /// responder that was heard later stays.
  ///
  /// - Parameters:
  ///   - accountID: The account whose request heard it.
  ///   - responder: `scheme://host[:port]`, followed by a space and the route where the connection was not an
  ///     ordinary one.
  ///   - pause: The pause, heard in the present boot.
  /// - Throws: `signedOut` where the account is gone, `missing` where the store was replaced by another.
  package func pause(accountID: Int64, responder: String, _ pause: Pause) async throws(CacheStoreError) {
    try await writer.perform { (connection) throws(CacheStoreError) in
      try self.record(pause, of: responder, accountID: accountID, connection)
    }
  }

  /// Records a pause as ``pause(accountID:responder:_:)`` does, and does not wait for that; ``close()`` does.
  /// Does nothing where the account has no row.
  package func leavePause(accountName: String, responder: String, _ pause: Pause) {
    writer.submit { (connection) throws(CacheStoreError) in
      guard let id = try self.accountID(named: accountName, connection) else { return }
      try self.record(pause, of: responder, accountID: id, connection)
    }
  }

  private func record(
    _ pause: Pause, of responder: String, accountID: Int64, _ connection: Connection
  ) throws(CacheStoreError) {
    try connection.transaction(isStoring: true) { () throws(CacheStoreError) in
      // Not the instant at which this pause was heard: while it waited for the queue, others may have heard theirs.
      let now = configuration.bootNow()
      _ = try connection.first(
        """
        DELETE FROM pause
        WHERE heard_boot <> ?2 OR heard_ns > ?1 OR heard_ns <= ?1 - min(pause_ms, 3600000) * 1000000
        """, [now], [pause.heard.boot])
      try ofAccount(accountID, connection) { () throws(CacheStoreError) in
        try Self.insert(pause, of: responder, accountID: accountID, connection)
      }
    }
  }

  private static func insert(
    _ pause: Pause, of responder: String, accountID: Int64, _ connection: Connection
  ) throws(CacheStoreError) {
    try connection.withStatement(
      """
      INSERT INTO pause (account_id, responder, heard_boot, heard_ns, pause_ms) VALUES (?1, ?2, ?3, ?4, ?5)
      ON CONFLICT DO UPDATE SET heard_boot = excluded.heard_boot, heard_ns = excluded.heard_ns, pause_ms = excluded.pause_ms
      WHERE excluded.heard_boot <> heard_boot OR excluded.heard_ns >= heard_ns
      """
    ) { (statement) throws(CacheStoreError) in
      statement.bind(1, accountID)
      statement.bind(2, responder)
      statement.bind(3, pause.heard.boot)
      statement.bind(4, pause.heard.nanoseconds)
      statement.bind(5, pause.milliseconds)
      try statement.run()
    }
  }

  /// A responder's latest pause, over or not; on the calling thread, without waiting.
  package func pauseNow(accountName: String, responder: String) throws(CacheStoreError) -> Pause? {
    try writer.checkRunning()
    let found = try pool.withConnection(waitingUntil: 0) { (connection) throws(CacheStoreError) -> Pause? in
      let statement = try connection.statement(.pauseOf)
      defer { statement.reset() }
      statement.bind(1, accountName)
      statement.bind(2, responder)
      return try statement.step() ? Pause(statement, from: 0) : nil
    }
    return found ?? nil
  }

  /// The pauses still in force at that instant, by responder.
  package func pauses(at now: StartMark) async throws(CacheStoreError) -> [StoredPause] {
    let found = try await query { (connection) throws(CacheStoreError) in
      try Self.pauses(connection)
    }
    return (found ?? []).filter { $0.pause.remaining(at: now) != nil }
  }

  private static func pauses(_ connection: Connection) throws(CacheStoreError) -> [StoredPause] {
    try connection.withStatement(
      """
      SELECT p.heard_boot, p.heard_ns, p.pause_ms, a.name, p.responder
      FROM pause p JOIN account a ON a.id = p.account_id ORDER BY p.responder, a.name
      """
    ) { (statement) throws(CacheStoreError) in
      var found: [StoredPause] = []
      while try statement.step() {
        guard let pause = Pause(statement, from: 0) else { continue }
        found.append(StoredPause(account: statement.text(3), responder: statement.text(4), pause: pause))
      }
      return found
    }
  }

  /// Ends the pauses in force that satisfy the condition, which runs outside of the store.
  /// - Returns: How many there were.
  @discardableResult package func endPauses(
    at now: StartMark, where condition: @escaping @Sendable (StoredPause) -> Bool
  ) async throws(CacheStoreError) -> Int {
    guard FileStatus(path: files.database) != nil else { return 0 }
    let ended = try await pauses(at: now).filter(condition)
    guard !ended.isEmpty else { return 0 }
    return try await writer.change { (connection) throws(CacheStoreError) in
      var count = 0
      for stored in ended {
        // One that was heard since is another one.
        _ = try connection.first(
          """
          DELETE FROM pause
          WHERE responder = ?2 AND account_id = (SELECT id FROM account WHERE name = ?3)
            AND heard_boot = ?4 AND heard_ns = ?1
          """, [stored.pause.heard.nanoseconds],
          [stored.responder, stored.account, stored.pause.heard.boot])
        count += connection.changes
      }
      return count
    }
  }
}

extension Pause {
  /// Reads three columns of a statement's current row; `nil` where they are NULL.
  init?(_ statement: Statement, from column: Int32) {
    guard !statement.isNull(column) else { return nil }
    self.init(
      heard: StartMark(boot: statement.text(column), nanoseconds: statement.integer(column + 1)),
      milliseconds: statement.integer(column + 2))
  }
}
