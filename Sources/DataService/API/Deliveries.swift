internal import PlatformFoundation

extension DataService {
  /// The deliveries of a load as a sequence: every iteration is a load of its own, begun by its first `next()`.
  ///
  /// It does not throw; failures are deliveries. It ends after the terminal delivery, once what the load had to store
  /// is stored or given up. Ending an iteration early, or cancelling its task, cancels its load: the next `next()`
  /// returns `nil`, and where the task was cancelled before the first one, nothing is begun.
  public struct Deliveries<Value: Sendable>: AsyncSequence, Sendable {
    /// One delivery.
    public typealias Element = Delivery<Value>
    /// A failure is a delivery, so that nothing is thrown.
    public typealias Failure = Never

    let begin: @Sendable (Port<Value>) -> Void

    /// Takes the deliveries one after the other.
    public struct AsyncIterator: AsyncIteratorProtocol {
      let iteration: Iteration<Value>
      // Other modules cannot specialise what they cannot see: for these two it is done here, which spares every
      // iteration some twenty thousand instructions of looking up types.
      /// The next delivery, or `nil` at the end.
      @specialized(where Value == Data)
      @specialized(where Value == BodyStream)
      public mutating func next() async -> Delivery<Value>? { await iteration.next() }
      /// The next delivery, or `nil` at the end.
      @specialized(where Value == Data)
      @specialized(where Value == BodyStream)
      public mutating func next(isolation actor: isolated (any Actor)?) async -> Delivery<Value>? {
        await iteration.next()
      }
    }

    /// Prepares a load; nothing happens before the first `next()`.
    @specialized(where Value == Data)
    @specialized(where Value == BodyStream)
    public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(iteration: Iteration(begin: begin)) }
  }

  /// One iteration, which cancels its load when it is released: the port is the load's too.
  final class Iteration<Value: Sendable>: Sendable {
    private let begin: @Sendable (Port<Value>) -> Void
    private let port = Port<Value>()

    init(begin: @escaping @Sendable (Port<Value>) -> Void) { self.begin = begin }

    deinit { port.leave() }

    @concurrent func next() async -> Delivery<Value>? { await port.next(beginning: begin) }
  }
}

// Deliveries made by hand: for previews, tests of a model, stand-ins for the service. The elements are passed on
// unchanged; their maker sees to it that at most one is `stored`, and that the last is the terminal one.
extension DataService.Deliveries {
  /// A sequence of these deliveries, the same for every iteration.
  public init(_ deliveries: [DataService.Delivery<Value>]) {
    self.init(begin: { port in
      for delivery in deliveries { port.deliver(delivery) }
      port.end()
      port.finish()
    })
  }

  /// A sequence of the deliveries of another one, which is made when an iteration begins: an `AsyncStream` that a test
  /// fills, or one that adds something to every load. It is read in a task of its own, which is cancelled when the
  /// iteration is left.
  public init<Source: AsyncSequence & SendableMetatype>(_ make: @escaping @Sendable () -> Source)
  where
    Source.Element == DataService.Delivery<Value>, Source.Failure == Never,
    Source.AsyncIterator: SendableMetatype
  {
    self.init(begin: { port in
      let task = Task {
        for await delivery in make() { port.deliver(delivery) }
        port.end()
        port.finish()
      }
      let load = TaskLoad(task, port)
      if !port.begin(load) { load.cancel() }
    })
  }
}

/// A load that a task performs, by loads of its own or by hand. It stores nothing, so it is over where it is cancelled.
final class TaskLoad<Value: Sendable>: AnyLoad {
  private let task: Task<Void, Never>
  private weak let port: Port<Value>?
  init(_ task: Task<Void, Never>, _ port: Port<Value>) {
    self.task = task
    self.port = port
  }
  var request: PreparedRequest? { nil }
  func cancel() {
    port?.close()
    task.cancel()
    port?.finish()
  }
  func finished() async { await task.value }
  func called() async {
    await task.value
    await port?.finished()
  }
  func stop(with error: DataServiceError) { cancel() }
}
