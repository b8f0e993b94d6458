internal import CacheStore
internal import PlatformFoundation

/// All that changes in a load, under the one lock of its ``LoadTask``: the machine, what the store and the exchange have
/// said, and what is still to be delivered.
///
/// What a change replaces may be the caller's, whose `deinit` must not run under the lock: such a change returns it.
struct LoadState<Value: Sendable> {
  /// The result of the exchange.
  typealias Fresh = Result<(DataService.Response<Value>, DataService.Change), DataServiceError>

  /// Work to do outside the lock, in order.
  enum Posted {
    case output(LoadOutput<Value>)
    /// An addition to the store's counts, made before the load is over: sign-out waits for that and then
    /// deletes the counts. Indirect, since every copy of an output would else be as large.
    indirect case count(UsageCount, accountID: Int64?, exchange: (any AnyExchange)?)
  }

  /// What the decoder has made of an answer before that was stored.
  struct Decoded: Sendable {
    let status: Int
    let requestedAt: Int64
    let receivedAt: Int64
    let value: Result<Value, DataServiceError>

    /// Whether it was made of that answer, and not of an earlier attempt's.
    func isOf(_ answer: Answer) -> Bool {
      (status, requestedAt, receivedAt) == (
        answer.head.status, answer.head.requestedAt, answer.head.receivedAt
      )
    }
  }

  private(set) var machine: LoadMachine
  /// The stored row that may be delivered.
  private(set) var row: Box<StoredResponse>?
  /// Why the request is forwarded, for `Cache-Status`; `nil` if the row's freshness decides that.
  private(set) var forward: CacheStatus.Forward?
  /// Why nothing of what is stored under the key is delivered.
  private var unfit: Unfit?
  private var isForStore = false
  private var preflight: ResponseStore.Preflight?
  /// The failure of the exchange, for the rule that may serve the stored response in spite of it.
  private var httpFailure: HTTPStaleness.Failure?
  private(set) var accountID: Int64?
  /// Another machine's response that came before the store's answer.
  var served: Box<StoredResponse>?
  private var stored: DataService.Response<Value>?
  private var storeError: DataServiceError?
  /// Whether making the row's value failed, so that there is nothing to fall back on.
  private var isRowUnusable = false
  private(set) var decoded: Decoded?
  private var result: Fresh?
  /// The exchange's answer, and its comparison with a row that the store returned later.
  private(set) var answer: Answer?
  var lateChange: DataService.Change?
  private(set) var exchange: (any AnyExchange)?
  /// Why the exchange had no answer yet when the deadline passed.
  var trouble: DataServiceError?
  /// Whether the exchange has announced that nothing more will be written.
  private var isCommitted = false
  /// Whether the exchange has handed over its result; its writes may still be under way.
  var isAnswered = false
  var pendingLookup: FirstValue<Void>?
  private(set) var isCancelled = false
  private(set) var isStopped = false
  /// Whether the row that was delivered without an exchange is being pinned or tagged.
  var isMarking = false
  var timers: [TimerHandle] = []
  var progressRate = ProgressRate()
  var progressTimer: TimerHandle?
  private var usedRow: Int64?
  private var outbox: [Posted] = []
  private var isDraining = false
  /// Whether everything is delivered, and committed or abandoned.
  private var hasEnded = false

  init(_ machine: LoadMachine) { self.machine = machine }

  /// Whether there is a usable stored response, even if its value is not ready yet.
  var mayHaveStored: Bool { stored != nil || (row != nil && !isRowUnusable) }

  // MARK: - What is learnt

  /// Notes what the store has: the row that suits the load, or why none does.
  mutating func take(
    _ found: ResponseStore.Lookup, row: Box<StoredResponse>?, unfit: Unfit?,
    forward: CacheStatus.Forward?, isUsed: Bool
  ) {
    self.row = row
    accountID = found.accountID
    preflight = found.preflight
    self.unfit = unfit
    if isUsed { usedRow = row?.value.id }
    if row == nil { self.forward = forward }
  }

  /// Notes what RFC 9111 says of what the store has.
  mutating func take(_ found: ResponseStore.Lookup, judged decision: HTTPReuse.Decision) {
    row = decision.row.map { Box($0) }
    accountID = found.accountID
    forward = decision.forward
    isForStore = decision.action == .reuseWhileRevalidating
  }

  /// Notes why the store has nothing to deliver.
  /// - Returns: What is replaced.
  mutating func fail(with error: DataServiceError, isRowUnusable isUnusable: Bool = false)
    -> DataServiceError?
  {
    defer { storeError = error }
    if isUnusable { isRowUnusable = true }
    return storeError
  }

  /// Uses another machine's response as the stored one.
  /// - Returns: What is replaced.
  mutating func use(
    served row: Box<StoredResponse>, forward: CacheStatus.Forward?
  ) -> DataServiceError? {
    defer { storeError = nil }
    served = nil
    self.row = row
    isRowUnusable = false
    self.forward = forward
    return storeError
  }

  /// Notes the response that was made of the row.
  mutating func prepared(_ response: DataService.Response<Value>, of row: StoredResponse) {
    stored = response
    if row.isInStore { usedRow = row.id }
  }

  /// What the exchange begins with.
  func exchangePlan(for plan: LoadPlan<Value>, isRowKnown: Bool) -> ExchangePlan {
    ExchangePlan(
      prepared: plan.prepared, row: row, lendsValidator: !isRowUnusable, accountID: accountID,
      pendingLookup: pendingLookup,
      isShared: !plan.prepared.isPassThrough, mayFollow: plan.policy != .freshOnly, isForStore: isForStore,
      isRowKnown: isRowKnown, preflight: preflight)
  }

  /// Notes the exchange. Between joining it and this, it or another thread may have ended the load.
  /// - Returns: Whether the load has ended, and must leave the exchange.
  mutating func begin(_ exchange: any AnyExchange) -> Bool {
    guard !isCommitted else { return false }
    if machine.hasEnded { return result == nil || isStopped }
    self.exchange = exchange
    return false
  }

  /// Notes that the exchange will write nothing more.
  mutating func commit() {
    exchange = nil
    isCommitted = true
  }

  /// Notes what the decoder has made of an answer.
  /// - Returns: What is replaced.
  mutating func take(_ made: Decoded) -> Decoded? {
    defer { decoded = made }
    return decoded
  }

  /// Forgets what the decoder made of an earlier attempt's answer: after a 304 nothing is decoded before the
  /// delivery.
  /// - Returns: What is forgotten.
  mutating func forgetDecoded(unlessOf answer: Answer) -> Decoded? {
    guard let decoded, !decoded.isOf(answer) else { return nil }
    self.decoded = nil
    return decoded
  }

  /// Notes how the exchange failed, where it did.
  /// - Returns: The stored response and the failure, in spite of which it may be served; `nil` while one is missing.
  mutating func noteFailure(_ failure: HTTPStaleness.Failure?) -> (
    Box<StoredResponse>, HTTPStaleness.Failure
  )? {
    if let failure { httpFailure = failure }
    guard stored != nil, let row, let httpFailure else { return nil }
    return (row, httpFailure)
  }

  /// Lets the machine serve the stored response. An error status that arrived before that was ready, and counted as the
  /// answer, is the reason.
  /// - Returns: What is replaced.
  mutating func serveStale(because answered: DataServiceError?) -> Fresh? {
    // This event alone returns no effects.
    _ = machine.handle(.staleWillDo)
    guard case .success = result, let answered else { return nil }
    defer { result = .failure(answered) }
    return result
  }

  /// Notes the exchange's answer; `nil` where there is none.
  mutating func take(_ answer: Answer?) {
    self.answer = answer
    isAnswered = true
  }

  /// Notes the exchange's result, unless whoever stopped the load has set it meanwhile.
  /// - Returns: Whether there is a fresh response.
  mutating func finish(with fresh: Fresh) -> Bool {
    if !isStopped { result = fresh }
    if case .success = result { return true }
    return false
  }

  // MARK: - Events and deliveries

  /// Passes an event to the machine, and puts into the outbox what its effects deliver.
  /// - Returns: The effects, and whether the delivered row is to be pinned or tagged.
  mutating func step(
    _ event: LoadMachine.Event, of plan: LoadPlan<Value>
  ) -> (effects: [LoadMachine.Effect], marks: Bool) {
    // A load that was stopped delivers that failure, whatever it hears of first (law 2).
    let effects = machine.handle(isStopped && event != .cancelled ? .stopped : event)
    count(effects, of: plan)
    for effect in effects { post(effect, of: plan) }
    let marks = effects.last == .end && isToBeMarked(for: plan)
    if marks { isMarking = true }
    return (effects, marks)
  }

  /// Posts the store's counts for the effects' deliveries.
  private mutating func count(_ effects: [LoadMachine.Effect], of plan: LoadPlan<Value>) {
    guard !plan.prepared.isPassThrough else { return }
    var count = UsageCount()
    for effect in effects {
      switch effect {
      case .deliverStored:
        count.stored += 1
        count.savedMilliseconds += row?.value.exchangeMilliseconds ?? 0
        // The machine decides, since it depends on the threads whether the exchange has been made by now.
        if !machine.wantsExchange { count.savedBytes += row?.value.body.length ?? 0 }
      case .deliverFresh:
        if case .success((let response, _)) = result, response.wasValidated {
          count.unchanged += 1
          count.savedBytes += row?.value.body.length ?? 0
        } else {
          count.fresh += 1
        }
      case .deliverFailure, .deliverDeadline: count.failed += 1
      default: break
      }
    }
    guard count != UsageCount() else { return }
    // Room for the count, a delivery and the end.
    outbox.reserveCapacity(3)
    outbox.append(.count(count, accountID: accountID, exchange: exchange))
  }

  /// Appends an effect's delivery to the outbox.
  private mutating func post(_ effect: LoadMachine.Effect, of plan: LoadPlan<Value>) {
    let delivery: DataService.Delivery<Value>
    switch effect {
    case .deliverStored:
      guard let stored else { return }
      delivery = .stored(stored)
    case .deliverFresh:
      guard case .success((let response, let change)) = result else { return }
      delivery = .fresh(response, lateChange ?? change)
    case .deliverFailure:
      guard case .failure(let error) = result else { return }
      // Nothing of a signed-out account is delivered, not even the last known response.
      delivery = .failure(error, lastKnown: error.kind == .signedOut ? nil : stored)
    case .deliverNotStored:
      delivery = .failure(storeError ?? plan.notStored(unfit), lastKnown: nil)
    case .deliverDeadline:
      let remedy = plan.prepared.isRepeatable ? Remedy.longerDeadline : .lookFirst
      let error = DataServiceError(
        .timeout(.deadline),
        "no fresh response within the deadline" + (trouble.map { ": \($0.message)" } ?? ""),
        remedy: trouble?.remedy ?? remedy)
      delivery = .failure(error, lastKnown: stored)
    case .end:
      if !isCancelled { outbox.append(.output(.end)) }
      return
    case .startExchange, .prepareStored, .boundStoreWait:
      return
    }
    outbox.append(.output(.delivery(delivery)))
  }

  /// Whether the row that suits the request gets the pin or the tags, delivered or not, since no fresh one has them in the
  /// store. `storedOnly` changes nothing, nor does a load that was cancelled or stopped by now (law 11).
  private func isToBeMarked(for plan: LoadPlan<Value>) -> Bool {
    guard plan.wantsMark, plan.policy != .storedOnly, !isCancelled, !isStopped, !isRowUnusable,
      let row = row?.value, row.isInStore
    else { return false }
    if case .success((let response, _)) = result {
      guard case .no(let reason) = response.kept, !reason.isOfStore else { return false }
    }
    return !row.isPinned || !plan.prepared.request.tags.isEmpty
  }

  /// Empties the outbox, for a cancelled load.
  /// - Returns: Whether the load was running, and what it had to deliver, to be released outside the lock: the caller's
  ///   code may run in a `deinit`.
  mutating func cancel() -> (wasRunning: Bool, undelivered: [Posted]) {
    defer { outbox = [] }
    isCancelled = true
    return (!machine.hasEnded, outbox)
  }

  /// Makes the failure the load's result, in place of everything that it has.
  /// - Returns: What is replaced, to be released outside the lock.
  mutating func stop(with error: DataServiceError) -> (DataService.Response<Value>?, Fresh?) {
    guard !machine.hasEnded else { return (nil, nil) }
    isStopped = true
    defer {
      stored = nil
      result = .failure(error)
    }
    return (stored, result)
  }

  /// Whether the caller is the one thread that empties the outbox from now on.
  mutating func beginDraining() -> Bool {
    defer { isDraining = true }
    return !isDraining
  }

  /// What is to be done next; `nil` where the outbox is empty, and nobody drains it any more.
  mutating func next() -> Posted? {
    guard !outbox.isEmpty else {
      isDraining = false
      return nil
    }
    return outbox.removeFirst()
  }

  /// Ends the timers and the use of the row, after the last delivery.
  /// - Returns: The exchange, where it is still under way, the timers, and the row that was used.
  mutating func end() -> (exchange: (any AnyExchange)?, timers: [TimerHandle], usedRow: Int64?) {
    defer { timers = [] }
    // Whoever stopped the load set its result, but may not have seen its exchange, which then still runs.
    let isUnderWay = result == nil || isStopped && !isAnswered
    return (isUnderWay ? exchange : nil, timers, usedRow)
  }

  /// Forgets the exchange that the load has left.
  mutating func forgetExchange() { exchange = nil }

  /// Ends the load where everything is delivered, and committed or abandoned.
  /// - Returns: Whether it has just ended.
  mutating func endIfCommitted() -> Bool {
    // During a drain the last delivery may have left the outbox without having reached the port.
    guard machine.hasEnded, exchange == nil, !isMarking, outbox.isEmpty, !isDraining, !hasEnded else {
      return false
    }
    hasEnded = true
    return true
  }
}
