public import DataService
public import PlatformFoundation

// The forms of a load, for whatever performs it: a session has them as the service does.
extension DeliverySource {
  /// The deliveries of a load as a sequence, bodies as `Data`; every iteration is a load of its own. Leaving it cancels
  /// the load.
  ///
  /// - Parameters:
  ///   - request: What to ask for.
  ///   - policy: Which answers are wanted.
  ///   - progress: Told of the bytes received, at most every 50 ms, on a thread of the service's.
  public func deliveries(
    for request: DataService.Request, policy: FetchPolicy = .storedThenFresh,
    progress: (@Sendable (DataService.TransferProgress) -> Void)? = nil
  ) -> DataService.Deliveries<Data> {
    sequence(request, policy) { $0.deliveries(for: $1, policy: $2, progress: progress) }
  }

  /// The deliveries of a load, bodies as what `decode` makes of them, on a thread of the service's; one that it refuses
  /// is delivered as `undecodable` and replaces nothing.
  public func deliveries<Value: Sendable>(
    for request: DataService.Request, policy: FetchPolicy = .storedThenFresh,
    progress: (@Sendable (DataService.TransferProgress) -> Void)? = nil,
    decode: @escaping @Sendable (DataService.Response<Data>) throws -> Value
  ) -> DataService.Deliveries<Value> {
    sequence(request, policy) { $0.deliveries(for: $1, policy: $2, progress: progress, decode: decode) }
  }

  /// The deliveries of a load, bodies decoded from JSON.
  public func deliveries<Value: Decodable & Sendable>(
    for request: DataService.Request, as type: Value.Type, decoder: JSONDecoder = .init(),
    policy: FetchPolicy = .storedThenFresh,
    progress: (@Sendable (DataService.TransferProgress) -> Void)? = nil
  ) -> DataService.Deliveries<Value> {
    sequence(request, policy) {
      $0.deliveries(for: $1, as: type, decoder: decoder, policy: $2, progress: progress)
    }
  }

  /// One response: the fresh one or, where the policy falls back on it, the stored one.
  ///
  /// - Parameters:
  ///   - request: What to ask for.
  ///   - policy: Which answer is wanted. The default gives the fresh one three seconds where one is stored.
  ///   - progress: Told of the bytes received, at most every 50 ms, on a thread of the service's.
  /// - Throws: The failure that the policy leaves; `cancelled` where the task is cancelled.
  @concurrent public func response(
    for request: DataService.Request, policy: FetchPolicy = .freshElseStored(),
    progress: (@Sendable (DataService.TransferProgress) -> Void)? = nil
  ) async throws(DataServiceError) -> DataService.Response<Data> {
    try await deliveries(for: request, policy: policy, progress: progress).one()
  }

  /// One response, its body as what `decode` makes of it; an answer that it refuses is thrown as `undecodable` and
  /// replaces nothing.
  @concurrent public func response<Value: Sendable>(
    for request: DataService.Request, policy: FetchPolicy = .freshElseStored(),
    progress: (@Sendable (DataService.TransferProgress) -> Void)? = nil,
    decode: @escaping @Sendable (DataService.Response<Data>) throws -> Value
  ) async throws(DataServiceError) -> DataService.Response<Value> {
    try await deliveries(for: request, policy: policy, progress: progress, decode: decode).one()
  }

  /// One response, its body decoded from JSON.
  @concurrent public func response<Value: Decodable & Sendable>(
    for request: DataService.Request, as type: Value.Type, decoder: JSONDecoder = .init(),
    policy: FetchPolicy = .freshElseStored(),
    progress: (@Sendable (DataService.TransferProgress) -> Void)? = nil
  ) async throws(DataServiceError) -> DataService.Response<Value> {
    try await deliveries(for: request, as: type, decoder: decoder, policy: policy, progress: progress).one()
  }

  private func sequence<Value: Sendable>(
    _ request: DataService.Request, _ policy: FetchPolicy,
    begin:
      @escaping @Sendable (DataService, DataService.Request, FetchPolicy) -> DataService.Deliveries<Value>
  ) -> DataService.Deliveries<Value> {
    DataService.Deliveries {
      AsyncStream { continuation in
        let load = Task {
          await self.load(request, policy: policy, begin: begin) { continuation.yield($0) }
          continuation.finish()
        }
        continuation.onTermination = { _ in load.cancel() }
      }
    }
  }
}

extension DataService.Deliveries {
  /// The last response, or else the failure.
  fileprivate func one() async throws(DataServiceError) -> DataService.Response<Value> {
    var delivered: DataService.Response<Value>?
    var failure = DataServiceError(.cancelled, "the task was cancelled", underlying: CancellationError())
    for await delivery in self {
      switch delivery {
      case .stored(let response), .fresh(let response, _): delivered = response
      case .failure(let error, let lastKnown):
        failure = error
        // The account was signed out meanwhile, so its response is withdrawn.
        if lastKnown == nil { delivered = nil }
      }
    }
    guard let delivered, !Task.isCancelled else { throw failure }
    return delivered
  }
}
