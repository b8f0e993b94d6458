package import CacheStore

/// Whether this machine's clock contradicts what its servers say.
package enum ClockFinding {
  private static let minute: Int64 = 60_000
  private static let day: Int64 = 24 * 60 * minute

  /// - Parameters:
  ///   - rows: The rows received last. Since one server's clock may be wrong, all with a `Date` have to disagree.
  ///   - now: Milliseconds since 1970-01-01 UTC.
  package static func finding(_ rows: [StoredResponse], now: Int64) -> StoreFinding {
    let rows = rows.filter { !$0.isUnconfirmed }
    if let last = rows.map(\.receivedAt).max(), last.minus(now) > minute {
      return StoreFinding(
        "clock", .wrong, "an answer was received at a time that is still to come: \(HTTPDate.format(last))",
        remedy: "set the clock; if it is right, it was not then: fetch that answer again")
    }
    let differences = rows.compactMap { row in
      row.fields["Date"].flatMap { HTTPDate.parse($0, now: row.receivedAt) }.map {
        // An answer from a cache may be as old as it says.
        row.receivedAt.minus($0.plus(Freshness.ageValue(fields: row.fields)))
      }
    }
    guard let least = differences.min(by: { $0.magnitude < $1.magnitude }), least.magnitude > day else {
      return StoreFinding("clock", .fine, "no answer contradicts it")
    }
    let days = least.magnitude / UInt64(day)
    return StoreFinding(
      "clock", .wrong,
      "by the Date of the last answers it was over \(days) day\(days == 1 ? "" : "s") \(least < 0 ? "slow" : "fast")",
      remedy: "set the clock; if it is right, it was not then: fetch something again")
  }
}
