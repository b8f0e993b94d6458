internal import Guards
public import PlatformFoundation

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

    let begin: @Sendable (_ sink: @escaping @Sendable (LoadOutput<Value>) -> Void) -> Load

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

  /// One iteration: the load, and its unread deliveries.
  final class Iteration<Value: Sendable>: Sendable {
    private struct State {
      var load: Load?
      var isOver = false
      var hasBegun = false
      var ready: [Delivery<Value>] = []
      var waiting: UnsafeContinuation<Delivery<Value>?, Never>?

      mutating func takeReady() -> (isReady: Bool, delivery: Delivery<Value>?) {
        if !ready.isEmpty { return (true, ready.removeFirst()) }
        return (isOver, nil)
      }
    }

    private let begin: @Sendable (_ sink: @escaping @Sendable (LoadOutput<Value>) -> Void) -> Load
    private let state = Guarded(State())

    init(begin: @escaping @Sendable (_ sink: @escaping @Sendable (LoadOutput<Value>) -> Void) -> Load) {
      self.begin = begin
    }

    deinit { state.withLock { $0.isOver ? nil : $0.load }?.cancel() }

    @concurrent func next() async -> Delivery<Value>? {
      if Task.isCancelled {
        // Nothing is begun for a task that is cancelled.
        cancel()
      } else {
        beginOnce()
        // The stored delivery is nearly always there already, and so is the end after it.
        let (isReady, delivery) = takeReady()
        if isReady { return await finished(delivery) }
      }
      let delivery = await withTaskCancellationHandler {
        await withUnsafeContinuation { continuation in
          let (isReady, delivery) = take(orKeep: continuation)
          if isReady { continuation.resume(returning: delivery) }
        }
      } onCancel: {
        cancel()
      }
      return await finished(delivery)
    }

    /// Passes a delivery on; the end only once the load's writes are over.
    private func finished(_ delivery: Delivery<Value>?) async -> Delivery<Value>? {
      if delivery == nil { await state.withLock { $0.load }?.finished() }
      return delivery
    }

    private func takeReady() -> (isReady: Bool, delivery: Delivery<Value>?) {
      state.withLock { $0.takeReady() }
    }

    private func beginOnce() {
      let isFirst = state.withLock { state in
        defer { state.hasBegun = true }
        return !state.hasBegun
      }
      guard isFirst else { return }
      let load = begin { [weak self] output in self?.take(output) }
      state.withLock { $0.load = load }
    }

    private func take(
      orKeep continuation: UnsafeContinuation<Delivery<Value>?, Never>
    ) -> (isReady: Bool, Delivery<Value>?) {
      state.withLock { state in
        let taken = state.takeReady()
        if !taken.isReady { state.waiting = continuation }
        return taken
      }
    }

    private func take(_ output: LoadOutput<Value>) {
      switch output {
      case .delivery(let delivery):
        let waiting = state.withLock { state -> UnsafeContinuation<Delivery<Value>?, Never>? in
          guard !state.isOver else { return nil }
          if state.waiting == nil { state.ready.append(delivery) }
          defer { state.waiting = nil }
          return state.waiting
        }
        waiting?.resume(returning: delivery)
      case .end:
        end()
      }
    }

    /// Ends the load, and drops its unread deliveries (law 11).
    private func cancel() {
      state.withLock { $0.load }?.cancel()
      end(dropping: true)
    }

    private func end(dropping: Bool = false) {
      // Released outside the lock, since a `deinit` may run the caller's code.
      let (waiting, _) = state.withLock { state in
        defer {
          state.isOver = true
          state.waiting = nil
          if dropping {
            state.ready = []
            state.hasBegun = true
          }
        }
        return (state.waiting, dropping ? state.ready : [])
      }
      waiting?.resume(returning: nil)
    }
  }
}

/// What a load's sink is given: deliveries in order, then the end of the deliveries.
enum LoadOutput<Value: Sendable>: Sendable {
  case delivery(DataService.Delivery<Value>)
  case end
}

// Deliveries made by hand: for previews, tests of a model, stand-ins for the service. The elements are passed on
// unchanged; their maker sees to it that at most one is `stored`, and that the last is the terminal one.
extension DataService.Deliveries {
  /// A sequence of these deliveries, the same for every iteration.
  public init(_ deliveries: [DataService.Delivery<Value>]) {
    self.init(begin: { sink in
      for delivery in deliveries { sink(.delivery(delivery)) }
      sink(.end)
      return DataService.Load(task: LoadByHand(nil))
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
    self.init(begin: { sink in
      let task = Task {
        for await delivery in make() { sink(.delivery(delivery)) }
        sink(.end)
      }
      return DataService.Load(task: LoadByHand(task))
    })
  }
}

/// The load behind hand-made deliveries. It stores nothing, so nothing remains to await at its end.
private final class LoadByHand: AnyLoad {
  private let task: Task<Void, Never>?
  init(_ task: Task<Void, Never>?) { self.task = task }
  var request: PreparedRequest? { nil }
  func cancel() { task?.cancel() }
  func finished() async {}
  func stop(with error: DataServiceError) { cancel() }
}

extension DataService {
  /// The deliveries of a load, bodies as `Data`.
  ///
  /// - Parameters:
  ///   - request: What to ask for.
  ///   - policy: Which answers are wanted.
  ///   - progress: Told of the bytes received, at most every 50 ms, on a thread of the service's.
  public func deliveries(
    for request: Request, policy: FetchPolicy = .storedThenFresh,
    progress: (@Sendable (TransferProgress) -> Void)? = nil
  ) -> Deliveries<Data> {
    sequence(request, policy: policy, form: .data, progress: progress)
  }

  /// The deliveries of a load, bodies as what `decode` makes of them.
  ///
  /// A fresh answer is decoded before the stored row is replaced: one that `decode` refuses is delivered as
  /// `undecodable` and leaves the row as it is. A stored answer that it refuses counts as not stored.
  ///
  /// - Parameters:
  ///   - request: What to ask for.
  ///   - policy: Which answers are wanted.
  ///   - progress: Told of the bytes received, at most every 50 ms, on a thread of the service's.
  ///   - decode: Makes the value; runs on the thread that asked for the delivery or on one of the service's.
  public func deliveries<Value: Sendable>(
    for request: Request, policy: FetchPolicy = .storedThenFresh,
    progress: (@Sendable (TransferProgress) -> Void)? = nil,
    decode: @escaping @Sendable (Response<Data>) throws -> Value
  ) -> Deliveries<Value> {
    sequence(request, policy: policy, form: .decoded(decode), progress: progress)
  }

  /// The deliveries of a load, bodies decoded from JSON.
  ///
  /// - Parameters:
  ///   - request: What to ask for.
  ///   - type: What to decode.
  ///   - decoder: The decoder to use.
  ///   - policy: Which answers are wanted.
  ///   - progress: Told of the bytes received, at most every 50 ms, on a thread of the service's.
  public func deliveries<Value: Decodable & Sendable>(
    for request: Request, as type: Value.Type, decoder: JSONDecoder = .init(),
    policy: FetchPolicy = .storedThenFresh, progress: (@Sendable (TransferProgress) -> Void)? = nil
  ) -> Deliveries<Value> {
    sequence(request, policy: policy, form: .json(type, decoder), progress: progress)
  }

  /// The deliveries of a load, bodies as streams of any length.
  ///
  /// - Parameters:
  ///   - request: What to ask for.
  ///   - policy: Which answers are wanted.
  ///   - progress: Told of the bytes received, at most every 50 ms, on a thread of the service's.
  public func streams(
    for request: Request, policy: FetchPolicy = .storedThenFresh,
    progress: (@Sendable (TransferProgress) -> Void)? = nil
  ) -> Deliveries<BodyStream> {
    sequence(request, policy: policy, form: .stream, progress: progress)
  }

  func sequence<Value: Sendable>(
    _ request: Request, policy: FetchPolicy, form: ValueForm<Value>,
    progress: (@Sendable (TransferProgress) -> Void)? = nil
  ) -> Deliveries<Value> {
    Deliveries { [core] sink in
      core.load(
        request, policy: policy, form: form, on: .inline, progress: progress,
        deliver: { sink(.delivery($0)) }, ended: { sink(.end) })
    }
  }
}
