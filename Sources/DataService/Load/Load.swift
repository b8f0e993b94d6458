internal import CacheStore
internal import Guards
internal import PlatformFoundation

/// One load: hears events from the store, the exchange, timers and decoders, asks ``LoadMachine``, and carries its effects
/// out, each event before the next is heard.
///
/// It belongs to the thread that begins it, which looks up what is stored and delivers it, and from its hand-over on to
/// the network thread. A load that asks nobody ends where it began.
// `@unchecked`: one thread at a time has it, and gives it away through the network thread's inbox; what others say is in
// `wanted`. Debug builds check each event.
final class Load<Value: Sendable>: AnyLoad, @unchecked Sendable {
  /// The result of the exchange.
  private typealias Fresh = Result<(DataService.Response<Value>, DataService.Change), DataServiceError>
  /// What was made of the stored row.
  private typealias Made = Result<DataService.Response<Value>, any Error>

  private enum Preparation {
    case made(LoadMachine.Event)
    case begun
    /// A decoder makes it, which the exchange does not wait for.
    case decoder(@Sendable () -> Made)
  }

  /// What the decoder has made of an answer before that was stored.
  private struct Decoded: Sendable {
    let status: Int
    let requestedAt: Int64
    let receivedAt: Int64
    let value: Result<Value, DataServiceError>

    /// Whether it was made of that answer, and not of an earlier attempt's, nor of what a 304 confirmed in place of which
    /// another exchange's row is the answer.
    func isOf(_ answer: Answer) -> Bool {
      !answer.isAnothers
        && (status, requestedAt, receivedAt) == (
          answer.head.status, answer.head.requestedAt, answer.head.receivedAt
        )
    }
  }

  private let plan: LoadPlan<Value>
  private let port: Port<Value>
  private let progress: (@Sendable (DataService.TransferProgress) -> Void)?
  private let wanted = Wanted()
  private var machine: LoadMachine
  /// Whether the network thread has the load.
  private var isHandedOver = false
  /// What was to be done on the network thread before that had the load.
  private var isExchangeDue = false
  private var isPreparationDue = false
  /// The stored row that may be delivered.
  private var row: Box<StoredResponse>?
  /// Why the request is forwarded, for `Cache-Status`; `nil` if the row's freshness decides that.
  private var forward: CacheStatus.Forward?
  /// Why nothing of what is stored under the key is delivered.
  private var unfit: Unfit?
  private var isForStore = false
  private var preflight: ResponseStore.Preflight?
  /// The failure of the exchange, for the rule that may serve the stored response in spite of it.
  private var httpFailure: HTTPStaleness.Failure?
  private var accountID: Int64?
  /// Another machine's response that came before the store's answer.
  private var served: Box<StoredResponse>?
  /// Whether the thread that began the load has delivered the stored response.
  private var isStoredDelivered = false
  private var storeError: DataServiceError?
  /// Whether making the row's value failed, so that there is nothing to fall back on.
  private var isRowUnusable = false
  /// The exchange's answer, and its comparison with a row that the store returned later.
  private var answer: Answer?
  private var lateChange: DataService.Change?
  private var exchange: (any AnyExchange)?
  /// Why the exchange had no answer yet when the deadline passed.
  private var trouble: DataServiceError?
  /// Whether the exchange has handed over its result; its writes may still be under way.
  private var isAnswered = false
  private var pendingLookup: FirstValue<Void>?
  private var isStopped = false
  /// Whether the row that was delivered without an exchange is being pinned or tagged.
  private var isMarking = false
  private var timers: [TimerHandle] = []
  private var progressRate = ProgressRate()
  private var progressTimer: TimerHandle?
  private var usedRow: Int64?
  /// Whether everything is delivered, and committed or abandoned.
  private var hasEnded = false
  private var stored: DataService.Response<Value>?
  private var decoded: Decoded?
  private var result: Fresh?

  init(
    core: ServiceCore, prepared: PreparedRequest, policy: FetchPolicy, form: ValueForm<Value>,
    port: Port<Value>, progress: (@Sendable (DataService.TransferProgress) -> Void)?
  ) {
    plan = LoadPlan(core: core, prepared: prepared, policy: policy, form: form)
    self.port = port
    self.progress = progress
    machine = LoadMachine(policy: plan.policy, isOnlyIfCached: plan.isOnlyIfCached)
  }

  private var core: ServiceCore { plan.core }
  private var prepared: PreparedRequest { plan.prepared }

  var request: PreparedRequest? { prepared }

  /// Whether there is a usable stored response, even if its value is not ready yet.
  private var mayHaveStored: Bool { stored != nil || (row != nil && !isRowUnusable) }

  // MARK: - The thread that begins it

  /// Starts the load. The lookup runs on this thread if it needs no waiting and this is not the network thread, which
  /// all loads share; otherwise on the store's queue.
  func start() {
    let refusal = core.state.withLock { state in
      state.add(self)
      return state.refusal(of: prepared.key.account)
    }
    // Closing and sign-out listed the loads before this one was added, so the load ends itself.
    if let refusal {
      tell(.failure(refusal.kind))
      return end(before: refusal)
    }
    if prepared.isPassThrough { return begin(with: .storeAnswered(.nothing)) }
    if core.thread.isCurrent {
      let timeLimit = core.store.isReadyToLookUp ? nil : core.configuration.timeouts.opening
      return handOver { self.lookUp(timeLimit: timeLimit) }
    }
    let watch = watchOpening()
    do throws(CacheStoreError) {
      let found =
        plan.policy.asksAlways
        ? try core.store.lookupNow(prepared.key, beforeAsking: prepared.responder(of: prepared.url))
        : try core.store.lookupNow(prepared.key)
      guard isStillHere(watch) else { return core.thread.perform { self.looked(found) } }
      endLookup()
      begin(with: storeAnswer(found))
    } catch {
      guard isStillHere(watch) else { return core.thread.perform { self.lookFailed(error) } }
      endLookup()
      // The queue can wait: for another process's lock, or for the repair of a damaged file.
      if error.mayPass { handOver { self.lookUp() } } else { begin(with: storeFailed(error)) }
    }
  }

  /// Whether the network thread has not gone on without this one, which the disk has held up.
  private func isStillHere(_ watch: TimerHandle?) -> Bool { watch?.cancel() ?? true }

  /// Carries out what can be done here: a stored response is delivered before this returns. The rest, if there is any, is
  /// the network thread's.
  private func begin(with event: LoadMachine.Event) {
    if let decoder = step(event) {
      var machine = machine
      let isDelivery = machine.handle(.storedPrepared(true)).contains(.deliverStored)
      // The exchange begins before a decoder runs (law 3), so from here on the load is not this thread's any more.
      handOver()
      let made = decoder()
      var isDelivered = false
      if isDelivery, case .success(let response) = made { isDelivered = port.deliverFirst(.stored(response)) }
      return core.thread.perform { [isDelivered] in self.handle(made, isDelivered: isDelivered) }
    }
    if machine.hasEnded, !isExchangeDue, !isMarking { endIfOver() } else { handOver() }
  }

  /// Watches a lookup that must first open the store on this thread. If the disk or file server does not respond, the
  /// network thread takes the load and begins the exchange without the stored response (law 3). A store that is already
  /// open needs no watch.
  private func watchOpening() -> TimerHandle? {
    guard !plan.asksNobody, !core.store.isReadyToLookUp else { return nil }
    pendingLookup = FirstValue()
    return core.timekeeper.after(core.configuration.timeouts.opening) { [weak self] in
      guard let self else { return }
      handOver { self.handle(.storeIsSlow) }
    }
  }

  /// Gives the load to the network thread.
  private func handOver(_ next: (@Sendable () -> Void)? = nil) {
    wanted.handOver()
    core.thread.performHere { self.begun(next) }
  }

  // MARK: - What other threads say

  /// Cancels the load: nothing is delivered after this returns, and nothing begins to be written for it (law 11).
  func cancel() {
    port.close()
    guard !port.isOver else { return }
    if wanted.cancel() {
      core.thread.perform { self.handle(.cancelled) }
    } else {
      // Its thread may be held up by the disk; nothing else is under way.
      port.finish()
    }
  }

  /// Ends the load with a failure that delivers nothing stored, for sign-out and closing. On the network thread.
  func stop(with error: DataServiceError) {
    guard wanted.stop() else { return end(before: error) }
    guard !machine.hasEnded else { return }
    isStopped = true
    stored = nil
    result = .failure(error)
    handle(.stopped)
  }

  /// Ends a load that its own thread still has.
  private func end(before error: DataServiceError) {
    port.end(with: error)
    core.state.withLock { $0.remove(self) }
    port.finish()
  }

  /// Returns once everything is delivered or cancelled, and nothing more will be written for this load.
  func finished() async { await port.over() }

  func called() async { await port.finished() }

  var isCancelled: Bool { wanted.isCancelled }

  func claim() -> Bool { wanted.claim() }

  func release() { wanted.release() }

  // MARK: - Events, effects, deliveries

  /// Takes the load over, and does what was left for the network thread.
  private func begun(_ next: (@Sendable () -> Void)?) {
    isHandedOver = true
    // It was ended on the way: nothing is asked for it, and no row marked (law 11).
    if wanted.isCancelled || wanted.isStopped {
      isMarking = false
      return handle(.cancelled)
    }
    if let deadline = plan.policy.kind.deadline, !machine.hasEnded {
      arm(deadline - plan.elapsed) { $0.deadlinePassed() }
    }
    if isExchangeDue {
      startExchange()
      if let event = takeServed() { handle(event) }
    }
    if isPreparationDue, case .made(let event) = prepareStored() { handle(event) }
    if isMarking { mark() }
    next?()
  }

  /// Passes an event to the machine, and carries out what results. On the network thread.
  private func handle(_ event: LoadMachine.Event) {
    core.engine.check()
    isHandedOver = true
    _ = step(event)
    endIfOver()
  }

  /// Carries out the effects of an event, until no further event results.
  /// - Returns: A decoder that is to make the stored response once the load is handed over.
  private func step(_ first: LoadMachine.Event) -> (@Sendable () -> Made)? {
    var next: LoadMachine.Event? = first
    var decoder: (@Sendable () -> Made)?
    while let event = next {
      next = nil
      let effects = machine.handle(event)
      if event == .storeIsSlow, effects.contains(.startExchange) {
        core.trace("the store is slow: not waiting for it")
      }
      if event == .storeIsTooLate, !effects.isEmpty {
        core.trace("going on without the store: it has been waited for 250 ms")
      }
      for effect in effects {
        switch effect {
        case .startExchange: if isHandedOver { startExchange() } else { isExchangeDue = true }
        case .prepareStored:
          switch prepareStored() {
          case .made(let event): next = event
          case .decoder(let make): decoder = make
          case .begun: break
          }
        case .boundStoreWait:
          core.trace("waiting for the store, 250 ms at most")
          arm(core.configuration.timeouts.storeAnswer) { $0.handle(.storeIsTooLate) }
        case .end: ended()
        case .deliverStored, .deliverFresh, .deliverFailure, .deliverNotStored, .deliverDeadline:
          deliver(effect)
        }
      }
      // Another machine's response came before the store's answer, or another load's exchange had it already.
      next = next ?? takeServed()
    }
    return decoder
  }

  private func deliver(_ effect: LoadMachine.Effect) {
    count(effect)
    switch effect {
    case .deliverStored:
      guard let stored else { return }
      tell(.stored(age: stored.age))
      // Unless the thread that began the load has.
      if !isStoredDelivered { port.deliver(.stored(stored)) }
    case .deliverFresh:
      guard case .success((let response, let change)) = result else { return }
      tell(.fresh(lateChange ?? change))
      port.deliver(.fresh(response, lateChange ?? change))
    case .deliverFailure:
      guard case .failure(let error) = result else { return }
      // Nothing of a signed-out account is delivered, not even the last known response.
      fail(with: error, lastKnown: error.kind == .signedOut ? nil : stored)
    case .deliverNotStored: fail(with: storeError ?? plan.notStored(unfit), lastKnown: nil)
    case .deliverDeadline:
      let remedy = prepared.isRepeatable ? Remedy.longerDeadline : .lookFirst
      let error = DataServiceError(
        .timeout(.deadline),
        "no fresh response within the deadline" + (trouble.map { ": \($0.message)" } ?? ""),
        remedy: trouble?.remedy ?? remedy)
      fail(with: error, lastKnown: stored)
    case .startExchange, .prepareStored, .boundStoreWait, .end: break
    }
  }

  private func fail(with error: DataServiceError, lastKnown: DataService.Response<Value>?) {
    tell(.failure(error.kind))
    if isCounted { core.store.count(failure: error.kind.name) }
    port.deliver(.failure(error, lastKnown: lastKnown))
  }

  /// Reports a delivery to `onEvent`, before it is made.
  private func tell(_ delivered: @autoclosure () -> DataService.Event.Delivered) {
    core.configuration.onEvent?(
      DataService.Event(
        exchange: nil, method: prepared.request.method, url: prepared.shownURL, elapsed: plan.elapsed,
        kind: .delivered(delivered())))
  }

  private var isCounted: Bool { prepared.request.isCounted && !prepared.isPassThrough }

  /// Adds a delivery to the store's counts, in memory.
  private func count(_ effect: LoadMachine.Effect) {
    guard isCounted else { return }
    var count = UsageCount()
    switch effect {
    case .deliverStored:
      count.stored = 1
      count.savedMilliseconds = row?.value.exchangeMilliseconds ?? 0
      // The machine decides, since it depends on the threads whether the exchange has been made by now.
      if !machine.wantsExchange { count.savedBytes = row?.value.body.length ?? 0 }
    case .deliverFresh:
      if case .success((let response, _)) = result, response.wasValidated {
        count.unchanged = 1
        count.savedBytes = row?.value.body.length ?? 0
      } else {
        count.fresh = 1
      }
    case .deliverFailure, .deliverDeadline: count.failed = 1
    default: return
    }
    if let accountID = accountID ?? exchange?.accountID {
      core.store.count(accountID: accountID, host: prepared.countedHost, count)
    } else {
      // The id is unknown, as during an account's first fetch, while its row is created.
      core.store.count(accountName: prepared.key.account, host: prepared.countedHost, count)
    }
  }

  private func arm(_ delay: Duration, _ action: @escaping @Sendable (Load) -> Void) {
    timers.append(
      core.after(delay) { [weak self] in
        if let self { action(self) }
      })
  }

  /// Falls back on the stored response, unless another process has signed its account out since the lookup.
  private func deadlinePassed() {
    trouble = exchange?.trouble
    guard let accountID, !prepared.key.account.isEmpty else { return handle(.deadlinePassed) }
    Task(executorPreference: core.thread) { [self] in
      let isRevoked = await core.door.ask(for: .commit) { (store) async throws(CacheStoreError) in
        try await store.isRevoked(accountID: accountID)
      }
      // If the store does not answer, nothing says that the account was signed out.
      if isRevoked.value == true { stop(with: .signedOut) } else { handle(.deadlinePassed) }
    }
  }

  /// Leaves the exchange after the last delivery; it continues only to fill the store.
  private func ended() {
    if isToBeMarked {
      isMarking = true
      if isHandedOver { mark() }
    }
    if !wanted.isCancelled { port.end() }
    for timer in timers { timer.cancel() }
    timers = []
    endProgress()
    if let usedRow { core.store.markUsed(rowID: usedRow, atMilliseconds: core.timekeeper.wallMilliseconds) }
    // Whoever stopped the load set its result, while the exchange still runs.
    if result == nil || isStopped && !isAnswered { leaveExchange() }
  }

  private func leaveExchange() {
    guard let exchange else { return }
    self.exchange = nil
    // A closed store accepts no more writes.
    let finishes =
      !isStopped && core.configuration.finishesAfterDeadline && core.closed == nil && wanted.keep()
    exchange.leave(self, finishingIntoStore: finishes)
  }

  /// Ends the load if everything is delivered, and committed or abandoned.
  private func endIfOver() {
    guard machine.hasEnded, exchange == nil, !isMarking, !hasEnded else { return }
    hasEnded = true
    core.state.withLock { $0.remove(self) }
    port.finish()
  }

  // MARK: - Pins and tags

  /// Whether the row that suits the request gets the pin or the tags, delivered or not, since no fresh one has them in the
  /// store. `storedOnly` changes nothing, nor does a load that was cancelled or stopped by now (law 11).
  private var isToBeMarked: Bool {
    guard plan.policy != .storedOnly, !wanted.isCancelled, !isStopped, !isRowUnusable,
      let row = row?.value, row.isInStore
    else { return false }
    if case .success((let response, _)) = result {
      guard case .no(let reason) = response.kept, !reason.isOfStore else { return false }
    }
    return prepared.request.marks.mayBeMissing(from: row)
  }

  /// Pins and tags the row that was delivered without an exchange. The load ends when that is done, or takes as long as
  /// a commit may.
  private func mark() {
    guard let row else { return }
    Task(executorPreference: core.thread) { [self] in
      await core.change { [prepared] (store) async throws(CacheStoreError) in
        try await store.mark(row.value, prepared.request.marks)
      }
      isMarking = false
      endIfOver()
    }
  }

  // MARK: - The store's answer

  /// Looks the stored response up on the store's queue, where waiting is allowed.
  ///
  /// - Parameter timeLimit: How long the exchange waits for the lookup; `nil` for the time limit of an open store.
  private func lookUp(timeLimit: Duration? = nil) {
    let pending = FirstValue<Void>()
    pendingLookup = pending
    var timer: TimerHandle?
    if !plan.isOnlyIfCached {
      arm(timeLimit ?? core.configuration.timeouts.slowStore) { $0.handle(.storeIsSlow) }
      timer = timers.last
    }
    Task(executorPreference: core.thread) { [self, timer] in
      defer { pending.set(()) }
      do throws(CacheStoreError) {
        let found = try await core.store.lookup(prepared.key)
        timer?.cancel()
        // Before the row is used: the exchange that may begin then must know that the store has answered.
        looked(found)
      } catch {
        handle(storeFailed(error))
      }
    }
  }

  private func looked(_ found: ResponseStore.Lookup) {
    endLookup()
    handle(storeAnswer(found))
  }

  /// Hears of a lookup that has held its own thread up, and failed.
  private func lookFailed(_ error: CacheStoreError) {
    endLookup()
    if error.mayPass { lookUp() } else { handle(storeFailed(error)) }
  }

  private func endLookup() {
    pendingLookup?.set(())
    pendingLookup = nil
  }

  private func storeAnswer(_ found: ResponseStore.Lookup) -> LoadMachine.Event {
    .storeAnswered(prepared.isHTTP ? judged(found) : selected(found))
  }

  private func storeFailed(_ error: CacheStoreError) -> LoadMachine.Event {
    // Under `storedOnly` the error itself is delivered, so it needs no warning.
    if plan.policy != .storedOnly { core.warn(store: error) }
    storeError = DataServiceError(store: core.advised(error))
    return .storeAnswered(.nothing)
  }

  private func selected(_ found: ResponseStore.Lookup) -> LoadMachine.StoreAnswer {
    var selected: Box<StoredResponse>?
    if let row = core.select(from: found, for: prepared) { selected = Box(row) }
    row = selected.flatMap { plan.accepts($0.value) ? $0 : nil }
    if found.damaged > 0 { noteDamage(isMissed: row == nil) }
    // Computed only if none of the rows fits; most lookups find a row that fits, or nothing.
    unfit = row == nil ? plan.unfit(found.rows) : nil
    core.trace(plan.traceLine(of: row?.value, unfit))
    (accountID, preflight) = (found.accountID, found.preflight)
    // A fresh answer replaces the row, whether or not the row is delivered.
    if plan.policy.skipsStored { usedRow = row?.value.id }
    guard let row else {
      let isRefused = !prepared.request.acceptedMediaTypes.isEmpty || selected != nil
      forward = found.rows.isEmpty ? .uriMiss : isRefused ? .miss : .varyMiss
      return .nothing
    }
    return .candidate(isYoung: plan.isYoung(row.value))
  }

  /// Under `http` RFC 9111 decides which row, if any, answers.
  private func judged(_ found: ResponseStore.Lookup) -> LoadMachine.StoreAnswer {
    let decision = core.judge(prepared, rows: found.rows.filter(plan.accepts))
    core.trace("http: \(decision.reason.rawValue)")
    if found.damaged > 0 { noteDamage(isMissed: decision.row == nil) }
    row = decision.row.map { Box($0) }
    (accountID, forward) = (found.accountID, decision.forward)
    isForStore = decision.action == .reuseWhileRevalidating
    return .judged(decision.action, hasRow: decision.row != nil)
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
      storeError = error
    } else {
      core.warn(.init(kind: error.kind, message: error.message, remedy: error.remedy))
    }
  }

  /// Makes the candidate's value: at once if its bytes are in memory, otherwise chunk by chunk from the store.
  private func prepareStored() -> Preparation {
    guard let row else { return .made(.storedPrepared(false)) }
    let (head, body) = HTTPPresentation.response(
      from: row, prepared: prepared, core: core, elapsed: plan.elapsed)
    let canRefuse = plan.form.canRefuse
    if !plan.form.needsWhole {
      return .made(storedPrepared(Made { try plan.response(of: body, data: Data(), head: head) }))
    }
    // Who is called back on a queue may have begun the load on a thread that must not stand still.
    if case .data(let data) = body, !(canRefuse && (isHandedOver || port.callsOnQueue)) {
      let make = { @Sendable [plan] in Made { try plan.response(of: body, data: data, head: head) } }
      return canRefuse && isExchangeDue ? .decoder(make) : .made(storedPrepared(make()))
    }
    guard isHandedOver else {
      isPreparationDue = true
      return .begun
    }
    Task(executorPreference: core.thread) { [self] in
      do throws(DataServiceError) {
        let data = try await core.collect(body, limit: prepared.request.limits.dataBytes)
        handle(
          await core.decoding { [plan] in Made { try plan.response(of: .data(data), data: data, head: head) }
          })
      } catch {
        handle(.failure(error))
      }
    }
    return .begun
  }

  /// Hears what was made of the stored row.
  private func handle(_ made: Made, isDelivered: Bool = false) {
    isStoredDelivered = isDelivered
    guard !machine.hasEnded else { return }
    handle(storedPrepared(made))
  }

  private func storedPrepared(_ made: Made) -> LoadMachine.Event {
    switch made {
    case .success(let response):
      stored = response
      if let row, row.value.isInStore { usedRow = row.value.id }
      if let answer { lateChange = ChangeJudge.change(of: answer, from: row, for: prepared) }
      noteStale()
      return .storedPrepared(true)
    case .failure(let error):
      let error = plan.unusable(error)
      storeError = error
      isRowUnusable = true
      core.warn(.init(kind: error.kind, message: error.message, remedy: error.remedy))
      return .storedPrepared(false)
    }
  }

  // MARK: - The exchange

  private func startExchange() {
    isExchangeDue = false
    let plan = ExchangePlan(
      prepared: prepared, row: row, lendsValidator: !isRowUnusable, accountID: accountID,
      pendingLookup: pendingLookup, isShared: !prepared.isPassThrough, mayFollow: plan.policy.mayFollow,
      isForStore: isForStore, isRowKnown: pendingLookup.map { $0.current != nil } ?? true,
      preflight: preflight
    )
    let (exchange, isNew) = Exchange.joined(by: waiter, for: plan, core: core)
    self.exchange = exchange
    if isNew {
      exchange.start()
    } else {
      core.trace("joining the same request, which is under way")
      served = exchange.served ?? served
    }
    if machine.hasEnded { leaveExchange() }
  }

  /// This load's callbacks for its exchange.
  var waiter: ExchangeWaiter {
    var received: (@Sendable (DataService.TransferProgress) -> Void)?
    if progress != nil { received = { update in self.received(update) } }
    var decoder: (@Sendable (Answer) -> @Sendable (Data) -> DecodedAnswer)?
    if plan.form.canRefuse { decoder = { answer in self.decoder(of: answer) } }
    return ExchangeWaiter(
      load: self, mayFollow: plan.policy.mayFollow,
      waitsUntil: plan.waitsUntil(mayHaveStored: mayHaveStored), acceptedStatuses: plan.acceptedStatuses,
      decoder: decoder, serve: { row in self.serve(row) }, received: received,
      answered: { result in self.exchangeAnswered(result) },
      committed: {
        self.exchange = nil
        self.endIfOver()
      })
  }

  private func decoder(of answer: Answer) -> @Sendable (Data) -> DecodedAnswer {
    let head = head(of: answer)
    return { [self] data in
      let made = plan.decode(prepared.isHead ? Data() : data, head: head)
      let decoded = Decoded(
        status: answer.head.status, requestedAt: answer.head.requestedAt, receivedAt: answer.head.receivedAt,
        value: made.map { $0.value })
      let isAccepted = if case .success = made { true } else { false }
      return DecodedAnswer(isAccepted: isAccepted) { self.decoded = decoded }
    }
  }

  /// Handles another machine's response, where nothing is stored.
  private func serve(_ row: Box<StoredResponse>) {
    served = row
    if let event = takeServed() { handle(event) }
  }

  /// Uses another machine's response as the stored one if there is room for it: judged and decoded like a stored row.
  /// - Returns: The event of it; `nil` where there is no row, or no room.
  private func takeServed() -> LoadMachine.Event? {
    guard let served, machine.hasRoomForServed, let judged = plan.judged(served: served.value) else {
      return nil
    }
    self.served = nil
    (row, forward) = (served, judged.forward)
    (storeError, isRowUnusable) = (nil, false)
    return .served(judged.answer)
  }

  // MARK: - The exchange's answer

  private func exchangeAnswered(_ result: ExchangeResult) {
    endProgress()
    isAnswered = true
    switch result {
    case .failure(let error) where error.kind == .signedOut:
      // Nothing of the account is delivered any more, so no policy falls back on what is stored. The exchange still
      // says when its writes are over.
      stop(with: error)
    case .failure(let error):
      if HTTPStaleness.isUnheard(error.kind) { noteStale(after: .noAnswer) }
      exchangeEnded(.failure(error))
    case .answer(var answer):
      // After a 304 nothing is decoded before the delivery.
      if decoded?.isOf(answer) == false { decoded = nil }
      // A row that a 304 confirmed, or another process refreshed, has the body of a GET (RFC 9110 section
      // 9.3.2).
      if prepared.isHead { answer.body = .data(Data()) }
      // The 304 confirmed another machine's body, which differs from the one this load found in its own store.
      if answer.confirmsCandidate, row?.value.isFromSharedCache == false { answer.wasValidated = false }
      let status = answer.head.status
      if noteStale(after: .status(status)) || plan.isStatusFailure(status, mayHaveStored: { mayHaveStored }) {
        return statusFailed(answer)
      }
      if let failure = plan.portalFailure(answer), mayHaveStored { return exchangeEnded(.failure(failure)) }
      guard prepared.isHTTP else { return makeFresh(answer) }
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
    httpFailure = failure ?? httpFailure
    guard let httpFailure, stored != nil, let row, plan.mayServeStale(row.value, after: httpFailure) else {
      return false
    }
    // This event alone returns no effects.
    _ = machine.handle(.staleWillDo)
    // An error status that arrived before the stored response was ready, and counted as the answer, is the reason.
    if case .success = result, let answer { result = .failure(plan.statusError(answer)) }
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
      if let decoded {
        return exchangeEnded(decoded.value.map { .init(value: $0, head: head) }, answer: answer)
      }
      if case .data(let data) = answer.body, !plan.form.canRefuse {
        return exchangeEnded(plan.decode(data, head: head), answer: answer)
      }
      Task(executorPreference: core.thread) { [self] in
        do throws(DataServiceError) {
          let data = try await core.collect(answer.body, limit: prepared.request.limits.dataBytes)
          exchangeEnded(await core.decoding { [plan] in plan.decode(data, head: head) }, answer: answer)
        } catch {
          exchangeEnded(.failure(error), answer: answer)
        }
      }
    }
  }

  private func head(of answer: Answer) -> Box<DataService.ResponseHead> {
    plan.head(of: answer, forward: forward, row: row)
  }

  private func exchangeEnded(
    _ result: Result<DataService.Response<Value>, DataServiceError>, answer: Answer? = nil
  ) {
    self.answer = answer
    // Unless whoever stopped the load has set it meanwhile.
    if !isStopped {
      let change = answer.map { ChangeJudge.change(of: $0, from: row, for: prepared) } ?? .new
      self.result = result.map { ($0, change) }
    }
    let isFresh = if case .success = self.result { true } else { false }
    handle(.exchangeFinished(isFresh: isFresh))
  }

  // MARK: - The body's progress, at a limited rate

  private func received(_ update: DataService.TransferProgress) {
    guard let progress, !wanted.isCancelled else { return }
    switch progressRate.take(update, at: core.timekeeper.bootNanoseconds) {
    case .tell: progress(update)
    case .wait(let delay): progressTimer = core.after(delay) { [weak self] in self?.tellHeldProgress() }
    case .hold: break
    }
  }

  private func tellHeldProgress() {
    if let update = progressRate.due(at: core.timekeeper.bootNanoseconds) { progress?(update) }
  }

  /// Ends the progress reports: the body is complete, or the load is over.
  private func endProgress() {
    progressRate.end()
    progressTimer?.cancel()
    progressTimer = nil
  }
}
