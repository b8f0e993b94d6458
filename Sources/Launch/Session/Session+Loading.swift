public import DataService
public import PlatformFoundation

extension Session {
  /// A request with the account and its token, as ``load(_:policy:begin:deliver:)`` would send it: for `anticipate`
  /// and for requests that need no renewal. `nil` while nobody is signed in, and once the session has expired; what is
  /// stored is then looked at by a load with `storedOnly`.
  public func authorized(_ request: DataService.Request) -> DataService.Request? {
    pass.map { authorized(request, by: $0) }
  }

  /// A request with the account and the token of a pass.
  func authorized(_ request: DataService.Request, by pass: Pass) -> DataService.Request {
    var request = request
    request.account = .named(pass.credential.account)
    configuration.authorize(&request, pass.credential)
    return request
  }

  /// Loads for the session's account; see `DeliverySource`. A load waits until ``start()`` was called and has read who
  /// is signed in. Once the session has expired the origin is not asked: what is stored is delivered, as the policy has
  /// it, and then the failure.
  ///
  /// While the token is being renewed a load waits before it is sent. The wait ends when its task is cancelled, when the
  /// account is signed out or replaced, and with `timeout(total)` or `timeout(deadline)` when the request's total time
  /// limit or the policy's deadline has passed since the load began, by the configuration's clock.
  public func load<Value: Sendable>(
    _ request: DataService.Request, policy: FetchPolicy,
    begin:
      @escaping @Sendable (DataService, DataService.Request, FetchPolicy) -> DataService.Deliveries<Value>,
    deliver: @escaping @Sendable (DataService.Delivery<Value>) -> Void
  ) async {
    let load = SessionLoad(session: self, request: request, policy: policy, begin: begin, deliver: deliver)
    await load.run()
  }

  /// The loads that one plan or one screen needs: all of them for the account of the first.
  public func forOneAccount() -> any DeliverySource { AccountSource(session: self) }
}

extension Session {
  /// The account's stored response, at once, as ``DataService/storedResponse(for:)``: also once the session has expired.
  /// `nil` while nobody is signed in.
  @available(*, noasync, message: "use deliveries(for:), whose first delivery is the stored response")
  public func storedResponse(for request: DataService.Request) -> DataService.Response<Data>? {
    passOfAccount.flatMap { service.storedResponse(for: authorized(request, by: $0)) }
  }

  /// The account's stored response, at once, its body decoded from JSON on this thread.
  @available(*, noasync, message: "use deliveries(for:as:), whose first delivery is the stored response")
  public func storedResponse<Value: Decodable & Sendable>(
    for request: DataService.Request, as type: Value.Type, decoder: JSONDecoder = .init()
  ) -> DataService.Response<Value>? {
    passOfAccount.flatMap {
      service.storedResponse(for: authorized(request, by: $0), as: type, decoder: decoder)
    }
  }
}
