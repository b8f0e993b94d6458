public import DataService

/// What makes the deliveries of a load: the service itself, or a ``Session``, which adds the account's credentials.
public protocol DeliverySource: Sendable {
  /// Makes one load, and returns when its last delivery has been handed over. Cancelled with its task.
  ///
  /// - Parameters:
  ///   - request: What to ask for.
  ///   - policy: Which answers are wanted.
  ///   - begin: Chooses the form of the load; called once for each load that is made for this one.
  ///   - deliver: Told of each delivery, in order, one at a time.
  func load<Value: Sendable>(
    _ request: DataService.Request, policy: FetchPolicy,
    begin:
      @escaping @Sendable (DataService, DataService.Request, FetchPolicy) -> DataService.Deliveries<Value>,
    deliver: @escaping @Sendable (DataService.Delivery<Value>) -> Void) async
  /// Where loads are best made that neither decode nor hand over anything: on the service's own thread, where that is all
  /// there is to do; `nil` leaves it to the runtime.
  var storingExecutor: (any TaskExecutor)? { get }
}

extension DeliverySource {
  /// None.
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
