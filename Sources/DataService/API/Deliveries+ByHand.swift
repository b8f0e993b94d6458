// For whatever takes deliveries: a preview, the test of a model, a stand-in for the service. The elements are handed on as they
// are; that at most one is `stored`, and that the last is the terminal one, is up to whoever makes them.
extension DataService.Deliveries {
  /// A sequence of these deliveries, the same for every iteration.
  public init(_ deliveries: [DataService.Delivery<Value>]) {
    self.init(begin: { sink in
      for delivery in deliveries { sink(.delivery(delivery)) }
      sink(.end)
      return DataService.Load(task: LoadByHand(nil))
    })
  }

  /// A sequence of the deliveries of another one, which is made when an iteration begins: an `AsyncStream` that a test fills, or one
  /// that adds something to every load. It is read in a task of its own, which is cancelled when the iteration is left.
  public init<Source: AsyncSequence & SendableMetatype>(_ make: @escaping @Sendable () -> Source)
  where
    Source.Element == DataService.Delivery<Value>, Source.Failure == Never,
    Source.AsyncIterator: SendableMetatype
  {
    self.init(begin: { sink in
      let task = Task {
        for await delivery in make() { sink(.delivery(delivery)) }
        sink(.end)
      }
      return DataService.Load(task: LoadByHand(task))
    })
  }
}

/// The load of deliveries that no service makes: nothing is stored, so that nothing is waited for after its end.
private final class LoadByHand: AnyLoad {
  private let task: Task<Void, Never>?
  init(_ task: Task<Void, Never>?) { self.task = task }
  var request: PreparedRequest? { nil }
  func cancel() { task?.cancel() }
  func finished() async {}
  func stop(with error: DataServiceError) { cancel() }
}
