internal import CacheStore
internal import Guards
internal import Synchronization

/// A load begun before its caller has asked for it. Its deliveries wait until the caller has committed it and reads them,
/// or it is released.
// `@unchecked`: it belongs to the network thread, but for its constants and `decision`.
final class Prefetch<Value: Sendable>: AnyPrefetch, AnyLoad, @unchecked Sendable {
  typealias Progress = @Sendable (DataService.TransferProgress) -> Void

  let group: String?
  private let core: ServiceCore
  private let wanted: DataService.Request
  private let form: ValueForm<Value>
  private let unused: DataService.UnusedAnticipation
  /// What has been decided of it, on any thread, and once.
  private let decision = Atomic(Decision.none)
  private var isCommitted = false
  private var isReleased = false
  /// Whether its load has failed while it was held.
  private var hasFailed = false
  private var load: DataService.Load?
  /// The number of the load whose deliveries count.
  private var loadNumber = 0
  /// Whether its body has a lower limit than the caller's.
  private var hasLowLimit = false
  private var hasStored = false
  /// The body's progress, and who receives it after the commit.
  private var received: DataService.TransferProgress?
  private var progress: Progress?
  private var unread: [DataService.Delivery<Value>] = []
  private var isComplete = false
  /// Where the deliveries go, once somebody reads them.
  private var port: Port<Value>?

  init(
    core: ServiceCore, request: DataService.Request, form: ValueForm<Value>, group: String?,
    unused: DataService.UnusedAnticipation
  ) {
    self.core = core
    wanted = request
    self.form = form
    self.group = group
    self.unused = unused
  }

  // MARK: - From any thread

  var isHeld: Bool { decision.load(ordering: .acquiring) == .none }

  /// Whether its caller has committed it, also where the network thread has not been told yet.
  private var isWanted: Bool { decision.load(ordering: .acquiring) == .committed }

  /// - Returns: Whether nothing was decided before.
  private func decide(_ new: Decision) -> Bool {
    decision.compareExchange(expected: .none, desired: new, ordering: .acquiringAndReleasing).exchanged
  }

  /// Commits the prefetch. Where it is not held any more, or has failed, whoever reads gets a normal load.
  func commit(progress: Progress?) {
    guard decide(.committed) else { return }
    let forgotten = core.state.withLock { $0.prefetches.want(self) }
    withExtendedLifetime(forgotten) {}
    core.thread.perform { self.committed(progress) }
  }

  func release(_ reason: ReleaseReason) {
    core.state.withLock { $0.prefetches.remove(self) }
    guard decide(.released) else { return }
    core.thread.perform { self.released(isStopped: reason == .cancelled || self.unused == .cancelled) }
  }

  /// Sends the deliveries to a port, the earlier ones first; a committed prefetch can be read once, and else `begin` begins
  /// a normal load. `nil` where it is not what a load of the request would send.
  func read(
    _ request: DataService.Request, _ port: Port<Value>,
    orBegin begin: @escaping @Sendable (Port<Value>) -> Void
  ) -> (any AnyLoad)? {
    guard request == wanted else { return nil }
    core.thread.perform { self.attach(port, begin) }
    return self
  }

  // MARK: - Before the commit

  /// Begins the load if ``PrefetchRule`` allows it and it has not been released.
  func begin() {
    core.engine.check()
    guard decision.load(ordering: .acquiring) != .released else { return }
    guard let prepared = try? core.prepare(wanted, policy: .storedThenFresh), mayBegin(prepared) else {
      core.state.withLock { $0.prefetches.remove(self) }
      _ = decide(.released)
      isReleased = true
      return
    }
    var request = wanted
    request.fields.append("Sec-Purpose", "prefetch")
    let limit = core.configuration.anticipation.bytes
    // What has been committed meanwhile is a normal load.
    hasLowLimit = isHeld && limit < request.limits.bodyBytes
    if hasLowLimit { request.limits.bodyBytes = limit }
    load(request, policy: .storedThenFresh)
  }

  private func load(_ request: DataService.Request, policy: FetchPolicy) {
    loadNumber += 1
    load = core.load(
      request, policy: policy, form: form,
      progress: { [weak self] update in
        self?.received = update
        self?.progress?(update)
      },
      deliver: { [weak self, loadNumber] in self?.take($0, of: loadNumber) },
      ended: { [weak self, loadNumber] in self?.ended(loadNumber) })
  }

  private func mayBegin(_ prepared: PreparedRequest) -> Bool {
    // Exchanges of prefetches do not count: the one just replaced may not have ended yet.
    PrefetchRule.mayBegin(
      .init(
        method: wanted.method, isPassThrough: prepared.isPassThrough,
        failedAt: core.state.withLock { $0.prefetches.failedAt }, now: core.timekeeper.bootNanoseconds,
        exchanges: core.engine.exchanges.wanted(upTo: PrefetchRule.busy), all: core.exchangeCount,
        held: max(1, core.configuration.anticipation.count)))
  }

  // MARK: - The load's deliveries

  private func take(_ delivery: DataService.Delivery<Value>, of number: Int) {
    guard !isReleased, number == loadNumber else { return }
    switch delivery {
    case .stored: hasStored = true
    case .fresh: break
    case .failure(let error, _):
      // A load that is wanted has failed only because of the prefetch's own limit.
      if isWanted, hasLowLimit, error.kind == .tooLarge {
        hasLowLimit = false
        return load(wanted, policy: hasStored ? .freshOnly : .storedThenFresh)
      }
      // What is held for a signed-out account is void: nothing is asked for again on its behalf.
      hasFailed = !isWanted && error.kind != .signedOut
      // Nothing of that is delivered, however early it was read.
      if error.kind == .signedOut || error.kind == .closed { unread = [] }
    }
    if let port { port.deliver(delivery) } else { unread.append(delivery) }
  }

  private func ended(_ number: Int) {
    guard !isReleased, number == loadNumber else { return }
    isComplete = true
    if let port { end(port) }
  }

  private func end(_ port: Port<Value>) {
    port.end()
    Task(executorPreference: core.thread) { [load] in
      await load?.finished()
      port.finish()
    }
  }

  // MARK: - After it

  private func committed(_ progress: Progress?) {
    guard !hasFailed, !isReleased else { return released(isStopped: true) }
    isCommitted = true
    self.progress = progress
    if let received { progress?(received) }
  }

  private func released(isStopped: Bool) {
    isReleased = true
    unread = []
    if isStopped { load?.cancel() }
  }

  private func attach(_ port: Port<Value>, _ begin: (Port<Value>) -> Void) {
    guard isCommitted, !isReleased, self.port == nil else { return begin(port) }
    self.port = port
    guard port.begin(self) else { return cancel() }
    for delivery in unread { port.deliver(delivery) }
    unread = []
    if isComplete { end(port) }
  }

  /// Its load has been stopped by now, if it was under way; drops what is unread, and delivers that failure instead.
  func signOut(where condition: (PreparedRequest) -> Bool) {
    guard !isReleased, port == nil, let prepared = try? core.prepare(wanted, policy: .storedThenFresh),
      condition(prepared)
    else { return }
    loadNumber += 1
    (unread, isComplete) = ([.failure(.signedOut, lastKnown: nil)], true)
    load?.cancel()
  }

  // MARK: - AnyLoad

  var request: PreparedRequest? { nil }

  func cancel() {
    core.thread.perform {
      self.released(isStopped: true)
      self.port?.finish()
    }
  }

  /// Returns once its load is over, or none was begun.
  func finished() async { await core.engine.run { _ in self.load }?.finished() }

  func stop(with error: DataServiceError) {}
}

private enum Decision: Int, AtomicRepresentable { case none, committed, released }

/// Decides whether a prefetch may begin an exchange now. Pure.
enum PrefetchRule {
  /// The inputs of the decision.
  struct Situation: Sendable {
    var method = RequestMethod.get
    var isPassThrough = false
    /// The time of the last exchange that failed for lack of a network, in nanoseconds since boot.
    var failedAt: Int64?
    var now: Int64
    /// The number of running exchanges for loads, not counting prefetches.
    var exchanges = 0
    /// The number of all running exchanges, and how many anticipations may be held.
    var all = 0
    var held = 4
  }

  /// How long prefetches pause after a network failure, in nanoseconds.
  static let quiet: Int64 = 30_000_000_000
  /// From this many running exchanges on, the rest of the six connections per host is left to loads.
  static let busy = 4

  static func mayBegin(_ situation: Situation) -> Bool {
    guard situation.method.isSafe, !situation.isPassThrough else { return false }
    guard situation.failedAt.map({ situation.now - $0 >= quiet }) ?? true else { return false }
    // Prefetches that nobody holds any more go on into the store, and must not pile up.
    return situation.exchanges < busy && situation.all < busy + situation.held
  }
}

extension DataService {
  /// What happens to an anticipation that is not committed in time.
  public enum UnusedAnticipation: Sendable, Hashable {
    /// Its exchange is stopped.
    case cancelled
    /// Its exchange continues and fills the store.
    case finished
  }
}
