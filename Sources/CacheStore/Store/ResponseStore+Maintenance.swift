extension ResponseStore {
  /// Nanoseconds between two maintenance runs of a store, by whichever process: what they collect takes minutes to
  /// accumulate.
  static let maintenanceInterval: Int64 = 60_000_000_000

  /// Whether maintenance is due; `true` also records that the caller runs it now, so that only one process does.
  ///
  /// - Parameter instant: Nanoseconds since boot.
  package func takeMaintenanceTurn(at instant: Int64) -> Bool {
    guard !configuration.isReadOnly,
      let last = lockFile.takeTurn(LockFile.Slot.maintenance, at: instant, every: Self.maintenanceInterval)
    else { return false }
    // A new store has nothing to maintain, and other processes may be waiting for its first commit.
    return last != 0
  }

  /// Whether this process has written to the store.
  package var isWriting: Bool { writer.isOpen }

  /// Writes the counts kept in memory, and checkpoints a long log: long-running programs do this more often than full
  /// maintenance. A program that only reads opens no write connection for it.
  package func performSmallMaintenance() async {
    guard writer.isOpen else {
      if !leaveUsage() { await flushUsage() }
      return
    }
    await flushUsage()
    // Law 9: the next call does what failed now.
    _ = try? await Trimming(of: self).writeBackLog()
  }

  /// Runs the maintenance that no delivery waits for: usage marks and counts, released bodies, limits, the log.
  ///
  /// Works in short steps, between which the store does other work, and begins no step after `budget`. The next call,
  /// of this process or another, does the rest.
  ///
  /// - Returns: The error that ended it early, or `nil`; the next call starts over (law 9).
  @discardableResult package func performMaintenance(budget: Duration = .milliseconds(50)) async
    -> CacheStoreError?
  {
    guard !configuration.isReadOnly, FileStatus(path: files.database) != nil else { return nil }
    let deadline = Platform.monotonicNanoseconds() + budget.wholeNanoseconds
    await flushUsage()
    let trimming = Trimming(of: self)
    do throws(CacheStoreError) {
      // The log first, because a long one delays the next process's start.
      try await trimming.writeBackLog()
      try await trimming.collectReleased(until: deadline)
      try await collectUnfinished(until: deadline)
      try await collectOld()
      try await trimming.trim(until: deadline)
      Reserve(files: files).make()
      return nil
    } catch {
      return error
    }
  }

  // MARK: Bodies

  /// Deletes cut-off bodies that no process is receiving: at once, or after `partialLifetime` where they can be
  /// resumed. A body's lease shows whether a process is receiving it.
  private func collectUnfinished(until deadline: Int64) async throws(CacheStoreError) {
    let limit = configuration.now() - configuration.partialLifetime.wholeNanoseconds / 1_000_000
    var last: Int64 = 0
    while Platform.monotonicNanoseconds() < deadline {
      let after = last
      let next = try await writer.perform { (connection) throws(CacheStoreError) -> Int64? in
        guard let body = try connection.first(.unfinishedAfter, [limit, after]) else { return nil }
        guard let lease = try self.lease(.body(body)) else { return body }
        defer { lease.release() }
        try connection.transaction { () throws(CacheStoreError) in
          // The body may have been finished between the two statements.
          if try connection.bodyChecksum(of: body) == nil { try connection.release(body: body, at: 0) }
        }
        return body
      }
      guard let next else { break }
      last = next
    }
    try await Trimming(of: self).collectReleased(until: deadline)
  }

  /// Deletes removal marks older than a day. An exchange may last as long as its time limit, which has no upper bound;
  /// one that lasts longer than a day is not seen.
  ///
  /// Their age follows the clock since boot, which cannot be set. A mark of another boot is later than now on this
  /// clock, or becomes older than a day within the day; no exchange of that boot still runs.
  private func collectOld() async throws(CacheStoreError) {
    try await writer.perform { (connection) throws(CacheStoreError) in
      let text = "FROM removal WHERE started_ns NOT BETWEEN ?1 AND ?2"
      guard try connection.first("SELECT 1 \(text) LIMIT 1", self.rememberedStarts) != nil else { return }
      try connection.transaction { () throws(CacheStoreError) in
        // The clock is read again here, where nobody else can record a removal that would be later than its instant.
        _ = try connection.first("DELETE \(text)", self.rememberedStarts)
      }
    }
  }

  /// The earliest and the latest start mark of a removal that is remembered now.
  private var rememberedStarts: [Int64] {
    let bootNow = configuration.bootNow()
    return [bootNow - Self.removalLifetime, bootNow]
  }

  /// How long a removal is remembered, in nanoseconds: a day.
  private static let removalLifetime: Int64 = 86_400_000_000_000

  // MARK: A single file

  /// Moves everything stored into the one database file: no log remains, and none is needed to read it.
  ///
  /// For a store that no other process has open, before it is closed: the file can then be copied and sent.
  package func convertToSingleFile() async throws(CacheStoreError) {
    try await writer.perform { [writer] (connection) throws(CacheStoreError) in
      // Leaving WAL requires an exclusive lock, and the checkpointer and the idle readers have the file open too.
      writer.checkpointer.close()
      writer.readers.removeAll()
      try connection.leaveLog()
    }
  }
}
