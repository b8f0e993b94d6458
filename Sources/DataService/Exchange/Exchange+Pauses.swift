internal import CacheStore

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
  nonisolated(nonsending) func recordPause(
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
