extension ResponseStore {
  /// The selected rows without their bodies, by account, target and variant; with a limit, no more of each account than
  /// the first that satisfy a condition.
  package func entries(
    _ selection: EntrySelection = .all, ofEach limit: Int = .max,
    where isIncluded: @escaping @Sendable (StoredEntry) -> Bool = { _ in true }
  ) async throws(CacheStoreError) -> [StoredEntry] {
    // The journal holds the latest times of use; the list waits for it 100 ms at most.
    if UsageJournal(files: files).isThere { await flushUsage(within: .milliseconds(100)) }
    return try await query { (connection) throws(CacheStoreError) in
      let oldest = try self.eviction.oldestReceived(connection)
      var entries: [StoredEntry] = []
      for part in limit == .max ? [selection] : try Self.byAccount(selection, connection) {
        var left = limit
        let text =
          part.text("r.id") + " ORDER BY a.name, r.target, r.method, r.extra, r.good DESC, r.variant"
        try connection.withStatement(text) { (statement) throws(CacheStoreError) in
          part.bind(to: statement)
          while left > 0, try statement.step() {
            guard let entry = try Self.entry(statement.integer(0), notBefore: oldest, connection),
              isIncluded(entry)
            else { continue }
            entries.append(entry)
            left -= 1
          }
        }
      }
      return entries
    } ?? []
  }

  /// The selection for each account: the index of rows begins with it, so that its first rows are found without sorting.
  private static func byAccount(
    _ selection: EntrySelection, _ connection: Connection
  ) throws(CacheStoreError) -> [EntrySelection] {
    try connection.withStatement("SELECT name FROM account ORDER BY name") {
      (statement) throws(CacheStoreError) in
      var parts: [EntrySelection] = []
      while try statement.step() {
        var part = selection
        part.accounts = [statement.text(0)]
        if selection.accounts?.contains(statement.text(0)) ?? true { parts.append(part) }
      }
      return parts
    }
  }

  /// A row for a list, unless it is not pinned and was received before that instant.
  private static func entry(
    _ id: Int64, notBefore oldest: Int64?, _ connection: Connection
  ) throws(CacheStoreError) -> StoredEntry? {
    guard let found = try connection.rowHead(id),
      found.row.isPinned || found.row.receivedAt >= oldest ?? .min
    else { return nil }
    return StoredEntry(
      rowID: id, key: found.key, response: found.row, isSound: found.isSound,
      usedAtMilliseconds: try usedAt(id, connection), tags: try tags(of: id, connection))
  }

  private static func usedAt(_ id: Int64, _ connection: Connection) throws(CacheStoreError) -> Int64? {
    let statement = try connection.statement(.usedAt)
    defer { statement.reset() }
    statement.bind(1, id)
    return try statement.step() ? statement.integer(0).asInstant : nil
  }

  private static func tags(of id: Int64, _ connection: Connection) throws(CacheStoreError) -> [String] {
    let statement = try connection.statement(.tagsOfRow)
    defer { statement.reset() }
    statement.bind(1, id)
    var tags: [String] = []
    while try statement.step() { tags.append(statement.text(0)) }
    return tags
  }
}

extension ResponseStore {
  /// So many of the rows received last, without their bodies.
  package func newest(_ count: Int) async throws(CacheStoreError) -> [StoredResponse] {
    try await query { (connection) throws(CacheStoreError) in
      var rows: [StoredResponse] = []
      try connection.withStatement(
        "SELECT id FROM last_request ORDER BY received_at_ms DESC LIMIT \(count)"
      ) { (statement) throws(CacheStoreError) in
        while try statement.step() {
          if let found = try connection.rowHead(statement.integer(0)) { rows.append(found.row) }
        }
      }
      return rows
    } ?? []
  }

  /// The use of the store's limits; reads every row's head.
  package func use() async throws(CacheStoreError) -> StoreUse {
    let read = try await query { (connection) throws(CacheStoreError) in
      try connection.withStatement(
        "SELECT count(*), coalesce(sum(pinned), 0), min(received_at_ms) FROM last_request"
      ) { (statement) throws(CacheStoreError) -> StoreUse in
        var use = StoreUse()
        guard try statement.step() else { return use }
        use.rows = Int(statement.integer(0))
        use.pinnedRows = Int(statement.integer(1))
        use.oldestReceivedAt = statement.isNull(2) ? nil : statement.integer(2).asInstant
        return use
      }
    }
    var use = read ?? StoreUse()
    use.fileBytes = FileStatus(path: files.database)?.bytes ?? 0
    return use
  }

  /// The store's contents and the deliveries it served; reads every row's head.
  package func statistics() async throws(CacheStoreError) -> StoreStatistics {
    await flushUsage()
    var statistics = StoreStatistics()
    statistics.limitBytes = try await limits().inForce.maximumBytes ?? configuration.maximumBytes
    statistics.fileBytes = FileStatus(path: files.database)?.bytes ?? 0
    statistics.logBytes = FileStatus(path: files.log)?.bytes ?? 0
    let read = try await query { (connection) throws(CacheStoreError) in
      try Self.parts(connection)
    }
    statistics.parts = read?.parts ?? []
    statistics.events = read?.events ?? [:]
    statistics.pinnedRows = read?.pinned ?? 0
    return statistics
  }

  private static func parts(
    _ connection: Connection
  ) throws(CacheStoreError) -> (parts: [StoreStatistics.Part], events: [String: Int64], pinned: Int) {
    var parts: [[String]: StoreStatistics.Part] = [:]
    var pinned = 0
    try connection.withStatement(
      """
      SELECT a.name, r.target, r.body_bytes, r.pinned, r.received_at_ms
      FROM last_request r JOIN account a ON a.id = r.account_id
      """
    ) { (statement) throws(CacheStoreError) in
      while try statement.step() {
        let (account, host) = (statement.text(0), host(of: statement.text(1)))
        var part = parts[[account, host]] ?? StoreStatistics.Part(account: account, host: host)
        part.rows += 1
        part.bytes += statement.integer(2).asCount
        part.lastReceivedAt = max(part.lastReceivedAt, statement.integer(4))
        parts[[account, host]] = part
        if statement.flag(3) { pinned += 1 }
      }
    }
    try connection.withStatement(
      """
      SELECT a.name, u.host, u.stored, u.fresh, u.unchanged, u.failed, u.saved_bytes, u.saved_ms
      FROM usage u JOIN account a ON a.id = u.account_id
      """
    ) { (statement) throws(CacheStoreError) in
      while try statement.step() {
        let (account, host) = (statement.text(0), statement.text(1))
        var part = parts[[account, host]] ?? StoreStatistics.Part(account: account, host: host)
        part.deliveries.stored = statement.integer(2).asCount
        part.deliveries.fresh = statement.integer(3).asCount
        part.deliveries.unchanged = statement.integer(4).asCount
        part.deliveries.failed = statement.integer(5).asCount
        part.deliveries.savedBytes = statement.integer(6).asCount
        part.deliveries.savedMilliseconds = statement.integer(7).asCount
        parts[[account, host]] = part
      }
    }
    var events: [String: Int64] = [:]
    try connection.withStatement("SELECT name, count FROM event_count") {
      (statement) throws(CacheStoreError) in
      while try statement.step() { events[statement.text(0)] = statement.integer(1).asCount }
    }
    return (parts.values.sorted { ($0.account, $0.host) < ($1.account, $1.host) }, events, pinned)
  }

  /// The host of a target such as `https://example.org:8080/x`.
  package static func host(of target: String) -> String {
    guard !target.hasPrefix("key:"), let slashes = target.firstRange(of: "://") else { return target }
    return String(target[slashes.upperBound...].prefix { $0 != "/" && $0 != "?" })
  }
}

// What an upstream of exchanges keeps beside the store: counts, and a mark that the processes share.
extension ResponseStore {
  /// The file of its counts.
  package var upstreamCounts: String { files.upstreamCounts }

  /// Its mark; 0 where there is none, or no store to have it. A hint that nothing depends on. Takes no lock, and
  /// creates no file.
  package var upstreamMark: Int64 {
    guard hasLockFile, let mark = try? lockFile.mark(LockFile.Slot.upstream) else { return 0 }
    return mark
  }

  /// Replaces the mark; does nothing where the store is read only, or not yet made.
  package func setUpstreamMark(_ value: Int64) {
    // Reading opens the file.
    guard hasLockFile, (try? lockFile.mark(LockFile.Slot.upstream)) != nil else { return }
    lockFile.setMark(LockFile.Slot.upstream, to: value)
  }

  /// Whether this process may warn of a state of the upstream that every process meets: of all on the store one does in a
  /// minute. Without a store that may be written, each does.
  package func takesUpstreamWarning(at instant: Int64) -> Bool {
    !hasLockFile
      || lockFile.takeTurn(LockFile.Slot.warning, at: instant, every: Self.maintenanceInterval) != nil
  }

  /// Opening the lock file would create it. Who leads has it open.
  private var hasLockFile: Bool {
    !configuration.isReadOnly && (lockFile.isOpen || FileStatus(path: files.lock) != nil)
  }
}
