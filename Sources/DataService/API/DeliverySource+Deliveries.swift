public import PlatformFoundation

// What other modules call with a service is specialised here, as for the iterator: a load that is not costs some thirty
// thousand instructions more.
extension DeliverySource {
  /// The deliveries of a load, bodies as `Data`.
  ///
  /// - Parameters:
  ///   - request: What to ask for.
  ///   - policy: Which answers are wanted.
  ///   - progress: Told of the bytes received, at most every 50 ms, on a thread of the service's.
  @specialized(where Self == DataService)
  public func deliveries(
    for request: DataService.Request, policy: FetchPolicy = .storedThenFresh,
    progress: (@Sendable (DataService.TransferProgress) -> Void)? = nil
  ) -> DataService.Deliveries<Data> {
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
    for request: DataService.Request, policy: FetchPolicy = .storedThenFresh,
    progress: (@Sendable (DataService.TransferProgress) -> Void)? = nil,
    decode: @escaping @Sendable (DataService.Response<Data>) throws -> Value
  ) -> DataService.Deliveries<Value> {
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
    for request: DataService.Request, as type: Value.Type, decoder: JSONDecoder = .init(),
    policy: FetchPolicy = .storedThenFresh,
    progress: (@Sendable (DataService.TransferProgress) -> Void)? = nil
  ) -> DataService.Deliveries<Value> {
    sequence(request, policy: policy, form: .json(type, decoder), progress: progress)
  }

  /// The deliveries of a load, bodies as streams of any length.
  ///
  /// ```swift
  /// for await delivery in service.streams(for: request, policy: .freshOnly) {
  ///   guard let response = delivery.response else { continue }
  ///   for try await piece in response.value { file.write(piece) }
  /// }
  /// ```
  ///
  /// - Parameters:
  ///   - request: What to ask for.
  ///   - policy: Which answers are wanted.
  ///   - progress: Told of the bytes received, at most every 50 ms, on a thread of the service's.
  @specialized(where Self == DataService)
  public func streams(
    for request: DataService.Request, policy: FetchPolicy = .storedThenFresh,
    progress: (@Sendable (DataService.TransferProgress) -> Void)? = nil
  ) -> DataService.Deliveries<DataService.BodyStream> {
    sequence(request, policy: policy, form: .stream, progress: progress)
  }
}
