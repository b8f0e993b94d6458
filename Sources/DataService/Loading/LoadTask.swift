internal import CacheStore
internal import FoundationEssentials
internal import Synchronization

/// What a load's sink is given: deliveries in order, then the end of the deliveries.
enum LoadOutput<Value: Sendable>: Sendable {
  case delivery(DataService.Delivery<Value>)
  case end
}

/// One load under way: takes what the store and the exchange say to the ``LoadMachine``, and carries out what it
/// decides.
///
/// All state is under one lock, held for moments and never while the sink, the store or the exchange is called.
final class LoadTask<Value: Sendable>: ExchangeWaiter, AnyLoad {
  private struct State {
    var machine: LoadMachine
    var candidate: StoredResponse?
    /// Why the request is forwarded, for `Cache-Status`.
    var forward: CacheStatus.Forward?
    var isForStore = false
    /// How the exchange failed, for the rule that may serve the stored response all the same.
    var httpFailure: HTTPStaleness.Failure?
    var accountID: Int64?
    var stored: DataService.Response<Value>?
    var storeError: DataServiceError?
    var decoded: Result<Value, DataServiceError>?
    var result: Result<(DataService.Response<Value>, DataService.Change), DataServiceError>?
    /// The exchange's answer, and how it compares with a row that the store came up with only afterwards.
    var answer: Answer?
    var lateChange: DataService.Change?
    var exchange: Exchange?
    var pendingLookup: FirstValue<Void>?
    var outbox: [LoadOutput<Value>] = []
    var isDraining = false
    var isCancelled = false
    var isFenced = false
    /// Whether deliveries and writes are both over.
    var isSettled = false
    var timers: [TimerHandle] = []
    var finishers: [UnsafeContinuation<Void, Never>] = []
    var progressRate = ProgressRate()
    var progressTimer: TimerHandle?
    var usedRow: Int64?
  }

  let core: ServiceCore
  let prepared: PreparedRequest
  private let policy: FetchPolicy
  private let form: ValueForm<Value>
  private let gate: CallbackGate
  private let progress: (@Sendable (DataService.TransferProgress) -> Void)?
  private let sink: @Sendable (LoadOutput<Value>) -> Void
  private let beganAt: Int64
  /// Whether the caller wants no exchange at all (RFC 9111 section 5.2.1.7).
  private let isOnlyIfCached: Bool
  private let state: Mutex<State>

  init(
    core: ServiceCore, prepared: PreparedRequest, policy: FetchPolicy, form: ValueForm<Value>,
    gate: CallbackGate,
    progress: (@Sendable (DataService.TransferProgress) -> Void)?,
    sink: @escaping @Sendable (LoadOutput<Value>) -> Void
  ) {
    self.core = core
    self.prepared = prepared
    self.policy = policy
    self.form = form
    self.gate = gate
    self.progress = progress
    self.sink = sink
    beganAt = core.timekeeper.bootNanoseconds
    isOnlyIfCached = prepared.isHTTP && CacheControl(fields: prepared.fields).onlyIfCached
    state = Mutex(State(machine: LoadMachine(policy: policy, isOnlyIfCached: isOnlyIfCached)))
  }

  /// Begins: looks the stored response up on this thread if that needs no waiting, else on the store's queue.
  func start() {
    core.loads.add(self)
    if case .freshElseStored(let deadline?) = policy.kind {
      arm(deadline) { $0.handle(.deadlinePassed) }
    }
    guard !prepared.isPassThrough else { return handle(.storeAnswered(.nothing)) }
    do throws(CacheStoreError) {
      take(try core.store.lookupNow(prepared.key))
    } catch {
      guard error.reason == .busy else { return storeFailed(error) }
      lookUpInQueue()
    }
  }

  /// Ends the load: nothing is delivered after this returns (design law 11).
  func cancel() {
    gate.close()
    let wasRunning = state.withLock { state in
      state.outbox.removeAll()
      state.isCancelled = true
      return !state.machine.hasEnded
    }
    if wasRunning { handle(.cancelled) }
  }

  /// Whether a callback may still start.
  var isCancelled: Bool { state.withLock { $0.isCancelled } }

  var request: PreparedRequest? { prepared }

  /// Ends the load with a failure that hands out nothing stored, as sign-out and closing do.
  func fence(_ error: DataServiceError) {
    state.withLock { state in
      guard !state.machine.hasEnded else { return }
      state.isFenced = true
      state.stored = nil
      state.result = .failure(error)
    }
    handle(.fenced)
  }

  /// Returns once everything is delivered, or cancelled, and nothing more will be written for this load.
  func finished() async {
    await withUnsafeContinuation { continuation in
      let isSettled = state.withLock { state in
        if !state.isSettled { state.finishers.append(continuation) }
        return state.isSettled
      }
      if isSettled { continuation.resume() }
    }
  }

  // MARK: - The store's answer

  private func lookUpInQueue() {
    let pending = FirstValue<Void>()
    state.withLock { $0.pendingLookup = pending }
    if !isOnlyIfCached { arm(core.configuration.patience.slowStore) { $0.handle(.storeIsSlow) } }
    Task(executorPreference: core.thread) { [self] in
      defer { pending.set(()) }
      do throws(CacheStoreError) {
        take(try await core.store.lookup(prepared.key))
      } catch {
        storeFailed(error)
      }
    }
  }

  private func storeFailed(_ error: CacheStoreError) {
    // Where nothing but the store is asked, its trouble is the failure that is delivered.
    if policy != .storedOnly { core.warn(store: error) }
    state.withLock { $0.storeError = DataServiceError(store: error) }
    handle(.storeAnswered(.nothing))
  }

  private func take(_ found: ResponseStore.Lookup) {
    if found.damaged > 0 {
      core.warn(
        .init(
          kind: .corrupt, message: "a stored response did not match its checksum and was removed",
          hint: "run “cachefetch doctor” to check the rest"))
    }
    if prepared.isHTTP { return takeJudged(found) }
    let row = core.select(from: found, for: prepared)
    state.withLock { state in
      state.candidate = row
      state.accountID = found.accountID
      state.forward = forward(row, of: found)
    }
    guard let row else { return handle(.storeAnswered(.nothing)) }
    handle(.storeAnswered(.candidate(isYoung: isYoung(row))))
  }

  /// Under `http` RFC 9111 decides which row, if any, answers.
  private func takeJudged(_ found: ResponseStore.Lookup) {
    let decision = core.judge(prepared, rows: found.rows)
    core.trace("http: \(decision.reason.rawValue)")
    state.withLock { state in
      state.candidate = decision.row
      state.accountID = found.accountID
      state.forward = decision.forward
      state.isForStore = decision.action == .reuseWhileRevalidating
    }
    handle(.storeAnswered(.judged(decision.action, hasRow: decision.row != nil)))
  }

  private func forward(_ row: StoredResponse?, of found: ResponseStore.Lookup) -> CacheStatus.Forward {
    guard let row else { return found.rows.isEmpty ? .uriMiss : .varyMiss }
    return Freshness.isStale(stored: row, now: core.timekeeper.wallMilliseconds) ? .stale : .request
  }

  private func isYoung(_ row: StoredResponse) -> Bool {
    guard case .storedElseFresh(let maxAge) = policy.kind else { return true }
    return Freshness.isYoung(
      row, maxAge: maxAge.clampedNanoseconds / 1_000_000, now: core.timekeeper.wallMilliseconds)
  }

  /// Makes the candidate's value: at once where its bytes are at hand, else chunk by chunk from the store.
  private func prepareStored() {
    guard let row = state.withLock({ $0.candidate }) else { return handle(.storedPrepared(false)) }
    let (head, body) = HTTPPresentation.response(from: row, prepared: prepared, core: core, elapsed: elapsed)
    if case .data(let data) = body {
      return storedPrepared(Result { try value(of: body, data: data, head: head) }, row: row)
    }
    if !form.needsWhole {
      return storedPrepared(Result { try value(of: body, data: Data(), head: head) }, row: row)
    }
    Task(executorPreference: core.thread) { [self] in
      do throws(DataServiceError) {
        let data = try await core.collect(body, limit: prepared.request.limits.dataBytes)
        storedPrepared(Result { try value(of: .data(data), data: data, head: head) }, row: row)
      } catch {
        storedPrepared(.failure(error), row: row)
      }
    }
  }

  private func storedPrepared(_ value: Result<DataService.Response<Value>, any Error>, row: StoredResponse) {
    switch value {
    case .success(let response):
      let answer = state.withLock { state in
        state.stored = response
        state.usedRow = row.id
        return state.answer
      }
      if let answer {
        let change = ChangeJudge.change(of: answer, from: row, for: prepared)
        state.withLock { $0.lateChange = change }
      }
      noteStale()
      handle(.storedPrepared(true))
    case .failure(let error):
      let error = error as? DataServiceError
      core.warn(
        .init(
          kind: error?.kind ?? .undecodable,
          message: error?.message
            ?? "the stored response of \(prepared.url.authority) does not decode any more",
          hint: error?.hint ?? "the fresh response replaces it"))
      state.withLock { $0.storeError = error }
      handle(.storedPrepared(false))
    }
  }

  // MARK: - The exchange's answer

  var decodes: Bool { form.canRefuse }

  func accepts(_ answer: Answer, data: Data) -> Bool {
    let head = head(of: answer)
    let decoded = decode(data, head: head)
    state.withLock { $0.decoded = decoded.map(\.value) }
    if case .success = decoded { return true }
    return false
  }

  func received(_ update: DataService.TransferProgress) {
    guard let progress else { return }
    let step = state.withLock { state -> ProgressRate.Step in
      guard !state.isCancelled else { return .hold }
      return state.progressRate.take(update, at: core.timekeeper.bootNanoseconds)
    }
    switch step {
    case .tell: progress(update)
    case .wait(let delay):
      let timer = core.timekeeper.after(delay) { [weak self] in self?.tellHeldProgress() }
      state.withLock { $0.progressTimer = timer }
    case .hold: break
    }
  }

  private func tellHeldProgress() {
    let update = state.withLock { $0.progressRate.due(at: core.timekeeper.bootNanoseconds) }
    if let update { progress?(update) }
  }

  /// Nothing is told of a body that is whole, or that nobody waits for.
  private func endProgress() {
    let timer = state.withLock { state -> TimerHandle? in
      defer { state.progressTimer = nil }
      state.progressRate.end()
      return state.progressTimer
    }
    timer?.cancel()
  }

  func finished(_ result: ExchangeResult) {
    if progress != nil { endProgress() }
    switch result {
    case .failure(let error):
      if HTTPStaleness.isUnheard(error.kind) { noteStale(after: .noAnswer) }
      exchangeEnded(.failure(error))
    case .answer(let answer):
      if noteStale(after: .status(answer.status)) {
        return exchangeEnded(.failure(statusError(answer)))
      }
      if let failure = statusFailure(answer) { return exchangeEnded(.failure(failure)) }
      let candidate = state.withLock { $0.candidate }
      makeFresh(HTTPPresentation.answer(answer, candidate: candidate, prepared: prepared, core: core))
    }
  }

  func settled() {
    let (finishers, drained) = state.withLock { state -> ([UnsafeContinuation<Void, Never>], Bool) in
      state.exchange = nil
      return settleIfOver(&state)
    }
    if drained { core.loads.remove(self) }
    for finisher in finishers { finisher.resume() }
  }

  /// 408, 429 and 5xx are failures where a stored response is there to fall back on (design section 5).
  private func statusFailure(_ answer: Answer) -> DataServiceError? {
    guard AnswerRule.isFailure(answer.status), policy.fallsBack,
      state.withLock({ $0.stored != nil || $0.candidate != nil })
    else { return nil }
    return statusError(answer)
  }

  /// Under `http`: whether the stored response is served although the exchange failed (RFC 9111 section 4.2.4).
  ///
  /// Asked when the exchange has failed and when the stored response is at hand, whichever comes last.
  @discardableResult private func noteStale(after failure: HTTPStaleness.Failure? = nil) -> Bool {
    guard prepared.isHTTP else { return false }
    let (row, failure) = state.withLock { state in
      if let failure { state.httpFailure = failure }
      return (state.stored == nil ? nil : state.candidate, state.httpFailure)
    }
    guard let row, let failure,
      HTTPStaleness.isAllowed(
        row, after: failure, directives: RequestDirectives(fields: prepared.fields),
        now: core.timekeeper.wallMilliseconds)
    else { return false }
    handle(.staleWillDo)
    return true
  }

  private func statusError(_ answer: Answer) -> DataServiceError {
    let until = answer.retryAt.map { "; paused until \(HTTPDate.format($0))" } ?? ""
    return DataServiceError(
      .status, "\(prepared.url.authority) answered \(answer.status) \(answer.reason)\(until)",
      status: answer.status)
  }

  private func makeFresh(_ answer: Answer) {
    let head = head(of: answer)
    switch form {
    case .streamed:
      exchangeEnded(Result { try value(of: answer.body, data: Data(), head: head) }, answer: answer)
    case .whole:
      if let decoded = state.withLock({ $0.decoded }) {
        return exchangeEnded(decoded.map { .init(value: $0, head: head) }.erased, answer: answer)
      }
      if case .data(let data) = answer.body, !form.canRefuse {
        return exchangeEnded(decode(data, head: head).erased, answer: answer)
      }
      Task(executorPreference: core.thread) { [self] in
        do throws(DataServiceError) {
          let data = try await core.collect(answer.body, limit: prepared.request.limits.dataBytes)
          exchangeEnded(await core.decoding { self.decode(data, head: head) }.erased, answer: answer)
        } catch {
          exchangeEnded(.failure(error), answer: answer)
        }
      }
    }
  }

  private func exchangeEnded(
    _ value: Result<DataService.Response<Value>, any Error>, answer: Answer? = nil
  ) {
    let result = value.mapError { $0 as? DataServiceError ?? undecodable($0) }
    let candidate = state.withLock { state in
      state.answer = answer
      return state.candidate
    }
    let change =
      answer.map { ChangeJudge.change(of: $0, from: candidate, for: prepared) } ?? .new
    let isFresh = state.withLock { state -> Bool in
      state.result = result.map { ($0, change) }
      if case .success = result { return true }
      return false
    }
    handle(.exchangeFinished(isFresh: isFresh))
  }

  private func head(of answer: Answer) -> DataService.ResponseHead {
    var head = HeadRule.head(
      of: answer, prepared: prepared, now: core.timekeeper.wallMilliseconds, elapsed: elapsed)
    head.forward = prepared.isPassThrough ? .bypass : state.withLock { $0.forward }
    return head
  }

  private var elapsed: Duration { .nanoseconds(core.timekeeper.bootNanoseconds - beganAt) }

  private func value(
    of body: DeliveredBody, data: Data, head: DataService.ResponseHead
  ) throws -> DataService.Response<Value> {
    switch form {
    case .streamed(let make): .init(value: make(core.stream(body)), head: head)
    case .whole: try decode(data, head: head).get()
    }
  }

  private func decode(
    _ data: Data, head: DataService.ResponseHead
  ) -> Result<DataService.Response<Value>, DataServiceError> {
    guard case .whole(_, let decode) = form else { return .failure(undecodable(nil)) }
    guard Int64(data.count) <= prepared.request.limits.dataBytes else {
      return .failure(ServiceCore.tooLargeForData(prepared.request.limits.dataBytes))
    }
    do {
      return .success(.init(value: try decode(.init(value: data, head: head)), head: head))
    } catch {
      return .failure(undecodable(error, status: head.status))
    }
  }

  private func undecodable(_ error: (any Error)?, status: Int? = nil) -> DataServiceError {
    DataServiceError(
      .undecodable, "the answer of \(prepared.url.authority) does not decode",
      hint: "the stored response is unaffected", status: status, underlying: error)
  }

  // MARK: - Carrying out what the machine decides

  private func handle(_ event: LoadMachine.Event) {
    let effects = state.withLock { state -> [LoadMachine.Effect] in
      let effects = state.machine.handle(event)
      count(effects, in: state)
      state.outbox.append(contentsOf: effects.compactMap { output(for: $0, in: state) })
      return effects
    }
    if event == .storeIsSlow, effects.contains(.startExchange) {
      core.trace("the store is slow: goes on without it")
    }
    if event == .storeIsTooLate, !effects.isEmpty {
      core.trace("gives the store up: the answer waited 250 ms")
    }
    if effects.contains(.boundStoreWait) { core.trace("waits for the store: the answer is complete") }
    for effect in effects { perform(effect) }
    drain()
  }

  /// Adds what is delivered to the counts of `stats`, in memory.
  private func count(_ effects: [LoadMachine.Effect], in state: State) {
    guard !prepared.isPassThrough else { return }
    var count = UsageCount()
    for effect in effects {
      switch effect {
      case .deliverStored:
        count.stored += 1
        count.savedMilliseconds += state.candidate?.exchangeMilliseconds ?? 0
        if !effects.contains(.startExchange), state.exchange == nil {
          count.savedBytes += state.candidate?.body.length ?? 0
        }
      case .deliverFresh:
        if case .success((let response, _)) = state.result, response.wasValidated {
          count.unchanged += 1
          count.savedBytes += state.candidate?.body.length ?? 0
        } else {
          count.fresh += 1
        }
      case .deliverFailure, .deliverDeadline: count.failed += 1
      default: break
      }
    }
    guard count != UsageCount() else { return }
    if let accountID = state.accountID ?? state.exchange?.generation.known {
      core.store.count(accountID: accountID, host: prepared.url.authority, count)
    } else {
      // As at the first fetch of an account, whose row is being made.
      core.store.count(accountName: prepared.key.account, host: prepared.url.authority, count)
    }
  }

  private func perform(_ effect: LoadMachine.Effect) {
    switch effect {
    case .startExchange: startExchange()
    case .prepareStored: prepareStored()
    case .boundStoreWait: arm(core.configuration.patience.storeAnswer) { $0.handle(.storeIsTooLate) }
    case .end: ended()
    case .deliverStored, .deliverFresh, .deliverFailure, .deliverNotStored, .deliverDeadline: break
    }
  }

  private func output(for effect: LoadMachine.Effect, in state: State) -> LoadOutput<Value>? {
    switch effect {
    case .deliverStored:
      return state.stored.map { .delivery(.stored($0)) }
    case .deliverFresh:
      guard case .success((let response, let change)) = state.result else { return nil }
      return .delivery(.fresh(response, state.lateChange ?? change))
    case .deliverFailure:
      guard case .failure(let error) = state.result else { return nil }
      // Nothing of a signed-out account is handed out, not even as the last known.
      return .delivery(.failure(error, lastKnown: error.kind == .signedOut ? nil : state.stored))
    case .deliverNotStored:
      let error =
        state.storeError ?? DataServiceError(.notStored, "nothing is stored for \(prepared.shownURL)")
      return .delivery(.failure(error, lastKnown: nil))
    case .deliverDeadline:
      let error = DataServiceError(
        .timeout(.deadline), "no fresh response within the deadline", hint: "allow more time with --deadline")
      return .delivery(.failure(error, lastKnown: state.stored))
    case .end:
      return state.isCancelled ? nil : .end
    case .startExchange, .prepareStored, .boundStoreWait:
      return nil
    }
  }

  private func startExchange() {
    let (candidate, accountID, pending, isForStore) = state.withLock {
      ($0.candidate, $0.accountID, $0.pendingLookup, $0.isForStore)
    }
    let plan = Exchange.Plan(
      prepared: prepared, candidate: candidate, accountID: accountID, pendingLookup: pending,
      isShared: !prepared.isPassThrough, mayFollow: policy != .freshOnly, isForStore: isForStore)
    let (exchange, isNew) = core.coalescer.exchange(for: plan, core: core, waiter: self)
    state.withLock { $0.exchange = exchange }
    if isNew { exchange.start() } else { core.trace("joins the exchange under way") }
  }

  /// The deliveries are over; the exchange goes on only for the store's sake.
  private func ended() {
    let (exchange, timers, usedRow) = state.withLock { state in
      defer { state.timers = [] }
      return (state.result == nil ? state.exchange : nil, state.timers, state.usedRow)
    }
    for timer in timers { timer.cancel() }
    if progress != nil { endProgress() }
    if let usedRow { core.store.markUsed(rowID: usedRow, atMilliseconds: core.timekeeper.wallMilliseconds) }
    let finishesIntoStore = !isCancelled && core.configuration.finishesAfterDeadline
    exchange?.leave(self, finishingIntoStore: finishesIntoStore)
    if exchange != nil { state.withLock { $0.exchange = nil } }
  }

  /// Hands over what is in the outbox, one at a time and in order, whichever thread put it there.
  private func drain() {
    let begins = state.withLock { state in
      defer { state.isDraining = true }
      return !state.isDraining
    }
    guard begins else { return }
    while let output = state.withLock({ state -> LoadOutput<Value>? in
      guard !state.outbox.isEmpty else {
        state.isDraining = false
        return nil
      }
      return state.outbox.removeFirst()
    }) {
      sink(output)
    }
    let (finishers, isOver) = state.withLock { settleIfOver(&$0) }
    if isOver { core.loads.remove(self) }
    for finisher in finishers { finisher.resume() }
  }

  private func settleIfOver(_ state: inout State) -> ([UnsafeContinuation<Void, Never>], Bool) {
    guard state.machine.hasEnded, state.exchange == nil, state.outbox.isEmpty, !state.isSettled else {
      return ([], false)
    }
    state.isSettled = true
    defer { state.finishers = [] }
    return (state.finishers, true)
  }

  private func arm(_ delay: Duration, _ action: @escaping @Sendable (LoadTask) -> Void) {
    let timer = core.timekeeper.after(delay) { [weak self] in
      if let self { action(self) }
    }
    state.withLock { $0.timers.append(timer) }
  }
}

extension Result where Failure == DataServiceError {
  fileprivate var erased: Result<Success, any Error> { mapError { $0 } }
}
