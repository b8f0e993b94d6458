internal import Guards

extension ResponseStore {
  /// Notes that a row was delivered; written with the next batch.
  package func markUsed(rowID: Int64, atMilliseconds instant: Int64) {
    usage.withLock { $0.mark(rowID, at: instant) }
  }

  /// Adds to the counts of an account and host; written with the next batch.
  package func count(accountID: Int64, host: String, _ count: UsageCount) {
    usage.withLock { $0.count(.id(accountID), host: host, count) }
  }

  /// Adds to the counts of an account that may have no row yet. Counts of an account that still has no row when the
  /// batch is written are dropped.
  package func count(accountName: String, host: String, _ count: UsageCount) {
    usage.withLock { $0.count(.name(accountName), host: host, count) }
  }

  /// Counts a failure that was delivered, by its kind; written with the next batch.
  package func count(failure kind: String) {
    usage.withLock { $0.count(event: StoreStatistics.failed + kind) }
  }

  /// Discards the counts of an account that is signed out.
  func forgetCounts(accountID id: Int64?, name: String) {
    usage.withLock { batch in
      batch.forgetCounts { account in account == .name(name) || id.map { account == .id($0) } ?? false }
    }
  }

  /// Writes the counts in memory and in `STORE.uses` in one transaction. Counts that cannot be written are dropped:
  /// nothing depends on them.
  /// - Parameter timeLimit: How long to wait for other processes, where that differs from `busyTimeout`.
  func flushUsage(within timeLimit: Duration? = nil) async {
    let batch = takeBatch()
    guard !configuration.isReadOnly, FileStatus(path: files.database) != nil else { return }
    guard !batch.isEmpty || UsageJournal(files: files).isThere else { return }
    // No caller awaits these numbers, and no delivery depends on them.
    _ = try? await writer.perform(within: timeLimit) { (connection) throws(CacheStoreError) in
      try connection.transaction(isStoring: true) { () throws(CacheStoreError) in
        try self.rowWriter.storeUsageJournal(connection)
        for mark in batch.latestMarks() { try connection.add(mark) }
        for (name, count) in batch.events { try connection.add(event: name, count) }
        for count in try self.counts(of: batch, connection).known { try connection.add(count) }
      }
    }
  }

  /// Appends the counts in memory to `STORE.uses`, for the next process that writes: far cheaper than a transaction,
  /// and on the calling thread.
  /// - Returns: `false` where the caller must use ``flushUsage(within:)``: the batch is too large, the file cannot be
  ///   written, or it has become long.
  func leaveUsage() -> Bool {
    let batch = takeBatch()
    guard !configuration.isReadOnly, FileStatus(path: files.database) != nil else { return true }
    guard !batch.isEmpty else { return !UsageJournal(files: files).isLong }
    var outcome = UsageJournal.Appended.refused
    // No journal is placed beside a file that may not be a store; where the store is busy, the queue writes the
    // batch.
    if batch.isSmall, pool.isOpen || writer.isOpen {
      outcome =
        (try? UsageJournal(files: files).append { () throws(CacheStoreError) in try self.lines(of: batch) })
        ?? .refused
    }
    if case .done(let isLong) = outcome { return !isLong }
    usage.withLock { $0.putBack(batch) }
    return false
  }

  private func takeBatch() -> UsageBatch {
    usage.withLock { batch in
      defer { batch = UsageBatch() }
      return batch
    }
  }

  /// The journal lines of a batch. The caller holds the journal, so that counts of an account signed out meanwhile do
  /// not stay in it.
  private func lines(of batch: UsageBatch) throws(CacheStoreError) -> [UInt8]? {
    let read = { (connection: Connection) throws(CacheStoreError) -> [UInt8]? in
      guard let identity = connection.identity else { return nil }
      var lines = UsageJournalLines()
      lines.marks = batch.latestMarks()
      lines.events = batch.events
      let counts = try self.counts(of: batch, connection)
      // The row of a new account may still wait in the write queue; ``flushUsage(within:)`` runs behind it.
      guard counts.areAllKnown else { return nil }
      lines.counts = counts.known
      return lines.bytes(of: identity.inode)
    }
    if let lines = writer.readNow(read) { return lines }
    return try pool.withConnection(waitingUntil: 0, read) ?? nil
  }

  /// A batch's counts, for those accounts that have a row.
  private func counts(
    of batch: UsageBatch, _ connection: Connection
  ) throws(CacheStoreError) -> (known: [UsageJournalLines.Count], areAllKnown: Bool) {
    var known: [UsageJournalLines.Count] = []
    var areAllKnown = true
    try batch.forEachCount { (account, host, count) throws(CacheStoreError) in
      if let id = try self.id(of: account, connection) {
        known.append(UsageJournalLines.Count(account: id, host: host, count: count))
      } else if case .name = account {
        areAllKnown = false
      }
    }
    return (known, areAllKnown)
  }

  private func id(of account: UsageBatch.Account, _ connection: Connection) throws(CacheStoreError) -> Int64?
  {
    switch account {
    case .id(let id): try connection.hasAccount(id) ? id : nil
    case .name(let name): try accountID(named: name, connection)
    }
  }
}
