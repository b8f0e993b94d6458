extension ResponseStore {
  /// The account's row, made where there is none; its identifier is the account's generation.
  ///
  /// The empty name is the account of requests without credentials.
  public func accountID(named name: String) async throws(CacheStoreError) -> Int64 {
    try await writes.perform { (connection) throws(CacheStoreError) in
      if let id = try self.accountID(named: name, connection) { return id }
      return try connection.transaction { () throws(CacheStoreError) in
        // Another process may have been first.
        if let id = try self.accountID(named: name, connection) { return id }
        let statement = try connection.statement(.insertAccount)
        statement.bind(1, name)
        try statement.run()
        let id = connection.lastInsertedRow
        // Without the key the name could not have been made; where it cannot be read there is no proof to leave.
        if name.hasPrefix("auto:"), let key = try? DigestKey.load(nextTo: self.files.database) {
          _ = try connection.first(
            "INSERT OR IGNORE INTO digest_key (id, proof) VALUES (1, ?1)", [], [key.proof])
        }
        return id
      }
    }
  }

  func accountID(named name: String, _ connection: Connection) throws(CacheStoreError) -> Int64? {
    let statement = try connection.statement(.accountID)
    defer { statement.reset() }
    statement.bind(1, name)
    return try statement.step() ? statement.integer(0) : nil
  }

  func accountName(of id: Int64, _ connection: Connection) throws(CacheStoreError) -> String? {
    try connection.withStatement("SELECT name FROM account WHERE id = ?1") {
      (statement) throws(CacheStoreError) in
      statement.bind(1, id)
      return try statement.step() ? statement.text(0) : nil
    }
  }

  // MARK: Pauses

  /// Notes for every process that an origin asked to be left alone until an instant (`Retry-After`).
  ///
  /// - Parameters:
  ///   - origin: `scheme://host:port`.
  ///   - instant: Milliseconds since 1970-01-01 UTC.
  public func pause(
    accountID: Int64, origin: String, untilMilliseconds instant: Int64
  ) async throws(CacheStoreError) {
    try await writes.perform { (connection) throws(CacheStoreError) in
      try connection.transaction { () throws(CacheStoreError) in
        let statement = try connection.statement(.setPause)
        statement.bind(1, accountID)
        statement.bind(2, origin)
        statement.bind(3, instant)
        try statement.run()
      }
    }
  }

  /// Until when the origin asked to be left alone, in milliseconds since 1970-01-01 UTC; `nil` where it did not.
  public func pausedUntil(accountName: String, origin: String) async throws(CacheStoreError) -> Int64? {
    try await read { deadline throws(CacheStoreError) in
      try self.pausedUntil(accountName, origin, waitingUntil: deadline)
    }
  }

  /// The same on the calling thread, without waiting.
  public func pausedUntilNow(accountName: String, origin: String) throws(CacheStoreError) -> Int64? {
    try checkRunning()
    return try pausedUntil(accountName, origin, waitingUntil: 0)
  }

  private func pausedUntil(
    _ accountName: String, _ origin: String, waitingUntil deadline: Int64
  ) throws(CacheStoreError) -> Int64? {
    let found = try pool.withConnection(waitingUntil: deadline) {
      (connection) throws(CacheStoreError) -> Int64? in
      let statement = try connection.statement(.pausedUntil)
      defer { statement.reset() }
      statement.bind(1, accountName)
      statement.bind(2, origin)
      return try statement.step() ? statement.integer(0) : nil
    }
    return found ?? nil
  }
}
