/// The store's statistics: its contents and the deliveries it served.
package struct StoreStatistics: Sendable, Hashable {
  /// The rows and counts of one host of one account.
  package struct Part: Sendable, Hashable {
    /// The account's name; empty for requests without credentials.
    package var account: String
    /// The host, with `:port` where it is not the scheme's own; the whole target where that is no URL.
    package var host: String
    /// Rows stored.
    package var rows = 0
    /// The bytes of their bodies.
    package var bytes: Int64 = 0
    /// The deliveries.
    package var deliveries = UsageCount()
  }

  /// The parts by account and host.
  package var parts: [Part] = []
  /// Rows that are exempt from eviction.
  package var pinnedRows = 0
  /// The size of the database file, in bytes.
  package var fileBytes: Int64 = 0
  /// The size of the write-ahead log, in bytes.
  package var logBytes: Int64 = 0
  /// The size above which rows are evicted, in bytes.
  package var limitBytes: Int64 = 0

  /// The number of all rows.
  package var rows: Int { parts.reduce(0) { $0 + $1.rows } }
  /// The bytes of all bodies.
  package var bytes: Int64 { parts.reduce(0) { $0 + $1.bytes } }
}

/// The use of a store's limits.
package struct StoreUse: Sendable, Hashable {
  /// Rows stored.
  package var rows = 0
  /// The number of pinned rows, which are exempt from eviction.
  package var pinnedRows = 0
  /// The size of the database file, in bytes.
  package var fileBytes: Int64 = 0
  /// When the oldest was received, in milliseconds since 1970-01-01 UTC; `nil` where nothing is stored.
  package var oldestReceivedAt: Int64?
}
