public import DataService

/// Performs loads: the service itself, or a ``Session``, which adds the account's credentials.
public protocol DeliverySource: Sendable {
  /// Performs one load and returns after its last delivery. Cancelling the task cancels the load.
  ///
  /// - Parameters:
  ///   - request: The request to load.
  ///   - policy: Which responses to deliver, and in which order.
  ///   - begin: Starts a load in the form the caller wants; called once for each underlying load, of which a session
  ///     may need several.
  ///   - deliver: Called with each delivery, in order, one at a time.
  func load<Value: Sendable>(
    _ request: DataService.Request, policy: FetchPolicy,
    begin:
      @escaping @Sendable (DataService, DataService.Request, FetchPolicy) -> DataService.Deliveries<Value>,
    deliver: @escaping @Sendable (DataService.Delivery<Value>) -> Void) async
  /// The executor for loads that only fill the store: the service's own thread, which saves a change of threads. `nil`
  /// leaves the choice to the runtime.
  var storingExecutor: (any TaskExecutor)? { get }
}

extension DeliverySource {
  /// `nil`: the runtime chooses.
  public var storingExecutor: (any TaskExecutor)? { nil }
}

extension DataService: DeliverySource {
  /// The service's own thread.
  public var storingExecutor: (any TaskExecutor)? { executor }

  /// Loads as `DataService` does.
  public func load<Value: Sendable>(
    _ request: Request, policy: FetchPolicy,
    begin: @escaping @Sendable (DataService, Request, FetchPolicy) -> Deliveries<Value>,
    deliver: @escaping @Sendable (Delivery<Value>) -> Void
  ) async {
    for await delivery in begin(self, request, policy) { deliver(delivery) }
  }
}
