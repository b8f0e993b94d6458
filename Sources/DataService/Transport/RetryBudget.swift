/// Bounds the share of retries among all exchanges, so that a dead origin is not asked three times as often as a
/// live one. One for each origin; not thread-safe.
///
/// Every first attempt earns a tenth of a retry; a few are granted in advance, so that a single load can retry.
package struct RetryBudget: Sendable, Hashable {
  /// Tenths of a retry in hand.
  private var tenths: Int
  private let limit: Int

  /// A budget with `reserve` retries in hand, which is also the most it ever holds.
  package init(reserve: Int = 10) {
    limit = reserve * 10
    tenths = limit
  }

  /// Whether it holds all it can.
  package var isFull: Bool { tenths == limit }

  /// Notes a first attempt.
  package mutating func earn() { tenths = min(limit, tenths + 1) }

  /// Takes one retry out; `false` where there is none left.
  package mutating func spend() -> Bool {
    guard tenths >= 10 else { return false }
    tenths -= 10
    return true
  }
}

/// How a load with `onlineWait` repeats while there is no network: gently, 0.25 s growing to 5 s.
package enum OnlineWaitRule {
  /// The delay before the next look.
  /// - Parameter attempt: How many times it has failed so far, 1 or more.
  package static func delay(attempt: Int) -> Duration {
    let doublings = min(max(attempt - 1, 0), 10)
    return min(.milliseconds(250) * (1 << doublings), .seconds(5))
  }
}
