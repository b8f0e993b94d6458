internal import CacheStore

/// How often an exchange asks: what is asked again, after which pause, and until when.
struct Attempts {
  let exchange: Exchange
  private var core: ServiceCore { exchange.core }
  private var prepared: PreparedRequest { exchange.prepared }

  /// Runs attempts, with the retries that ``RetryRule`` grants and, with `onlineWait`, for as long as there is no
  /// network.
  /// - Parameter preflight: The store's knowledge before the first attempt; later attempts look it up again.
  func run(
    knowing preflight: ResponseStore.Preflight?
  ) async throws(DataServiceError) -> CompletedExchange {
    let clock = core.timekeeper
    let onlineUntil = prepared.request.onlineWait.map { clock.instant(after: $0) }
    var timesOffline = 0
    var attempt = 0
    let pauses = OriginPauses(exchange: exchange)
    core.earnRetry(origin: prepared.url.origin)
    while true {
      attempt += 1
      let result: Result<CompletedExchange, DataServiceError>
      do throws(DataServiceError) {
        let known = await pauses.preflight(knowing: attempt == 1 ? preflight : nil)
        try pauses.check(known.pause, of: prepared.url)
        result = .success(
          try await Attempt(exchange: exchange).complete(
            mayHavePartialBody: known.mayHavePartialBody))
      } catch {
        result = .failure(error)
      }
      var decision = self.decision(
        after: result, attempt: attempt, retries: prepared.request.limits.retries)
      // Without a retry left in the origin's budget, this load gives up; the pause applies to all others.
      if case .retry = decision, !core.takeRetry(origin: prepared.url.origin) {
        decision = self.decision(after: result, attempt: attempt, retries: 0)
      }
      switch decision {
      case .retry(let delay):
        try await wait(for: delay, before: result)
        continue
      case .pause(let length): await recordPause(for: length, after: result, in: pauses)
      case .stop: break
      }
      if mayWaitOnline(after: result), let onlineUntil, clock.bootNanoseconds < onlineUntil {
        timesOffline += 1
        let delay = min(
          OnlineWaitRule.delay(attempt: timesOffline, random: core.configuration.random()),
          .nanoseconds(onlineUntil - clock.bootNanoseconds))
        try await wait(for: delay, before: result)
        continue
      }
      do throws(DataServiceError) {
        return try result.get()
      } catch {
        throw mayHaveBeenDone(after: error) ? error.advising(.lookFirst) : error
      }
    }
  }

  /// Whether a request that changes something may have been carried out though it failed.
  private func mayHaveBeenDone(after error: DataServiceError) -> Bool {
    guard !prepared.isRepeatable, exchange.hasBeenAnswered || !error.kind.isBeforeSending else {
      return false
    }
    let isOfAnswer = error.kind == .protocol || error.kind == .tooLarge
    return error.kind == .disconnected || error.kind == .truncated || error.isTimeout
      || isOfAnswer && exchange.hasBeenAnswered
  }

  /// What ``RetryRule`` says of an attempt's result.
  private func decision(
    after result: Result<CompletedExchange, DataServiceError>, attempt: Int, retries: Int
  ) -> RetryRule.Decision {
    let now = core.timekeeper.bootNanoseconds
    return core.retryRule.decision(
      after: result.attemptResult, attempt: attempt, retries: retries, isRepeatable: prepared.isRepeatable,
      remaining: .nanoseconds(exchange.deadline - now),
      patience: exchange.patience.map { .nanoseconds($0 - now) }, random: core.configuration.random())
  }

  /// Whether the request may be sent again once the network is back. An unsafe request may only if no byte of it was
  /// sent (RFC 9110 section 9.2.2).
  private func mayWaitOnline(after result: Result<CompletedExchange, DataServiceError>) -> Bool {
    guard case .failure(let error) = result, error.kind.isConnectivity else { return false }
    return prepared.isRepeatable || error.kind.isBeforeSending && !exchange.hasBeenAnswered
  }

  private func wait(
    for delay: Duration, before result: Result<CompletedExchange, DataServiceError>
  ) async throws(DataServiceError) {
    try exchange.stopWriting()
    if case .success(let outcome) = result, let asked = outcome.answer.retryAfter {
      exchange.owed = (pause(asked), outcome.answer.responder)
    }
    if case .failure(let error) = result { exchange.trouble = error }
    exchange.tell(
      .retrying(after: delay, because: result.kind, status: result.status),
      trace: "retrying in \(delay.clampedNanoseconds / 1_000_000) ms after \(result.reason)")
    if let status = result.status { core.configuration.onWait?(prepared.shownURL, delay, status) }
    do {
      try await core.timekeeper.sleep(for: delay)
    } catch {
      throw DataServiceError(.cancelled, "cancelled")
    }
    exchange.owed = nil
  }

  private func pause(_ length: Duration) -> Pause {
    Pause(heard: core.timekeeper.startMark, milliseconds: length.clampedNanoseconds / 1_000_000)
  }

  /// Records the pause that the responder asked for, here and for the fleet.
  private func recordPause(
    for length: Duration, after result: Result<CompletedExchange, DataServiceError>,
    in pauses: OriginPauses
  ) async {
    guard case .success(let outcome) = result else { return }
    let pause = pause(length)
    await pauses.record(pause, of: outcome.answer.responder)
    core.configuration.onPause?(
      StoredPause.host(of: outcome.answer.responder), length, outcome.answer.head.status)
    if let turn = exchange.turn { core.upstream?.share(pause, of: outcome.answer.responder, in: turn) }
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
