internal import CacheStore

/// Whether and when a failed exchange is tried again. Pure: the caller brings the clock and the random number.
package struct RetryRule: Sendable, Hashable {
  /// How an exchange ended that may be tried again.
  package enum Outcome: Sendable, Hashable {
    /// Without a whole response.
    case failure(DataServiceError.Kind)
    /// With a response, and how long its `Retry-After` asks to be left alone.
    case status(Int, retryAfter: Duration?)
  }

  /// What to do after it.
  package enum Decision: Sendable, Hashable {
    /// Try again after this long.
    case retry(after: Duration)
    /// This outcome is the load's.
    case stop
    /// The origin asked for more time than is worth waiting: nobody on the store is to ask it for so long.
    case pause(for: Duration)
  }

  /// The upper bound of the first delay.
  package var base: Duration = .milliseconds(250)
  /// The upper bound of every delay of our own choosing.
  package var ceiling: Duration = .seconds(5)
  /// The longest `Retry-After` that a load waits for.
  package var longestWait: Duration = .seconds(60)
  /// The longest that an origin is left alone, whatever it asks for.
  package var longestPause: Duration = .milliseconds(Pause.longestMilliseconds)

  /// The default rule.
  package init() {}

  /// Decides about the next attempt.
  ///
  /// - Parameters:
  ///   - outcome: How the last attempt ended.
  ///   - attempt: How many attempts there have been, 1 or more.
  ///   - retries: How many retries the load may make in all.
  ///   - isRepeatable: Whether the request is a GET, a HEAD or marked as a read.
  ///   - remaining: What is left of the load's total time.
  ///   - random: From 0 up to, not including, 1; asked for only where something is tried again.
  package func decision(
    after outcome: Outcome, attempt: Int, retries: Int, isRepeatable: Bool, remaining: Duration,
    random: @autoclosure () -> Double
  ) -> Decision {
    guard mayPass(outcome) else { return .stop }
    let asked = outcome.delayAsked
    if let asked, asked > longestWait { return .pause(for: min(asked, longestPause)) }
    // Jitter on top of what was asked, so that the clients told the same second do not return in the same instant.
    let delay = (asked ?? .zero) + jitter(attempt: attempt, random: random())
    if isRepeatable, attempt <= retries, delay < remaining { return .retry(after: delay) }
    // The pause holds for everyone else even when this load gives up.
    guard let asked, asked > .zero else { return .stop }
    return .pause(for: min(asked, longestPause))
  }

  /// Full jitter: anything from nothing to a bound that doubles with each attempt.
  func jitter(attempt: Int, random: Double) -> Duration {
    let doublings = min(max(attempt - 1, 0), 20)
    let bound = min(base * (1 << doublings), ceiling)
    return .nanoseconds(Int64(Double(bound.clampedNanoseconds) * min(max(random, 0), 1)))
  }

  /// Whether another attempt may end otherwise. What needs a person (TLS, a malformed answer) or a network
  /// (``FetchPolicy`` and `onlineWait` see to that) is not tried again at once.
  private func mayPass(_ outcome: Outcome) -> Bool {
    switch outcome {
    case .failure(let kind):
      [.dns, .refused, .unreachable, .disconnected, .truncated, .timeout(.connect)].contains(kind)
    case .status(408, _), .status(429, _), .status(500, _), .status(502...504, _): true
    case .status: false
    }
  }
}

extension RetryRule.Outcome {
  /// The delay that the origin asked for, if any; only 429 and 503 are heard (RFC 9110 section 10.2.3, RFC 6585).
  fileprivate var delayAsked: Duration? {
    switch self {
    case .status(429, let delay?), .status(503, let delay?): max(.zero, delay)
    default: nil
    }
  }
}
