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
  /// A source for loads that belong together: a session's loads then are all for the account of the first, and fail
  /// with `signedOut` once that is signed out or replaced. By default the source itself.
  func forOneAccount() -> any DeliverySource
  /// Whether the account of ``forOneAccount()`` is signed out or replaced: then nothing of earlier loads may be
  /// delivered.
  var hasEnded: Bool { get }
}

extension DeliverySource {
  /// `nil`: the runtime chooses.
  public var storingExecutor: (any TaskExecutor)? { nil }
  /// The source itself.
  public func forOneAccount() -> any DeliverySource { self }
  /// `false`: there is no account that could end.
  public var hasEnded: Bool { false }
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
