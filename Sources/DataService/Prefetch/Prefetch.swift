internal import CacheStore

/// A load before the caller has asked for it. Its deliveries are kept until the caller commits it or it is released.
///
/// All state is under one lock, held briefly and never while the sink or the load is called.
final class Prefetch<Value: Sendable>: AnyPrefetch, AnyLoad {
  typealias Sink = @Sendable (LoadOutput<Value>) -> Void
  typealias Progress = @Sendable (DataService.TransferProgress) -> Void

  private enum Phase {
    /// Waiting to begin on the service's thread.
    case waiting
    case holding
    case committed
    /// Released, or never begun: nothing is delivered.
    case released
  }

  private struct State {
    var phase = Phase.waiting
    var isCommitted = false
    var load: DataService.Load?
    var sink: Sink?
    /// Receives the body's progress after the commit.
    var progress: Progress?
    var outputs: [LoadOutput<Value>] = []
    var isDelivering = false
    var hasFailed = false
    /// Whether its account was signed out: nothing is counted after that.
    var isSignedOut = false
    let beganAt: Int64
    var freshAt: Int64?
    var bytes: Int64 = 0
    var finishers: [UnsafeContinuation<Void, Never>] = []
    /// The prepared request, once the load has begun.
    var prepared: PreparedRequest?

    /// The account and host that its counts in `stats` belong to.
    var place: (account: String, host: String)? {
      prepared.map { (account: $0.key.account, host: $0.url.authority) }
    }

    init(beganAt: Int64) { self.beganAt = beganAt }

    /// Removes the kept deliveries. The caller releases them outside the lock, since their `deinit` may run user
    /// code.
    mutating func takeOutputs() -> [LoadOutput<Value>] {
      defer { outputs = [] }
      return outputs
    }
  }

  let group: String?
  private let core: ServiceCore
  private let wanted: DataService.Request
  private let form: ValueForm<Value>
  private let unused: DataService.UnusedAnticipation
  private let state: Guarded<State>

  init(
    core: ServiceCore, request: DataService.Request, form: ValueForm<Value>, group: String?,
    unused: DataService.UnusedAnticipation
  ) {
    self.core = core
    wanted = request
    self.form = form
    self.group = group
    self.unused = unused
    state = Guarded(State(beganAt: core.timekeeper.bootNanoseconds))
  }

  // MARK: - Before the commit

  /// Begins the load if ``PrefetchRule`` allows it and it has not been released.
  func begin() {
    let prepared = try? core.prepare(wanted, policy: .storedThenFresh)
    guard let prepared, mayBegin(prepared) else { return refuse(prepared) }
    let (begins, counts) = state.withLock { state -> (Bool, AnticipationCounts?) in
      guard state.phase == .waiting else { return (false, nil) }
      state.prepared = prepared
      state.phase = state.isCommitted ? .committed : .holding
      // The commit came before the prefetch could begin.
      return (true, state.isCommitted ? count(state) { $0.committed = 1 } : nil)
    }
    add(counts)
    guard begins else { return resumeFinishers() }
    var request = wanted
    request.fields.append("Sec-Purpose", "prefetch")
    request.limits.bodyBytes = min(request.limits.bodyBytes, core.configuration.anticipation.bytes)
    let load = core.load(
      request, policy: .storedThenFresh, form: form, on: .inline,
      progress: { [weak self] in self?.received($0) },
      deliver: { [weak self] in self?.take(.delivery($0)) }, ended: { [weak self] in self?.take(.end) })
    let isReleased = state.withLock { state in
      state.load = load
      return state.phase == .released
    }
    if isReleased, unused == .cancelled { load.cancel() }
    resumeFinishers()
  }

  private func mayBegin(_ prepared: PreparedRequest) -> Bool {
    let (failedAt, exchanges) = core.state.withLock { ($0.prefetches.failedAt, $0.exchanges.count) }
    return PrefetchRule.mayBegin(
      .init(
        method: wanted.method, isPassThrough: prepared.isPassThrough, failedAt: failedAt,
        now: core.timekeeper.bootNanoseconds, exchanges: exchanges))
  }

  /// Refuses to begin; a commit that has already come gets a normal load instead.
  private func refuse(_ prepared: PreparedRequest?) {
    core.state.withLock { $0.prefetches.remove(self) }
    let (isWanted, counts) = state.withLock { state -> (Bool, AnticipationCounts?) in
      state.prepared = prepared
      let counts = count(state) { $0.refused = 1 }
      guard state.phase == .waiting else { return (false, counts) }
      state.phase = state.isCommitted ? .committed : .released
      return (state.isCommitted, counts)
    }
    add(counts)
    if isWanted {
      let load = core.load(
        wanted, policy: .storedThenFresh, form: form, on: .inline,
        progress: { [weak self] in self?.received($0) },
        deliver: { [weak self] in self?.take(.delivery($0)) }, ended: { [weak self] in self?.take(.end) })
      state.withLock { $0.load = load }
    }
    resumeFinishers()
  }

  private func received(_ update: DataService.TransferProgress) {
    let progress = state.withLock { state in
      state.bytes = max(state.bytes, update.received)
      return state.progress
    }
    progress?(update)
  }

  private func take(_ output: LoadOutput<Value>) {
    let now = core.timekeeper.bootNanoseconds
    _ = state.withLock { state -> [LoadOutput<Value>] in
      var dropped: [LoadOutput<Value>] = []
      guard state.phase != .released else { return dropped }
      if case .delivery(.fresh(let response, _)) = output {
        state.freshAt = now
        if !response.wasValidated { state.bytes = max(state.bytes, response.head.bodyLength ?? 0) }
      }
      if case .delivery(.failure(let error, _)) = output {
        state.hasFailed = true
        // Nothing of a signed-out account is delivered, however early it was read.
        if error.kind == .signedOut || error.kind == .closed { dropped = state.takeOutputs() }
        if error.kind == .signedOut { state.isSignedOut = true }
      }
      state.outputs.append(output)
      return dropped
    }
    drain()
  }

  var isHeld: Bool { state.withLock { !$0.isCommitted && $0.phase != .released } }

  // MARK: - Commit and release

  /// Commits the prefetch; `false` if the caller should start a normal load, because nothing is held or the prefetch
  /// has failed.
  func commit(progress: Progress? = nil) -> Bool {
    let now = core.timekeeper.bootNanoseconds
    let (isTaken, counts) = state.withLock { state -> (Bool, AnticipationCounts?) in
      guard !state.isCommitted, !state.hasFailed, state.phase != .released else { return (false, nil) }
      state.isCommitted = true
      state.progress = progress
      guard state.phase == .holding else { return (true, nil) }
      state.phase = .committed
      let counts = count(state) { counts in
        counts.committed = 1
        counts.leadMilliseconds = (now - state.beganAt) / 1_000_000
        counts.wonMilliseconds = (min(now, state.freshAt ?? now) - state.beganAt) / 1_000_000
      }
      return (true, counts)
    }
    add(counts)
    if isTaken {
      _ = core.state.withLock { $0.prefetches.want(self) }
    } else {
      release(.cancelled)
    }
    return isTaken
  }

  /// Counts for `stats`. It runs under the lock, so that nothing is counted for an account after its sign-out.
  /// - Returns: The addition to the service's own counts, to be made outside the lock.
  private func count(
    _ state: State, _ change: (inout AnticipationCounts) -> Void
  ) -> AnticipationCounts? {
    guard !state.isSignedOut else { return nil }
    var usage = UsageCount()
    change(&usage.anticipations)
    if let place = state.place { core.store.count(accountName: place.account, host: place.host, usage) }
    return usage.anticipations
  }

  private func add(_ counts: AnticipationCounts?) {
    if let counts { core.state.withLock { $0.prefetches.counts += counts } }
  }

  /// Sends all deliveries to a sink, the kept ones first; `false` if another sink is attached.
  func attach(_ sink: @escaping Sink) -> Bool {
    let attached = state.withLock { state in
      guard state.sink == nil, state.phase != .released else { return false }
      state.sink = sink
      return true
    }
    if attached { drain() }
    return attached
  }

  private typealias Released = (DataService.Load?, AnticipationCounts?, dropped: [LoadOutput<Value>])

  func release(_ reason: ReleaseReason) {
    core.state.withLock { $0.prefetches.remove(self) }
    let (load, counts, _) = state.withLock { state -> Released in
      guard !state.isCommitted, state.phase != .released else { return (nil, nil, []) }
      var counts: AnticipationCounts?
      if state.phase == .holding {
        counts = count(state) { counts in
          counts.unused = 1
          counts.wastedBytes = state.bytes
        }
      }
      state.phase = .released
      return (state.load, counts, state.takeOutputs())
    }
    add(counts)
    if reason == .cancelled || unused == .cancelled { load?.cancel() }
  }

  /// Delivers the kept outputs one at a time and in order, whichever threads appended them.
  private func drain() {
    while let (sink, output) = state.withLock({ state -> (Sink, LoadOutput<Value>)? in
      guard let sink = state.sink, !state.isDelivering, !state.outputs.isEmpty else { return nil }
      state.isDelivering = true
      return (sink, state.outputs.removeFirst())
    }) {
      sink(output)
      state.withLock { $0.isDelivering = false }
    }
  }

  // MARK: - AnyLoad

  var request: PreparedRequest? { nil }

  func cancel() {
    let (load, _) = state.withLock { state in
      state.phase = .released
      return (state.load, state.takeOutputs())
    }
    load?.cancel()
  }

  func finished() async {
    await withUnsafeContinuation { continuation in
      let isReady = state.withLock { state in
        if state.load != nil || state.phase == .released { return true }
        state.finishers.append(continuation)
        return false
      }
      if isReady { continuation.resume() }
    }
    await state.withLock { $0.load }?.finished()
  }

  func stop(with error: DataServiceError) {}

  func signOut(where condition: (PreparedRequest) -> Bool) {
    guard let prepared = state.withLock({ $0.prepared }), condition(prepared) else { return }
    // A running load delivers the failure itself.
    _ = state.withLock { state -> [LoadOutput<Value>] in
      guard state.sink == nil, case .end? = state.outputs.last else { return [] }
      state.hasFailed = true
      state.isSignedOut = true
      defer { state.outputs = [.delivery(.failure(.signedOut, lastKnown: nil)), .end] }
      return state.takeOutputs()
    }
  }

  private func resumeFinishers() {
    let finishers = state.withLock { state in
      defer { state.finishers = [] }
      return state.finishers
    }
    for finisher in finishers { finisher.resume() }
  }
}
