internal import Synchronization

extension ResponseStore {
  /// Notes that a row was delivered; nothing is written before the next batch.
  public func markUsed(rowID: Int64, atMilliseconds instant: Int64) {
    usage.withLock { $0.mark(rowID, at: instant) }
  }

  /// Adds to the counts of an account and host; nothing is written before the next batch.
  public func count(accountID: Int64, host: String, _ count: UsageCount) {
    usage.withLock { $0.count(.id(accountID), host: host, count) }
  }

  /// Adds to the counts of an account that may have no row yet. What an account's row does not stand for when the next
  /// batch is written is not counted.
  public func count(accountName: String, host: String, _ count: UsageCount) {
    usage.withLock { $0.count(.name(accountName), host: host, count) }
  }

  /// Forgets what is counted of an account that is signed out.
  func forgetCounts(accountID id: Int64?, name: String) {
    usage.withLock { batch in
      batch.forgetCounts { account in account == .name(name) || id.map { account == .id($0) } ?? false }
    }
  }

  /// Writes what waits, in memory and in `STORE.uses`, in one transaction. What cannot be written is dropped: it is a
  /// convenience.
  /// - Parameter timeLimit: How long to wait for other processes, where it is another than `busyTimeout`.
  func flushUsage(within timeLimit: Duration? = nil) async {
    let batch = takeBatch()
    guard !configuration.isReadOnly, FileStatus(path: files.database) != nil else { return }
    guard !batch.isEmpty || UsageJournal(files: files).isThere else { return }
    // No one waits for these numbers, and no delivery depends on them.
    _ = try? await writer.perform(within: timeLimit) { (connection) throws(CacheStoreError) in
      try connection.transaction(isStoring: true) { () throws(CacheStoreError) in
        try self.storeUsageJournal(connection)
        for mark in batch.latestMarks() { try self.mark(mark.row, at: mark.instant, connection) }
        for entry in try self.counts(of: batch, connection).known { try self.add(entry, connection) }
      }
    }
  }

  /// Leaves what waits in memory in `STORE.uses`, for the next who writes: far cheaper than a transaction, and done on
  /// the calling thread.
  /// - Returns: `false` where ``flushUsage(within:)`` is the way: it is too much, the file cannot be written, or has
  ///   become long.
  func leaveUsage() -> Bool {
    let batch = takeBatch()
    guard !configuration.isReadOnly, FileStatus(path: files.database) != nil else { return true }
    guard !batch.isEmpty else { return !UsageJournal(files: files).isLong }
    var outcome = UsageJournal.Appended.refused
    // Nothing is put beside a file that may be something else; where the store is busy, the queue is the way too.
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

  /// The lines for a batch. The file is held meanwhile, so that no account of theirs is signed out before they are in it
  /// and stays there.
  private func lines(of batch: UsageBatch) throws(CacheStoreError) -> [UInt8]? {
    let look = { (connection: Connection) throws(CacheStoreError) -> [UInt8]? in
      guard let identity = connection.identity else { return nil }
      var lines = UsageJournalLines()
      lines.marks = batch.latestMarks()
      let counts = try self.counts(of: batch, connection)
      // The row of an account that is new may be on its way through the queue, and there it is waited for.
      guard counts.areAllKnown else { return nil }
      lines.counts = counts.known
      return lines.bytes(of: identity.inode)
    }
    if let lines = writer.readNow(look) { return lines }
    return try pool.withConnection(waitingUntil: 0, look) ?? nil
  }

  /// Takes in what waits in `STORE.uses`, inside a transaction; once in each.
  ///
  /// Before a row goes, too: its identifier may be given to another, and what was used last decides which goes.
  /// - Parameter isLast: Whether nothing may stay in the file.
  func storeUsageJournal(isLast: Bool = false, _ connection: Connection) throws(CacheStoreError) {
    guard !connection.hasStoredUsageJournal, !configuration.isReadOnly else { return }
    connection.hasStoredUsageJournal = true
    let file = UsageJournal(files: files)
    guard let bytes = file.take(isLast: isLast) else { return }
    connection.afterCommit = { file.removeTaken() }
    let lines = UsageJournalLines(bytes, of: connection.identity?.inode ?? 0)
    for mark in lines.marks { try self.mark(mark.row, at: mark.instant, connection) }
    for count in lines.counts where try accountName(of: count.account, connection) != nil {
      try add(count, connection)
    }
  }

  private func mark(_ row: Int64, at instant: Int64, _ connection: Connection) throws(CacheStoreError) {
    let statement = try connection.statement(.markUsed)
    statement.bind(1, row)
    statement.bind(2, instant)
    try statement.run()
  }

  private func add(_ entry: UsageJournalLines.Count, _ connection: Connection) throws(CacheStoreError) {
    let count = entry.count
    let statement = try connection.statement(.addUsage)
    statement.bind(1, entry.account)
    statement.bind(2, entry.host)
    let ahead = count.anticipations
    let numbers = [
      count.stored, count.fresh, count.unchanged, count.failed, count.savedBytes, count.savedMilliseconds,
      ahead.refused, ahead.committed, ahead.unused, ahead.leadMilliseconds, ahead.wonMilliseconds,
      ahead.wastedBytes,
    ]
    for (index, number) in numbers.enumerated() {
      statement.bind(Int32(index + 3), min(number, Query.mostCounted))
    }
    try statement.run()
  }

  /// A batch's counts, by the rows of those accounts that have one.
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
    case .id(let id): try accountName(of: id, connection) == nil ? nil : id
    case .name(let name): try accountID(named: name, connection)
    }
  }
}
