public import FoundationEssentials

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
    sequence(request, policy: policy, form: .whole(canRefuse: true, decode), progress: progress)
  }

  /// The deliveries of a load, bodies decoded from JSON.
  ///
  /// - Parameters:
  ///   - request: What to ask for.
  ///   - type: What to decode.
  ///   - decoder: The decoder to use.
  ///   - policy: Which answers are wanted.
  public func deliveries<Value: Decodable & Sendable>(
    for request: Request, as type: Value.Type, decoder: JSONDecoder = .init(),
    policy: FetchPolicy = .storedThenFresh
  ) -> Deliveries<Value> {
    deliveries(for: request, policy: policy) { try decoder.decode(type, from: $0.value) }
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

  /// One response: the fresh one or, where the policy falls back on it, the stored one.
  ///
  /// Under `freshOnly` every failure is thrown, whatever is stored. A task that is cancelled before the load is over gets no
  /// response: the error is of the kind `cancelled` (``DataServiceError/isCancelled``), with a `CancellationError` beneath.
  ///
  /// - Parameters:
  ///   - request: What to ask for.
  ///   - policy: Which answer is wanted. The default gives the fresh one three seconds where one is stored.
  /// - Throws: The failure that the policy leaves.
  public func response(
    for request: Request, policy: FetchPolicy = .freshElseStored()
  ) async throws(DataServiceError) -> Response<Data> {
    guard !Task.isCancelled else { throw .cancelledTask }
    let result = OneResult()
    let load = core.load(
      request, policy: policy, form: .data, on: .inline, deliver: { result.take($0) }, ended: { result.end() }
    )
    // Woken once, when all is over, and not for each delivery.
    await withTaskCancellationHandler {
      await load.finished()
    } onCancel: {
      load.cancel()
    }
    return try result.response()
  }

  /// The stored response, at once: for the first frame of a user interface.
  ///
  /// Runs on the calling thread in some ten microseconds and never waits: where the store is locked, or the body is
  /// longer than one chunk, there is none. Load with `.freshOnly` afterwards, or the stored one is shown twice.
  @available(*, noasync, message: "use deliveries(for:), whose first delivery is the stored response")
  public func storedResponse(for request: Request) -> Response<Data>? { core.storedResponse(for: request) }

  private func sequence<Value: Sendable>(
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

/// What a load's deliveries come to where one response is wanted.
private final class OneResult: Sendable {
  private struct State {
    /// The response that the policy has delivered.
    var delivered: DataService.Response<Data>?
    var failure: DataServiceError?
    /// Whether the deliveries are over; those of a load that was cancelled never are.
    var isOver = false
  }
  private let state = Guarded(State())

  func take(_ delivery: DataService.Delivery<Data>) {
    state.withLock { state in
      switch delivery {
      case .stored(let response), .fresh(let response, _): state.delivered = response
      case .failure(let error, let lastKnown):
        state.failure = error
        // What was signed out meanwhile is taken back.
        if lastKnown == nil { state.delivered = nil }
      }
    }
  }

  func end() { state.withLock { $0.isOver = true } }

  func response() throws(DataServiceError) -> DataService.Response<Data> {
    let (isOver, delivered, failure) = state.withLock { ($0.isOver, $0.delivered, $0.failure) }
    guard isOver else { throw .cancelledTask }
    if let delivered { return delivered }
    throw failure ?? .cancelledTask
  }
}
