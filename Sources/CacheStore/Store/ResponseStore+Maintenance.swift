extension ResponseStore {
  /// How often the housekeeping is due, whichever process does it: what it looks after takes minutes to come about.
  static let maintenanceInterval: Int64 = 60_000_000_000

  /// Whether the housekeeping is due, in which case the caller is taken to do it now; one process at a time is.
  ///
  /// - Parameter instant: Nanoseconds since boot.
  package func takeMaintenanceTurn(at instant: Int64) -> Bool {
    // Making a store makes the lock file; none is put beside something else.
    guard !configuration.isReadOnly, FileStatus(path: files.lock) != nil,
      let last = try? lockFile.mark(Self.maintenanceSlot)
    else { return false }
    // A later instant is another boot's.
    guard last > instant || instant - last >= Self.maintenanceInterval else { return false }
    lockFile.setMark(Self.maintenanceSlot, to: instant)
    // In a store just made there is nothing to see to, and others may be waiting for what was just committed.
    return last != 0
  }

  /// The slot before those of the leases.
  static let maintenanceSlot = -1

  /// Does at once what must be done before the process ends, where nothing of the store's is under way: leaves what is
  /// counted, empties a long log. All else the system frees sooner.
  /// - Returns: `false` where ``close()`` is the way.
  package func closeNow() -> Bool {
    guard (try? checkRunning()) != nil else { return false }
    return leaveUsage() && writer.closeNow()
  }

  /// Whether this process has written to the store.
  package var isWriting: Bool { writer.isOpen }

  /// Writes what is counted in memory, and the log back where it is long: what a program that runs on does more often
  /// than the housekeeping. One that only reads opens nothing for that.
  package func performSmallMaintenance() async {
    guard writer.isOpen else {
      if !leaveUsage() { await flushUsage() }
      return
    }
    await flushUsage()
    // Law 9: what could not be done now is left for the next call.
    _ = try? await writeBackLog()
  }

  /// Does the housekeeping that no delivery waits for: marks and counts, bodies nobody needs, the limits, the log.
  ///
  /// Works in short steps, between which other work of the store goes on, and begins none after `budget`. What is
  /// left is done by the next call, of this process or another.
  ///
  /// - Returns: The error that ended it before its time, or `nil`; the next call begins anew (law 9).
  @discardableResult public func performMaintenance(budget: Duration = .milliseconds(50)) async
    -> CacheStoreError?
  {
    guard !configuration.isReadOnly, FileStatus(path: files.database) != nil else { return nil }
    let deadline = Platform.monotonicNanoseconds() + budget.wholeNanoseconds
    await flushUsage()
    do throws(CacheStoreError) {
      // The log first: it is what the next process waits for.
      try await writeBackLog()
      try await collectReleased(until: deadline)
      try await collectUnfinished(until: deadline)
      try await collectOld()
      try await trim(until: deadline)
      Reserve(files: files).make()
      return nil
    } catch {
      return error
    }
  }

  private func writeBackLog() async throws(CacheStoreError) {
    try await writer.perform { (connection) throws(CacheStoreError) in
      if connection.logBytes > LogPolicy.long { try connection.checkpoint() }
    }
  }

  /// Runs steps on the write queue until one says that nothing is left, or the time is over.
  private func repeatSteps(
    until deadline: Int64, _ step: @escaping @Sendable (Connection) throws(CacheStoreError) -> Bool
  ) async throws(CacheStoreError) {
    while Platform.monotonicNanoseconds() < deadline {
      let isMore = try await writer.perform { (connection) throws(CacheStoreError) in
        defer { connection.waiting.deadline = 0 }
        return try step(connection)
      }
      guard isMore else { return }
    }
  }

  // MARK: Bodies

  /// Deletes released bodies whose readers have had their time, one chunk a transaction.
  func collectReleased(until deadline: Int64 = .max) async throws(CacheStoreError) {
    let limit = configuration.now() - configuration.releasedLifetime.wholeNanoseconds / 1_000_000
    try await repeatSteps(until: deadline) { (connection) throws(CacheStoreError) in
      guard let body = try connection.first(.releasedBefore, [limit]) else { return false }
      try connection.transaction { () throws(CacheStoreError) in try connection.collectChunk(of: body) }
      return true
    }
  }

  /// Deletes bodies that were cut off and that nobody is receiving: at once, or after `partialLifetime` where they
  /// can be resumed. Whether somebody is, the body's lease tells.
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
          // It may have been finished between the two statements.
          if try connection.bodyChecksum(of: body) == nil { try connection.release(body: body, at: 0) }
        }
        return body
      }
      guard let next else { break }
      last = next
    }
    try await collectReleased(until: deadline)
  }

  /// Removals longer ago than any exchange lasts.
  ///
  /// How long ago, the clock since boot says, which nobody sets. Marks of another boot are later than now on it or, after
  /// an hour at the latest, long ago; of that boot's exchanges none goes on.
  private func collectOld() async throws(CacheStoreError) {
    let bootNow = configuration.bootNow()
    try await writer.perform { (connection) throws(CacheStoreError) in
      let text = "FROM removal WHERE started_ns NOT BETWEEN ?1 AND ?2"
      guard try connection.first("SELECT 1 \(text) LIMIT 1", [bootNow - Self.hour, bootNow]) != nil else {
        return
      }
      try connection.transaction { () throws(CacheStoreError) in
        _ = try connection.first("DELETE \(text)", [bootNow - Self.hour, bootNow])
      }
    }
  }

  /// Longer than any exchange lasts, in nanoseconds.
  static let hour: Int64 = 3_600_000_000_000

  // MARK: Limits

  /// Evicts what is over the limits, and gives the room back to the file system.
  func trim(until deadline: Int64) async throws(CacheStoreError) {
    try await trimOld(until: deadline)
    try await trimRows(until: deadline)
    try await collectReleased(until: deadline)
    try await shrink(until: deadline)
    try await writeBackLog()
  }

  /// Evicts what is over the limits: of rows, and of bytes where the limit is lower than it was.
  private func trimRows(until deadline: Int64) async throws(CacheStoreError) {
    try await repeatSteps(until: deadline) { (connection) throws(CacheStoreError) in
      try connection.transaction { () throws(CacheStoreError) in
        var isMore = false
        for _ in 0..<Self.evictedAtOnce {
          guard try self.isOverLimit(connection), try self.evictSome(connection) else { break }
          isMore = true
        }
        if let most = try self.limits(connection).maximumRows {
          let count = try connection.value(.rowCount)
          for _ in 0..<min(64, max(0, Int(count) - most)) where try self.evictRow(connection) {
            isMore = true
          }
        }
        return isMore
      }
    }
  }

  /// Rows, or chunks of long bodies, that one step evicts.
  private static let evictedAtOnce = 16

  /// Removes rows that were received longer ago than the limit allows, but for pinned ones. Goes through the rows in the
  /// order of their identifiers, some a step, and begins the next time where the time was over.
  private func trimOld(until deadline: Int64) async throws(CacheStoreError) {
    var next = try await writer.perform { (connection) throws(CacheStoreError) -> Int64? in
      let age = try connection.transaction { () throws(CacheStoreError) in
        try self.limits(connection).maximumAge
      }
      return age == nil ? nil : try connection.checkedRow()
    }
    while let after = next {
      guard Platform.monotonicNanoseconds() < deadline else {
        return try await writer.perform { (connection) throws(CacheStoreError) in
          try connection.transaction { () throws(CacheStoreError) in try connection.noteChecked(after) }
        }
      }
      next = try await writer.perform { (connection) throws(CacheStoreError) in
        try connection.transaction { () throws(CacheStoreError) in try self.trimOld(after: after, connection)
        }
      }
    }
  }

  /// Rows that are looked at in one step.
  private static let lookedAtOnce: Int64 = 512

  /// - Returns: The last row that was looked at; `nil` where it was the last of all.
  private func trimOld(after row: Int64, _ connection: Connection) throws(CacheStoreError) -> Int64? {
    guard let age = try limits(connection).maximumAge else { return nil }
    let last = try connection.first(
      "SELECT max(id) FROM (SELECT id FROM last_request WHERE id > ?1 ORDER BY id LIMIT ?2)",
      [row, Self.lookedAtOnce])
    guard let last else {
      try connection.noteChecked(0)
      return nil
    }
    let oldest = configuration.now() - age.wholeNanoseconds / 1_000_000
    let old = try connection.withStatement(
      """
      SELECT id, body_id, body_bytes FROM last_request
      WHERE id > ?1 AND id <= ?2 AND received_at_ms < ?3 AND pinned = 0
      """
    ) { (statement) throws(CacheStoreError) -> [(row: Int64, body: Int64, length: Int64)] in
      for (index, value) in [row, last, oldest].enumerated() { statement.bind(Int32(index + 1), value) }
      var old: [(row: Int64, body: Int64, length: Int64)] = []
      while try statement.step() {
        old.append((statement.integer(0), statement.integer(1), statement.integer(2)))
      }
      return old
    }
    for row in old {
      try deleteRow(row.row, connection)
      try discard(body: row.body, length: row.length, connection)
    }
    return last
  }

  /// Free pages that are left for the next rows rather than given back, in pages.
  private static let sparePages: Int64 = 256
  private static let pagesAtOnce = 128

  /// Gives free pages back to the file system, some a transaction: each means moving another page there.
  private func shrink(until deadline: Int64) async throws(CacheStoreError) {
    try await repeatSteps(until: deadline) { (connection) throws(CacheStoreError) in
      let free = try connection.value(.freePages)
      let pages = try connection.value(.pageCount)
      guard free > Self.sparePages || free * 2 > pages else { return false }
      try connection.transaction { () throws(CacheStoreError) in
        // One page a step: the statement is run to its end.
        try connection.execute("PRAGMA incremental_vacuum(\(Self.pagesAtOnce))")
      }
      return try connection.value(.freePages) < free
    }
  }

  // MARK: A single file

  /// Puts all that is stored into the one database file: no log is left beside it, and none is needed to read it.
  ///
  /// For a store that no one else has open, before it is closed: the file can then be copied and sent.
  package func convertToSingleFile() async throws(CacheStoreError) {
    try await writer.perform { [writer] (connection) throws(CacheStoreError) in
      // The log can be left by who is alone with the file, and what writes it back has it open too.
      writer.checkpointer.close()
      try connection.leaveLog()
    }
  }
}
