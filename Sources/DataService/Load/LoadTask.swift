internal import CacheStore
internal import Guards
internal import PlatformFoundation

/// One running load: passes events from the store and the exchange to the ``LoadMachine``, and carries out its
/// effects.
///
/// All state is under one lock, held briefly and never while the port, the store or the exchange is called. What a change
/// returns is released outside it, also where nothing is done with it.
final class LoadTask<Value: Sendable>: AnyLoad {
  private let plan: LoadPlan<Value>
  private let port: Port<Value>
  private let progress: (@Sendable (DataService.TransferProgress) -> Void)?
  let state: Guarded<LoadState<Value>>

  init(
    core: ServiceCore, prepared: PreparedRequest, policy: FetchPolicy, form: ValueForm<Value>,
    port: Port<Value>, progress: (@Sendable (DataService.TransferProgress) -> Void)?
  ) {
    plan = LoadPlan(core: core, prepared: prepared, policy: policy, form: form)
    self.port = port
    self.progress = progress
    state = Guarded(
      LoadState(LoadMachine(policy: plan.policy, isOnlyIfCached: plan.isOnlyIfCached)))
  }

  private var core: ServiceCore { plan.core }
  private var prepared: PreparedRequest { plan.prepared }

  var request: PreparedRequest? { prepared }

  /// Whether a callback may still start.
  private var isCancelled: Bool { state.withLock { $0.isCancelled } }

  /// Starts the load. The lookup runs on this thread if it needs no waiting and this is not the network thread, which
  /// all loads share; otherwise on the store's queue.
  func start() {
    let closed = core.state.withLock { state in
      state.add(self)
      return state.closed
    }
    // `close()` listed the loads before this one was added, so the load ends itself.
    if let closed { return stop(with: closed) }
    if let deadline = plan.policy.kind.deadline { arm(deadline) { $0.deadlinePassed() } }
    guard !prepared.isPassThrough else { return handle(.storeAnswered(.nothing)) }
    if core.thread.isCurrent {
      return lookupInQueue(timeLimit: core.store.isReadyToLookUp ? nil : core.configuration.timeouts.opening)
    }
    let watch = watchOpening()
    do throws(CacheStoreError) {
      let found =
        plan.policy.asksAlways
        ? try core.store.lookupNow(prepared.key, beforeAsking: prepared.responder(of: prepared.url))
        : try core.store.lookupNow(prepared.key)
      endWatch(watch)
      take(found)
    } catch {
      endWatch(watch)
      // The queue can wait: for another process's lock, or for the repair of a damaged file.
      guard error.mayPass else { return storeFailed(error) }
      lookupInQueue()
    }
  }

  /// Cancels the load: nothing is delivered after this returns (law 11).
  func cancel() {
    port.close()
    let (wasRunning, _) = state.withLock { $0.cancel() }
    if wasRunning { handle(.cancelled) }
  }

  /// Ends the load with a failure that delivers nothing stored, for sign-out and closing.
  func stop(with error: DataServiceError) {
    _ = state.withLock { $0.stop(with: error) }
    handle(.stopped)
  }

  /// Returns once everything is delivered or cancelled, and nothing more will be written for this load.
  func finished() async { await port.over() }

  func called() async { await port.finished() }

  private func arm(_ delay: Duration, _ action: @escaping @Sendable (LoadTask) -> Void) {
    let timer = core.timekeeper.after(delay) { [weak self] in
      if let self { action(self) }
    }
    state.withLock { $0.timers.append(timer) }
  }

  /// Falls back on the stored response, unless another process has signed its account out since the lookup.
  private func deadlinePassed() {
    let (accountID, exchange) = state.withLock { ($0.accountID, $0.exchange) }
    if let trouble = exchange?.trouble { state.withLock { $0.trouble = trouble } }
    guard let accountID, !prepared.key.account.isEmpty else { return handle(.deadlinePassed) }
    Task(executorPreference: core.thread) { [self] in
      let isRevoked = await core.commitWaiting.result { [core] () async throws(CacheStoreError) in
        try await core.store.isRevoked(accountID: accountID)
      }
      // If the store does not answer, nothing says that the account was signed out.
      if case .success(true) = isRevoked { stop(with: .signedOut) } else { handle(.deadlinePassed) }
    }
  }

  // MARK: - Events, effects, deliveries

  /// Passes an event to the machine and carries out the effects, until no further event results; then delivers.
  func handle(_ event: LoadMachine.Event) {
    var event = event
    while let following = step(event) { event = following }
    drain()
  }

  /// - Returns: The event that results at once from carrying out an effect.
  private func step(_ event: LoadMachine.Event) -> LoadMachine.Event? {
    let (effects, marks) = state.withLock { $0.step(event, of: plan) }
    if event == .storeIsSlow, effects.contains(.startExchange) {
      core.trace("the store is slow: not waiting for it")
    }
    if event == .storeIsTooLate, !effects.isEmpty {
      core.trace("going on without the store: it has been waited for 250 ms")
    }
    if effects.contains(.boundStoreWait) { core.trace("waiting for the store, 250 ms at most") }
    if marks { mark() }
    var following: LoadMachine.Event?
    for effect in effects {
      switch effect {
      case .startExchange: startExchange()
      case .prepareStored: following = prepareStored() ?? following
      case .boundStoreWait: arm(core.configuration.timeouts.storeAnswer) { $0.handle(.storeIsTooLate) }
      case .end: ended()
      case .deliverStored, .deliverFresh, .deliverFailure, .deliverNotStored, .deliverDeadline: break
      }
    }
    // Another machine's response came before the store's answer, or another load's exchange had it already.
    return following ?? takeServed()
  }

  /// Delivers the outbox's contents one at a time and in order, whichever threads appended them.
  private func drain() {
    guard state.withLock({ $0.beginDraining() }) else { return }
    while let posted = state.withLock({ $0.next() }) {
      switch posted {
      case .output(let output):
        if case .delivery(let delivery) = output { tell(delivery) }
        port.take(output)
      case .count(let count, let accountID, let exchange):
        add(count, accountID: accountID ?? exchange?.accountID)
      }
    }
    endIfCommitted { _ in }
  }

  /// Adds to the store's counts, in memory.
  private func add(_ count: UsageCount, accountID: Int64?) {
    if let accountID {
      core.store.count(accountID: accountID, host: prepared.countedHost, count)
    } else {
      // The id is unknown, as during an account's first fetch, while its row is created.
      core.store.count(accountName: prepared.key.account, host: prepared.countedHost, count)
    }
  }

  /// Reports the delivery to `onEvent`.
  private func tell(_ delivery: DataService.Delivery<Value>) {
    guard let onEvent = core.configuration.onEvent else { return }
    let delivered: DataService.Event.Delivered =
      switch delivery {
      case .stored(let response): .stored(age: response.age)
      case .fresh(_, let change): .fresh(change)
      case .failure(let error, _): .failure(error.kind)
      }
    onEvent(
      DataService.Event(
        exchange: nil, method: prepared.request.method, url: prepared.shownURL, elapsed: plan.elapsed,
        kind: .delivered(delivered)))
  }

  /// Makes a change, after which the load is over if everything is delivered, and committed or abandoned; then says so.
  private func endIfCommitted(after change: (inout LoadState<Value>) -> Void) {
    let hasEnded = state.withLock { state in
      change(&state)
      return state.endIfCommitted()
    }
    guard hasEnded else { return }
    core.state.withLock { $0.remove(self) }
    port.finish()
  }

  /// Leaves the exchange after the last delivery; it continues only to fill the store.
  private func ended() {
    let (exchange, timers, usedRow) = state.withLock { $0.end() }
    for timer in timers { timer.cancel() }
    endProgress()
    if let usedRow { core.store.markUsed(rowID: usedRow, atMilliseconds: core.timekeeper.wallMilliseconds) }
    guard let exchange else { return }
    leave(exchange)
    state.withLock { $0.forgetExchange() }
  }

  /// Pins and tags the row that was delivered without an exchange. The load ends when that is done, or takes as long as
  /// a commit may.
  private func mark() {
    guard let row = state.withLock({ $0.row }) else { return }
    Task(executorPreference: core.thread) { [self] in
      let done = await core.commitWaiting.result { [core, prepared] () async throws(CacheStoreError) in
        try await core.store.keep(
          row.value, isPinned: prepared.request.isPinned && !row.value.isPinned, tags: prepared.request.tags)
      }
      if case .failure(let error) = done { core.warn(store: error) }
      endIfCommitted { $0.isMarking = false }
    }
  }

  // MARK: - The store's answer

  /// Watches a lookup that must first open the store on this thread. If the disk or file server does not respond, the
  /// exchange begins without the stored response (law 3). A store that is already open needs no watch.
  private func watchOpening() -> LookupWatch? {
    guard !plan.asksNobody, !core.store.isReadyToLookUp else { return nil }
    return beginWatch(core.configuration.timeouts.opening)
  }

  private func beginWatch(_ timeLimit: Duration) -> LookupWatch {
    let pending = FirstValue<Void>()
    state.withLock { $0.pendingLookup = pending }
    guard !plan.isOnlyIfCached else { return LookupWatch(pending: pending, timer: nil) }
    let timer = core.timekeeper.after(timeLimit) { [weak self] in
      self?.handle(.storeIsSlow)
    }
    return LookupWatch(pending: pending, timer: timer)
  }

  /// Ends the watch because the store has answered, usually before the time limit.
  private func endWatch(_ watch: LookupWatch?) {
    guard let watch else { return }
    watch.timer?.cancel()
    watch.pending.set(())
    state.withLock { $0.pendingLookup = nil }
  }

  /// Looks the stored response up on the store's queue, where waiting is allowed.
  ///
  /// - Parameter timeLimit: How long the exchange waits for the lookup; `nil` for the time limit of an open store.
  private func lookupInQueue(timeLimit: Duration? = nil) {
    let watch = beginWatch(timeLimit ?? core.configuration.timeouts.slowStore)
    if let timer = watch.timer { state.withLock { $0.timers.append(timer) } }
    Task(executorPreference: core.thread) { [self] in
      defer { watch.pending.set(()) }
      do throws(CacheStoreError) {
        let found = try await core.store.lookup(prepared.key)
        // Before the row is used: the exchange that may begin then must know that the store has answered.
        endWatch(watch)
        take(found)
      } catch {
        storeFailed(error)
      }
    }
  }

  private func storeFailed(_ error: CacheStoreError) {
    // Under `storedOnly` the error itself is delivered, so it needs no warning.
    if plan.policy != .storedOnly { core.warn(store: error) }
    _ = state.withLock { $0.fail(with: DataServiceError(store: core.advised(error))) }
    handle(.storeAnswered(.nothing))
  }

  private func take(_ found: ResponseStore.Lookup) {
    if prepared.isHTTP { return takeJudged(found) }
    var selected: Box<StoredResponse>?
    if let row = core.select(from: found, for: prepared) { selected = Box(row) }
    let row = selected.flatMap { plan.accepts($0.value) ? $0 : nil }
    if found.damaged > 0 { noteDamage(isMissed: row == nil) }
    // Computed only if none of the rows fits; most lookups find a row that fits, or nothing.
    let unfit = row == nil ? plan.unfit(found.rows) : nil
    core.trace(plan.said(of: row?.value, unfit))
    let isRefused = !prepared.request.acceptedMediaTypes.isEmpty || selected != nil
    let forward: CacheStatus.Forward = found.rows.isEmpty ? .uriMiss : isRefused ? .miss : .varyMiss
    // A fresh answer replaces the row, whether or not the row is delivered.
    let isUsed = plan.policy == .freshOnly
    state.withLock { $0.take(found, row: row, unfit: unfit, forward: forward, isUsed: isUsed) }
    guard let row else { return handle(.storeAnswered(.nothing)) }
    handle(.storeAnswered(.candidate(isYoung: plan.isYoung(row.value))))
  }

  /// Under `http` RFC 9111 decides which row, if any, answers.
  private func takeJudged(_ found: ResponseStore.Lookup) {
    let rows = found.rows.filter(plan.accepts)
    let decision = core.judge(prepared, rows: rows)
    core.trace("http: \(decision.reason.rawValue)")
    if found.damaged > 0 { noteDamage(isMissed: decision.row == nil) }
    state.withLock { $0.take(found, judged: decision) }
    handle(.storeAnswered(.judged(decision.action, hasRow: decision.row != nil)))
  }

  /// Reports a row that did not match its checksum. In a store that is only read it stays, and a load that asks nobody
  /// and has nothing else fails with that.
  private func noteDamage(isMissed: Bool) {
    guard core.store.configuration.isReadOnly else {
      return core.warn(
        .init(
          kind: .corrupt, message: "a stored response did not match its checksum and was removed",
          remedy: .checkStore))
    }
    let error = plan.damaged
    if isMissed, plan.asksNobody {
      _ = state.withLock { $0.fail(with: error) }
    } else {
      core.warn(.init(kind: error.kind, message: error.message, remedy: error.remedy))
    }
  }

  /// Makes the candidate's value: at once if its bytes are in memory, otherwise chunk by chunk from the store.
  /// - Returns: The resulting event; `nil` if it comes later.
  private func prepareStored() -> LoadMachine.Event? {
    guard let row = state.withLock({ $0.row }) else { return .storedPrepared(false) }
    let (head, body) = HTTPPresentation.response(
      from: row, prepared: prepared, core: core, elapsed: plan.elapsed)
    if !plan.form.needsWhole {
      return storedPrepared(row) { try plan.response(of: body, data: Data(), head: head) }
    }
    if case .data(let data) = body, !(plan.form.canRefuse && core.thread.isCurrent) {
      return storedPrepared(row) { try plan.response(of: body, data: data, head: head) }
    }
    Task(executorPreference: core.thread) { [self] in
      do throws(DataServiceError) {
        let data = try await core.collect(body, limit: prepared.request.limits.dataBytes)
        handle(
          await core.decoding { [self] in
            storedPrepared(row) { try plan.response(of: .data(data), data: data, head: head) }
          })
      } catch {
        handle(storedPrepared(row) { throw error })
      }
    }
    return nil
  }

  private func storedPrepared(
    _ row: Box<StoredResponse>, _ make: () throws -> DataService.Response<Value>
  ) -> LoadMachine.Event {
    do {
      let response = try make()
      let answer = state.withLock { state in
        state.prepared(response, of: row.value)
        return state.answer
      }
      if let answer {
        let change = ChangeJudge.change(of: answer, from: row, for: prepared)
        state.withLock { $0.lateChange = change }
      }
      noteStale()
      return .storedPrepared(true)
    } catch {
      let error = plan.unusable(error)
      _ = state.withLock { $0.fail(with: error, isRowUnusable: true) }
      core.warn(.init(kind: error.kind, message: error.message, remedy: error.remedy))
      return .storedPrepared(false)
    }
  }

  // MARK: - The exchange

  private func startExchange() {
    let isRowKnown = state.withLock { $0.pendingLookup }.map { $0.current != nil } ?? true
    let exchangePlan = state.withLock { $0.exchangePlan(for: plan, isRowKnown: isRowKnown) }
    let (exchange, isNew) = Exchange.joined(by: waiter, for: exchangePlan, core: core)
    let isStray = state.withLock { $0.begin(exchange) }
    if isNew {
      exchange.start()
    } else {
      core.trace("joining the same request, which is under way")
      if let row = exchange.served { state.withLock { $0.served = row } }
    }
    if isStray { leave(exchange) }
  }

  /// This load's callbacks for its exchange.
  var waiter: ExchangeWaiter {
    var received: (@Sendable (DataService.TransferProgress) -> Void)?
    if progress != nil { received = { update in self.received(update) } }
    return ExchangeWaiter(
      load: self, mayFollow: plan.policy != .freshOnly,
      waitsUntil: plan.waitsUntil(mayHaveStored: state.withLock { $0.mayHaveStored }),
      acceptedStatuses: plan.acceptedStatuses, decodes: plan.form.canRefuse,
      accepts: { answer, data in self.accepts(answer, data: data) },
      serve: { row in self.serve(row) }, received: received,
      answered: { result in self.exchangeAnswered(result) },
      committed: { self.endIfCommitted { $0.commit() } })
  }

  private func leave(_ exchange: any AnyExchange) {
    let isSatisfied = state.withLock { !$0.isCancelled && !$0.isStopped }
    // A closed store accepts no more writes.
    let finishes = isSatisfied && core.configuration.finishesAfterDeadline && core.closed == nil
    exchange.leave(self, finishingIntoStore: finishes)
  }

  private func accepts(_ answer: Answer, data: Data) -> Bool {
    let decoded = plan.decode(prepared.isHead ? Data() : data, head: head(of: answer))
    let made = LoadState<Value>.Decoded(
      status: answer.head.status, requestedAt: answer.head.requestedAt, receivedAt: answer.head.receivedAt,
      value: decoded.map { $0.value })
    _ = state.withLock { $0.take(made) }
    if case .success = decoded { return true }
    return false
  }

  /// Handles another machine's response, where nothing is stored.
  private func serve(_ row: Box<StoredResponse>) {
    state.withLock { $0.served = row }
    if let event = takeServed() { handle(event) }
  }

  /// Uses another machine's response as the stored one if there is room for it: judged and decoded like a stored
  /// row.
  /// - Returns: The event of it; `nil` where there is no row, or no room.
  private func takeServed() -> LoadMachine.Event? {
    guard core.upstream != nil else { return nil }
    let (row, hasRoom) = state.withLock { ($0.served, $0.machine.hasRoomForServed) }
    guard hasRoom, let row, let judged = plan.judged(served: row.value) else { return nil }
    _ = state.withLock { $0.use(served: row, forward: judged.forward) }
    return .served(judged.answer)
  }

  // MARK: - The exchange's answer

  private func exchangeAnswered(_ result: ExchangeResult) {
    endProgress()
    switch result {
    case .failure(let error) where error.kind == .signedOut:
      // Nothing of the account is delivered any more, so no policy falls back on what is stored. The exchange still
      // says when its writes are over.
      state.withLock { $0.isAnswered = true }
      stop(with: error)
    case .failure(let error):
      if HTTPStaleness.isUnheard(error.kind) { noteStale(after: .noAnswer) }
      exchangeEnded(.failure(error))
    case .answer(var answer):
      _ = state.withLock { $0.forgetDecoded(unlessOf: answer) }
      // A row that a 304 confirmed, or another process refreshed, has the body of a GET (RFC 9110 section
      // 9.3.2).
      if prepared.isHead { answer.body = .data(Data()) }
      // The 304 confirmed another machine's body, which differs from the one this load found in its own store.
      if answer.confirmsCandidate, state.withLock({ $0.row?.value.isFromSharedCache == false }) {
        answer.wasValidated = false
      }
      let status = answer.head.status
      if noteStale(after: .status(status))
        || plan.isStatusFailure(status, mayHaveStored: { state.withLock { $0.mayHaveStored } })
      {
        return statusFailed(answer)
      }
      if let failure = plan.portalFailure(answer), state.withLock({ $0.mayHaveStored }) {
        return exchangeEnded(.failure(failure))
      }
      guard prepared.isHTTP else { return makeFresh(answer) }
      let row = state.withLock { $0.row }
      makeFresh(HTTPPresentation.answer(answer, candidate: row?.value, prepared: prepared, core: core))
    }
  }

  /// Ends the exchange with a failure that carries the answer, and its body if that may be delivered as `Data`.
  private func statusFailed(_ answer: Answer) {
    let head = head(of: answer)
    let limit = prepared.request.limits.dataBytes
    if case .data(let data) = answer.body {
      let body = Int64(data.count) <= limit ? data : Data()
      return exchangeEnded(.failure(plan.statusError(answer, .init(value: body, head: head))))
    }
    Task(executorPreference: core.thread) { [self] in
      // The status is a failure even if the body cannot be read.
      let body = try? await core.collect(answer.body, limit: limit)
      exchangeEnded(.failure(plan.statusError(answer, .init(value: body ?? Data(), head: head))))
    }
  }

  /// Under `http`: whether the stored response is served although the exchange failed (RFC 9111 section 4.2.4).
  ///
  /// Called when the exchange has failed and when the stored response is ready; the later call decides.
  @discardableResult private func noteStale(after failure: HTTPStaleness.Failure? = nil) -> Bool {
    guard prepared.isHTTP else { return false }
    guard let (row, failure) = state.withLock({ $0.noteFailure(failure) }),
      plan.mayServeStale(row.value, after: failure)
    else { return false }
    let answered = state.withLock { $0.answer }.map { plan.statusError($0) }
    _ = state.withLock { $0.serveStale(because: answered) }
    return true
  }

  private func makeFresh(_ answer: Answer) {
    let head = head(of: answer)
    switch plan.form {
    case .streamed:
      do {
        let response = try plan.response(of: answer.body, data: Data(), head: head)
        exchangeEnded(.success(response), answer: answer)
      } catch {
        exchangeEnded(.failure(error as? DataServiceError ?? plan.undecodable(error)), answer: answer)
      }
    case .whole:
      if let decoded = state.withLock({ $0.decoded }) {
        return exchangeEnded(decoded.value.map { .init(value: $0, head: head) }, answer: answer)
      }
      if case .data(let data) = answer.body, !plan.form.canRefuse {
        return exchangeEnded(plan.decode(data, head: head), answer: answer)
      }
      Task(executorPreference: core.thread) { [self] in
        do throws(DataServiceError) {
          let data = try await core.collect(answer.body, limit: prepared.request.limits.dataBytes)
          exchangeEnded(await core.decoding { self.plan.decode(data, head: head) }, answer: answer)
        } catch {
          exchangeEnded(.failure(error), answer: answer)
        }
      }
    }
  }

  private func head(of answer: Answer) -> Box<DataService.ResponseHead> {
    let (forward, row) = state.withLock { ($0.forward, $0.row) }
    return plan.head(of: answer, forward: forward, row: row)
  }

  private func exchangeEnded(
    _ result: Result<DataService.Response<Value>, DataServiceError>, answer: Answer? = nil
  ) {
    let row = state.withLock { state in
      state.take(answer)
      return state.row
    }
    let change = answer.map { ChangeJudge.change(of: $0, from: row, for: prepared) } ?? .new
    let isFresh = state.withLock { $0.finish(with: result.map { ($0, change) }) }
    handle(.exchangeFinished(isFresh: isFresh))
  }

  // MARK: - The body's progress, at a limited rate

  private func received(_ update: DataService.TransferProgress) {
    guard let progress else { return }
    let now = core.timekeeper.bootNanoseconds
    let step = state.withLock { state -> ProgressRate.Step in
      guard !state.isCancelled else { return .hold }
      return state.progressRate.take(update, at: now)
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
    let now = core.timekeeper.bootNanoseconds
    let update = state.withLock { $0.progressRate.due(at: now) }
    if let update { progress?(update) }
  }

  /// Ends the progress reports: the body is complete, or the load is over.
  private func endProgress() {
    guard progress != nil else { return }
    let timer = state.withLock { state -> TimerHandle? in
      defer { state.progressTimer = nil }
      state.progressRate.end()
      return state.progressTimer
    }
    timer?.cancel()
  }
}

/// A running lookup, and the timer that starts the exchange without it.
private struct LookupWatch: Sendable {
  let pending: FirstValue<Void>
  let timer: TimerHandle?
}
