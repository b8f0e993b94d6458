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
  ///   - random: A number from 0 up to, not including, 1; evaluated only if there is a retry.
  package func decision(
    after result: AttemptResult, attempt: Int, retries: Int, isRepeatable: Bool, remaining: Duration,
    random: @autoclosure () -> Double
  ) -> Decision {
    guard mayPass(result) else { return .stop }
    let asked = result.delayAsked
    if let asked, asked > longestWait { return .pause(for: min(asked, longestPause)) }
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
