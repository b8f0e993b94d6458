public import Dispatch
public import PlatformFoundation

// The callback forms. A fresh answer is decoded before the stored row is replaced: one that does not
// decode is delivered as `undecodable` and leaves the row as it is. A stored one that does not decode counts as not
// stored.
extension DeliverySource {
  /// Loads and calls back on the main actor, in order.
  ///
  /// - Parameters:
  ///   - request: What to ask for.
  ///   - policy: Which answers are wanted.
  ///   - progress: Told of the bytes received, at most every 50 ms; not a delivery.
  ///   - deliver: Told of each delivery.
  /// - Returns: A handle to cancel with; dropping it does not.
  @specialized(where Self == DataService)
  @discardableResult public func load(
    _ request: DataService.Request, policy: FetchPolicy = .storedThenFresh,
    progress: (@MainActor (DataService.TransferProgress) -> Void)? = nil,
    deliver: @escaping @MainActor (DataService.Delivery<Data>) -> Void
  ) -> DataService.Load {
    load(request, policy: policy, form: .data, progress: progress, deliver: deliver)
  }

  /// Loads and calls back on a queue, in order and one call at a time, whether the queue is serial or concurrent.
  ///
  /// - Parameters:
  ///   - request: What to ask for.
  ///   - policy: Which answers are wanted.
  ///   - queue: Where the callbacks run.
  ///   - progress: Told of the bytes received, at most every 50 ms; not a delivery.
  ///   - deliver: Told of each delivery.
  /// - Returns: A handle to cancel with; dropping it does not.
  @specialized(where Self == DataService)
  @discardableResult public func load(
    _ request: DataService.Request, policy: FetchPolicy = .storedThenFresh, queue: DispatchQueue,
    progress: (@Sendable (DataService.TransferProgress) -> Void)? = nil,
    deliver: @escaping @Sendable (DataService.Delivery<Data>) -> Void
  ) -> DataService.Load {
    load(request, policy: policy, form: .data, on: queue, progress: progress, deliver: deliver)
  }

  /// Loads and calls back on the main actor, in order, bodies as what `decode` makes of them.
  ///
  /// - Parameters:
  ///   - request: What to ask for.
  ///   - policy: Which answers are wanted.
  ///   - progress: Told of the bytes received, at most every 50 ms; not a delivery.
  ///   - decode: Makes the value, on a thread of the service's.
  ///   - deliver: Told of each delivery.
  /// - Returns: A handle to cancel with; dropping it does not.
  @discardableResult public func load<Value: Sendable>(
    _ request: DataService.Request, policy: FetchPolicy = .storedThenFresh,
    progress: (@MainActor (DataService.TransferProgress) -> Void)? = nil,
    decode: @escaping @Sendable (DataService.Response<Data>) throws -> Value,
    deliver: @escaping @MainActor (DataService.Delivery<Value>) -> Void
  ) -> DataService.Load {
    load(request, policy: policy, form: .decoded(decode), progress: progress, deliver: deliver)
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
    _ request: DataService.Request, as type: Value.Type, decoder: JSONDecoder = .init(),
    policy: FetchPolicy = .storedThenFresh,
    progress: (@MainActor (DataService.TransferProgress) -> Void)? = nil,
    deliver: @escaping @MainActor (DataService.Delivery<Value>) -> Void
  ) -> DataService.Load {
    load(request, policy: policy, form: .json(type, decoder), progress: progress, deliver: deliver)
  }

  /// Loads and calls back on a queue, in order and one call at a time, bodies as what `decode` makes of them.
  ///
  /// - Parameters:
  ///   - request: What to ask for.
  ///   - policy: Which answers are wanted.
  ///   - queue: Where the callbacks run.
  ///   - progress: Told of the bytes received, at most every 50 ms; not a delivery.
  ///   - decode: Makes the value, on a thread of the service's.
  ///   - deliver: Told of each delivery.
  /// - Returns: A handle to cancel with; dropping it does not.
  @discardableResult public func load<Value: Sendable>(
    _ request: DataService.Request, policy: FetchPolicy = .storedThenFresh, queue: DispatchQueue,
    progress: (@Sendable (DataService.TransferProgress) -> Void)? = nil,
    decode: @escaping @Sendable (DataService.Response<Data>) throws -> Value,
    deliver: @escaping @Sendable (DataService.Delivery<Value>) -> Void
  ) -> DataService.Load {
    load(
      request, policy: policy, form: .decoded(decode), on: queue, progress: progress, deliver: deliver
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
    _ request: DataService.Request, as type: Value.Type, decoder: JSONDecoder = .init(),
    policy: FetchPolicy = .storedThenFresh, queue: DispatchQueue,
    progress: (@Sendable (DataService.TransferProgress) -> Void)? = nil,
    deliver: @escaping @Sendable (DataService.Delivery<Value>) -> Void
  ) -> DataService.Load {
    load(
      request, policy: policy, form: .json(type, decoder), on: queue, progress: progress,
      deliver: deliver)
  }
}
