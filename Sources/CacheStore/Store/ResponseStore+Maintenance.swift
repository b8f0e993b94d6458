extension ResponseStore {
  /// Frames of the log above which it is written back: 0.5 MB, since a longer one delays the next process's start.
  static let longLog: Int32 = 120
  /// Frames above which even a large download stops to write the log back.
  static let veryLongLog: Int32 = 1_000

  /// Does the housekeeping that no delivery waits for: marks and counts, bodies nobody needs, the log.
  ///
  /// Works in short steps and begins none after `budget`. Errors end it: the next call goes on.
  public func performMaintenance(budget: Duration = .milliseconds(50)) async {
    guard !configuration.isReadOnly, FileStatus(path: files.database) != nil else { return }
    let deadline = Platform.monotonicNanoseconds() + budget.wholeNanoseconds
    await flushUsage()
    do throws(CacheStoreError) {
      try await collectReleased(until: deadline)
      try await collectUnfinished(until: deadline)
      try await collectOld()
      try await writeBackLog()
    } catch {
      // Law 9: what could not be done now is left for the next call, by this process or another.
      return
    }
  }

  func checkpointIfLong(_ connection: Connection) throws(CacheStoreError) {
    if connection.logFrames > Self.veryLongLog { try connection.checkpoint() }
  }

  private func writeBackLog() async throws(CacheStoreError) {
    try await writes.perform { (connection) throws(CacheStoreError) in
      if connection.logFrames > Self.longLog { try connection.checkpoint() }
    }
  }

  /// Deletes released bodies whose readers have had their time, some chunks a transaction.
  func collectReleased(until deadline: Int64 = .max) async throws(CacheStoreError) {
    let limit = configuration.now() - configuration.releasedLifetime.wholeNanoseconds / 1_000_000
    while Platform.monotonicNanoseconds() < deadline {
      let isDone = try await writes.perform { (connection) throws(CacheStoreError) in
        guard let body = try connection.first(Self.releasedText, [limit]) else { return true }
        try self.collectSome(of: body, connection)
        return false
      }
      if isDone { return }
    }
  }

  /// Deletes bodies that were cut off and that nobody is receiving: at once, or after `partialLifetime` where they
  /// can be resumed. Whether somebody is, the body's lease tells.
  private func collectUnfinished(until deadline: Int64) async throws(CacheStoreError) {
    let limit = configuration.now() - configuration.partialLifetime.wholeNanoseconds / 1_000_000
    var last: Int64 = 0
    while Platform.monotonicNanoseconds() < deadline {
      let after = last
      let next = try await writes.perform { (connection) throws(CacheStoreError) -> Int64? in
        guard let body = try connection.first(Self.unfinishedText, [limit, after]) else { return nil }
        guard let lease = try self.lease(.body(body)) else { return body }
        defer { lease.release() }
        try connection.transaction { () throws(CacheStoreError) in
          // It may have been finished between the two statements.
          if try self.bodyChecksum(of: body, connection) == nil { try self.release(body, at: 0, connection) }
        }
        return body
      }
      guard let next else { break }
      last = next
    }
    try await collectReleased(until: deadline)
  }

  private func collectOld() async throws(CacheStoreError) {
    let now = configuration.now()
    try await writes.perform { (connection) throws(CacheStoreError) in
      let isDue =
        try connection.first(
          "SELECT 1 FROM removal WHERE removed_at_ms < ?1 LIMIT 1", [now - 3_600_000]) != nil
      guard isDue else { return }
      try connection.transaction { () throws(CacheStoreError) in
        _ = try connection.first("DELETE FROM removal WHERE removed_at_ms < ?1", [now - 3_600_000])
        _ = try connection.first("DELETE FROM origin_pause WHERE until_at_ms < ?1", [now])
      }
    }
  }

  /// Chunks deleted in one transaction.
  private static let chunksAtOnce = 16

  private func collectSome(of body: Int64, _ connection: Connection) throws(CacheStoreError) {
    try connection.transaction { () throws(CacheStoreError) in
      _ = try connection.first(Self.deleteChunksText, [body, Int64(Self.chunksAtOnce)])
      if connection.changes < Self.chunksAtOnce {
        let statement = try connection.statement(.deleteBody)
        statement.bind(1, body)
        try statement.run()
      }
    }
    try checkpointIfLong(connection)
  }

  private static let releasedText = "SELECT id FROM body WHERE released_at_ms <= ?1 LIMIT 1"
  private static let unfinishedText = """
    SELECT id FROM body WHERE checksum IS NULL AND (partial_target IS NULL OR begun_at_ms <= ?1) AND id > ?2
    AND released_at_ms IS NULL ORDER BY id LIMIT 1
    """
  private static let deleteChunksText = """
    DELETE FROM chunk WHERE rowid IN (SELECT rowid FROM chunk WHERE body_id = ?1 LIMIT ?2)
    """
}
