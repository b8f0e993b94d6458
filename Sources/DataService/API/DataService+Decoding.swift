public import Dispatch
public import PlatformFoundation

// The callback forms with a decoder. A fresh answer is decoded before the stored row is replaced: one that does not
// decode is delivered as `undecodable` and leaves the row as it is. A stored one that does not decode counts as not
// stored.
extension DataService {
  /// Loads and calls back on the main actor, in order, bodies as what `decode` makes of them.
  ///
  /// - Parameters:
  ///   - request: What to ask for.
  ///   - policy: Which answers are wanted.
  ///   - progress: Told of the bytes received, at most every 50 ms; not a delivery.
  ///   - decode: Makes the value; runs on the thread that asked for the load or on one of the service's.
  ///   - deliver: Told of each delivery.
  /// - Returns: A handle to cancel with; dropping it does not.
  @discardableResult public func load<Value: Sendable>(
    _ request: Request, policy: FetchPolicy = .storedThenFresh,
    progress: (@MainActor (TransferProgress) -> Void)? = nil,
    decode: @escaping @Sendable (Response<Data>) throws -> Value,
    deliver: @escaping @MainActor (Delivery<Value>) -> Void
  ) -> Load {
    core.load(request, policy: policy, form: .decoded(decode), progress: progress, deliver: deliver)
  }

  /// Loads and calls back on the main actor, in order, bodies decoded from JSON.
  ///
  /// - Parameters:
  ///   - request: What to ask for.
  ///   - type: What to decode.
  ///   - decoder: The decoder to use.
  ///   - policy: Which answers are wanted.
  ///   - progress: Told of the bytes received, at most every 50 ms; not a delivery.
  ///   - deliver: Told of each delivery.
  /// - Returns: A handle to cancel with; dropping it does not.
  @discardableResult public func load<Value: Decodable & Sendable>(
    _ request: Request, as type: Value.Type, decoder: JSONDecoder = .init(),
    policy: FetchPolicy = .storedThenFresh, progress: (@MainActor (TransferProgress) -> Void)? = nil,
    deliver: @escaping @MainActor (Delivery<Value>) -> Void
  ) -> Load {
    core.load(request, policy: policy, form: .json(type, decoder), progress: progress, deliver: deliver)
  }

  /// Loads as ``start(_:policy:progress:deliver:ended:)`` does, bodies as what `decode` makes of them.
  package func start<Value: Sendable>(
    _ request: Request, policy: FetchPolicy, progress: (@Sendable (TransferProgress) -> Void)? = nil,
    decode: @escaping @Sendable (Response<Data>) throws -> Value,
    deliver: @escaping @Sendable (Delivery<Value>) -> Void, ended: @escaping @Sendable () -> Void
  ) -> Load {
    core.load(
      request, policy: policy, form: .decoded(decode), on: .inline, progress: progress, deliver: deliver,
      ended: ended)
  }

  /// Loads and calls back on a queue, in order and one call at a time, bodies as what `decode` makes of them.
  ///
  /// - Parameters:
  ///   - request: What to ask for.
  ///   - policy: Which answers are wanted.
  ///   - queue: Where the callbacks run.
  ///   - progress: Told of the bytes received, at most every 50 ms; not a delivery.
  ///   - decode: Makes the value; runs on the thread that asked for the load or on one of the service's.
  ///   - deliver: Told of each delivery.
  /// - Returns: A handle to cancel with; dropping it does not.
  @discardableResult public func load<Value: Sendable>(
    _ request: Request, policy: FetchPolicy = .storedThenFresh, queue: DispatchQueue,
    progress: (@Sendable (TransferProgress) -> Void)? = nil,
    decode: @escaping @Sendable (Response<Data>) throws -> Value,
    deliver: @escaping @Sendable (Delivery<Value>) -> Void
  ) -> Load {
    core.load(
      request, policy: policy, form: .decoded(decode), on: .queue(queue), progress: progress, deliver: deliver
    )
  }

  /// Loads and calls back on a queue, in order and one call at a time, bodies decoded from JSON.
  ///
  /// - Parameters:
  ///   - request: What to ask for.
  ///   - type: What to decode.
  ///   - decoder: The decoder to use.
  ///   - policy: Which answers are wanted.
  ///   - queue: Where the callbacks run.
  ///   - progress: Told of the bytes received, at most every 50 ms; not a delivery.
  ///   - deliver: Told of each delivery.
  /// - Returns: A handle to cancel with; dropping it does not.
  @discardableResult public func load<Value: Decodable & Sendable>(
    _ request: Request, as type: Value.Type, decoder: JSONDecoder = .init(),
    policy: FetchPolicy = .storedThenFresh, queue: DispatchQueue,
    progress: (@Sendable (TransferProgress) -> Void)? = nil,
    deliver: @escaping @Sendable (Delivery<Value>) -> Void
  ) -> Load {
    core.load(
      request, policy: policy, form: .json(type, decoder), on: .queue(queue), progress: progress,
      deliver: deliver)
  }
}
