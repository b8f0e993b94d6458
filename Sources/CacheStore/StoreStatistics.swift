/// What is in the store and what it was good for, as `stats` shows it.
public struct StoreStatistics: Sendable, Hashable {
  /// The rows and counts of one host of one account.
  public struct Part: Sendable, Hashable {
    /// The account's name; empty for requests without credentials.
    public var account: String
    /// The host, with `:port` where it is not the scheme's own; the whole target where that is no URL.
    public var host: String
    /// Rows stored.
    public var rows = 0
    /// Bytes of their bodies.
    public var bytes: Int64 = 0
    /// What was delivered.
    public var deliveries = UsageCount()
  }

  /// By account and host.
  public var parts: [Part] = []
  /// Rows that are exempt from eviction.
  public var pinnedRows = 0
  /// The size of the database file, in bytes.
  public var fileBytes: Int64 = 0
  /// The size of the write-ahead log, in bytes.
  public var logBytes: Int64 = 0
  /// The size above which rows are evicted, in bytes.
  public var limitBytes: Int64 = 0

  /// All rows.
  public var rows: Int { parts.reduce(0) { $0 + $1.rows } }
  /// The bytes of all bodies.
  public var bytes: Int64 { parts.reduce(0) { $0 + $1.bytes } }
}

extension ResponseStore {
  /// What is in the store and what it was good for; reads every row's head.
  public func statistics() async throws(CacheStoreError) -> StoreStatistics {
    await flushUsage()
    var statistics = StoreStatistics()
    statistics.limitBytes = configuration.maximumBytes
    statistics.fileBytes = FileStatus(path: files.database)?.bytes ?? 0
    statistics.logBytes = FileStatus(path: files.log)?.bytes ?? 0
    let read = try await read { deadline throws(CacheStoreError) in
      try self.pool.withConnection(waitingUntil: deadline) { (connection) throws(CacheStoreError) in
        try Self.parts(connection)
      }
    }
    statistics.parts = read?.parts ?? []
    statistics.pinnedRows = read?.pinned ?? 0
    return statistics
  }

  private static func parts(
    _ connection: Connection
  ) throws(CacheStoreError) -> (parts: [StoreStatistics.Part], pinned: Int) {
    var parts: [[String]: StoreStatistics.Part] = [:]
    var pinned = 0
    try connection.withStatement(
      "SELECT a.name, r.target, r.body_bytes, r.pinned FROM last_request r JOIN account a ON a.id = r.account_id"
    ) { (statement) throws(CacheStoreError) in
      while try statement.step() {
        let (account, host) = (statement.text(0), host(of: statement.text(1)))
        var part = parts[[account, host]] ?? StoreStatistics.Part(account: account, host: host)
        part.rows += 1
        part.bytes += statement.integer(2)
        parts[[account, host]] = part
        if statement.flag(3) { pinned += 1 }
      }
    }
    try connection.withStatement(
      """
      SELECT a.name, u.host, u.stored, u.fresh, u.unchanged, u.failed, u.saved_bytes, u.saved_ms,
        u.refused, u.committed, u.unused, u.lead_ms, u.won_ms, u.wasted_bytes
      FROM usage u JOIN account a ON a.id = u.account_id
      """
    ) { (statement) throws(CacheStoreError) in
      while try statement.step() {
        let (account, host) = (statement.text(0), statement.text(1))
        var part = parts[[account, host]] ?? StoreStatistics.Part(account: account, host: host)
        part.deliveries.stored = statement.integer(2)
        part.deliveries.fresh = statement.integer(3)
        part.deliveries.unchanged = statement.integer(4)
        part.deliveries.failed = statement.integer(5)
        part.deliveries.savedBytes = statement.integer(6)
        part.deliveries.savedMilliseconds = statement.integer(7)
        part.deliveries.anticipations.refused = statement.integer(8)
        part.deliveries.anticipations.committed = statement.integer(9)
        part.deliveries.anticipations.unused = statement.integer(10)
        part.deliveries.anticipations.leadMilliseconds = statement.integer(11)
        part.deliveries.anticipations.wonMilliseconds = statement.integer(12)
        part.deliveries.anticipations.wastedBytes = statement.integer(13)
        parts[[account, host]] = part
      }
    }
    return (parts.values.sorted { ($0.account, $0.host) < ($1.account, $1.host) }, pinned)
  }

  /// The host of a target such as `https://example.org:8080/x`.
  static func host(of target: String) -> String {
    guard !target.hasPrefix("key:"), let slashes = target.firstRange(of: "://") else { return target }
    return String(target[slashes.upperBound...].prefix { $0 != "/" && $0 != "?" })
  }
}
