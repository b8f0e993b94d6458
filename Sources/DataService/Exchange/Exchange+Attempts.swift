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
      do throws(DataServiceError) {
        return try result.get()
      } catch {
        throw mayHaveBeenDone(after: error) ? error.advising(.lookFirst) : error
      }
    }
  }

  /// Whether a request that changes something may have been carried out though it failed.
  private func mayHaveBeenDone(after error: DataServiceError) -> Bool {
    guard !prepared.isRepeatable, hasBeenAnswered || !error.kind.isBeforeSending else { return false }
    let isOfAnswer = error.kind == .protocol || error.kind == .tooLarge
    return error.kind == .disconnected || error.kind == .truncated || error.kind.name.hasPrefix("timeout(")
      || isOfAnswer && hasBeenAnswered
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
    if let status = result.status { core.configuration.onWait?(prepared.shownURL, delay, status) }
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

// The store's knowledge before a request, and the pauses that origins ask for (`Retry-After`).
extension Exchange {
  /// The store's knowledge that matters before the request is sent.
  nonisolated(nonsending) func preflight(
    knowing known: ResponseStore.Preflight?
  ) async -> ResponseStore.Preflight {
    if let known { return known }
    if isStoreSilent { return ResponseStore.Preflight() }
    guard let id = generation.known else {
      var preflight = ResponseStore.Preflight()
      preflight.pause = await pause(of: prepared.url)
      return preflight
    }
    return await core.storeCall { [core, prepared] in
      core.store.preflightNow(
        accountID: id, responder: prepared.responder(of: prepared.url), target: prepared.key.target)
    } ?? ResponseStore.Preflight()
  }

  /// Whether an earlier lookup is still waiting for the store; another one would wait too.
  private var isStoreSilent: Bool { plan.pendingLookup.map { $0.current == nil } ?? false }

  nonisolated(nonsending) private func pause(of url: NormalisedURL) async -> Pause? {
    // Pauses are recorded in the store.
    if isStoreSilent { return nil }
    let found = await core.storeCall { [core, prepared] in
      try? core.store.pauseNow(accountName: prepared.key.account, responder: prepared.responder(of: url))
    }
    return (found ?? nil) ?? nil
  }

  /// Throws `paused` if the responder for the URL has asked clients to wait.
  nonisolated(nonsending) func checkPause(of url: NormalisedURL) async throws(DataServiceError) {
    try check(await pause(of: url), of: url)
  }

  func check(_ pause: Pause?, of url: NormalisedURL) throws(DataServiceError) {
    guard let left = pause?.remaining(at: core.timekeeper.startMark) else { return }
    let until = HTTPDate.format(core.timekeeper.wallMilliseconds + left)
    // A repair ends a pause here. The fleet would tell of it again.
    let remedy = core.configuration.tier == nil ? Remedy.endPause : Remedy(Remedy.endPause.text)
    throw DataServiceError(
      .paused, "\(url.authority) asked clients to wait (Retry-After): paused until \(until)",
      remedy: remedy, retryAfter: .milliseconds(left))
  }

  /// Records the pause that the responder asked for, here and for the fleet.
  nonisolated(nonsending) private func recordPause(
    for length: Duration, after result: Result<CompletedExchange, DataServiceError>
  ) async {
    guard case .success(let outcome) = result else { return }
    let pause = Pause(heard: core.timekeeper.startMark, milliseconds: length.clampedNanoseconds / 1_000_000)
    await record(pause, of: outcome.answer.responder)
    share(pause, of: outcome.answer.responder)
  }

  /// Records a pause in the store, for all processes that use it.
  nonisolated(nonsending) func record(_ pause: Pause, of responder: String) async {
    let done = await core.commitWaiting.result { [self] () async throws(CacheStoreError) in
      try await generation.with { (id) async throws(CacheStoreError) in
        try await core.store.pause(accountID: id, responder: responder, pause)
      }
    }
    if case .failure(let error) = done { core.warn(store: error) }
  }
}
