extension ResponseStore {
  /// The account's row, made where there is none; its identifier is the account's generation.
  ///
  /// The empty name is the account of requests without credentials.
  public func accountID(named name: String) async throws(CacheStoreError) -> Int64 {
    try await writer.perform { (connection) throws(CacheStoreError) in
      // Of a file that was removed the identifier is another's, or nobody's.
      if connection.isCurrent, let id = try self.accountID(named: name, connection) { return id }
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

  /// Whether the account was signed out: this store gave the identifier out, and its row is gone. Of another file, put in
  /// the place of one that was removed, nothing follows.
  package func isRevoked(accountID id: Int64) async throws(CacheStoreError) -> Bool {
    try await read { deadline throws(CacheStoreError) in
      try self.pool.withConnection(waitingUntil: deadline) { (connection) throws(CacheStoreError) in
        try self.isRevoked(id, connection)
      } ?? false
    }
  }

  func isRevoked(_ id: Int64, _ connection: Connection) throws(CacheStoreError) -> Bool {
    guard try accountName(of: id, connection) == nil else { return false }
    let last = try connection.integer("SELECT seq FROM sqlite_sequence WHERE name = 'account'") ?? 0
    return id >> Schema.accountBits == last >> Schema.accountBits
  }

  /// Does work that writes rows of an account; where they were refused, says whether the account was signed out or the
  /// file is another.
  func ofAccount<Result>(
    _ id: Int64, _ connection: Connection, _ work: () throws(CacheStoreError) -> Result
  ) throws(CacheStoreError) -> Result {
    do throws(CacheStoreError) {
      return try work()
    } catch {
      guard error.reason == .signedOut, try !isRevoked(id, connection) else { throw error }
      throw CacheStoreError(
        .missing, "the store \(files.database) was removed while it was in use", sqliteCode: error.sqliteCode)
    }
  }

  func accountName(of id: Int64, _ connection: Connection) throws(CacheStoreError) -> String? {
    try connection.withStatement("SELECT name FROM account WHERE id = ?1") {
      (statement) throws(CacheStoreError) in
      statement.bind(1, id)
      return try statement.step() ? statement.text(0) : nil
    }
  }
}
