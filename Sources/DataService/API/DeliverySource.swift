internal import Dispatch
internal import PlatformFoundation

/// Begins loads: a service or, of `Launch`, a session, which adds an account's credentials. Every form of a load, of a
/// look and of an observation is written once, over this.
public protocol DeliverySource: Sendable {
  /// The service that performs the loads.
  var service: DataService { get }
  /// Begins a load, and returns at once.
  func begin<Value: Sendable>(_ load: DataService.PendingLoad<Value>) -> DataService.Load
  /// The request as this source sends it; `nil` while it can send none.
  func requestAsSent(_ request: DataService.Request) -> DataService.Request?
  /// The request that this source's answers are stored for; `nil` while it is not known whose they are.
  func requestAsStored(_ request: DataService.Request) -> DataService.Request?
  /// A source for loads that belong together: a session's loads then are all for the account of the first, and fail
  /// with `signedOut` once that is signed out or replaced. By default the source itself.
  func forOneAccount() -> any DeliverySource
  /// Whether the account of ``forOneAccount()`` is signed out or replaced: then nothing of earlier loads may be
  /// delivered. By default `false`.
  var hasEnded: Bool { get }
}

extension DeliverySource {
  /// The request as it is.
  public func requestAsSent(_ request: DataService.Request) -> DataService.Request? { request }
  /// The request as it is.
  public func requestAsStored(_ request: DataService.Request) -> DataService.Request? { request }
  /// The source itself.
  public func forOneAccount() -> any DeliverySource { self }
  /// `false`: there is no account that could end.
  public var hasEnded: Bool { false }

  /// The request that answers are stored for, once it is known whose they are. A load is what waits for that.
  func located(_ request: DataService.Request) async throws(DataServiceError) -> DataService.Request {
    if let located = requestAsStored(request) { return located }
    for await _ in deliveries(for: request, policy: .storedOnly) {}
    guard let located = requestAsStored(request) else { throw .signedOut }
    return located
  }
}

extension DataService: DeliverySource {
  /// The service itself.
  public var service: DataService { self }
  /// Begins a load as it is.
  @specialized(where Value == Data)
  @specialized(where Value == BodyStream)
  public func begin<Value: Sendable>(_ load: PendingLoad<Value>) -> Load { load.begin(on: self) }
}

extension DataService {
  /// A load that is to begin: a request, a policy, the form of its bodies, and where its deliveries go.
  public struct PendingLoad<Value: Sendable>: Sendable {
    /// What to ask for.
    public let request: Request
    /// Which answers are wanted.
    public let policy: FetchPolicy
    let form: ValueForm<Value>
    let port: Port<Value>
    let progress: (@Sendable (TransferProgress) -> Void)?
    var early: Early?

    /// Sends to a port what was begun early, or what `orBegin` begins; `nil` where another request was.
    typealias Early =
      @Sendable (Request, Port<Value>, _ orBegin: @escaping @Sendable (Port<Value>) -> Void) -> (any AnyLoad)?

    /// Begins it on a service, as it is.
    public func begin(on service: DataService) -> Load {
      if let load = early?(request, port, { [self] in _ = begin(on: service.core, $0) }) {
        return Load(task: load)
      }
      return begin(on: service.core, port)
    }

    private func begin(on core: ServiceCore, _ port: Port<Value>) -> Load {
      core.load(request, policy: policy, form: form, to: port, progress: progress)
    }

    /// Begins it as what `perform` does in a task of its own: it makes the deliveries in order, at most one of them
    /// `stored`, and the last one the terminal one. Cancelling the load cancels the task; from then on nothing is
    /// delivered.
    public func begin(
      _ perform: @escaping @Sendable (_ deliver: @escaping @Sendable (Delivery<Value>) -> Void) async -> Void
    ) -> Load {
      let task = Task { [port] in
        await perform { port.deliver($0) }
        port.end()
        port.finish()
      }
      let load = TaskLoad(task, port)
      if !port.begin(load) { load.cancel() }
      return Load(task: load)
    }

    /// The deliveries of a load of another request, or under another policy, in the form of this one.
    public func deliveries(
      from service: DataService, for request: Request, policy: FetchPolicy
    ) -> Deliveries<Value> {
      Deliveries { [self] port in
        let load = PendingLoad(
          request: request, policy: policy, form: form, port: port,
          progress: progress.map(self.port.reporting),
          early: policy == self.policy ? early : nil)
        _ = load.begin(on: service)
      }
    }
  }
}

extension DeliverySource {
  /// The deliveries of a load in a form, as a sequence.
  func sequence<Value: Sendable>(
    _ request: DataService.Request, policy: FetchPolicy, form: ValueForm<Value>,
    progress: (@Sendable (DataService.TransferProgress) -> Void)? = nil,
    early: DataService.PendingLoad<Value>.Early? = nil
  ) -> DataService.Deliveries<Value> {
    DataService.Deliveries { port in
      _ = self.begin(
        DataService.PendingLoad(
          request: request, policy: policy, form: form, port: port, progress: progress, early: early))
    }
  }

  /// Begins a load that calls back on a queue; `nil` is the delivering thread.
  func load<Value: Sendable>(
    _ request: DataService.Request, policy: FetchPolicy, form: ValueForm<Value>,
    on queue: DispatchQueue?,
    progress: (@Sendable (DataService.TransferProgress) -> Void)?,
    deliver: @escaping @Sendable (DataService.Delivery<Value>) -> Void, ended: (@Sendable () -> Void)? = nil
  ) -> DataService.Load {
    let port = Port(.init(queue: queue, deliver: deliver, ended: ended))
    return begin(
      DataService.PendingLoad(request: request, policy: policy, form: form, port: port, progress: progress))
  }

  /// Begins a load that calls back on the main actor.
  func load<Value: Sendable>(
    _ request: DataService.Request, policy: FetchPolicy, form: ValueForm<Value>,
    progress: (@MainActor (DataService.TransferProgress) -> Void)?,
    deliver: @escaping @MainActor (DataService.Delivery<Value>) -> Void
  ) -> DataService.Load {
    // The main queue is first in, first out; tasks on the main actor promise no order.
    var report: (@Sendable (DataService.TransferProgress) -> Void)?
    if let progress {
      report = { update in MainActor.assumeIsolated { progress(update) } }
    }
    return load(
      request, policy: policy, form: form, on: .main, progress: report,
      deliver: { delivery in MainActor.assumeIsolated { deliver(delivery) } })
  }
}
