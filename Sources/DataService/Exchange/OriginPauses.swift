internal import CacheStore

/// The pauses that origins ask for (`Retry-After`), and the store's other knowledge before a request.
struct OriginPauses {
  let exchange: Exchange
  private var core: ServiceCore { exchange.core }
  private var prepared: PreparedRequest { exchange.prepared }

  /// The store's knowledge that matters before the request is sent.
  func preflight(
    knowing known: ResponseStore.Preflight?
  ) async -> ResponseStore.Preflight {
    if let known { return known }
    if isStoreSilent { return ResponseStore.Preflight() }
    guard let id = exchange.generation.known else {
      var preflight = ResponseStore.Preflight()
      preflight.pause = await pause(of: prepared.url)
      return preflight
    }
    return await core.door.call { [prepared] store in
      store.preflightNow(
        accountID: id, responder: prepared.responder(of: prepared.url), target: prepared.key.target)
    }.value ?? ResponseStore.Preflight()
  }

  /// Whether an earlier lookup is still waiting for the store; another one would wait too.
  private var isStoreSilent: Bool { exchange.plan.pendingLookup.map { $0.current == nil } ?? false }

  private func pause(of url: NormalisedURL) async -> Pause? {
    // Pauses are recorded in the store.
    if isStoreSilent { return nil }
    return await core.door.call { [prepared] (store) throws(CacheStoreError) in
      try store.pauseNow(accountName: prepared.key.account, responder: prepared.responder(of: url))
    }.value ?? nil
  }

  /// Throws `paused` if the responder for the URL has asked clients to wait.
  func checkPause(of url: NormalisedURL) async throws(DataServiceError) {
    try check(await pause(of: url), of: url)
  }

  func check(_ pause: Pause?, of url: NormalisedURL) throws(DataServiceError) {
    guard let left = pause?.remaining(at: core.timekeeper.startMark) else { return }
    let until = HTTPDate.format(core.timekeeper.wallMilliseconds + left)
    // It can be ended here. Other machines would tell of it again.
    let end = Remedy.endPause(of: url.authority)
    let remedy = core.upstream == nil ? end : Remedy(end.text)
    throw DataServiceError(
      .paused, "\(url.authority) asked clients to wait (Retry-After): paused until \(until)",
      remedy: remedy, retryAfter: .milliseconds(left))
  }

  /// Records a pause in the store, for all processes that use it.
  func record(_ pause: Pause, of responder: String) async {
    await core.change { [generation = exchange.generation] (store) async throws(CacheStoreError) in
      try await generation.with { (id) async throws(CacheStoreError) in
        try await store.pause(accountID: id, responder: responder, pause)
      }
    }
  }
}
