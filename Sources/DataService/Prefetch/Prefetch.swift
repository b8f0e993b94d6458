internal import CacheStore
internal import Guards

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
    /// The number of the load whose outputs count.
    var loadNumber = 0
    /// Whether the load is cancelled, if need be as soon as it is there.
    var isStopped = false
    /// Whether its body has a lower limit than the caller's.
    var hasLowLimit = false
    var hasStored = false
    var sink: Sink?
    /// Receives the body's progress after the commit.
    var progress: Progress?
    var outputs: [LoadOutput<Value>] = []
    var isDelivering = false
    var hasFailed = false
    /// Whether the last delivery was handed over.
    var isHandedOver = false
    /// Whether its account was signed out: nothing is counted after that.
    var isSignedOut = false
    let beganAt: Int64
    var freshAt: Int64?
    var bytes: Int64 = 0
    var finishers: [UnsafeContinuation<Void, Never>] = []
    /// The prepared request, once the load has begun.
    var prepared: PreparedRequest?

    /// The account and host that its counts belong to.
    var place: (account: String, host: String)? {
      prepared.map { (account: $0.key.account, host: $0.countedHost) }
    }

    init(beganAt: Int64) { self.beganAt = beganAt }

    /// Removes the kept deliveries. The caller releases them outside the lock, since their `deinit` may run user
    /// code.
    mutating func takeOutputs() -> [LoadOutput<Value>] {
      defer { outputs = [] }
      return outputs
    }

    mutating func nextLoad() -> Int {
      loadNumber += 1
      return loadNumber
    }

    /// Whether a load that is wanted has failed only because of the prefetch's own limit.
    func needsAll(after output: LoadOutput<Value>) -> Bool {
      guard isCommitted, hasLowLimit, case .delivery(.failure(let error, _)) = output else { return false }
      return error.kind == .tooLarge
    }
  }

  let group: String?
  private let core: ServiceCore
  private let wanted: DataService.Request
  private let form: ValueForm<Value>
  private let unused: DataService.UnusedAnticipation
  private let state: GuardedWork<State>

  init(
    core: ServiceCore, request: DataService.Request, form: ValueForm<Value>, group: String?,
    unused: DataService.UnusedAnticipation
  ) {
    self.core = core
    wanted = request
    self.form = form
    self.group = group
    self.unused = unused
    state = GuardedWork(State(beganAt: core.timekeeper.bootNanoseconds))
  }

  // MARK: - Before the commit

  /// Begins the load if ``PrefetchRule`` allows it and it has not been released.
  func begin() {
    let prepared = try? core.prepare(wanted, policy: .storedThenFresh)
    guard let prepared, mayBegin(prepared) else { return refuse(prepared) }
    var request = wanted
    request.fields.append("Sec-Purpose", "prefetch")
    let limit = core.configuration.anticipation.bytes
    let (number, counts) = state.withLock { state -> (Int?, AnticipationCounts?) in
      guard state.phase == .waiting else { return (nil, nil) }
      state.prepared = prepared
      state.phase = state.isCommitted ? .committed : .holding
      // What has been committed meanwhile is a normal load.
      state.hasLowLimit = !state.isCommitted && limit < request.limits.bodyBytes
      if state.hasLowLimit { request.limits.bodyBytes = limit }
      // The commit came before the prefetch could begin.
      return (state.nextLoad(), state.isCommitted ? count(state) { $0.committed = 1 } : nil)
    }
    add(counts)
    guard let number else { return resumeFinishers() }
    load(request, policy: .storedThenFresh, number: number)
    resumeFinishers()
  }

  private func load(_ request: DataService.Request, policy: FetchPolicy, number: Int) {
    let load = core.load(
      request, policy: policy, form: form, on: .inline,
      progress: { [weak self] in self?.received($0) },
      deliver: { [weak self] in self?.take(.delivery($0), of: number) },
      ended: { [weak self] in self?.take(.end, of: number) })
    let isStopped = state.withLock { state in
      // Its outputs may have begun another one already.
      if state.loadNumber == number { state.load = load }
      return state.isStopped
    }
    if isStopped { load.cancel() }
  }

  private func mayBegin(_ prepared: PreparedRequest) -> Bool {
    // Exchanges of prefetches do not count: the one just replaced may not have ended yet.
    let failedAt = core.state.withLock { $0.prefetches.failedAt }
    return PrefetchRule.mayBegin(
      .init(
        method: wanted.method, isPassThrough: prepared.isPassThrough, failedAt: failedAt,
        now: core.timekeeper.bootNanoseconds,
        exchanges: core.engine.exchanges.wanted(upTo: PrefetchRule.busy), all: core.exchangeCount,
        held: max(1, core.configuration.anticipation.count)))
  }

  /// Refuses to begin; a commit that has already come gets a normal load instead.
  private func refuse(_ prepared: PreparedRequest?) {
    core.state.withLock { $0.prefetches.remove(self) }
    let (number, counts) = state.withLock { state -> (Int?, AnticipationCounts?) in
      state.prepared = prepared
      let counts = count(state) { $0.refused = 1 }
      guard state.phase == .waiting else { return (nil, counts) }
      state.phase = state.isCommitted ? .committed : .released
      return (state.isCommitted ? state.nextLoad() : nil, counts)
    }
    add(counts)
    if let number { load(wanted, policy: .storedThenFresh, number: number) }
    resumeFinishers()
  }

  private func received(_ update: DataService.TransferProgress) {
    let progress = state.withLock { state in
      state.bytes = max(state.bytes, update.received)
      return state.progress
    }
    progress?(update)
  }

  private func take(_ output: LoadOutput<Value>, of number: Int) {
    let now = core.timekeeper.bootNanoseconds
    typealias Taken = (again: (number: Int, policy: FetchPolicy)?, dropped: [LoadOutput<Value>])
    let (again, _) = state.withLock { state -> Taken in
      var dropped: [LoadOutput<Value>] = []
      guard state.phase != .released, state.loadNumber == number else { return (nil, dropped) }
      if state.needsAll(after: output) {
        state.hasLowLimit = false
        return ((state.nextLoad(), state.hasStored ? .freshOnly : .storedThenFresh), dropped)
      }
      if case .delivery(.stored) = output { state.hasStored = true }
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
      return (nil, dropped)
    }
    if let again { return load(wanted, policy: again.policy, number: again.number) }
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

  /// Counts for the statistics. It runs under the lock, so that nothing is counted for an account after its
  /// sign-out.
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
      state.isStopped = state.isStopped || reason == .cancelled || unused == .cancelled
      return (state.isStopped ? state.load : nil, counts, state.takeOutputs())
    }
    add(counts)
    load?.cancel()
  }

  /// Delivers the kept outputs one at a time and in order, whichever threads appended them.
  private func drain() {
    while let (sink, output) = state.withLock({ state -> (Sink, LoadOutput<Value>)? in
      guard let sink = state.sink, !state.isDelivering, !state.outputs.isEmpty else { return nil }
      state.isDelivering = true
      let output = state.outputs.removeFirst()
      if case .delivery(.stored) = output {} else { state.isHandedOver = true }
      return (sink, output)
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
      state.isStopped = true
      return (state.load, state.takeOutputs())
    }
    load?.cancel()
  }

  /// Returns once its load has begun, or never will.
  func begun() async {
    await withUnsafeContinuation { continuation in
      let isReady = state.withLock { state in
        if state.load != nil || state.phase == .released || state.isSignedOut { return true }
        state.finishers.append(continuation)
        return false
      }
      if isReady { continuation.resume() }
    }
  }

  func finished() async {
    await begun()
    await state.withLock { $0.load }?.finished()
  }

  func stop(with error: DataServiceError) {}

  func signOut(where condition: (PreparedRequest) -> Bool) {
    let known = state.withLock { $0.prepared }
    guard let prepared = known ?? (try? core.prepare(wanted, policy: .storedThenFresh)), condition(prepared)
    else { return }
    let (load, _) = state.withLock { state -> (DataService.Load?, [LoadOutput<Value>]) in
      // What was handed over before is the caller's.
      guard state.phase != .released, !state.isHandedOver else { return (nil, []) }
      state.hasFailed = true
      state.isSignedOut = true
      if state.phase == .waiting { state.phase = state.isCommitted ? .committed : .released }
      // Its load may have begun after those that the sign-out has stopped, or be about to.
      state.isStopped = true
      _ = state.nextLoad()
      defer { state.outputs = [.delivery(.failure(.signedOut, lastKnown: nil)), .end] }
      return (state.load, state.takeOutputs())
    }
    load?.cancel()
    drain()
  }

  private func resumeFinishers() {
    let finishers = state.withLock { state in
      defer { state.finishers = [] }
      return state.finishers
    }
    for finisher in finishers { finisher.resume() }
  }
}

/// What a load puts out: deliveries in order, then the end of the deliveries.
enum LoadOutput<Value: Sendable>: Sendable {
  case delivery(DataService.Delivery<Value>)
  case end
}

/// Decides whether a prefetch may begin an exchange now. Pure.
enum PrefetchRule {
  /// The inputs of the decision.
  struct Situation: Sendable {
    var method = RequestMethod.get
    var isPassThrough = false
    /// The time of the last exchange that failed for lack of a network, in nanoseconds since boot.
    var failedAt: Int64?
    var now: Int64
    /// The number of running exchanges for loads, not counting prefetches.
    var exchanges = 0
    /// The number of all running exchanges, and how many anticipations may be held.
    var all = 0
    var held = 4
  }

  /// How long prefetches pause after a network failure, in nanoseconds.
  static let quiet: Int64 = 30_000_000_000
  /// From this many running exchanges on, the rest of the six connections per host is left to loads.
  static let busy = 4

  static func mayBegin(_ situation: Situation) -> Bool {
    guard situation.method.isSafe, !situation.isPassThrough else { return false }
    guard situation.failedAt.map({ situation.now - $0 >= quiet }) ?? true else { return false }
    // Prefetches that nobody holds any more go on into the store, and must not pile up.
    return situation.exchanges < busy && situation.all < busy + situation.held
  }
}

extension DataService {
  /// What happens to an anticipation that is not committed in time.
  public enum UnusedAnticipation: Sendable, Hashable {
    /// Its exchange is stopped.
    case cancelled
    /// Its exchange continues and fills the store.
    case finished
  }
}
