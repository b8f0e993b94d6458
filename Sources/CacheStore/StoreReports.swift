/// The result of one check of a store.
package struct StoreFinding: Sendable, Hashable {
  /// How bad it is.
  package enum Severity: Sendable, Hashable {
    /// Nothing is wrong; the finding is for information.
    case fine
    /// Wrong.
    case wrong
    /// Was wrong, and is repaired.
    case repaired
  }

  /// The subject of the check: a short name that does not change between releases, such as `integrity`.
  package var subject: String
  /// How bad it is.
  package var severity: Severity
  /// What was found, in one line.
  package var message: String
  /// What a person can do about it, if anything.
  package var remedy: Remedy?

  /// Makes a finding.
  package init(_ subject: String, _ severity: Severity, _ message: String, remedy: Remedy? = nil) {
    self.subject = subject
    self.severity = severity
    self.message = message
    self.remedy = remedy
  }
}

/// An event in the store that a person should know of.
public enum StoreEvent: Sendable, Hashable {
  /// A damaged file was quarantined and replaced by a new one with the rows that could still be read.
  ///
  /// - Parameters:
  ///   - path: The store.
  ///   - keptAs: The damaged file's name now.
  ///   - carriedOver: Rows that were read completely and are in the new file.
  ///   - lost: Rows that were found but could not be read; others may not have been found.
  case quarantined(path: String, keptAs: String, carriedOver: Int, lost: Int)
  /// A store with an earlier revision of the schema was replaced by an empty one.
  case begunAnew(path: String)
  /// Rows that failed their checksum were removed.
  case removedDamagedRow(path: String)

  /// One line for a person.
  public var message: String {
    switch self {
    case .quarantined(let path, let keptAs, let carriedOver, let lost):
      "the store \(path) was damaged and is kept as \(keptAs); \(Counted.text(carriedOver, "response")) "
        + "\(Counted.were(carriedOver)) carried over, \(lost) that \(Counted.were(lost)) found could not be read"
    case .begunAnew(let path):
      "an earlier version of this program made the store \(path): it is begun anew, and empty"
    case .removedDamagedRow(let path): "a damaged response was removed from the store \(path)"
    }
  }
}

/// Numbers with their nouns, for messages: “1 response”, “2 responses”.
package enum Counted {
  /// - Parameter plural: The noun for any number other than one; by default the noun with an “s”.
  package static func text(
    _ count: some BinaryInteger, _ noun: String, _ plural: String? = nil
  ) -> String { "\(count) \(count == 1 ? noun : plural ?? noun + "s")" }

  /// A number of bytes, in the largest unit that it is a multiple of: “256 MiB”, “1000 bytes”.
  package static func bytes(_ count: Int64) -> String {
    for (unit, shift) in [("GiB", 30), ("MiB", 20), ("KiB", 10)] where count > 0 && count % (1 << shift) == 0
    {
      return "\(count >> shift) \(unit)"
    }
    return text(count, "byte")
  }

  /// “was” for one, “were” for any other number.
  package static func were(_ count: some BinaryInteger) -> String { count == 1 ? "was" : "were" }
}

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
    /// When the newest of the rows was received or confirmed, in milliseconds since 1970-01-01 UTC; 0 where there is none.
    package var lastReceivedAt: Int64 = 0
  }

  /// The parts by account and host.
  package var parts: [Part] = []
  /// Rows that are exempt from eviction.
  package var pinnedRows = 0
  /// Rows that were removed to make room for others.
  package var evictedRows: Int64 { events[Self.evicted] ?? 0 }
  /// The failures that were delivered, by kind.
  package var failures: [(kind: String, count: Int64)] {
    events.filter { $0.key.hasPrefix(Self.failed) }
      .map { (String($0.key.dropFirst(Self.failed.count)), $0.value) }.sorted { $0.0 < $1.0 }
  }
  /// The counts that belong to no account.
  var events: [String: Int64] = [:]
  /// The size of the database file, in bytes.
  package var fileBytes: Int64 = 0
  /// The size of the write-ahead log, in bytes.
  package var logBytes: Int64 = 0
  /// The size above which rows are evicted, in bytes.
  package var limitBytes: Int64 = 0

  /// The names of events, in the table `event_count`.
  static let (evicted, failed) = ("evicted", "failed:")

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
