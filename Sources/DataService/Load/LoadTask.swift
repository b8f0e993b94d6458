internal import CacheStore
internal import Guards
internal import PlatformFoundation
internal import Synchronization

/// One running load: passes events from the store and the exchange to the ``LoadMachine``, and carries out its
/// effects.
///
/// All state is under one lock, held briefly and never while the sink, the store or the exchange is called.
final class LoadTask<Value: Sendable>: AnyLoad {
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

  struct State {
    var machine: LoadMachine
    /// The stored row that may be delivered.
    var row: Box<StoredResponse>?
    /// Why the request is forwarded, for `Cache-Status`; `nil` if the row's freshness decides that.
    var forward: CacheStatus.Forward?
    /// Why nothing of what is stored under the key is delivered.
    var unfit: Unfit?
    var isForStore = false
    var preflight: ResponseStore.Preflight?
    /// The failure of the exchange, for the rule that may serve the stored response in spite of it.
    var httpFailure: HTTPStaleness.Failure?
    var accountID: Int64?
    /// A row of the tier that came before the store's answer.
    var tierRow: Box<StoredResponse>?
    var stored: DataService.Response<Value>?
    var storeError: DataServiceError?
    /// Whether making the row's value failed, so that there is nothing to fall back on.
    var isRowUnusable = false
    var decoded: Decoded?
    var result: Fresh?
    /// The exchange's answer, and its comparison with a row that the store returned later.
    var answer: Answer?
    var lateChange: DataService.Change?
    var exchange: (any AnyExchange)?
    /// Whether the exchange has announced that nothing more will be written.
    var isCommitted = false
    /// Whether the exchange has handed over its result; its writes may still be under way.
    var isAnswered = false
    var pendingLookup: FirstValue<Void>?
    var outbox: [Posted] = []
    var isDraining = false
    var isCancelled = false
    var isStopped = false
    /// Whether the row that was delivered without an exchange is being pinned or tagged.
    var isMarking = false
    /// Whether everything is delivered, and committed or abandoned.
    var hasEnded = false
    /// Whether the end has been announced, and the callers that wait for it.
    var isEndAnnounced = false
    var finishers: [UnsafeContinuation<Void, Never>] = []
    var timers: [TimerHandle] = []
    var progressRate = ProgressRate()
    var progressTimer: TimerHandle?
    var usedRow: Int64?
  }

  let core: ServiceCore
  let prepared: PreparedRequest
  let policy: FetchPolicy
  let form: ValueForm<Value>
  let acceptedStatuses: ClosedRange<Int>?
  let gate: CallbackGate
  let progress: (@Sendable (DataService.TransferProgress) -> Void)?
  let sink: @Sendable (LoadOutput<Value>) -> Void
  let beganAt: Int64
  /// Whether the request forbids any exchange (RFC 9111 section 5.2.1.7).
  let isOnlyIfCached: Bool
  let state: Guarded<State>

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
    acceptedStatuses = form.acceptedStatuses(for: prepared.request)
    self.gate = gate
    self.progress = progress
    self.sink = sink
    beganAt = core.timekeeper.bootNanoseconds
    isOnlyIfCached = prepared.isHTTP && CacheControl(fields: prepared.fields).onlyIfCached
    state = Guarded(State(machine: LoadMachine(policy: policy, isOnlyIfCached: isOnlyIfCached)))
  }

  /// Starts the load. The lookup runs on this thread if it needs no waiting and this is not the network thread, which
  /// all loads share; otherwise on the store's queue.
  func start() {
    let closed = core.state.withLock { state in
      state.add(self)
      return state.closed
    }
    // `close()` listed the loads before this one was added, so the load ends itself.
    if let closed { return stop(with: closed) }
    if case .freshElseStored(let deadline?, _) = policy.kind {
      arm(deadline) { $0.deadlinePassed() }
    }
    guard !prepared.isPassThrough else { return handle(.storeAnswered(.nothing)) }
    if core.configuration.keepsStoreApart, core.thread.isCurrent {
      return lookupInQueue(timeLimit: core.store.isReadyToLookUp ? nil : core.configuration.timeouts.commit)
    }
    let watch = watchOpening()
    do throws(CacheStoreError) {
      let found =
        policy.asksAlways
        ? try core.store.lookupNow(prepared.key, beforeAsking: prepared.responder(of: prepared.url))
        : try core.store.lookupNow(prepared.key)
      endWatch(watch)
      take(found)
    } catch {
      endWatch(watch)
      // The queue can wait: for another process's lock, or for the repair of a damaged file.
      guard error.reason == .busy || error.reason == .corrupt else { return storeFailed(error) }
      lookupInQueue()
    }
  }

  /// Falls back on the stored response, unless another process has signed its account out since the lookup.
  private func deadlinePassed() {
    let accountID = state.withLock { $0.accountID }
    guard let accountID, !prepared.key.account.isEmpty else { return handle(.deadlinePassed) }
    Task(executorPreference: core.thread) { [self] in
      let isRevoked = await core.commitWaiting.result { [core] () async throws(CacheStoreError) in
        try await core.store.isRevoked(accountID: accountID)
      }
      // If the store does not answer, nothing says that the account was signed out.
      if case .success(true) = isRevoked { stop(with: .signedOut) } else { handle(.deadlinePassed) }
    }
  }

  /// Cancels the load: nothing is delivered after this returns (law 11).
  func cancel() {
    gate.close()
    // Undelivered values are released outside the lock, since their `deinit` may run the caller's code.
    let (wasRunning, _) = state.withLock { state in
      defer { state.outbox = [] }
      state.isCancelled = true
      return (!state.machine.hasEnded, state.outbox)
    }
    if wasRunning { handle(.cancelled) }
  }

  /// Whether a callback may still start.
  var isCancelled: Bool { state.withLock { $0.isCancelled } }

  var request: PreparedRequest? { prepared }

  /// Ends the load with a failure that delivers nothing stored, for sign-out and closing.
  func stop(with error: DataServiceError) {
    _ = state.withLock { state -> (DataService.Response<Value>?, Fresh?) in
      guard !state.machine.hasEnded else { return (nil, nil) }
      state.isStopped = true
      defer {
        state.stored = nil
        state.result = .failure(error)
      }
      return (state.stored, state.result)
    }
    handle(.stopped)
  }

  /// Returns once everything is delivered or cancelled, and nothing more will be written for this load.
  func finished() async {
    await withUnsafeContinuation { finisher in
      let isAnnounced = state.withLock { state in
        if !state.isEndAnnounced { state.finishers.append(finisher) }
        return state.isEndAnnounced
      }
      if isAnnounced { finisher.resume() }
    }
  }
}

// Reports the body's progress at a limited rate.
extension LoadTask {
  func received(_ update: DataService.TransferProgress) {
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
  func endProgress() {
    guard progress != nil else { return }
    let timer = state.withLock { state -> TimerHandle? in
      defer { state.progressTimer = nil }
      state.progressRate.end()
      return state.progressTimer
    }
    timer?.cancel()
  }
}

/// Keeps a callback from starting after `cancel` has returned (law 11).
final class CallbackGate: Sendable {
  private let isClosed = Atomic(false)

  func mayCall() -> Bool { !isClosed.load(ordering: .acquiring) }

  func close() { isClosed.store(true, ordering: .releasing) }
}

/// Limits how often a load reports progress. Pure: the caller passes the clock's reading.
///
/// An early update is held and reported at the end of the interval, so that the last report of a stalled transfer is
/// current. The final update of a body of known length is reported at once.
struct ProgressRate {
  /// How to proceed with an update.
  enum Step: Equatable {
    case tell
    /// Call ``due(at:)`` after this time.
    case wait(Duration)
    /// Do nothing; a call of ``due(at:)`` is already scheduled.
    case hold
  }

  static let interval: Int64 = 50_000_000

  private var lastTold: Int64?
  private var held: DataService.TransferProgress?

  /// Records an update.
  mutating func take(_ update: DataService.TransferProgress, at now: Int64) -> Step {
    let left = (lastTold ?? now - Self.interval) + Self.interval - now
    if left <= 0 || update.received == update.expected {
      lastTold = now
      held = nil
      return .tell
    }
    defer { held = update }
    return held == nil ? .wait(.nanoseconds(left)) : .hold
  }

  /// The held update, to be reported now; `nil` if a newer one has been reported since.
  mutating func due(at now: Int64) -> DataService.TransferProgress? {
    guard let update = held else { return nil }
    lastTold = now
    held = nil
    return update
  }

  /// Drops the held update: the body is complete, or the load is over.
  mutating func end() { held = nil }
}
