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
