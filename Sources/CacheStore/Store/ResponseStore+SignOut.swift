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
  /// - Throws: `busy`, naming the process, where one keeps the last of the bytes by reading for longer than
  ///   `busyTimeout`; the account is then signed out all the same.
  public func signOut(accountName: String) async throws(CacheStoreError) {
    guard try files.checkedStatus() != nil else { return }
    try await writes.perform { (connection) throws(CacheStoreError) in
      let id = try self.accountID(named: accountName, connection)
      // The fence: what belongs to the old identifier fails its foreign key from here on.
      try connection.transaction { () throws(CacheStoreError) in
        _ = try connection.first("DELETE FROM account WHERE name = ?1", [], [accountName])
      }
      self.forgetCounts(accountID: id, name: accountName)
      try self.removeOtherFiles()
      try self.eraseDeletedBytes(connection)
    }
  }

  /// Files that may hold an account's bytes beside the store: damaged ones set aside, and drafts of their successors.
  private func removeOtherFiles() throws(CacheStoreError) {
    for path in [files.mended, files.database + ".new"] { unlink(path) }
    let left = SetAside(files: files).removeAll()
    guard left.isEmpty else {
      throw CacheStoreError(
        .readOnly,
        "the account is signed out, but \(left.joined(separator: ", ")) cannot be removed; remove it yourself"
      )
    }
  }

  /// Rewrites the file without the bytes of what was deleted, and empties the log.
  ///
  /// `secure_delete` would not do: it leaves copies of index cells in the gaps of rebalanced pages.
  private func eraseDeletedBytes(_ connection: Connection) throws(CacheStoreError) {
    try connection.execute("VACUUM")
    let deadline = connection.waiting.deadline
    // The checkpoint would wait for readers by itself, but could then not say who they are.
    connection.waiting.deadline = 0
    while try !connection.checkpoint(.truncating) {
      guard Platform.monotonicNanoseconds() < deadline else {
        let holders = LockHolders.processes(holding: files.sharedMemory)
        let who =
          holders.isEmpty ? "another process" : "process " + holders.map(String.init).joined(separator: ", ")
        throw CacheStoreError(
          .busy,
          "the account is signed out, but \(who) still reads the store \(files.database), which keeps some of "
            + "its bytes in the log; end it and sign out again")
      }
      Platform.rest(nanoseconds: 1_000_000)
    }
  }
}
