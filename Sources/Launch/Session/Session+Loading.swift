public import DataService

extension Session {
  /// The request with the account and its token: for what the service has and a session has not, and for requests that
  /// need no renewal. `nil` while nobody is signed in, and once the session has expired.
  public func requestAsSent(_ request: DataService.Request) -> DataService.Request? {
    pass.map { authorized(request, by: $0) }
  }

  /// The request with the account, also once the session has expired; `nil` while nobody is signed in.
  public func requestAsStored(_ request: DataService.Request) -> DataService.Request? {
    passOfAccount.map { authorized(request, by: $0) }
  }

  /// A request with the account and the token of a pass.
  func authorized(_ request: DataService.Request, by pass: Pass) -> DataService.Request {
    var request = request
    request.account = .named(pass.credential.account)
    configuration.authorize(&request, pass.credential)
    return request
  }

  /// Begins a load for the session's account, which waits until ``start()`` was called and has read who is signed in.
  /// Once the session has expired the origin is not asked: what is stored is delivered, as the policy has it, and then
  /// the failure.
  ///
  /// While the token is being renewed a load waits before it is sent. The wait ends when the load is cancelled, when the
  /// account is signed out or replaced, and with `timeout(total)` or `timeout(deadline)` when the request's total time
  /// limit or the policy's deadline has passed since the load began, by the configuration's clock.
  public func begin<Value: Sendable>(_ load: DataService.PendingLoad<Value>) -> DataService.Load {
    load.begin { [self] in await SessionLoad(session: self, load: load, deliver: $0).run() }
  }

  /// The loads that one plan or one screen needs: all of them for the account of the first.
  public func forOneAccount() -> any DeliverySource { AccountSource(session: self) }
}
