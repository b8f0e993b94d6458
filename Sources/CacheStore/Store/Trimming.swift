/// Brings a store back within its limits, and deletes the bodies that were released, in short steps on its write queue:
/// other work is done between them.
struct Trimming: Sendable {
  private let writer: DatabaseWriter
  private let rowWriter: RowWriter
  private let eviction: Eviction
  private let room: DiskRoom
  private let configuration: StoreConfiguration

  init(of store: ResponseStore) {
    writer = store.writer
    rowWriter = store.rowWriter
    eviction = store.eviction
    room = store.writer.room
    configuration = store.configuration
  }

  /// Evicts rows and bodies above the limits, and returns the space to the file system.
  func trim(until deadline: Int64) async throws(CacheStoreError) {
    try await trimOld(until: deadline)
    try await trimRows(until: deadline)
    try await collectReleased(until: deadline)
    try await shrink(until: deadline)
    try await writeBackLog()
  }

  /// Checkpoints a long log.
  /// - Parameter cuts: Whether any log is emptied too, after current transactions.
  func writeBackLog(cuts: Bool = false) async throws(CacheStoreError) {
    try await writer.perform { [writer] (connection) throws(CacheStoreError) in
      if cuts { writer.checkpointer.wait() }
      if cuts || connection.logBytes > LogPolicy.long {
        try connection.checkpoint(cuts ? .truncating : .passive)
      }
    }
  }

  /// Deletes released bodies that nobody reads, one chunk per transaction.
  func collectReleased(until deadline: Int64 = .max) async throws(CacheStoreError) {
    try await repeatSteps(until: deadline) { (connection) throws(CacheStoreError) in
      guard try connection.first(.releasedBodies, []) != nil else { return false }
      return try connection.transaction { () throws(CacheStoreError) in try room.collectReleased(connection) }
    }
  }

  /// Evicts above the limit of rows, and above the limit of bytes where that was lowered.
  private func trimRows(until deadline: Int64) async throws(CacheStoreError) {
    try await repeatSteps(until: deadline) { (connection) throws(CacheStoreError) in
      try connection.transaction { () throws(CacheStoreError) in
        var isMore = false
        let arriving = try eviction.arrivingPages(connection)
        for _ in 0..<Self.evictedAtOnce {
          guard try eviction.isOverLimit(connection),
            case .done = try eviction.evictSome(besides: arriving, connection)
          else { break }
          isMore = true
        }
        if let most = try eviction.limits(connection).maximumRows {
          let count = try connection.value(.rowCount)
          for _ in 0..<min(64, max(0, Int(count) - most)) where try eviction.evictRow(connection) {
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
        try eviction.limits(connection).maximumAge
      }
      return age == nil ? nil : try connection.checkedRow()
    }
    while let after = next {
      guard Platform.monotonicNanoseconds() < deadline else {
        return try await writer.change { (connection) throws(CacheStoreError) in
          try connection.noteChecked(after)
        }
      }
      next = try await writer.change { (connection) throws(CacheStoreError) in
        try trimOld(after: after, connection)
      }
    }
  }

  /// Rows checked in one step.
  private static let lookedAtOnce: Int64 = 512

  /// - Returns: The last row checked; `nil` after the last row of all.
  private func trimOld(after row: Int64, _ connection: Connection) throws(CacheStoreError) -> Int64? {
    guard let age = try eviction.limits(connection).maximumAge else { return nil }
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
    for row in old { try rowWriter.deleteRow(row.row, withBody: row.body, length: row.length, connection) }
    return last
  }

  private static let pagesAtOnce = 128

  /// Returns free pages to the file system, a few per transaction, since each may require moving another page.
  private func shrink(until deadline: Int64) async throws(CacheStoreError) {
    try await repeatSteps(until: deadline) { (connection) throws(CacheStoreError) in
      let free = try connection.value(.freePages)
      let pages = try connection.value(.pageCount)
      return try connection.transaction { () throws(CacheStoreError) in
        let limit = try eviction.limitPages(connection)
        guard Eviction.hasPagesToGiveBack(free: free, of: pages) || pages > limit else { return false }
        // The pragma frees one page per `sqlite3_step`; `execute` runs it to its end.
        try connection.execute("PRAGMA incremental_vacuum(\(Self.pagesAtOnce))")
        return try connection.value(.freePages) < free
      }
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
}
