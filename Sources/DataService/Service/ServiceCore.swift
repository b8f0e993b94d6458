internal import CacheStore
internal import Dispatch
internal import Guards
internal import PlatformC

/// The core that all loads of a service share: the store, the transport, the clock, and everything that is running.
final class ServiceCore: Sendable {
  let configuration: DataService.Configuration
  let store: ResponseStore
  let transport: any Transport
  let timekeeper: any Timekeeper
  /// The thread of the caller's transport if it has one; with two threads, every piece of a body would hop between
  /// them.
  let thread: NetworkThread
  /// Whether the thread belongs to this service alone.
  let ownsThread: Bool
  /// What is under way on it.
  let engine: Engine
  let door: StoreDoor
  let state: Guarded<ServiceState>
  /// What exchanges ask before the origin; `nil` where nothing is configured.
  let upstream: (any Upstream)?
  /// Runs callers' decoders, which must not block the network thread.
  let decoding = DispatchQueue(label: "cachefetch.decoding", attributes: .concurrent)
  let retryRule = RetryRule()

  init(configuration: DataService.Configuration, transport: (any Transport)?) {
    self.configuration = configuration
    var stored = configuration.store
    if let timekeeper = configuration.timekeeper { stored.bootNow = { timekeeper.bootNanoseconds } }
    if let onWarning = configuration.onWarning {
      stored.onEvent = { [tell = stored.onEvent] event in
        tell?(event)
        switch event {
        case .quarantined: onWarning(.init(kind: .corrupt, message: event.message, remedy: nil))
        case .begunAnew: onWarning(.init(kind: .store, message: event.message, remedy: nil))
        // The load that finds a damaged row reports it.
        case .removedDamagedRow: break
        }
      }
    }
    store = ResponseStore(configuration: stored)
    let carrier = SystemTransport.thread(of: transport)
    let thread =
      carrier ?? configuration.thread ?? NetworkThread(preparation: configuration.threadPreparation)
    ownsThread = carrier == nil
    let timekeeper = configuration.timekeeper ?? SystemTimekeeper(thread: thread)
    self.thread = thread
    self.timekeeper = timekeeper
    door = StoreDoor(store, clock: timekeeper, thread: thread, timeouts: configuration.timeouts)
    self.transport =
      transport
      ?? SystemTransport.make(exchanges: configuration.exchanges, thread: thread, timekeeper: timekeeper)
    engine = Engine(thread: thread, now: timekeeper.bootNanoseconds)
    state = Guarded(ServiceState())
    upstream = configuration.makeUpstream?(
      UpstreamHost(
        thread: thread, timekeeper: timekeeper, store: store, secrets: configuration.secrets,
        goodbye: configuration.timeouts.goodbye, trace: { configuration.onTrace?($0) },
        warn: { configuration.onWarning?($0) }))
  }

  /// A keyed digest of a value that must never be written. If the key file is unavailable, the key lives as long as
  /// the service: its digests distinguish requests but match nothing stored.
  func digest(_ bytes: [UInt8]) -> String {
    let key = state.withLock { $0.digestKey } ?? loadDigestKey()
    return key.digest(bytes)
  }

  /// Reads or creates the key file. If two threads do so at once, both use the first one's key.
  private func loadDigestKey() -> DigestKey {
    var trouble: CacheStoreError?
    var loaded: DigestKey?
    do throws(CacheStoreError) {
      let store = configuration.store
      loaded =
        store.isReadOnly
        ? try DigestKey.load(nextTo: store.path, isForeign: store.isForeign)
        : try DigestKey.loadOrCreate(nextTo: store.path)
    } catch {
      trouble = error
    }
    let made = loaded ?? DigestKey()
    let key = state.withLock { state in
      let key = state.digestKey ?? made
      state.digestKey = key
      return key
    }
    if let trouble { warn(store: trouble) }
    return key
  }

  /// The names of the fields that are never stored.
  var secretFieldNames: FieldNames {
    state.withLock { state in
      if let names = state.secretFieldNames { return names }
      let made = FieldNames(configuration.secrets.fields.union(SecretList.credentialFields))
      state.secretFieldNames = made
      return made
    }
  }

  /// A request field's text in a row's variant: the value of a field that is known to be harmless, otherwise a
  /// digest.
  func protect(_ name: String, _ value: String) -> String {
    configuration.secrets.isHarmlessField(name) ? value : digest(Array(value.utf8))
  }

  func prepare(_ request: DataService.Request, policy: FetchPolicy) throws(DataServiceError)
    -> PreparedRequest
  {
    try PreparedRequest(
      request, policy: policy, secrets: configuration.secrets, digest: digest, fileDigest: fileDigest)
  }

  /// Runs a caller's decoder off the network thread and returns its result.
  func decoding<Value: Sendable>(_ decode: @escaping @Sendable () -> Value) async -> Value {
    await withUnsafeContinuation { continuation in
      decoding.async { continuation.resume(returning: decode()) }
    }
  }

  func trace(_ event: @autoclosure () -> String) {
    configuration.onTrace?(event())
  }

  /// Traces each line of a head, if tracing is on.
  func trace(heads lines: (HeadTrace) -> [String]) {
    guard let onTrace = configuration.onTrace else { return }
    for line in lines(HeadTrace(secrets: configuration.secrets)) { onTrace(line) }
  }

  func warn(_ warning: DataService.Warning) {
    configuration.onWarning?(warning)
  }

  /// Reports a store error once, since later loads would meet the same. A store that can only be read is
  /// not reported: `kept` states it. One that cannot be made is, whichever of its files was refused: a service without
  /// a home folder would otherwise never store anything, in silence.
  func warn(store trouble: CacheStoreError) {
    guard let error = trouble.reason == .readOnly ? store.obstacle : trouble,
      state.withLock({ $0.report(error.message) })
    else { return }
    let told = DataServiceError(store: advised(error))
    warn(.init(kind: told.kind, message: told.message, remedy: told.remedy))
  }

  /// The store's error with the remedy that fits how the store was opened.
  func advised(_ error: CacheStoreError) -> CacheStoreError {
    error.advised(isReadOnly: configuration.store.isReadOnly)
  }

  /// Records an exchange's first attempt in its origin's budget.
  func earnRetry(origin: @autoclosure () -> String) {
    engine.retryBudgets.earn(origin: origin())
  }

  /// Whether the origin's budget allows one more retry.
  func takeRetry(origin: String) -> Bool {
    engine.retryBudgets.spend(origin: origin)
  }

  /// The reason for refusing loads, once the service is closed.
  var closed: DataServiceError? { state.withLock { $0.closed } }

  /// Refuses loads from now on.
  func close(with error: DataServiceError) { state.withLock { $0.closed = error } }

  /// Whether nothing is under way. Loads are looked at first: what one leaves behind it counts by then.
  var isIdle: Bool { state.withLock { $0.loads.isEmpty } && engine.isIdle && upstream?.isIdle ?? true }

  /// Sets a timer for what belongs to the network thread.
  func after(_ delay: Duration, _ action: @escaping @Sendable () -> Void) -> TimerHandle {
    timekeeper.after(delay) { [thread] in thread.performHere(action) }
  }

  func nextExchangeNumber() -> Int {
    state.withLock { state in
      state.lastExchange += 1
      return state.lastExchange
    }
  }

  /// The number of running exchanges.
  var exchangeCount: Int { engine.exchanges.count }

  /// Starts background work once no exchange is running. Checks whether maintenance is due the first time, then at most
  /// once a second. Writes this process's counts once a second if it writes, otherwise once a minute.
  func exchangeEnded() {
    guard exchangeCount == 0 else { return }
    let now = timekeeper.bootNanoseconds
    let pause: Int64 = store.isWriting ? 1_000_000_000 : 60_000_000_000
    let (isTurn, isRegular) = engine.maintenance.takeTurn(at: now, pause: pause)
    guard isTurn else { return }
    let task = Task(executorPreference: thread) {
      let isDue = await self.door.call { $0.takeMaintenanceTurn(at: now) }.value
      if isRegular, let upstream = self.upstream { _ = await self.door.call { _ in upstream.leaveCounts() } }
      if isDue == true {
        await self.store.performMaintenance(budget: .milliseconds(20))
      } else if isRegular {
        await self.store.performSmallMaintenance()
      }
      self.engine.maintenance.task = nil
    }
    // The task cannot have ended yet: it runs on this thread.
    engine.maintenance.task = task
  }

  /// Returns once the running share of maintenance is done, or after a short time limit, since another process may
  /// hold it up.
  func awaitMaintenance() async {
    guard !engine.isIdle, let task = await engine.run({ $0.maintenance.task }) else { return }
    let over = FirstValue<Void>()
    Task(executorPreference: thread) {
      await task.value
      over.set(())
    }
    let timer = timekeeper.after(.milliseconds(100)) { over.set(()) }
    await over.value
    timer.cancel()
  }
}

// After a shared refresh many processes deliver and exit at once, and an exit takes as long as a delivery. Yielding
// lets processes that still wait for their answer run first.
extension ServiceCore {
  /// How long after such an answer other processes may still be waiting for theirs.
  private static var crowdedNanoseconds: Int64 { 50_000_000 }

  /// Records that another process's exchange has answered a load.
  func noteFollowing() { engine.noteFollowing(at: timekeeper.bootNanoseconds) }

  /// Whether another process's exchange has just answered.
  var hasJustFollowed: Bool {
    engine.hasFollowed(within: Self.crowdedNanoseconds, of: timekeeper.bootNanoseconds)
  }

  /// Yields the processor once if other processes may still wait for the answer delivered here. Without such a
  /// process it costs less than a microsecond. A pause would delay a single follower too, and raising a lowered
  /// priority again takes privileges.
  func yieldToFollowers() {
    if hasJustFollowed { sched_yield() }
  }
}
