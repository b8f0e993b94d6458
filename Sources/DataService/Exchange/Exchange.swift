internal import CacheStore
internal import Guards
internal import PlatformFoundation

/// One exchange, and the loads that share it.
///
/// Its work is an ``ExchangeRun`` on the network thread. Loads join, leave and receive the result on any thread, under
/// one lock that is never held while other code is called.
final class Exchange: Sendable {
  /// A load that wants the response pinned or tagged.
  private struct Wish {
    let load: any AnyLoad
    let isPinned: Bool
    let tags: [String]
  }

  typealias Owed = (pause: Pause, responder: String)

  private struct State {
    var waiters: [ExchangeWaiter] = []
    /// Loads that have left the exchange to fill the store: they still judge what may replace the row (law 5).
    var judges: [ExchangeWaiter] = []
    /// What loads want of the row; those of a load that has left stay if it left the exchange to fill the store.
    var wishes: [Wish] = []
    var task: Task<Void, Never>?
    /// Whether loads may still join; false once the body is complete.
    var isOpen = true
    var result: ExchangeResult?
    var isCommitted = false
    var finishesIntoStore = false
    var isStopped = false
    var isWriting = false
    var hasBeenAnswered = false
    var lease: ExchangeLease?
    /// Whether what was asked for has changed since, so that others must not wait for this exchange.
    var isOutOfDate = false
    /// When the exchange began to ask, or was made, on the clock that decides which row is newer (law 8).
    var started: StartMark
    /// Whether its first request is under way.
    var hasAsked = false
    /// When the last load joined that accepts no answer asked for earlier.
    var freshSince: Int64?
    /// When all must be over, in nanoseconds since boot. Waiting for a place moves it.
    var deadline: Int64
    /// Since when the transport has no place for a request.
    var queuedAt: Int64?
    /// The pause whose end the exchange waits for, which nobody else knows of.
    var owed: Owed?
    /// The failure after which another attempt is waited for.
    var trouble: DataServiceError?
    /// What the upstream said.
    var turn: UpstreamTurn?
    /// The candidate that the loads were told of.
    var served: Box<StoredResponse>?
    /// Whether they are being told.
    var isServing = false
  }

  let plan: ExchangePlan
  let core: ServiceCore
  /// When the exchange was made, in nanoseconds since boot.
  let madeAt: Int64
  /// The account's row id at the start of the exchange.
  let generation: AccountGeneration
  /// Identifies the exchange in events; 0 where `onEvent` is not set.
  private let number: Int
  private let state: Guarded<State>

  init(plan: ExchangePlan, core: ServiceCore) {
    self.plan = plan
    self.core = core
    generation = AccountGeneration(
      known: plan.accountID, account: plan.prepared.key.account, store: core.store,
      waiting: core.commitWaiting)
    madeAt = core.timekeeper.bootNanoseconds
    state = Guarded(
      State(
        started: StartMark(boot: core.timekeeper.bootID, nanoseconds: madeAt).even,
        deadline: core.timekeeper.instant(after: plan.prepared.request.limits.totalTimeout)))
    number = core.configuration.onEvent == nil ? 0 : core.nextExchangeNumber()
  }

  var prepared: PreparedRequest { plan.prepared }

  var accountID: Int64? { generation.known }

  /// When the exchange began to ask, or was made, on the clock that decides which row is newer (law 8).
  var started: StartMark { state.withLock { $0.started } }

  /// When all must be over, in nanoseconds since boot.
  var deadline: Int64 { state.withLock { $0.deadline } }

  /// Until when its loads wait, in nanoseconds since boot; `nil` where one of them has no deadline, or none is left.
  var patience: Int64? {
    let (ends, count) = state.withLock { ($0.waiters.compactMap(\.waitsUntil), $0.waiters.count) }
    return ends.count == count ? ends.max() : nil
  }

  /// The row whose validators go to the origin: another machine's, where that is newer than the store's.
  var row: Box<StoredResponse>? { served ?? plan.row }
  /// That row's value.
  var candidate: StoredResponse? { row?.value }

  /// A URL that may be stored and shown. The request's own is already computed.
  func shown(_ url: NormalisedURL) -> String {
    url == prepared.url ? prepared.shownURL : core.redacted(url)
  }

  /// Reports an event. Where `onEvent` is not set, the event is not even made.
  func tell(_ kind: @autoclosure () -> DataService.Event.Kind) {
    guard let onEvent = core.configuration.onEvent else { return }
    onEvent(
      DataService.Event(
        exchange: number, method: prepared.request.method, url: prepared.shownURL,
        elapsed: .nanoseconds(core.timekeeper.bootNanoseconds - madeAt), kind: kind()))
  }

  // MARK: - Loads

  /// Joins a running exchange, or creates one; `isNew` says that the caller must start it.
  ///
  /// A load that wants no answer asked for earlier (`freshOnly`) joins one that has not asked yet, or gets its own.
  static func joined(
    by waiter: ExchangeWaiter, for plan: ExchangePlan, core: ServiceCore
  ) -> (any AnyExchange, isNew: Bool) {
    var made: Exchange?
    var passed: [any AnyExchange] = []
    while true {
      let running = core.state.withLock { state -> (any AnyExchange)? in
        let running = plan.isShared ? state.exchanges.joinable(for: plan.prepared, besides: passed) : nil
        if running == nil, let made { state.exchanges.add(made, isShared: plan.isShared) }
        return running
      }
      if let running {
        if running.join(waiter) { return (running, false) }
        // It has asked already, its body was completed, or it was stopped.
        passed.append(running)
      } else if let made {
        return (made, true)
      } else {
        var plan = plan
        plan.isBeside = !passed.isEmpty
        let exchange = Exchange(plan: plan, core: core)
        _ = exchange.join(waiter)
        made = exchange
      }
    }
  }

  /// Takes the task that does the work, and cancels it if the exchange has been stopped meanwhile.
  func adopt(_ task: Task<Void, Never>) {
    let isStopped = state.withLock { state in
      state.task = task
      return state.isStopped
    }
    if isStopped { task.cancel() }
  }

  func join(_ waiter: ExchangeWaiter) -> Bool {
    let prepared = waiter.load.request
    let freshSince = waiter.mayFollow ? nil : core.timekeeper.bootNanoseconds
    return state.withLock { state in
      guard state.isOpen, !state.isStopped, waiter.mayFollow || !state.hasAsked else { return false }
      if let freshSince { state.freshSince = freshSince }
      state.waiters.append(waiter)
      if let prepared, prepared.request.isPinned || !prepared.request.tags.isEmpty {
        state.wishes.append(
          Wish(load: waiter.load, isPinned: prepared.request.isPinned, tags: prepared.request.tags))
      }
      return true
    }
  }

  func leave(_ load: any AnyLoad, finishingIntoStore: Bool) {
    let task = state.withLock { state -> Task<Void, Never>? in
      let leaving = state.waiters.filter { $0.load === load }
      state.waiters.removeAll { $0.load === load }
      if !finishingIntoStore { state.wishes.removeAll { $0.load === load } }
      // While a candidate is being handed out, nothing is decided; `serve` decides afterwards.
      if state.isServing { return nil }
      if finishingIntoStore {
        state.finishesIntoStore = true
        state.judges += leaving
      }
      // While decoders look at its body, an exchange is closed to new loads, and has written nothing yet.
      guard state.waiters.isEmpty, !state.finishesIntoStore, state.result == nil, !state.isWriting else {
        return nil
      }
      state.isOpen = false
      state.isStopped = true
      return state.task
    }
    guard let task else { return }
    core.state.withLock { $0.exchanges.detach(self) }
    recordOwed()
    task.cancel()
  }

  func stop(with error: DataServiceError) {
    let isWriting = state.withLock { state in
      state.isStopped = true
      return state.isWriting
    }
    recordOwed()
    publish(.failure(error))
    state.withLock { $0.task }?.cancel()
    // A stopped exchange writes nothing more, however late the transport ends. Only a running write is waited for.
    if !isWriting { reportCommitted() }
  }

  // MARK: - Waiting

  /// Whether its first request is under way.
  var hasAsked: Bool { state.withLock { $0.hasAsked } }

  /// Notes that the transport has a place for a request, or has none yet. No time limit runs while it has none, and a load
  /// that wants nothing older joins until the first request has one.
  func notePlace(isWaiting: Bool, isFirst: Bool) {
    let now = core.timekeeper.startMark.even
    state.withLock { state in
      if let since = state.queuedAt {
        state.deadline += min(now.nanoseconds - since, .max - state.deadline)
      }
      state.queuedAt = isWaiting ? now.nanoseconds : nil
      guard isFirst else { return }
      state.hasAsked = !isWaiting
      if state.started.isBefore(now) { state.started = now }
    }
  }

  /// Whether the row was asked for after the last load joined that wants nothing older. Then no other such load joins.
  func isFreshEnough(_ row: StoredResponse) -> Bool {
    state.withLock { state in
      let isOfBoot = row.started.boot == state.started.boot
      let isFresh = state.freshSince.map { isOfBoot && row.started.nanoseconds >= $0 } ?? true
      if isFresh { state.hasAsked = true }
      return isFresh
    }
  }

  /// The failure after which another attempt is waited for, or is under way.
  var trouble: DataServiceError? {
    get { state.withLock { $0.trouble } }
    set { state.withLock { $0.trouble = newValue } }
  }

  /// Notes the pause whose end is waited for: whoever ends the wait records it, for all processes.
  func owe(_ owed: Owed?) { state.withLock { $0.owed = owed } }

  private func recordOwed() {
    guard let owed = state.withLock({ $0.owed }) else { return }
    core.store.leavePause(accountName: prepared.key.account, responder: owed.responder, owed.pause)
  }

  /// Stops further loads from joining.
  /// - Returns: The loads that have joined.
  @discardableResult func closeToNewLoads() -> [ExchangeWaiter] {
    let (waiters, wasOpen) = state.withLock { state in
      defer { state.isOpen = false }
      return (state.waiters, state.isOpen)
    }
    if wasOpen { core.state.withLock { $0.exchanges.detach(self) } }
    return waiters
  }

  /// The reason why some load refuses the answer, because of its status or because its decoder rejects the body;
  /// `nil` if all accept it. One refusal keeps the stored row for all loads, since a decoder knows best what a good
  /// answer is (law 5).
  func refusal(of answer: Answer) async -> DataService.KeptReason? {
    await refusal(of: answer, by: closeToNewLoads() + state.withLock { $0.judges })
  }

  /// The reason why some of these loads refuse the answer.
  func refusal(of answer: Answer, by waiters: [ExchangeWaiter]) async -> DataService.KeptReason? {
    // A variant for `http` only does not replace the last good response, so no load needs to accept it.
    let isRefused = answer.isGood && !waiters.allSatisfy { $0.takes(status: answer.head.status) }
    let decoders = waiters.filter { $0.decodes && $0.takes(status: answer.head.status) }
    // A live body can be read only once, and is not stored.
    guard !decoders.isEmpty, !answer.body.isLive else { return isRefused ? .status : nil }
    let data: Data
    do throws(DataServiceError) {
      data = try await core.collect(answer.body, limit: prepared.request.limits.dataBytes)
    } catch {
      // A body that no decoder can be given is one that none has accepted.
      return isRefused ? .status : error.kind == .tooLarge ? .undecodable : .busy
    }
    let isDecoded = await core.decoding { decoders.map { $0.accepts(answer, data) }.allSatisfy { $0 } }
    return isRefused ? .status : isDecoded ? nil : .undecodable
  }

  /// Whether a load that shares the exchange, or has left it to fill the store, wants its response pinned, and the tags
  /// that they want.
  var wishes: (isPinned: Bool, tags: [String]) {
    let wishes = state.withLock { $0.wishes }
    var tags: [String] = []
    for wish in wishes { tags += wish.tags.filter { !tags.contains($0) } }
    return (wishes.contains(where: \.isPinned), tags)
  }

  /// Applies the loads' wishes to a row that another exchange has stored.
  func applyWishes(to row: StoredResponse) async {
    let (isPinned, tags) = wishes
    guard isPinned && !row.isPinned || !tags.isEmpty else { return }
    let done = await core.commitWaiting.result { [core] () async throws(CacheStoreError) in
      try await core.store.keep(row, isPinned: isPinned, tags: tags)
    }
    if case .failure(let error) = done { core.warn(store: error) }
  }

  /// Reports the body's progress to the loads.
  func report(_ progress: DataService.TransferProgress) {
    for waiter in state.withLock({ $0.waiters }) { waiter.received?(progress) }
  }

  // MARK: - Writing

  /// Whether a server has answered the request, even if only with a redirect.
  var hasBeenAnswered: Bool { state.withLock { $0.hasBeenAnswered } }

  /// Notes that a server has answered. This matters only for a request that must not be repeated.
  func noteAnswer() {
    guard !plan.prepared.isRepeatable else { return }
    state.withLock { $0.hasBeenAnswered = true }
  }

  /// Marks the start of writing the row; `false` if the exchange has been stopped.
  func beginWriting() -> Bool {
    state.withLock { state in
      guard !state.isStopped else { return false }
      state.isWriting = true
      return true
    }
  }

  /// Notes, before the origin is asked again, that nothing is being written any more. If all loads left
  /// during the write, the exchange stops now (law 11).
  func stopWriting() throws(DataServiceError) {
    let isStopped = state.withLock { state in
      state.isWriting = false
      if state.waiters.isEmpty, !state.finishesIntoStore, state.result == nil {
        state.isOpen = false
        state.isStopped = true
      }
      return state.isStopped
    }
    if isStopped { throw DataServiceError(.cancelled, "the exchange was stopped") }
  }

  // MARK: - The result

  /// Passes the result to every load, once.
  func publish(_ result: ExchangeResult) {
    let waiters = state.withLock { state -> [ExchangeWaiter] in
      state.isOpen = false
      guard state.result == nil else { return [] }
      state.result = result
      return state.waiters
    }
    for (index, waiter) in waiters.enumerated() {
      // A live body has one reader; a second load needs its own exchange.
      if index > 0, case .answer(let answer) = result, case .live = answer.body {
        waiter.answered(.failure(.init(.other, "the body could not be shared; load it again")))
      } else {
        waiter.answered(result)
      }
    }
  }

  /// Tells the loads that nothing more will be written.
  func reportCommitted() {
    let waiters = state.withLock { state -> [ExchangeWaiter] in
      guard !state.isCommitted else { return [] }
      state.isCommitted = true
      defer {
        state.waiters = []
        state.judges = []
      }
      return state.waiters
    }
    for waiter in waiters { waiter.committed() }
  }

  // MARK: - The lease

  /// Keeps the lease until ``endLease(storedRow:)``; an outdated exchange gives it back at once.
  func hold(_ lease: ExchangeLease?) {
    let isOutOfDate = state.withLock { state in
      state.lease = lease
      return state.isOutOfDate
    }
    if isOutOfDate { endLease(storedRow: false) }
  }

  func releaseOutdated() {
    state.withLock { $0.isOutOfDate = true }
    endLease(storedRow: false)
  }

  /// Ends the lease, so that other processes continue: once the row is committed, or as soon as it is clear that
  /// there will be none.
  func endLease(storedRow: Bool) {
    let lease = state.withLock { state -> ExchangeLease? in
      defer { state.lease = nil }
      return state.lease
    }
    guard let lease else { return }
    core.storeCalls.perform { lease.end(storedRow: storedRow) }
  }

  // MARK: - The upstream

  /// What the upstream said; `nil` where it was not asked.
  var turn: UpstreamTurn? { state.withLock { $0.turn } }

  var served: Box<StoredResponse>? { state.withLock { $0.served } }

  /// The loads that have joined.
  var waiters: [ExchangeWaiter] { state.withLock { $0.waiters } }

  /// Notes what the upstream said, and moves the start mark to its instant if that is later.
  func take(_ turn: UpstreamTurn) {
    state.withLock { state in
      state.turn = turn
      guard let started = turn.started else { return }
      let given = StartMark(boot: state.started.boot, nanoseconds: started).even
      if state.started.isBefore(given) { state.started = given }
    }
  }

  /// Hands a candidate to the loads, unless the exchange was stopped while the upstream was asked.
  /// - Returns: Whether none of them wants more. Then no other load can join.
  func serve(_ row: Box<StoredResponse>) -> Bool {
    let waiters = state.withLock { state -> [ExchangeWaiter]? in
      guard !state.isStopped else { return nil }
      state.served = row
      state.isServing = true
      return state.waiters
    }
    guard let waiters else { return false }
    for waiter in waiters { waiter.serve(row) }
    let isOver = state.withLock { state in
      state.isServing = false
      guard state.waiters.isEmpty, !state.finishesIntoStore else { return false }
      state.isOpen = false
      return true
    }
    if isOver { core.state.withLock { $0.exchanges.detach(self) } }
    return isOver
  }
}
