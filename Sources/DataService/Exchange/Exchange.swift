internal import CacheStore

/// One exchange, and the loads that share it.
///
/// Its work, ``run()``, is one asynchronous function on the network thread; what the loads do with it (join, leave, hear
/// the result) happens on any thread, under one lock that is never held while anything else is called.
final class Exchange: AnyExchange {
  /// What the exchange begins with.
  struct Plan: Sendable {
    var prepared: PreparedRequest
    /// The stored row, for its validators; `nil` makes the exchange unconditional.
    var row: Box<StoredResponse>?
    /// The account's generation as the look-up saw it.
    var accountID: Int64?
    /// A look-up that is not done yet: the row it is to find must not be replaced before.
    var pendingLookup: FirstValue<Void>?
    /// Whether other loads and processes may take part.
    var isShared: Bool
    /// Whether a result of another process that began earlier will do; not for `freshOnly`.
    var mayFollow: Bool
    /// Whether the answer is for the store alone, as behind a stale answer under `http`.
    var isForStore = false
    /// What the look-up has said that matters before the origin is asked; `nil` where it has to be asked for.
    var preflight: ResponseStore.Preflight?

    var candidate: StoredResponse? { row?.value }
  }

  private struct State {
    var waiters: [ExchangeWaiter] = []
    var task: Task<Void, Never>?
    /// Whether loads may still join: until the body is whole.
    var isOpen = true
    var result: ExchangeResult?
    var isSettled = false
    var finishesIntoStore = false
    var isStopped = false
    var isWriting = false
    var hasBeenAnswered = false
    var lease: ExchangeLease?
  }

  let plan: Plan
  let core: ServiceCore
  /// When the exchange began, on the clock that decides which row is newer (law 8).
  let started: StartMark
  /// The account's generation it began with.
  let generation: AccountGeneration
  private let state = Guarded(State())

  init(plan: Plan, core: ServiceCore) {
    self.plan = plan
    self.core = core
    generation = AccountGeneration(
      known: plan.accountID, account: plan.prepared.key.account, store: core.store)
    started = StartMark(boot: core.timekeeper.bootID, nanoseconds: core.timekeeper.bootNanoseconds)
  }

  /// The exchange for a load: the one under way, joined, or a new one, which `isNew` says must be started.
  ///
  /// A load that may not follow an exchange begun before it (`freshOnly`) gets its own, which later loads join.
  static func joined(
    by waiter: ExchangeWaiter, for plan: Plan, core: ServiceCore
  ) -> (any AnyExchange, isNew: Bool) {
    var made: Exchange?
    while true {
      let running = core.state.withLock { state -> (any AnyExchange)? in
        if plan.isShared, plan.mayFollow, let running = state.exchanges.joinable(for: plan.prepared) {
          return running
        }
        if let made { state.exchanges.add(made, isShared: plan.isShared) }
        return nil
      }
      if let running {
        if running.join(waiter) { return (running, false) }
        // Its body became whole, or it was stopped, in between.
        core.state.withLock { $0.exchanges.detach(running) }
      } else if let made {
        return (made, true)
      } else {
        let exchange = Exchange(plan: plan, core: core)
        _ = exchange.join(waiter)
        made = exchange
      }
    }
  }

  var prepared: PreparedRequest { plan.prepared }

  var accountID: Int64? { generation.known }

  /// A URL as it may be stored and shown; that of the request has been worked out already.
  func shown(_ url: NormalisedURL) -> String {
    url == prepared.url ? prepared.shownURL : core.redacted(url)
  }

  func start() {
    let task = Task(executorPreference: core.thread) { await self.run() }
    let isStopped = state.withLock { state in
      state.task = task
      return state.isStopped
    }
    if isStopped { task.cancel() }
  }

  func join(_ waiter: ExchangeWaiter) -> Bool {
    state.withLock { state in
      guard state.isOpen, !state.isStopped else { return false }
      state.waiters.append(waiter)
      return true
    }
  }

  func leave(_ load: any AnyLoad, finishingIntoStore: Bool) {
    let task = state.withLock { state -> Task<Void, Never>? in
      state.waiters.removeAll { $0.load === load }
      if finishingIntoStore { state.finishesIntoStore = true }
      guard state.waiters.isEmpty, !state.finishesIntoStore, state.isOpen else { return nil }
      state.isOpen = false
      state.isStopped = true
      return state.task
    }
    guard let task else { return }
    core.state.withLock { $0.exchanges.detach(self) }
    task.cancel()
  }

  func stop(with error: DataServiceError) {
    let isWriting = state.withLock { state in
      state.isStopped = true
      return state.isWriting
    }
    publish(.failure(error))
    state.withLock { $0.task }?.cancel()
    // Nothing is written from here on, whenever the transport gives up; only a write under way is waited for.
    if !isWriting { settle() }
  }

  /// Says that the row is about to be written; `false` where the exchange has been stopped before.
  func beginWriting() -> Bool {
    state.withLock { state in
      guard !state.isStopped else { return false }
      state.isWriting = true
      return true
    }
  }

  /// Stops further loads from joining and says who has joined.
  @discardableResult func closeToNewLoads() -> [ExchangeWaiter] {
    let (waiters, wasOpen) = state.withLock { state in
      defer { state.isOpen = false }
      return (state.waiters, state.isOpen)
    }
    if wasOpen { core.state.withLock { $0.exchanges.detach(self) } }
    return waiters
  }

  /// Hands the result to every load, once.
  func publish(_ result: ExchangeResult) {
    let waiters = state.withLock { state -> [ExchangeWaiter] in
      state.isOpen = false
      guard state.result == nil else { return [] }
      state.result = result
      return state.waiters
    }
    for (index, waiter) in waiters.enumerated() {
      // A live body has one reader; a second load makes its own exchange of it.
      if index > 0, case .answer(let answer) = result, case .live = answer.body {
        waiter.finished(.failure(.init(.other, "the body could not be shared; load it again")))
      } else {
        waiter.finished(result)
      }
    }
  }

  /// Says that nothing more will be written.
  func settle() {
    let waiters = state.withLock { state -> [ExchangeWaiter] in
      guard !state.isSettled else { return [] }
      state.isSettled = true
      defer { state.waiters = [] }
      return state.waiters
    }
    for waiter in waiters { waiter.settled() }
  }

  /// Whether anybody has answered the request, if only by a redirect.
  var hasBeenAnswered: Bool { state.withLock { $0.hasBeenAnswered } }

  /// Notes that somebody has answered, which only matters where the request is not to be repeated.
  func noteAnswer() {
    guard !plan.prepared.isRepeatable else { return }
    state.withLock { $0.hasBeenAnswered = true }
  }

  /// Keeps the lease until ``endLease(storedRow:)``.
  func hold(_ lease: ExchangeLease?) {
    state.withLock { $0.lease = lease }
  }

  /// Lets other processes go on: once the row is committed, or as soon as it is known that there will be none.
  func endLease(storedRow: Bool) {
    let lease = state.withLock { state -> ExchangeLease? in
      defer { state.lease = nil }
      return state.lease
    }
    guard let lease else { return }
    core.storeCalls.perform { lease.end(storedRow: storedRow) }
  }

  /// Tells the loads how far the body has come.
  func report(_ progress: DataService.TransferProgress) {
    for waiter in state.withLock({ $0.waiters }) { waiter.received?(progress) }
  }
}
