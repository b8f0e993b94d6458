internal import CacheStore

/// What an exchange's work brings.
struct ExchangeOutcome: Sendable {
  var answer: Answer
  /// A write that was not done in time for the delivery and still goes on.
  var pendingWrite: Task<Bool, Never>?
}

extension Exchange {
  /// Follows another process's exchange where one is under way, or makes its own; then waits for the network to come
  /// back where the caller asked for that.
  nonisolated(nonsending) func perform() async throws(DataServiceError) -> ExchangeOutcome {
    let clock = core.timekeeper
    let limits = plan.prepared.request.limits
    let deadline = clock.instant(after: limits.totalTimeout)
    guard plan.isShared else { return try await attempts(until: deadline, knowing: plan.outlook) }
    let leasing = Leasing(exchange: self, deadline: deadline)
    switch try await leasing.obtain() {
    case .follow(let answer):
      core.noteFollowing()
      return ExchangeOutcome(answer: answer)
    case .lead(let lease, let isAtOnce):
      hold(lease)
      generation.begin(on: core.thread)
      return try await attempts(until: deadline, knowing: isAtOnce ? plan.outlook : nil)
    }
  }

  /// Tries, tries again as ``RetryRule`` says, and with `onlineWait` as long as there is no network.
  /// - Parameter outlook: What is known before the first try; before a later one it is looked up again.
  nonisolated(nonsending) private func attempts(
    until deadline: Int64, knowing outlook: ResponseStore.Outlook?
  ) async throws(DataServiceError) -> ExchangeOutcome {
    let clock = core.timekeeper
    let prepared = plan.prepared
    let patience = prepared.request.onlineWait.map { clock.instant(after: $0) }
    var timesOffline = 0
    var attempt = 0
    core.earnRetry(origin: prepared.url.origin)
    while true {
      attempt += 1
      let result = await attemptOnce(until: deadline, knowing: attempt == 1 ? outlook : nil)
      let decision = core.retryRule.decision(
        after: result.retryOutcome, attempt: attempt, retries: prepared.request.limits.retries,
        isRepeatable: prepared.isRepeatable,
        remaining: .nanoseconds(deadline - clock.bootNanoseconds), random: core.random())
      switch decision {
      case .retry(let delay) where core.takeRetry(origin: prepared.url.origin):
        try await pause(for: delay, before: result)
        continue
      case .pause(let length): await recordPause(for: length, after: result)
      case .retry, .stop: break
      }
      if mayWaitOnline(after: result), let patience, clock.bootNanoseconds < patience {
        timesOffline += 1
        let delay = min(
          OnlineWaitRule.delay(attempt: timesOffline), .nanoseconds(patience - clock.bootNanoseconds))
        try await pause(for: delay, before: result)
        continue
      }
      return try result.get()
    }
  }

  /// Whether the request may be sent once more when the network is back: one that changes something only where nothing of
  /// it has left (RFC 9110 section 9.2.2).
  private func mayWaitOnline(after result: Result<ExchangeOutcome, DataServiceError>) -> Bool {
    guard case .failure(let error) = result, error.kind.isConnectivity else { return false }
    return plan.prepared.isRepeatable || error.kind.isBeforeSending && !hasBeenAnswered
  }

  nonisolated(nonsending) private func attemptOnce(
    until deadline: Int64, knowing outlook: ResponseStore.Outlook?
  ) async -> Result<ExchangeOutcome, DataServiceError> {
    do throws(DataServiceError) {
      return .success(try await hops(until: deadline, knowing: outlook))
    } catch {
      return .failure(error)
    }
  }

  nonisolated(nonsending) private func pause(
    for delay: Duration, before result: Result<ExchangeOutcome, DataServiceError>
  ) async throws(DataServiceError) {
    core.trace("retrying in \(delay.clampedNanoseconds / 1_000_000) ms after \(result.reason)")
    do {
      try await core.timekeeper.sleep(for: delay)
    } catch {
      throw DataServiceError(.cancelled, "cancelled")
    }
  }

  /// Tells every process on the store that whoever answered wants to be left alone.
  nonisolated(nonsending) private func recordPause(
    for length: Duration, after result: Result<ExchangeOutcome, DataServiceError>
  ) async {
    guard case .success(let outcome) = result else { return }
    let responder = outcome.answer.responder
    let done = await core.commitWaiting.result { [self] () async throws(CacheStoreError) in
      try await generation.with { (id) async throws(CacheStoreError) in
        try await core.store.pause(
          accountID: id, responder: responder,
          Pause(heard: core.timekeeper.startMark, milliseconds: length.clampedNanoseconds / 1_000_000))
      }
    }
    if case .failure(let error) = done { core.warn(store: error) }
  }
}

extension Result where Success == ExchangeOutcome, Failure == DataServiceError {
  /// The result as the retry rule sees it.
  fileprivate var retryOutcome: RetryRule.Outcome {
    switch self {
    case .success(let outcome): .status(outcome.answer.status, retryAfter: outcome.answer.retryAfter)
    case .failure(let error): .failure(error.kind)
    }
  }

  fileprivate var reason: String {
    switch self {
    case .success(let outcome): "status \(outcome.answer.status)"
    case .failure(let error): error.message
    }
  }
}
