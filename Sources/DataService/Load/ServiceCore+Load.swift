internal import CacheStore
internal import Dispatch
internal import Guards

extension ServiceCore {
  /// Where callbacks run.
  enum Context: Sendable {
    /// On the delivering thread; for sinks that only pass the delivery on.
    case inline
    case queue(DispatchQueue)

    /// Runs one load's callbacks one at a time and in order; the queue itself may be concurrent, and does not reveal it.
    var serialQueue: DispatchQueue? {
      if case .queue(let queue) = self {
        DispatchQueue(label: "cachefetch.callbacks", target: queue)
      } else {
        nil
      }
    }
  }

  /// Begins a load. An invalid request fails through the callback, like every other failure.
  func load<Value: Sendable>(
    _ request: DataService.Request, policy: FetchPolicy, form: ValueForm<Value>, on context: Context,
    progress: (@Sendable (DataService.TransferProgress) -> Void)? = nil,
    deliver: @escaping @Sendable (DataService.Delivery<Value>) -> Void, ended: (@Sendable () -> Void)? = nil
  ) -> DataService.Load {
    let gate = CallbackGate()
    let queue = context.serialQueue
    let called = queue == nil ? nil : FirstValue<Void>()
    let call: @Sendable (LoadOutput<Value>) -> Void = { output in
      switch output {
      case .delivery(let delivery): if gate.mayCall() { deliver(delivery) }
      case .end:
        ended?()
        called?.set(())
      }
    }
    var sink = call
    if let queue { sink = { output in queue.async { call(output) } } }
    let report = progress.map { progress in
      { @Sendable (update: DataService.TransferProgress) in
        guard let queue else { return progress(update) }
        queue.async { if gate.mayCall() { progress(update) } }
      }
    }
    do throws(DataServiceError) {
      if let closed { throw closed }
      let prepared = try prepare(request, policy: policy)
      let task = LoadTask(
        core: self, prepared: prepared, policy: policy, form: form, gate: gate, progress: report, sink: sink)
      task.start()
      return DataService.Load(task: task, called: called)
    } catch {
      let refused = RefusedLoad(gate: gate)
      sink(.delivery(.failure(error, lastKnown: nil)))
      sink(.end)
      return DataService.Load(task: refused, called: called)
    }
  }

  /// Begins a load that calls back on the main actor.
  func load<Value: Sendable>(
    _ request: DataService.Request, policy: FetchPolicy, form: ValueForm<Value>,
    progress: (@MainActor (DataService.TransferProgress) -> Void)?,
    deliver: @escaping @MainActor (DataService.Delivery<Value>) -> Void
  ) -> DataService.Load {
    // The main queue is first in, first out; tasks on the main actor promise no order.
    var report: (@Sendable (DataService.TransferProgress) -> Void)?
    if let progress {
      report = { update in MainActor.assumeIsolated { progress(update) } }
    }
    return load(
      request, policy: policy, form: form, on: .queue(.main), progress: report,
      deliver: { delivery in MainActor.assumeIsolated { deliver(delivery) } })
  }

  /// Ends the loads and exchanges that satisfy the condition, and waits for their writes.
  func stop(_ error: DataServiceError, where condition: (PreparedRequest) -> Bool) async {
    // Copied, because the calls below run caller's code and take other locks.
    let (loads, exchanges, prefetches) = state.withLock {
      ($0.loads.all, $0.exchanges.all, $0.prefetches.all)
    }
    let ended = loads.filter { load in load.request.map(condition) ?? false }
    for exchange in exchanges where condition(exchange.prepared) { exchange.stop(with: error) }
    endLiveBodies(with: error, where: condition)
    for load in ended { load.stop(with: error) }
    for load in ended { await load.finished() }
    // All prefetches, also those whose loads have already ended.
    if error.kind == .signedOut { for prefetch in prefetches { prefetch.signOut(where: condition) } }
  }
}

/// The handle of a load that never began because its request is invalid.
private final class RefusedLoad: AnyLoad {
  private let gate: CallbackGate
  init(gate: CallbackGate) { self.gate = gate }
  var request: PreparedRequest? { nil }
  func cancel() { gate.close() }
  func finished() async {}
  func stop(with error: DataServiceError) {}
}
