internal import CacheStore

/// Decides whether and when a failed exchange is retried. Pure: the caller passes the clock and the random number.
package struct RetryRule: Sendable, Hashable {
  /// The result of an attempt.
  package enum AttemptResult: Sendable, Hashable {
    /// No complete response.
    case failure(DataServiceError.Kind)
    /// A response with this status, and the delay that its `Retry-After` asks for.
    case status(Int, retryAfter: Duration?)
  }

  /// The next step.
  package enum Decision: Sendable, Hashable {
    /// Retry after this delay.
    case retry(after: Duration)
    /// No retry: this result is the load's result.
    case stop
    /// The origin asked for a longer delay than a load waits. No process that uses the store asks the origin before
    /// it is over.
    case pause(for: Duration)
  }

  /// The upper bound of the first delay.
  package var base: Duration = .milliseconds(250)
  /// The upper bound of every delay that `Retry-After` does not set.
  package var ceiling: Duration = .seconds(5)
  /// The longest `Retry-After` that a load waits for.
  package var longestWait: Duration = .seconds(60)
  /// The longest pause of an origin, whatever it asks for.
  package var longestPause: Duration = .milliseconds(Pause.longestMilliseconds)

  /// The default rule.
  package init() {}

  /// Decides about the next attempt.
  ///
  /// - Parameters:
  ///   - result: How the last attempt ended.
  ///   - attempt: How many attempts there have been, 1 or more.
  ///   - retries: How many retries the load may make in all.
  ///   - isRepeatable: Whether the request is a GET, a HEAD or marked as a read.
  ///   - remaining: The rest of the load's total time.
  ///   - patience: How long the loads wait at most; `nil` as long as it takes.
  ///   - random: A number from 0 up to, not including, 1; evaluated only if there is a retry.
  package func decision(
    after result: AttemptResult, attempt: Int, retries: Int, isRepeatable: Bool, remaining: Duration,
    patience: Duration? = nil, random: @autoclosure () -> Double
  ) -> Decision {
    guard mayPass(result) else { return .stop }
    let asked = result.delayAsked
    if let asked, asked > min(longestWait, max(.zero, patience ?? longestWait)) {
      return .pause(for: min(asked, longestPause))
    }
    // Jitter is added to the requested delay, so that clients given the same second do not return at the same
    // instant.
    let delay = (asked ?? .zero) + jitter(attempt: attempt, random: random())
    if isRepeatable, attempt <= retries, delay < remaining { return .retry(after: delay) }
    // The pause applies to all other loads even when this one gives up.
    guard let asked, asked > .zero else { return .stop }
    return .pause(for: min(asked, longestPause))
  }

  /// Full jitter: a random delay between zero and a bound that doubles with each attempt.
  func jitter(attempt: Int, random: Double) -> Duration {
    let doublings = min(max(attempt - 1, 0), 20)
    let bound = min(base * (1 << doublings), ceiling)
    return .nanoseconds(Int64(Double(bound.clampedNanoseconds) * min(max(random, 0), 1)))
  }

  /// Whether another attempt may succeed. Failures that need a person (TLS, a malformed answer) or a network (handled
  /// by ``FetchPolicy`` and `onlineWait`) are not retried at once.
  private func mayPass(_ result: AttemptResult) -> Bool {
    switch result {
    case .failure(let kind):
      [.dns, .refused, .unreachable, .disconnected, .truncated, .timeout(.connect)].contains(kind)
    case .status(408, _), .status(429, _), .status(500, _), .status(502...504, _): true
    case .status: false
    }
  }
}

extension RetryRule.AttemptResult {
  /// The delay that the origin asked for, if any. Only 429 and 503 count (RFC 9110 section 10.2.3, RFC 6585).
  fileprivate var delayAsked: Duration? {
    switch self {
    case .status(429, let delay?), .status(503, let delay?): max(.zero, delay)
    default: nil
    }
  }
}

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

/// The delays between attempts while there is no network, from 0.25 s up to 5 s: of a load with `onlineWait`, and of a
/// live sequence.
package enum OnlineWaitRule {
  /// The delay before the next attempt.
  /// - Parameters:
  ///   - attempt: The number of failed attempts, 1 or more.
  ///   - random: From 0 to 1. Clients that lost an origin in the same instant return to it over half of the delay.
  package static func delay(attempt: Int, random: Double) -> Duration {
    let doublings = min(max(attempt - 1, 0), 10)
    let longest = min(Duration.milliseconds(250) * (1 << doublings), .seconds(5))
    return longest * (0.5 + min(max(random, 0), 1) / 2)
  }
}
