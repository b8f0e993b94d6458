internal import CacheStore
internal import Guards

// Carries out the effects that the machine returns.
extension LoadTask {
  /// Passes an event to the machine and carries out the effects, until no further event results; then delivers.
  func handle(_ event: LoadMachine.Event) {
    var event = event
    while let following = step(event) { event = following }
    drain()
  }

  /// - Returns: The event that results at once from carrying out an effect.
  private func step(_ event: LoadMachine.Event) -> LoadMachine.Event? {
    let (effects, marks) = state.withLock { state -> ([LoadMachine.Effect], Bool) in
      // A load that was stopped delivers that failure, whatever it hears of first (law 2).
      let effects = state.machine.handle(state.isStopped && event != .cancelled ? .stopped : event)
      // Passed `inout`: copying the large state would retain some hundred references.
      count(effects, in: &state)
      for effect in effects { post(effect, in: &state) }
      let marks = effects == [.deliverStored, .end] && isToBeMarked(state)
      if marks { state.isMarking = true }
      return (effects, marks)
    }
    if event == .storeIsSlow, effects.contains(.startExchange) {
      core.trace("the store is slow: not waiting for it")
    }
    if event == .storeIsTooLate, !effects.isEmpty {
      core.trace("going on without the store: the response has waited 250 ms for it")
    }
    if effects.contains(.boundStoreWait) { core.trace("waiting for the store: the response is complete") }
    if marks { mark() }
    var following: LoadMachine.Event?
    for effect in effects {
      if let event = perform(effect) { following = event }
    }
    // The tier was quicker than the store, or another load's exchange had its row already.
    if following == nil, core.configuration.tier != nil, state.withLock({ $0.tierRow != nil }) {
      following = takeTierRow()
    }
    return following
  }

  /// Posts the store's counts for the effects' deliveries.
  private func count(_ effects: [LoadMachine.Effect], in state: inout State) {
    guard !prepared.isPassThrough else { return }
    var count = UsageCount()
    for effect in effects {
      switch effect {
      case .deliverStored:
        count.stored += 1
        count.savedMilliseconds += state.row?.value.exchangeMilliseconds ?? 0
        // The machine decides, since it depends on the threads whether the exchange has been made by now.
        if !state.machine.wantsExchange {
          count.savedBytes += state.row?.value.body.length ?? 0
        }
      case .deliverFresh:
        if case .success((let response, _)) = state.result, response.wasValidated {
          count.unchanged += 1
          count.savedBytes += state.row?.value.body.length ?? 0
        } else {
          count.fresh += 1
        }
      case .deliverFailure, .deliverDeadline: count.failed += 1
      default: break
      }
    }
    guard count != UsageCount() else { return }
    // Room for the count, a delivery and the end.
    state.outbox.reserveCapacity(3)
    state.outbox.append(.count(count, accountID: state.accountID, exchange: state.exchange))
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

  private func perform(_ effect: LoadMachine.Effect) -> LoadMachine.Event? {
    switch effect {
    case .startExchange: startExchange()
    case .prepareStored: return prepareStored()
    case .boundStoreWait: arm(core.configuration.timeouts.storeAnswer) { $0.handle(.storeIsTooLate) }
    case .end: ended()
    case .deliverStored, .deliverFresh, .deliverFailure, .deliverNotStored, .deliverDeadline: break
    }
    return nil
  }

  /// Appends an effect's delivery to the outbox.
  private func post(_ effect: LoadMachine.Effect, in state: inout State) {
    let delivery: DataService.Delivery<Value>
    switch effect {
    case .deliverStored:
      guard let stored = state.stored else { return }
      delivery = .stored(stored)
    case .deliverFresh:
      guard case .success((let response, let change)) = state.result else { return }
      delivery = .fresh(response, state.lateChange ?? change)
    case .deliverFailure:
      guard case .failure(let error) = state.result else { return }
      // Nothing of a signed-out account is delivered, not even the last known response.
      delivery = .failure(error, lastKnown: error.kind == .signedOut ? nil : state.stored)
    case .deliverNotStored:
      delivery = .failure(state.storeError ?? notStored(state.unfit), lastKnown: nil)
    case .deliverDeadline:
      let error = DataServiceError(
        .timeout(.deadline), "no fresh response within the deadline", remedy: .longerDeadline)
      delivery = .failure(error, lastKnown: state.stored)
    case .end:
      if !state.isCancelled { state.outbox.append(.output(.end)) }
      return
    case .startExchange, .prepareStored, .boundStoreWait:
      return
    }
    state.outbox.append(.output(.delivery(delivery)))
  }

  /// The failure of a load that asks nobody, with the reason where something is stored.
  private func notStored(_ unfit: Unfit?) -> DataServiceError {
    let place = prepared.shownPlace
    let message =
      if prepared.isPassThrough {
        "nothing that is stored \(place) is used: the request bypasses the store"
      } else if let unfit {
        "what is stored \(place) \(unfit.words)"
      } else {
        "nothing is stored \(place)"
      }
    return DataServiceError(.notStored, message, remedy: unfit == .coded ? .asStored : nil)
  }

  private func startExchange() {
    let isRowKnown = state.withLock { $0.pendingLookup }.map { $0.current != nil } ?? true
    let plan = state.withLock {
      ExchangePlan(
        prepared: prepared, row: $0.row, accountID: $0.accountID, pendingLookup: $0.pendingLookup,
        isShared: !prepared.isPassThrough, mayFollow: policy != .freshOnly, isForStore: $0.isForStore,
        isRowKnown: isRowKnown, preflight: $0.preflight)
    }
    let (exchange, isNew) = Exchange.joined(by: waiter, for: plan, core: core)
    // Between joining and this line, the exchange or another thread may have ended the load.
    let isStray = state.withLock { state -> Bool in
      guard !state.isCommitted else { return false }
      if state.machine.hasEnded { return state.result == nil || state.isStopped }
      state.exchange = exchange
      return false
    }
    if isNew {
      exchange.start()
    } else {
      core.trace("joining the same request, which is under way")
      if let row = exchange.tierRow { state.withLock { $0.tierRow = row } }
    }
    if isStray { leave(exchange) }
  }

  private func leave(_ exchange: any AnyExchange) {
    let (isStopped, refuses) = state.withLock { state in
      (state.isStopped, state.isRowUnusable && state.row?.value.isFromTier == true)
    }
    let isSatisfied = !isCancelled && !isStopped
    // A closed store accepts no more writes.
    let finishes = isSatisfied && core.configuration.finishesAfterDeadline && core.closed == nil
    exchange.leave(
      self, isSatisfied: isSatisfied, finishingIntoStore: finishes, refusingTierRow: refuses)
  }

  /// Leaves the exchange after the last delivery; it continues only to fill the store.
  private func ended() {
    let (exchange, timers, usedRow) = state.withLock { state in
      defer { state.timers = [] }
      // Whoever stopped the load set its result, but may not have seen its exchange, which then still runs.
      let isUnderWay = state.result == nil || state.isStopped && !state.isAnswered
      return (isUnderWay ? state.exchange : nil, state.timers, state.usedRow)
    }
    for timer in timers { timer.cancel() }
    endProgress()
    if let usedRow { core.store.markUsed(rowID: usedRow, atMilliseconds: core.timekeeper.wallMilliseconds) }
    guard let exchange else { return }
    leave(exchange)
    state.withLock { $0.exchange = nil }
  }

  /// Whether the row of a load that was content with what is stored gets a pin or tags. `storedOnly` changes nothing,
  /// nor does a load that was cancelled by now (law 11), and a row of the tier is marked when it is stored.
  private func isToBeMarked(_ state: borrowing State) -> Bool {
    let request = prepared.request
    guard request.isPinned || !request.tags.isEmpty, policy != .storedOnly, !state.isCancelled,
      let row = state.row?.value, !row.isFromTier
    else { return false }
    return request.isPinned && !row.isPinned || !request.tags.isEmpty
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
      let hasEnded = state.withLock { state in
        state.isMarking = false
        return endIfCommitted(&state)
      }
      if hasEnded { announceEnd() }
    }
  }

  /// Delivers the outbox's contents one at a time and in order, whichever threads appended them.
  private func drain() {
    let begins = state.withLock { state in
      defer { state.isDraining = true }
      return !state.isDraining
    }
    guard begins else { return }
    while let posted = state.withLock({ state -> Posted? in
      guard !state.outbox.isEmpty else {
        state.isDraining = false
        return nil
      }
      return state.outbox.removeFirst()
    }) {
      switch posted {
      case .output(let output):
        if case .delivery(let delivery) = output { tell(delivery) }
        sink(output)
      case .count(let count, let accountID, let exchange):
        add(count, accountID: accountID ?? exchange?.accountID)
      }
    }
    if state.withLock({ endIfCommitted(&$0) }) { announceEnd() }
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
        exchange: nil, method: prepared.request.method, url: prepared.shownURL, elapsed: elapsed,
        kind: .delivered(delivered)))
  }

  /// Announces that the load is over.
  func announceEnd() {
    core.state.withLock { $0.remove(self) }
    let finishers = state.withLock { state in
      state.isEndAnnounced = true
      defer { state.finishers = [] }
      return state.finishers
    }
    for finisher in finishers { finisher.resume() }
  }

  /// Ends the load where everything is delivered, and committed or abandoned.
  /// - Returns: Whether it has just ended.
  func endIfCommitted(_ state: inout State) -> Bool {
    // During a drain the last delivery may have left the outbox without having reached the sink.
    guard state.machine.hasEnded, state.exchange == nil, !state.isMarking, state.outbox.isEmpty,
      !state.isDraining, !state.hasEnded
    else { return false }
    state.hasEnded = true
    return true
  }

  func arm(_ delay: Duration, _ action: @escaping @Sendable (LoadTask) -> Void) {
    let timer = core.timekeeper.after(delay) { [weak self] in
      if let self { action(self) }
    }
    state.withLock { $0.timers.append(timer) }
  }
}
