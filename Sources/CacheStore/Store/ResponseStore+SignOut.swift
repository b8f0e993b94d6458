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
  /// Rewrites the whole file, which takes a second or so for each gigabyte. A store that turns out to be damaged
  /// meanwhile is repaired, and its damaged file removed like every other that may hold the account's bytes: what is gone is
  /// looked at last.
  /// - Throws: `busy`, naming the processes, where one has the store for itself, or keeps the last of the bytes by
  ///   reading, for longer than `busyTimeout`; `readOnly`, naming the file, where one cannot be removed. The message says
  ///   whether the account is signed out all the same.
  public func signOut(accountName: String) async throws(CacheStoreError) {
    for _ in 0..<Self.attempts {
      guard try files.checkedStatus() != nil else { return try removeOtherFiles() }
      if try await signOutOnce(accountName) { return }
    }
    throw CacheStoreError(
      .corrupt, "the account may not be gone: the store \(files.database) is damaged again and again",
      hint: "check the disk, then sign out again")
  }

  /// - Returns: Whether the account is gone, and no file left that may hold its bytes: another repair, by whichever
  ///   process, may have been at work in between.
  private func signOutOnce(_ accountName: String) async throws(CacheStoreError) -> Bool {
    try await namingHolders("the account is not signed out, because") { () async throws(CacheStoreError) in
      try await endAccount(accountName)
    }
    // Before the file is rewritten: on a full disk that is where the room comes from.
    try removeOtherFiles()
    try await namingHolders("the account is signed out, but its last bytes stay, because") {
      () async throws(CacheStoreError) in
      try await writer.perform { (connection) throws(CacheStoreError) in
        try self.eraseDeletedBytes(connection)
      }
    }
    try removeOtherFiles()
    let id = try await writer.perform { (connection) throws(CacheStoreError) in
      try self.accountID(named: accountName, connection)
    }
    return id == nil && otherFiles().isEmpty
  }

  /// How often it is begun anew, where the store is found damaged while it is done.
  private static let attempts = 3

  private func endAccount(_ accountName: String) async throws(CacheStoreError) {
    try await writer.perform { (connection) throws(CacheStoreError) in
      let id = try self.accountID(named: accountName, connection)
      do throws(CacheStoreError) {
        try self.deleteAccount(accountName, connection)
      } catch {
        guard error.reason == .full, let id else { throw error }
        try self.deleteRowByRow(id, connection)
        try self.deleteAccount(accountName, connection)
      }
      self.forgetCounts(accountID: id, name: accountName)
      // The hosts it counted: what is of others is kept. Whoever appends later finds the account gone.
      for _ in 0..<3 where UsageJournal(files: self.files).isThere {
        try connection.transaction { () throws(CacheStoreError) in
          try self.storeUsageJournal(isLast: true, connection)
        }
      }
    }
  }

  /// The fence: what belongs to the old identifier fails its foreign key from here on.
  private func deleteAccount(_ name: String, _ connection: Connection) throws(CacheStoreError) {
    try connection.transaction { () throws(CacheStoreError) in
      _ = try connection.first("DELETE FROM account WHERE name = ?1", [], [name])
    }
  }

  /// Removes what belongs to an account in the smallest of steps, with the log written back after each: how a disk
  /// without room is begun to be emptied.
  private func deleteRowByRow(_ account: Int64, _ connection: Connection) throws(CacheStoreError) {
    for table in ["last_request", "body"] {
      while true {
        _ = try? connection.checkpoint(.truncating)
        let row = try connection.first("SELECT id FROM \(table) WHERE account_id = ?1 LIMIT 1", [account])
        guard let row else { break }
        try connection.transaction { () throws(CacheStoreError) in
          _ = try connection.first("DELETE FROM \(table) WHERE id = ?1", [row])
        }
      }
    }
    _ = try? connection.checkpoint(.truncating)
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
        .busy, "\(outcome) the store \(files.database) is in use by \(holders)",
        hint: "end what uses it, and sign out again",
        sqliteCode: error.sqliteCode, sql: error.sql)
    }
  }

  /// Files that may hold an account's bytes beside the store: damaged ones set aside, and drafts of their successors,
  /// each with what SQLite puts beside it.
  private func otherFiles() -> [String] {
    let kinds = [".damaged-", ".new", ".mended"].map { files.name + $0 }
    return FolderNames.all(in: files.folder).filter { name in kinds.contains { name.hasPrefix($0) } }.sorted()
      .map {
        files.folder == "/" ? "/" + $0 : files.folder + "/" + $0
      }
  }

  private func removeOtherFiles() throws(CacheStoreError) {
    for path in otherFiles() + [files.takenUsageJournal] { unlink(path) }
    let left = otherFiles()
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
    do throws(CacheStoreError) {
      try connection.execute("VACUUM")
    } catch {
      guard error.reason == .full else { throw error }
      // What the account had is free by now: given back, it is room for the copy.
      writer.room.giveBack(connection)
      try rewrite(connection)
    }
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

  private func rewrite(_ connection: Connection) throws(CacheStoreError) {
    do throws(CacheStoreError) {
      try connection.execute("VACUUM")
    } catch {
      guard error.reason == .full else { throw error }
      throw CacheStoreError(
        .full,
        "the account is signed out, but traces of it may stay in \(files.database): the disk has no room to rewrite it",
        hint: "free some disk space and sign out again", sqliteCode: error.sqliteCode, sql: error.sql)
    }
  }
}
