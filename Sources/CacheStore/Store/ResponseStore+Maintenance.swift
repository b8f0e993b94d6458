extension ResponseStore {
  /// Nanoseconds between two maintenance runs of a store, by whichever process: what they collect takes minutes to
  /// accumulate.
  static let maintenanceInterval: Int64 = 60_000_000_000

  /// Whether maintenance is due; `true` also records that the caller runs it now, so that only one process does.
  ///
  /// - Parameter instant: Nanoseconds since boot.
  package func takeMaintenanceTurn(at instant: Int64) -> Bool {
    // Creating a store creates the lock file; none is placed beside a file that is not a store.
    guard !configuration.isReadOnly, FileStatus(path: files.lock) != nil,
      let last = try? lockFile.mark(Self.maintenanceSlot)
    else { return false }
    // A later mark comes from another boot. Nothing is taken from the mark itself, which may be any number.
    guard last > instant || last <= instant - Self.maintenanceInterval else { return false }
    lockFile.setMark(Self.maintenanceSlot, to: instant)
    // A new store has nothing to maintain, and other processes may be waiting for its first commit.
    return last != 0
  }

  /// The slot before the slots of the leases.
  private static let maintenanceSlot = -1

  /// Does what must precede the end of the process, on the calling thread and only where the store is idle: appends
  /// the counts to the usage journal and truncates a long log. The system frees the rest sooner than `close()` does.
  /// - Returns: `false` where the caller must use ``close()``.
  package func closeNow() -> Bool {
    guard (try? checkRunning()) != nil else { return false }
    return leaveUsage() && writer.closeNow()
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
    _ = try? await writeBackLog()
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
    do throws(CacheStoreError) {
      // The log first, because a long one delays the next process's start.
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

  /// Runs steps on the write queue until one returns that nothing is left, or the deadline has passed.
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

  /// Deletes released bodies after `releasedLifetime`, one chunk per transaction.
  func collectReleased(until deadline: Int64 = .max) async throws(CacheStoreError) {
    let limit = configuration.now() - configuration.releasedLifetime.wholeNanoseconds / 1_000_000
    try await repeatSteps(until: deadline) { (connection) throws(CacheStoreError) in
      guard let body = try connection.first(.releasedBefore, [limit]) else { return false }
      try connection.transaction { () throws(CacheStoreError) in try connection.collectChunk(of: body) }
      return true
    }
  }

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
    try await collectReleased(until: deadline)
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

  // MARK: Limits

  /// Evicts rows and bodies above the limits, and returns the space to the file system.
  func trim(until deadline: Int64) async throws(CacheStoreError) {
    try await trimOld(until: deadline)
    try await trimRows(until: deadline)
    try await collectReleased(until: deadline)
    try await shrink(until: deadline)
    try await writeBackLog()
  }

  /// Evicts above the limit of rows, and above the limit of bytes where that was lowered.
  private func trimRows(until deadline: Int64) async throws(CacheStoreError) {
    try await repeatSteps(until: deadline) { (connection) throws(CacheStoreError) in
      try connection.transaction { () throws(CacheStoreError) in
        var isMore = false
        let arriving = try self.arrivingPages(connection)
        for _ in 0..<Self.evictedAtOnce {
          guard try self.isOverLimit(connection),
            case .done = try self.evictSome(besides: arriving, connection)
          else { break }
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

  /// Rows, or chunks of long bodies, evicted in one step.
  private static let evictedAtOnce = 16

  /// Removes unpinned rows older than the limit of age. Goes through the rows by identifier, a few per step, and
  /// notes where the next call continues when the deadline passes.
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

  /// Rows checked in one step.
  private static let lookedAtOnce: Int64 = 512

  /// - Returns: The last row checked; `nil` after the last row of all.
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
    for row in old { try deleteRow(row.row, withBody: row.body, length: row.length, connection) }
    return last
  }

  private static let pagesAtOnce = 128

  /// Whether free pages are returned to the file system: 256 are kept for the next rows, but at most half of a small
  /// file.
  static func hasPagesToGiveBack(free: Int64, of pages: Int64) -> Bool { free > 256 || free * 2 > pages }

  /// Returns free pages to the file system, a few per transaction, since each may require moving another page.
  private func shrink(until deadline: Int64) async throws(CacheStoreError) {
    try await repeatSteps(until: deadline) { (connection) throws(CacheStoreError) in
      let free = try connection.value(.freePages)
      let pages = try connection.value(.pageCount)
      guard Self.hasPagesToGiveBack(free: free, of: pages) else { return false }
      try connection.transaction { () throws(CacheStoreError) in
        // The pragma frees one page per `sqlite3_step`; `execute` runs it to its end.
        try connection.execute("PRAGMA incremental_vacuum(\(Self.pagesAtOnce))")
      }
      return try connection.value(.freePages) < free
    }
  }

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
