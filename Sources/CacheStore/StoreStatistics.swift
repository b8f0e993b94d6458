/// The store's contents and the deliveries it served, as `stats` shows them.
public struct StoreStatistics: Sendable, Hashable {
  /// The rows and counts of one host of one account.
  public struct Part: Sendable, Hashable {
    /// The account's name; empty for requests without credentials.
    public var account: String
    /// The host, with `:port` where it is not the scheme's own; the whole target where that is no URL.
    public var host: String
    /// Rows stored.
    public var rows = 0
    /// The bytes of their bodies.
    public var bytes: Int64 = 0
    /// The deliveries.
    public var deliveries = UsageCount()
  }

  /// The parts by account and host.
  public var parts: [Part] = []
  /// Rows that are exempt from eviction.
  public var pinnedRows = 0
  /// The size of the database file, in bytes.
  public var fileBytes: Int64 = 0
  /// The size of the write-ahead log, in bytes.
  public var logBytes: Int64 = 0
  /// The size above which rows are evicted, in bytes.
  public var limitBytes: Int64 = 0

  /// The number of all rows.
  public var rows: Int { parts.reduce(0) { $0 + $1.rows } }
  /// The bytes of all bodies.
  public var bytes: Int64 { parts.reduce(0) { $0 + $1.bytes } }
}

/// The use of a store's limits.
public struct StoreUse: Sendable, Hashable {
  /// Rows stored.
  public var rows = 0
  /// The number of pinned rows, which are exempt from eviction.
  public var pinnedRows = 0
  /// The size of the database file, in bytes.
  public var fileBytes: Int64 = 0
  /// When the oldest was received, in milliseconds since 1970-01-01 UTC; `nil` where nothing is stored.
  public var oldestReceivedAt: Int64?
}
