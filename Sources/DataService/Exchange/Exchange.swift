internal import CacheStore
internal import Guards
internal import PlatformFoundation

/// One exchange, and the loads that share it.
///
/// Its work is an ``ExchangeRun``. Loads join, leave and receive the result between any two of its awaits: so it reads who
/// is there after its last `await`, and says what it is about to do before the next.
// `@unchecked`: it belongs to the network thread, as all that an ``Engine`` lists; its constants are for any.
final class Exchange: @unchecked Sendable {
  typealias Owed = (pause: Pause, responder: String)

  let plan: ExchangePlan
  let core: ServiceCore
  /// When the exchange was made, in nanoseconds since boot.
  let madeAt: Int64
  /// The account's row id at the start of the exchange.
  let generation: AccountGeneration
  /// Identifies the exchange in events; 0 where `onEvent` is not set.
  private let number: Int

  private(set) var waiters: [ExchangeWaiter] = []
  /// Loads that have left the exchange to fill the store: they still judge what may replace the row (law 5).
  private var judges: [ExchangeWaiter] = []
  /// What loads want of the row; the marks of a load that has left stay if it left the exchange to fill the store.
  private var wanted: [(load: any AnyLoad, marks: RowMarks)] = []
  private var task: Task<Void, Never>?
  /// Whether loads may still join; false once the body is complete.
  private var isOpen = true
  private var result: ExchangeResult?
  private var isCommitted = false
  private var finishesIntoStore = false
  private var isStopped = false
  private var isWriting = false
  private var lease: ExchangeLease?
  /// Whether what was asked for has changed since, so that others must not wait for this exchange.
  private var isOutOfDate = false
  /// When the last load joined that accepts no answer asked for earlier.
  private var freshSince: Int64?
  /// Since when the transport has no place for a request.
  private var queuedAt: Int64?
  /// When the exchange began to ask, or was made, on the clock that decides which row is newer (law 8).
  private(set) var started: StartMark
  /// When all must be over, in nanoseconds since boot. Waiting for a place moves it.
  private(set) var deadline: Int64
  /// Whether its first request is under way.
  private(set) var hasAsked = false
  /// Whether a server has answered the request, even if only with a redirect.
  private(set) var hasBeenAnswered = false
  /// The pause whose end is waited for, which nobody else knows of: whoever ends the wait records it, for all processes.
  var owed: Owed?
  /// The failure after which another attempt is waited for, or is under way.
  var trouble: DataServiceError?
  /// What the upstream said; `nil` where it was not asked.
  private(set) var turn: UpstreamTurn?
  /// The candidate that the loads were told of, and whether they are being told.
  private(set) var served: Box<StoredResponse>?
  private var isServing = false

  init(plan: ExchangePlan, core: ServiceCore) {
    self.plan = plan
    self.core = core
    generation = AccountGeneration(
      known: plan.accountID, account: plan.prepared.key.account, door: core.door)
    madeAt = core.timekeeper.bootNanoseconds
    started = StartMark(boot: core.timekeeper.bootID, nanoseconds: madeAt).even
    deadline = core.timekeeper.instant(after: plan.prepared.request.limits.totalTimeout)
    number = core.configuration.onEvent == nil ? 0 : core.nextExchangeNumber()
  }

  var prepared: PreparedRequest { plan.prepared }

  var accountID: Int64? { generation.known }

  /// Until when its loads wait, in nanoseconds since boot; `nil` where one of them has no deadline, or none is left.
  var patience: Int64? {
    let ends = waiters.compactMap(\.waitsUntil)
    return ends.count == waiters.count ? ends.max() : nil
  }

  /// The row whose validators go to the origin: another machine's, where that is newer than the store's.
  var row: Box<StoredResponse>? { served ?? plan.row }
  /// That row's value.
  var candidate: StoredResponse? { row?.value }

  /// A URL that may be stored and shown. The request's own is already computed.
  func shown(_ url: NormalisedURL) -> String {
    url == prepared.url ? prepared.shownURL : core.redacted(url)
  }

  /// Says what happens, to the trace and to `onEvent`; where one of them is not set, nothing is made for it.
  func tell(
    _ kind: @autoclosure () -> DataService.Event.Kind, trace line: @autoclosure () -> String? = nil
  ) {
    if core.configuration.onTrace != nil, let line = line() { core.trace(line) }
    guard let onEvent = core.configuration.onEvent else { return }
    onEvent(
      DataService.Event(
        exchange: number, method: prepared.request.method, url: prepared.shownURL,
        elapsed: .nanoseconds(core.timekeeper.bootNanoseconds - madeAt), kind: kind()))
  }

  // MARK: - Loads

  /// Joins a running exchange, or makes one; `isNew` says that the caller must start it.
  ///
  /// A load that wants no answer asked for earlier (`freshOnly`) joins one that has not asked yet, or gets its own.
  static func joined(
    by waiter: ExchangeWaiter, for plan: ExchangePlan, core: ServiceCore
  ) -> (any AnyExchange, isNew: Bool) {
    let running = plan.isShared ? core.engine.exchanges.joinable(for: plan.prepared) : []
    for exchange in running where exchange.join(waiter) { return (exchange, false) }
    var plan = plan
    plan.isBeside = !running.isEmpty
    let exchange = Exchange(plan: plan, core: core)
    _ = exchange.join(waiter)
    core.engine.exchanges.add(exchange, isShared: plan.isShared)
    return (exchange, true)
  }

  /// Takes the task that does the work, and cancels it if the exchange has been stopped before.
  func adopt(_ task: Task<Void, Never>) {
    self.task = task
    if isStopped { task.cancel() }
  }

  func join(_ waiter: ExchangeWaiter) -> Bool {
    guard isOpen, !isStopped, waiter.mayFollow || !hasAsked else { return false }
    if !waiter.mayFollow { freshSince = core.timekeeper.bootNanoseconds }
    waiters.append(waiter)
    if let marks = waiter.load.request?.request.marks, !marks.isEmpty { wanted.append((waiter.load, marks)) }
    return true
  }

  func leave(_ load: any AnyLoad, finishingIntoStore: Bool) {
    let leaving = waiters.filter { $0.load === load }
    waiters.removeAll { $0.load === load }
    if !finishingIntoStore { wanted.removeAll { $0.load === load } }
    // While a candidate is being handed out, nothing is decided; `serve` decides afterwards.
    if isServing { return }
    if finishingIntoStore {
      finishesIntoStore = true
      judges += leaving
    }
    guard !isWriting, isUnwanted else { return }
    stopUnwanted()
    recordOwed()
    task?.cancel()
  }

  /// Whether nobody waits for the result, or wants it stored.
  private var isUnwanted: Bool {
    !finishesIntoStore && result == nil && !isStopped && waiters.allSatisfy(\.load.isCancelled)
  }

  private func stopUnwanted() {
    closeToNewLoads()
    isStopped = true
  }

  /// Ends what is being done where nobody wants it, after an `await` and before the origin is asked.
  func check() throws(DataServiceError) {
    if isUnwanted { stopUnwanted() }
    if isStopped || Task.isCancelled { throw DataServiceError(.cancelled, "the exchange was stopped") }
  }

  func stop(with error: DataServiceError) {
    isStopped = true
    recordOwed()
    publish(.failure(error))
    task?.cancel()
    // A stopped exchange writes nothing more, however late the transport ends. Only a running write is waited for.
    if !isWriting { reportCommitted() }
  }

  // MARK: - Waiting

  /// Notes that the transport has a place for a request, or has none yet. No time limit runs while it has none, and a load
  /// that wants nothing older joins until the first request has one.
  func notePlace(isWaiting: Bool, isFirst: Bool) {
    let now = core.timekeeper.startMark.even
    if let queuedAt { deadline += min(now.nanoseconds - queuedAt, .max - deadline) }
    queuedAt = isWaiting ? now.nanoseconds : nil
    guard isFirst else { return }
    hasAsked = !isWaiting
    if started.isBefore(now) { started = now }
  }

  /// Whether the row was asked for after the last load joined that wants nothing older. Then no other such load joins.
  func isFreshEnough(_ row: StoredResponse) -> Bool {
    let isOfBoot = row.started.boot == started.boot
    let isFresh = freshSince.map { isOfBoot && row.started.nanoseconds >= $0 } ?? true
    if isFresh { hasAsked = true }
    return isFresh
  }

  private func recordOwed() {
    guard let owed else { return }
    core.store.leavePause(accountName: prepared.key.account, responder: owed.responder, owed.pause)
  }

  /// Stops further loads from joining.
  func closeToNewLoads() {
    guard isOpen else { return }
    isOpen = false
    core.engine.exchanges.detach(self)
  }

  /// The reason why some load refuses the answer, because of its status or because its decoder rejects the body;
  /// `nil` if all accept it. One refusal keeps the stored row for all loads, since a decoder knows best what a good
  /// answer is (law 5). While decoders look at the body, nobody joins, and nothing is written yet.
  func refusal(of answer: Answer) async -> DataService.KeptReason? {
    closeToNewLoads()
    return await refusal(of: answer, by: waiters + judges)
  }

  /// The reason why some of these loads refuse the answer.
  func refusal(of answer: Answer, by asked: [ExchangeWaiter]) async -> DataService.KeptReason? {
    // A variant for `http` only does not replace the last good response, so no load needs to accept it.
    let isRefused = answer.isGood && !asked.allSatisfy { $0.takes(status: answer.head.status) }
    let decoders = asked.filter { $0.takes(status: answer.head.status) }.compactMap { $0.decoder?(answer) }
    // A live body can be read only once, and is not stored.
    guard !decoders.isEmpty, !answer.body.isLive else { return isRefused ? .status : nil }
    let data: Data
    do throws(DataServiceError) {
      data = try await core.collect(answer.body, limit: prepared.request.limits.dataBytes)
    } catch {
      // A body that no decoder can be given is one that none has accepted.
      return isRefused ? .status : error.kind == .tooLarge ? .undecodable : .busy
    }
    let made = await core.decoding { decoders.map { $0(data) } }
    for decoded in made { decoded.take() }
    return isRefused ? .status : made.allSatisfy(\.isAccepted) ? nil : .undecodable
  }

  /// The marks that the loads want which share the exchange, or have left it to fill the store.
  var marks: RowMarks { wanted.reduce(into: RowMarks()) { $0 += $1.marks } }

  /// Marks a row that another exchange has stored.
  func mark(_ row: StoredResponse) async {
    let marks = marks
    guard marks.mayBeMissing(from: row) else { return }
    await core.change { (store) async throws(CacheStoreError) in try await store.mark(row, marks) }
  }

  /// Reports the body's progress to the loads that take the status: an error page's bytes are none.
  func report(_ progress: DataService.TransferProgress, status: Int) {
    for waiter in waiters where status < 400 && waiter.takes(status: status) { waiter.received?(progress) }
  }

  // MARK: - Writing

  /// Notes that a server has answered. This matters only for a request that must not be repeated.
  func noteAnswer() {
    if !plan.prepared.isRepeatable { hasBeenAnswered = true }
  }

  /// Marks the start of writing the row, the last thing before it is handed over; `false` if the exchange has been stopped,
  /// or its loads cancelled.
  func beginWriting() -> Bool {
    let claims = waiters.count { $0.load.claim() }
    guard !isStopped, claims > 0 || finishesIntoStore || waiters.isEmpty else { return false }
    isWriting = true
    return true
  }

  /// Notes, before the origin is asked again, that nothing is being written any more. If all loads left
  /// during the write, the exchange stops now (law 11).
  func stopWriting() throws(DataServiceError) {
    isWriting = false
    for waiter in waiters { waiter.load.release() }
    try check()
  }

  // MARK: - The result

  /// Passes the result to every load, once.
  func publish(_ result: ExchangeResult) {
    closeToNewLoads()
    guard self.result == nil else { return }
    self.result = result
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
    guard !isCommitted else { return }
    isCommitted = true
    let told = waiters
    (waiters, judges) = ([], [])
    for waiter in told { waiter.committed() }
  }

  // MARK: - The lease

  /// Keeps the lease until ``endLease(storedRow:)``; an outdated exchange gives it back at once.
  func hold(_ lease: ExchangeLease?) {
    self.lease = lease
    if isOutOfDate { endLease(storedRow: false) }
  }

  func releaseOutdated() {
    isOutOfDate = true
    endLease(storedRow: false)
  }

  /// Ends the lease, so that other processes continue: once the row is committed, or as soon as it is clear that
  /// there will be none.
  func endLease(storedRow: Bool) {
    guard let lease else { return }
    self.lease = nil
    core.door.perform { [now = core.timekeeper.bootNanoseconds] in lease.end(storedRow: storedRow, at: now) }
  }

  // MARK: - The upstream

  /// Notes what the upstream said, and moves the start mark to its instant if that is later.
  func take(_ turn: UpstreamTurn) {
    self.turn = turn
    guard let given = turn.started else { return }
    let mark = StartMark(boot: started.boot, nanoseconds: given).even
    if started.isBefore(mark) { started = mark }
  }

  /// Hands a candidate to the loads, unless the exchange was stopped while the upstream was asked.
  /// - Returns: Whether none of them wants more. Then no other load can join.
  func serve(_ row: Box<StoredResponse>) -> Bool {
    guard !isStopped else { return false }
    served = row
    isServing = true
    for waiter in waiters { waiter.serve(row) }
    isServing = false
    guard waiters.isEmpty, !finishesIntoStore else { return false }
    closeToNewLoads()
    return true
  }
}
