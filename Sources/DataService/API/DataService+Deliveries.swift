public import PlatformFoundation

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
