/// The retry budgets of the origins that have been failing; not thread-safe.
///
/// A full budget needs no entry and is dropped. Of the others, the `limit` most recently used are kept, so that a
/// process that contacts many dead origins does not grow; a dropped origin starts with a full budget.
package struct RetryBudgets: Sendable {
  private struct Entry {
    var budget: RetryBudget
    var lastUse: UInt64
  }

  private let limit: Int
  private var entries: [String: Entry] = [:]
  private var uses: UInt64 = 0

  /// Budgets for at most so many origins.
  package init(limit: Int = 256) { self.limit = max(1, limit) }

  /// How many are kept.
  package var count: Int { entries.count }

  /// Records a first attempt. Only an origin that has spent retries has an entry that can earn.
  package mutating func earn(origin: @autoclosure () -> String) {
    guard !entries.isEmpty else { return }
    let origin = origin()
    guard var entry = entries[origin] else { return }
    entry.budget.earn()
    entries[origin] = entry.budget.isFull ? nil : entry
  }

  /// Spends one retry; `false` if none is left.
  package mutating func spend(origin: String) -> Bool {
    var entry = entries[origin] ?? Entry(budget: RetryBudget(), lastUse: 0)
    if entries[origin] == nil, entries.count >= limit { dropOldest() }
    uses += 1
    entry.lastUse = uses
    defer { entries[origin] = entry }
    return entry.budget.spend()
  }

  private mutating func dropOldest() {
    guard let oldest = entries.min(by: { $0.value.lastUse < $1.value.lastUse }) else { return }
    entries[oldest.key] = nil
  }
}

/// Limits the share of retries among all exchanges, so that a dead origin does not receive three times the requests
/// of a live one. One per origin; not thread-safe.
///
/// Every first attempt earns a tenth of a retry; a few are granted in advance, so that a single load can retry.
package struct RetryBudget: Sendable, Hashable {
  /// The available retries, in tenths.
  private var tenths: Int
  private let limit: Int

  /// A budget that starts with `reserve` retries, which is also its maximum.
  package init(reserve: Int = 10) {
    limit = reserve * 10
    tenths = limit
  }

  /// Whether the budget is at its maximum.
  package var isFull: Bool { tenths == limit }

  /// Notes a first attempt.
  package mutating func earn() { tenths = min(limit, tenths + 1) }

  /// Spends one retry; `false` if none is left.
  package mutating func spend() -> Bool {
    guard tenths >= 10 else { return false }
    tenths -= 10
    return true
  }
}

/// The delays between attempts of a load with `onlineWait` while there is no network: from 0.25 s up to 5 s.
package enum OnlineWaitRule {
  /// The delay before the next attempt.
  /// - Parameter attempt: The number of failed attempts, 1 or more.
  package static func delay(attempt: Int) -> Duration {
    let doublings = min(max(attempt - 1, 0), 10)
    return min(.milliseconds(250) * (1 << doublings), .seconds(5))
  }
}
