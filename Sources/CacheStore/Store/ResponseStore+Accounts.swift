internal import CSQLite

extension ResponseStore {
  /// The account's row, inserted where there is none; its identifier is the account's generation.
  ///
  /// The empty name is the account of requests without credentials.
  package func accountID(named name: String) async throws(CacheStoreError) -> Int64 {
    try await awaited { accountID(named: name, completion: $0) }
  }

  /// Makes the row as ``accountID(named:)`` does, before all that the store is asked for after this returns, and calls
  /// `completion` on the store's queue.
  package func accountID(
    named name: String, completion: @escaping @Sendable (Result<Int64, CacheStoreError>) -> Void
  ) {
    writer.perform(
      { (connection) throws(CacheStoreError) in
        // In a file that was removed, the identifier may be another account's or none.
        if connection.isCurrent, let id = try self.accountID(named: name, connection) { return id }
        return try connection.transaction { () throws(CacheStoreError) in
          // Another process may have inserted it first.
          if let id = try self.accountID(named: name, connection) { return id }
          let statement = try connection.statement(.insertAccount)
          statement.bind(1, name)
          try statement.run()
          let id = connection.lastInsertedRow
          // The name was made with the key. Where the key cannot be read, no proof is stored.
          if name.hasPrefix("auto:"), let key = try? DigestKey.load(nextTo: self.files.database) {
            _ = try connection.first(
              "INSERT OR IGNORE INTO digest_key (id, proof) VALUES (1, ?1)", [], [key.proof])
          }
          return id
        }
      }, completion: completion)
  }

  /// The account's row, if there is one; makes neither a row nor a store.
  package func knownAccountID(named name: String) async throws(CacheStoreError) -> Int64? {
    try await query { (connection) throws(CacheStoreError) in
      try self.accountID(named: name, connection)
    } ?? nil
  }

  func accountID(named name: String, _ connection: Connection) throws(CacheStoreError) -> Int64? {
    let statement = try connection.statement(.accountID)
    defer { statement.reset() }
    statement.bind(1, name)
    return try statement.step() ? statement.integer(0) : nil
  }

  /// Whether the account was signed out: this store assigned the identifier, and its row is gone. `false` where the
  /// file was replaced by another store, which says nothing about the account.
  package func isRevoked(accountID id: Int64) async throws(CacheStoreError) -> Bool {
    try await query { (connection) throws(CacheStoreError) in
      try self.isRevoked(id, connection)
    } ?? false
  }

  func isRevoked(_ id: Int64, _ connection: Connection) throws(CacheStoreError) -> Bool {
    guard try !connection.hasAccount(id) else { return false }
    let last = try connection.integer(Query.lastAccountText) ?? 0
    return id >> Schema.accountBits == last >> Schema.accountBits
  }

  /// Runs work that writes rows of an account. Where a foreign key fails, throws `signedOut` where the account was
  /// signed out, `corrupt` where their table is damaged, or `missing` where the file is another.
  func ofAccount<Result>(
    _ id: Int64, _ connection: Connection, _ work: () throws(CacheStoreError) -> Result
  ) throws(CacheStoreError) -> Result {
    do throws(CacheStoreError) {
      return try work()
    } catch {
      guard error.reason == .signedOut, try !isRevoked(id, connection) else { throw error }
      // A damaged index of names gives an identifier that no account has, on every attempt.
      guard try DamageCheck.isSound("account", connection) else {
        throw CacheStoreError(
          .corrupt, "the accounts in \(files.database) are damaged", sqliteCode: SQLITE_CORRUPT)
      }
      throw CacheStoreError(
        .missing, "the store \(files.database) was removed while it was in use", sqliteCode: error.sqliteCode)
    }
  }
}
