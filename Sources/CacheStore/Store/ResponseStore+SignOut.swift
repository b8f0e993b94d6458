internal import Synchronization

#if canImport(Darwin)
  internal import Darwin
#else
  internal import Glibc
#endif

extension ResponseStore {
  /// Ends an account: from the first moment on nothing of it is stored or found any more, in any process, and when this
  /// returns its bytes are gone from the store's files.
  ///
  /// Rewrites the whole file, which takes a second or so for each gigabyte.
  /// - Throws: `busy`, naming the processes, where one has the store for itself, or keeps the last of the bytes by
  ///   reading, for longer than `busyTimeout`. The message says whether the account is signed out all the same.
  public func signOut(accountName: String) async throws(CacheStoreError) {
    guard try files.checkedStatus() != nil else { return }
    try await namingHolders("the account is not signed out, because") { () async throws(CacheStoreError) in
      try await writes.perform { (connection) throws(CacheStoreError) in
        let id = try self.accountID(named: accountName, connection)
        // The fence: what belongs to the old identifier fails its foreign key from here on.
        try connection.transaction { () throws(CacheStoreError) in
          _ = try connection.first("DELETE FROM account WHERE name = ?1", [], [accountName])
        }
        self.forgetCounts(accountID: id, name: accountName)
        // The hosts it counted: what is of others is kept. Whoever appends later finds the account gone.
        for _ in 0..<3 where UsageFile(files: self.files).isThere {
          try connection.transaction { () throws(CacheStoreError) in
            try self.takeInUses(isLast: true, connection)
          }
        }
      }
    }
    try removeOtherFiles()
    try await namingHolders("the account is signed out, but its last bytes stay, because") {
      () async throws(CacheStoreError) in
      try await writes.perform { (connection) throws(CacheStoreError) in
        try self.eraseDeletedBytes(connection)
      }
    }
  }

  /// The processes that read or write the store at this moment, in words: `process 12 (sqlite3)`.
  package var holders: String { LockHolders.description(on: files) }

  /// Does work; where other processes keep it from being done, says which.
  private func namingHolders(
    _ outcome: String, _ work: () async throws(CacheStoreError) -> Void
  ) async throws(CacheStoreError) {
    do throws(CacheStoreError) {
      try await work()
    } catch {
      guard error.reason == .busy else { throw error }
      throw CacheStoreError(
        .busy, "\(outcome) \(holders) uses the store \(files.database)", hint: "end it and sign out again",
        sqliteCode: error.sqliteCode, sql: error.sql)
    }
  }

  /// Files that may hold an account's bytes beside the store: damaged ones set aside, and drafts of their successors.
  private func removeOtherFiles() throws(CacheStoreError) {
    for path in [files.mended, files.database + ".new"] { unlink(path) }
    let left = SetAside(files: files).removeAll()
    guard left.isEmpty else {
      throw CacheStoreError(
        .readOnly, "the account is signed out, but \(left.joined(separator: ", ")) cannot be removed",
        hint: "remove it yourself and sign out again")
    }
  }

  /// Rewrites the file without the bytes of what was deleted, and empties the log.
  ///
  /// `secure_delete` would not do: it leaves copies of index cells in the gaps of rebalanced pages.
  private func eraseDeletedBytes(_ connection: Connection) throws(CacheStoreError) {
    // The copy that VACUUM makes holds no byte of the account; in memory it would be as large as the store.
    try connection.execute("PRAGMA temp_store = FILE")
    try connection.execute("VACUUM")
    try connection.execute("PRAGMA temp_store = MEMORY")
    let deadline = connection.waiting.deadline
    // The checkpoint would wait for readers by itself, but could then not say who they are.
    connection.waiting.deadline = 0
    while try !connection.checkpoint(.truncating) {
      guard Platform.monotonicNanoseconds() < deadline else {
        throw CacheStoreError(.busy, "the log of \(files.database) cannot be emptied")
      }
      Platform.rest(nanoseconds: 1_000_000)
    }
  }
}
