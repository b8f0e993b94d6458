// Fields, limits and what is stored are types of CacheStore: who imports DataService has them with it.
@_exported public import CacheStore
package import Dispatch
package import PlatformFoundation

/// An offline-first cache service: the last good answer at once, the fresh one when the network has it.
///
/// A load calls back first with the stored response, then fetches, calls back again and overwrites the stored row.
///
/// ```swift
/// let service = DataService()
/// service.load(DataService.Request(url)) { delivery in
///   switch delivery {
///   case .stored(let response), .fresh(let response, _): show(response.value)
///   case .failure(let error, _): note(error.message)
///   }
/// }
/// ```
///
/// All members may be called on any thread; none blocks it to wait for the network, or for a lock that another process
/// holds.
public final class DataService: Sendable {
  let core: ServiceCore

  /// A service on a store. Opens nothing and cannot fail: a store that cannot be used is reported by the first load,
  /// which fetches all the same.
  ///
  /// - Parameters:
  ///   - configuration: Where the store is, which fields and parameters are secret, and who is told of warnings and
  ///     events.
  ///   - transport: What performs exchanges. Unless one is given that is libcurl, loaded on the first exchange, and on
  ///     Apple's systems URLSession.
  public init(configuration: Configuration = .init(), transport: (any Transport)? = nil) {
    core = ServiceCore(configuration: configuration, transport: transport)
  }

  /// The executor of the service's own thread, which moves all transfers.
  ///
  /// A task that prefers it takes deliveries without a change of threads. What runs there must be short, since every
  /// exchange waits for it.
  public var executor: any TaskExecutor { core.thread }

  /// The store, for listing, removal and repair.
  package var store: ResponseStore { core.store }

  /// Where the store, the door to it and callers' decoders run, each before those that it may give something to do; a test
  /// that drives the service lets them run between its steps.
  package var queuesForTesting: [DispatchQueue] { [core.decoding, core.door.queue] + store.queuesForTesting }

  /// Whether nothing is under way.
  package var isIdle: Bool { core.isIdle }

  /// Whether another process's exchange has just answered a load here. If so, this process yields once before it exits.
  package var hasJustFollowed: Bool { core.hasJustFollowed }

  /// Ends every load with `closed`, waits for what is being written, and closes the store. Loads begun later fail.
  @concurrent public func close() async {
    let error = DataServiceError(.closed, "the service was closed")
    core.close(with: error)
    core.endObservers()
    core.yieldToFollowers()
    core.releasePrefetches()
    await core.stop(error) { _ in true }
    await core.awaitMaintenance()
    await core.upstream?.close()
    await core.store.close()
    if core.ownsThread { await core.thread.stop() }
  }

  /// Runs `action` on the service's thread after a time, where that thread has been started.
  package func afterIfRunning(_ delay: Duration, _ action: @escaping @Sendable () -> Void) {
    if core.thread.isRunning { _ = core.timekeeper.after(delay, action) }
  }

  /// Does, on the calling thread, what must be done before the process ends; the system frees the rest faster than
  /// ``close()`` would.
  /// - Returns: `false` where something is under way, for which ``close()`` waits.
  package func closeNow() -> Bool {
    guard core.isIdle else { return false }
    core.yieldToFollowers()
    core.upstream?.leaveCounts()
    return core.store.closeNow()
  }
}

extension DataService {
  /// Loads with streamed bodies, calling back on the thread that produces the delivery: the stored one on the calling
  /// thread, before this returns if its lookup need not wait, the later ones mostly on the network thread. Callbacks
  /// must only pass it on; a queue per load would start two threads just for that.
  ///
  /// - Parameters:
  ///   - request: What to ask for.
  ///   - policy: Which answers are wanted.
  ///   - progress: Told of the bytes received, at most every 50 ms.
  ///   - deliver: Told of each delivery, in order, one at a time.
  ///   - ended: Called once after the last delivery.
  package func start(
    _ request: Request, policy: FetchPolicy, progress: (@Sendable (TransferProgress) -> Void)? = nil,
    deliver: @escaping @Sendable (Delivery<BodyStream>) -> Void, ended: @escaping @Sendable () -> Void
  ) -> Load {
    core.load(
      request, policy: policy, form: .stream, progress: progress, deliver: deliver, ended: ended)
  }

  /// Loads as ``start(_:policy:progress:deliver:ended:)`` does, bodies as what `decode` makes of them.
  package func start<Value: Sendable>(
    _ request: Request, policy: FetchPolicy, progress: (@Sendable (TransferProgress) -> Void)? = nil,
    decode: @escaping @Sendable (Response<Data>) throws -> Value,
    deliver: @escaping @Sendable (Delivery<Value>) -> Void, ended: @escaping @Sendable () -> Void
  ) -> Load {
    core.load(
      request, policy: policy, form: .decoded(decode), progress: progress, deliver: deliver,
      ended: ended)
  }
}

extension DataService {
  /// The key under which a request's answer is stored.
  /// - Throws: `invalidRequest` naming the thing that is wrong.
  package func key(for request: Request) throws(DataServiceError) -> RequestKey {
    try core.prepare(request, policy: .storedOnly).key
  }
}

extension DataService {
  /// A handle on a load under way. Dropping it does not cancel.
  public struct Load: Sendable {
    let task: any AnyLoad

    /// Ends the load: no callback starts after this returns, and none is running either where it is called on the
    /// serial queue or the actor that the callbacks use. Never waits. The exchange stops where no other load wants it.
    public func cancel() { task.cancel() }

    /// Returns once everything is delivered, or cancelled, and what the load had to store is stored or given up.
    public func finished() async { await task.called() }
  }
}
