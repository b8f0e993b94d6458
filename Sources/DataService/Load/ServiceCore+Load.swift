internal import CacheStore
internal import Guards

extension ServiceCore {
  /// Begins a load that calls back on the delivering thread, where callbacks only pass the delivery on.
  func load<Value: Sendable>(
    _ request: DataService.Request, policy: FetchPolicy, form: ValueForm<Value>,
    progress: (@Sendable (DataService.TransferProgress) -> Void)? = nil,
    deliver: @escaping @Sendable (DataService.Delivery<Value>) -> Void, ended: (@Sendable () -> Void)? = nil
  ) -> DataService.Load {
    let port = Port(.init(deliver: deliver, ended: ended))
    return load(request, policy: policy, form: form, to: port, progress: progress)
  }

  /// Begins a load whose deliveries go to a port. An invalid request fails through it, like every other failure.
  func load<Value: Sendable>(
    _ request: DataService.Request, policy: FetchPolicy, form: ValueForm<Value>, to port: Port<Value>,
    progress: (@Sendable (DataService.TransferProgress) -> Void)? = nil
  ) -> DataService.Load {
    let load: any AnyLoad
    do throws(DataServiceError) {
      if let closed { throw closed }
      let prepared = try prepare(request, policy: policy)
      let task = Load(
        core: self, prepared: prepared, policy: policy, form: form, port: port,
        progress: progress.map(port.reporting))
      load = task
      if port.begin(task) { task.start() } else { port.finish() }
    } catch {
      load = RefusedLoad(port)
      port.deliver(.failure(error, lastKnown: nil))
      port.end()
      port.finish()
    }
    return DataService.Load(task: load)
  }

  /// Ends the loads and exchanges that satisfy the condition, and waits for their writes.
  func stop(_ error: DataServiceError, where condition: @escaping @Sendable (PreparedRequest) -> Bool) async {
    var ended: [any AnyLoad] = []
    // Nothing has begun where the thread has not.
    if thread.isRunning || !isIdle {
      ended = await engine.run { [self] engine in
        // Copied, because the calls below run caller's code and take other locks.
        let (all, prefetches) = state.withLock { ($0.loads.all, $0.prefetches.all) }
        let loads = all.filter { $0.request.map(condition) ?? false }
        for exchange in engine.exchanges.all where condition(exchange.prepared) { exchange.stop(with: error) }
        for load in loads { load.stop(with: error) }
        // All prefetches, also those whose loads have already ended.
        if error.kind == .signedOut { for prefetch in prefetches { prefetch.signOut(where: condition) } }
        return loads
      }
    }
    if error.kind == .signedOut {
      for case let reader? in state.withLock({ $0.observers.map(\.reader) })
      where reader.request.map(condition) ?? false { reader.signOut() }
    }
    endLiveBodies(with: error, where: condition)
    for load in ended { await load.finished() }
  }
}

/// The handle of a load that never began because its request is invalid.
private final class RefusedLoad<Value: Sendable>: AnyLoad {
  private let port: Port<Value>
  init(_ port: Port<Value>) { self.port = port }
  var request: PreparedRequest? { nil }
  func cancel() { port.close() }
  func finished() async { await port.over() }
  func called() async { await port.finished() }
  func stop(with error: DataServiceError) {}
}
