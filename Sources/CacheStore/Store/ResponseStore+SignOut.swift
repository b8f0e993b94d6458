internal import PlatformC
internal import Synchronization

extension ResponseStore {
  /// Signs an account out: from the first commit on no process stores or finds anything of it, and when the call
  /// returns, its bytes are gone from the store's files.
  ///
  /// Rewrites the whole file, which takes about a second per gigabyte. A store found damaged meanwhile is repaired,
  /// and its damaged file removed like every other file that may hold the account's bytes. The check that the account
  /// is gone comes last.
  /// - Throws: `busy`, naming the processes, where one locks the store, or keeps the last bytes by reading, for
  ///   longer than `busyTimeout`; `readOnly`, naming the file, where one cannot be removed. The message says whether
  ///   the account is signed out nevertheless.
  package func signOut(accountName: String) async throws(CacheStoreError) {
    for _ in 0..<Self.attempts {
      if case .missing = try files.presence() { return try await removeOtherFiles() }
      if try await signOutOnce(accountName) { return }
    }
    throw CacheStoreError(
      .corrupt, "the account may not be gone: the store \(files.database) is damaged again and again",
      hint: "check the disk, then sign out again")
  }

  /// - Returns: Whether the account is gone and no file is left that may hold its bytes; another repair, by any
  ///   process, may have run in between.
  private func signOutOnce(_ accountName: String) async throws(CacheStoreError) -> Bool {
    let ended = try await namingHolders("the account is not signed out, because") {
      () async throws(CacheStoreError) in
      try await endAccount(accountName)
    }
    // Before the file is rewritten, since on a full disk this frees the space for it.
    try await removeOtherFiles()
    try await namingHolders("the account is signed out, but its last bytes stay, because") {
      () async throws(CacheStoreError) in
      try await writer.perform { (connection) throws(CacheStoreError) in
        // Where a repair has replaced the file, this is done again with the new one.
        try connection.requireCurrent()
        try self.eraseDeletedBytes(connection)
      }
    }
    try await removeOtherFiles()
    let isGone = try await writer.perform { (connection) throws(CacheStoreError) in
      try connection.requireCurrent()
      return try self.isGone(accountName, ended, connection)
    }
    guard isGone else { return false }
    return try otherFiles().isEmpty
  }

  /// The number of attempts, where the store is found damaged during the sign-out.
  private static let attempts = 3

  /// The last identifier of an account when one was ended, and the file in which that was.
  private struct Ended: Sendable {
    let file: FileIdentity?
    let last: Int64
  }

  private func endAccount(_ accountName: String) async throws(CacheStoreError) -> Ended {
    try await writer.perform { (connection) throws(CacheStoreError) in
      let id = try self.accountID(named: accountName, connection)
      let last: Int64
      do throws(CacheStoreError) {
        last = try self.deleteAccount(accountName, connection)
      } catch {
        guard error.reason == .full, let id else { throw error }
        try self.deleteRowByRow(id, connection)
        last = try self.deleteAccount(accountName, connection)
      }
      self.forgetCounts(accountID: id, name: accountName)
      // The journal holds the account's hosts; storing it keeps only other accounts' counts. A process that appends
      // later finds the account gone.
      for _ in 0..<3 where UsageJournal(files: self.files).isThere {
        try connection.transaction { () throws(CacheStoreError) in
          try self.rowWriter.storeUsageJournal(isLast: true, connection)
        }
      }
      return Ended(file: connection.identity, last: last)
    }
  }

  /// Revokes the identifier: every later write for it fails its foreign key.
  ///
  /// Looks for the name in the table itself, which a damaged index may not lead to. SQLite then finds that the index
  /// has no such entry, and reports damage.
  /// - Returns: The last identifier that an account has had: one made later is another generation's.
  private func deleteAccount(_ name: String, _ connection: Connection) throws(CacheStoreError) -> Int64 {
    try connection.transaction { () throws(CacheStoreError) in
      _ = try connection.first("DELETE FROM account NOT INDEXED WHERE name = ?1", [], [name])
      return try connection.integer(Query.lastAccountText) ?? 0
    }
  }

  /// Whether neither the account nor a row of an account that is gone is in the tables, whatever their indexes say: an
  /// account's rows go with it as far as the index leads to them.
  ///
  /// Deletes such rows, and reports damage where they were not in the index: the repair leaves them behind.
  /// - Returns: `false` where there was something: its bytes have yet to be erased.
  private func isGone(
    _ name: String, _ ended: Ended, _ connection: Connection
  ) throws(CacheStoreError) -> Bool {
    // Who uses the account again meanwhile makes one with a greater identifier. In a file that a repair has made, any
    // may be the old one.
    let last = connection.identity == ended.file ? ended.last : .max
    let account = "SELECT id FROM account NOT INDEXED WHERE id <= ?1 AND name = ?2"
    guard try connection.first(account, [last], [name]) == nil else { return false }
    let left = "FROM last_request NOT INDEXED WHERE account_id NOT IN (SELECT id FROM account NOT INDEXED)"
    guard try connection.first("SELECT 1 \(left) LIMIT 1", []) != nil else { return true }
    try connection.transaction { () throws(CacheStoreError) in
      _ = try connection.first("DELETE \(left)", [])
    }
    return false
  }

  /// Deletes an account's rows in the smallest steps and checkpoints after each, which is how space is first freed on
  /// a full disk.
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
  }

  /// The processes that read or write the store now, in words: `process 12 (sqlite3)`.
  package var holders: String { LockHolders.description(on: files) }

  /// Runs work; where another process blocks it, throws an error that names the process.
  private func namingHolders<Result>(
    _ outcome: String, _ work: () async throws(CacheStoreError) -> Result
  ) async throws(CacheStoreError) -> Result {
    do throws(CacheStoreError) {
      return try await work()
    } catch {
      guard error.reason == .busy else { throw error }
      throw CacheStoreError(
        .busy, "\(outcome) the store \(files.database) is in use by \(holders)",
        hint: "end what uses it, and sign out again",
        sqliteCode: error.sqliteCode, sql: error.sql)
    }
  }

  /// Files beside the store that may hold an account's bytes: quarantined files and drafts of their replacements,
  /// each with SQLite's companion files; where the database alone was removed, its log, their index, its journal and
  /// the counts too.
  private func otherFiles() throws(CacheStoreError) -> [String] {
    let kinds = [".damaged-", ".new", ".repaired"].map { files.name + $0 }
    let orphans = files.isMissing ? ["-wal", "-shm", "-journal", ".uses"].map { files.name + $0 } : []
    do throws(FolderNames.Unreadable) {
      return try FolderNames.read(in: files.folder)
        .filter { name in orphans.contains(name) || kinds.contains { name.hasPrefix($0) } }
        .sorted().map { files.folder == "/" ? "/" + $0 : files.folder + "/" + $0 }
    } catch {
      // A folder that does not exist has no files.
      if error.number == ENOENT || error.number == ENOTDIR { return [] }
      let message =
        "the account is signed out, but there may be files with its bytes in \(files.folder), which cannot be read: "
        + Platform.describe(error.number)
      throw CacheStoreError(
        .readOnly, message,
        remedy: Platform.isOfDescriptors(error.number) ? nil : Remedy("make it readable, and sign out again"))
    }
  }

  /// Removes them while no process repairs the store: a repair moves the damaged file away, and then its replacement,
  /// which is one of these files, into its place.
  private func removeOtherFiles() async throws(CacheStoreError) {
    unlink(files.takenUsageJournal)
    guard try !otherFiles().isEmpty else { return }
    try await namingHolders("the account is signed out, but its last bytes stay, because") {
      () async throws(CacheStoreError) in
      try await awaited { done in
        self.writer.afterQueuedWork {
          done(
            Result { () throws(CacheStoreError) in
              try self.lockFile.lock(.file, within: self.configuration.busyTimeout)
              defer { self.lockFile.unlock(.file) }
              try self.removeOtherFilesNow()
            })
        }
      }
    }
  }

  private func removeOtherFilesNow() throws(CacheStoreError) {
    // Where a repair has just ended between its renames, one of them is all that there is of the store.
    try QuarantinedFiles(files: files).finishExchange()
    for path in try otherFiles() { unlink(path) }
    let left = try otherFiles()
    guard left.isEmpty else {
      throw CacheStoreError(
        .readOnly, "the account is signed out, but \(left.joined(separator: ", ")) cannot be removed",
        hint: "remove it yourself and sign out again")
    }
  }

  /// Rewrites the file without deleted bytes, and truncates the log.
  ///
  /// `secure_delete` is not enough: it leaves copies of index cells in the free space of rebalanced pages.
  private func eraseDeletedBytes(_ connection: Connection) throws(CacheStoreError) {
    // The temporary copy that VACUUM makes holds no byte of the account; in memory it would be as large as the store.
    try connection.execute("PRAGMA temp_store = FILE")
    do throws(CacheStoreError) {
      try connection.execute("VACUUM")
    } catch {
      guard error.reason == .full else {
        // Where another process was in the way, the connection stays in use.
        _ = try? connection.execute("PRAGMA temp_store = MEMORY")
        throw error
      }
      // The account's pages are free now; returned to the file system, they make space for the copy.
      writer.room.giveBack(connection)
      try rewrite(connection)
    }
    try connection.execute("PRAGMA temp_store = MEMORY")
    // Rewriting a large file takes longer than `busyTimeout`; the wait for readers begins after it.
    let deadline = Platform.monotonicNanoseconds() + configuration.busyTimeout.wholeNanoseconds
    // The checkpoint itself would wait for readers, but could not name them.
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
