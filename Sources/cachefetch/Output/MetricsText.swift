internal import CacheStore
internal import RedisTier

/// The text of `stats --prometheus`: the text exposition format, version 0.0.4. The names do not change between releases.
enum MetricsText {
  /// Metrics of the parts, and of the whole store.
  static func text(
    _ statistics: StoreStatistics, _ parts: [StoreStatistics.Part], _ tier: TierCounts
  ) -> String {
    var text = Exposition()
    func each(_ value: (StoreStatistics.Part) -> Int64) -> [Exposition.Sample] {
      parts.map { ([("account", $0.account), ("host", $0.host)], value($0)) }
    }
    text.add("entries", "Responses stored.", .gauge, each { Int64($0.rows) })
    text.add("body_bytes", "Length of their bodies.", .gauge, each(\.bytes))
    text.add("pinned_entries", "Responses that are never evicted.", .gauge, Int64(statistics.pinnedRows))
    let kinds: [(String, (UsageCount) -> Int64)] = [
      ("stored", \.stored), ("fresh", \.fresh), ("unchanged", \.unchanged), ("failed", \.failed),
    ]
    text.add(
      "deliveries_total", "Deliveries: stored ones, fresh ones, those that a 304 confirmed, failures.",
      .counter,
      parts.flatMap { part in
        kinds.map { kind, count in
          ([("account", part.account), ("host", part.host), ("kind", kind)], count(part.deliveries))
        }
      })
    text.add(
      "failures_total", "Failures delivered, of all accounts.", .counter,
      statistics.failures.map { ([("kind", $0.kind)], $0.count) })
    text.add("saved_bytes_total", "Bytes not transferred.", .counter, each(\.deliveries.savedBytes))
    text.add(
      "saved_seconds_total", "Time of exchanges not waited for.", .counter,
      each(\.deliveries.savedMilliseconds), thousandths: true)
    text.add(
      "last_success_timestamp_seconds", "When a stored response was last received or confirmed.", .gauge,
      each(\.lastReceivedAt).filter { $0.value > 0 }, thousandths: true)
    text.add(
      "evictions_total", "Responses removed to make room for others.", .counter, statistics.evictedRows)
    text.add("file_bytes", "Size of the database file.", .gauge, statistics.fileBytes)
    text.add("log_bytes", "Size of its write-ahead log.", .gauge, statistics.logBytes)
    text.add("limit_bytes", "Size above which responses are evicted.", .gauge, statistics.limitBytes)
    guard tier != TierCounts() else { return text.text }
    text.add("tier_asked_total", "Exchanges that asked the tier.", .counter, tier.asked)
    text.add("tier_stored_total", "Responses of the tier that were stored.", .counter, tier.stored)
    text.add("tier_offered_total", "Responses that the tier took.", .counter, tier.offered)
    text.add("tier_silent_total", "Exchanges that got no answer of it in time.", .counter, tier.silent)
    text.add(
      "tier_wait_seconds_total", "Time that exchanges waited for the tier.", .counter,
      [([], tier.waitedMicroseconds / 1_000)], thousandths: true)
    return text.text
  }

  private struct Exposition {
    typealias Sample = (labels: [(name: String, value: String)], value: Int64)
    enum Kind: String { case counter, gauge }

    var text = ""

    mutating func add(_ name: String, _ help: String, _ kind: Kind, _ value: Int64) {
      add(name, help, kind, [([], value)])
    }

    /// - Parameter thousandths: Whether the values are thousandths of the unit.
    mutating func add(
      _ name: String, _ help: String, _ kind: Kind, _ samples: [Sample], thousandths: Bool = false
    ) {
      text += "# HELP cachefetch_\(name) \(help)\n# TYPE cachefetch_\(name) \(kind.rawValue)\n"
      for (labels, value) in samples {
        let list = labels.map { "\($0.name)=\"\(Self.escaped($0.value))\"" }.joined(separator: ",")
        let number = thousandths ? "\(Double(value) / 1_000)" : "\(value)"
        text += "cachefetch_\(name)\(list.isEmpty ? "" : "{\(list)}") \(number)\n"
      }
    }

    private static func escaped(_ value: String) -> String {
      value.reduce(into: "") { text, character in
        switch character {
        case "\\", "\"": text += "\\\(character)"
        case "\n": text += "\\n"
        default: text.append(character)
        }
      }
    }
  }
}
