internal import CacheStore

// How often an exchange asks: what is asked again, after which pause, and until when.
extension Exchange {
  /// Runs attempts, with the retries that ``RetryRule`` grants and, with `onlineWait`, for as long as there is no
  /// network.
  /// - Parameter preflight: The store's knowledge before the first attempt; later attempts look it up again.
  nonisolated(nonsending) func attempts(
    until deadline: Int64, knowing preflight: ResponseStore.Preflight?
  ) async throws(DataServiceError) -> CompletedExchange {
    let clock = core.timekeeper
    let onlineUntil = prepared.request.onlineWait.map { clock.instant(after: $0) }
    var timesOffline = 0
    var attempt = 0
    core.earnRetry(origin: prepared.url.origin)
    while true {
      attempt += 1
      let result: Result<CompletedExchange, DataServiceError>
      do throws(DataServiceError) {
        result = .success(try await self.attempt(until: deadline, knowing: attempt == 1 ? preflight : nil))
      } catch {
        result = .failure(error)
      }
      var decision = self.decision(
        after: result, attempt: attempt, retries: prepared.request.limits.retries, until: deadline)
      // Without a retry left in the origin's budget, this load gives up; the pause applies to all others.
      if case .retry = decision, !core.takeRetry(origin: prepared.url.origin) {
        decision = self.decision(after: result, attempt: attempt, retries: 0, until: deadline)
      }
      switch decision {
      case .retry(let delay):
        try await wait(for: delay, before: result)
        continue
      case .pause(let length): await recordPause(for: length, after: result)
      case .stop: break
      }
      if mayWaitOnline(after: result), let onlineUntil, clock.bootNanoseconds < onlineUntil {
        timesOffline += 1
        let delay = min(
          OnlineWaitRule.delay(attempt: timesOffline), .nanoseconds(onlineUntil - clock.bootNanoseconds))
        try await wait(for: delay, before: result)
        continue
      }
      return try result.get()
    }
  }

  /// What ``RetryRule`` says of an attempt's result.
  private func decision(
    after result: Result<CompletedExchange, DataServiceError>, attempt: Int, retries: Int,
    until deadline: Int64
  ) -> RetryRule.Decision {
    core.retryRule.decision(
      after: result.attemptResult, attempt: attempt, retries: retries, isRepeatable: prepared.isRepeatable,
      remaining: .nanoseconds(deadline - core.timekeeper.bootNanoseconds), random: core.random())
  }

  /// Whether the request may be sent again once the network is back. An unsafe request may only if no byte of it was
  /// sent (RFC 9110 section 9.2.2).
  private func mayWaitOnline(after result: Result<CompletedExchange, DataServiceError>) -> Bool {
    guard case .failure(let error) = result, error.kind.isConnectivity else { return false }
    return prepared.isRepeatable || error.kind.isBeforeSending && !hasBeenAnswered
  }

  nonisolated(nonsending) private func wait(
    for delay: Duration, before result: Result<CompletedExchange, DataServiceError>
  ) async throws(DataServiceError) {
    try stopWriting()
    core.trace("retrying in \(delay.clampedNanoseconds / 1_000_000) ms after \(result.reason)")
    tell(.retrying(after: delay, because: result.kind, status: result.status))
    do {
      try await core.timekeeper.sleep(for: delay)
    } catch {
      throw DataServiceError(.cancelled, "cancelled")
    }
  }
}

extension Result where Success == CompletedExchange, Failure == DataServiceError {
  /// The result in the terms of ``RetryRule``.
  fileprivate var attemptResult: RetryRule.AttemptResult {
    switch self {
    case .success(let outcome): .status(outcome.answer.head.status, retryAfter: outcome.answer.retryAfter)
    case .failure(let error): .failure(error.kind)
    }
  }

  fileprivate var kind: DataServiceError.Kind {
    if case .failure(let error) = self { error.kind } else { .status }
  }

  fileprivate var status: Int? {
    switch self {
    case .success(let outcome): outcome.answer.head.status
    case .failure(let error): error.status
    }
  }

  fileprivate var reason: String {
    switch self {
    case .success(let outcome): "status \(outcome.answer.head.status)"
    case .failure(let error): error.message
    }
  }
}
