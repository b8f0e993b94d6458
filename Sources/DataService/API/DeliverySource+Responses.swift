internal import Guards
public import PlatformFoundation

extension DeliverySource {
  /// One response: the fresh one or, where the policy falls back on it, the stored one.
  ///
  /// Under `freshOnly` every failure is thrown, whatever is stored. A task that is cancelled before the load is over
  /// gets no response: the error is of the kind `cancelled` (``DataServiceError/isCancelled``), with a
  /// `CancellationError` beneath.
  ///
  /// - Parameters:
  ///   - request: What to ask for.
  ///   - policy: Which answer is wanted. The default gives the fresh one three seconds where one is stored.
  ///   - progress: Told of the bytes received, at most every 50 ms, on a thread of the service's.
  /// - Throws: The failure that the policy leaves.
  @specialized(where Self == DataService)
  @concurrent public func response(
    for request: DataService.Request, policy: FetchPolicy = .freshElseStored(),
    progress: (@Sendable (DataService.TransferProgress) -> Void)? = nil
  ) async throws(DataServiceError) -> DataService.Response<Data> {
    try await one(request, policy: policy, form: .data, progress: progress)
  }

  /// One response, its body as what `decode` makes of it; otherwise as ``response(for:policy:progress:)``.
  ///
  /// - Parameters:
  ///   - request: What to ask for.
  ///   - policy: Which answer is wanted.
  ///   - progress: Told of the bytes received, at most every 50 ms, on a thread of the service's.
  ///   - decode: Makes the value; runs on the thread that asked for the response or on one of the service's. An answer
  ///     that it refuses is thrown as `undecodable` and replaces nothing.
  /// - Throws: The failure that the policy leaves.
  @concurrent public func response<Value: Sendable>(
    for request: DataService.Request, policy: FetchPolicy = .freshElseStored(),
    progress: (@Sendable (DataService.TransferProgress) -> Void)? = nil,
    decode: @escaping @Sendable (DataService.Response<Data>) throws -> Value
  ) async throws(DataServiceError) -> DataService.Response<Value> {
    try await one(request, policy: policy, form: .decoded(decode), progress: progress)
  }

  /// One response, its body decoded from JSON; otherwise as ``response(for:policy:progress:)``.
  ///
  /// - Parameters:
  ///   - request: What to ask for.
  ///   - type: What to decode.
  ///   - decoder: The decoder to use.
  ///   - policy: Which answer is wanted.
  ///   - progress: Told of the bytes received, at most every 50 ms, on a thread of the service's.
  /// - Throws: The failure that the policy leaves.
  @concurrent public func response<Value: Decodable & Sendable>(
    for request: DataService.Request, as type: Value.Type, decoder: JSONDecoder = .init(),
    policy: FetchPolicy = .freshElseStored(),
    progress: (@Sendable (DataService.TransferProgress) -> Void)? = nil
  ) async throws(DataServiceError) -> DataService.Response<Value> {
    try await one(request, policy: policy, form: .json(type, decoder), progress: progress)
  }

  private func one<Value: Sendable>(
    _ request: DataService.Request, policy: FetchPolicy, form: ValueForm<Value>,
    progress: (@Sendable (DataService.TransferProgress) -> Void)?
  ) async throws(DataServiceError) -> DataService.Response<Value> {
    guard !Task.isCancelled else { throw .cancelledTask }
    let result = OneResult<Value>()
    let load = self.load(
      request, policy: policy, form: form, on: nil, progress: progress,
      deliver: { result.take($0) }, ended: { result.end() })
    // Woken once, when all is over, and not for each delivery.
    await withTaskCancellationHandler {
      await load.finished()
    } onCancel: {
      load.cancel()
    }
    return try result.response()
  }
}

extension DeliverySource {
  /// The stored response, at once: for the first frame of a user interface.
  ///
  /// Runs on the calling thread and never waits: in some ten microseconds, and some milliseconds for a body of
  /// megabytes. Where the store is locked, or the body is over 4 MiB (4,194,304 bytes), there is none. Load with `.freshOnly` afterwards, or the stored one is shown twice.
  @available(*, noasync, message: "use deliveries(for:), whose first delivery is the stored response")
  @specialized(where Self == DataService)
  public func storedResponse(for request: DataService.Request) -> DataService.Response<Data>? {
    requestAsStored(request).flatMap(service.core.storedResponse)
  }

  /// The stored response, at once, its body as what `decode` makes of it on this thread; one that it refuses counts as
  /// not stored.
  @available(*, noasync, message: "use deliveries(for:decode:), whose first delivery is the stored response")
  public func storedResponse<Value: Sendable>(
    for request: DataService.Request, decode: @escaping @Sendable (DataService.Response<Data>) throws -> Value
  ) -> DataService.Response<Value>? {
    service.core.value(of: storedResponse(for: request), for: request, form: .decoded(decode))
  }

  /// The stored response, at once, its body decoded from JSON on this thread; one that does not decode counts as not
  /// stored.
  @available(*, noasync, message: "use deliveries(for:as:), whose first delivery is the stored response")
  public func storedResponse<Value: Decodable & Sendable>(
    for request: DataService.Request, as type: Value.Type, decoder: JSONDecoder = .init()
  ) -> DataService.Response<Value>? {
    service.core.value(of: storedResponse(for: request), for: request, form: .json(type, decoder))
  }
}

extension DeliverySource {
  /// The newest stored response, now and whenever this process or another changes it; `nil` while there is none.
  ///
  /// Only the newest is buffered. A change is seen within some 20 ms. Nothing runs while the store does not change, or
  /// after the iterator is released. The sequence ends when the service is closed, immediately if it already is. Bodies
  /// are held in memory: one that is longer than ``Limits/dataBytes`` counts as none.
  ///
  /// It throws `invalidRequest`, and `store` where the store cannot be used before a person repairs it: a folder in its
  /// place, another program's file. If the store is damaged, in use or removed, observing goes on once it is made anew
  /// or free again.
  public func changes(to request: DataService.Request) -> DataService.Changes {
    DataService.Changes(source: self, request: request)
  }

  /// The newest stored response, now and whenever it changes, its body as what `decode` makes of it; otherwise as
  /// ``changes(to:)``. One that `decode` refuses counts as not stored; `decode` runs in the reader's task.
  public func changes<Value: Sendable>(
    to request: DataService.Request, decode: @escaping @Sendable (DataService.Response<Data>) throws -> Value
  ) -> some AsyncSequence<DataService.Response<Value>?, DataServiceError> & Sendable {
    changes(to: request, form: .decoded(decode))
  }

  /// The newest stored response, now and whenever it changes, its body decoded from JSON in the reader's task;
  /// otherwise as ``changes(to:)``. One that does not decode counts as not stored.
  public func changes<Value: Decodable & Sendable>(
    to request: DataService.Request, as type: Value.Type, decoder: JSONDecoder = .init()
  ) -> some AsyncSequence<DataService.Response<Value>?, DataServiceError> & Sendable {
    changes(to: request, form: .json(type, decoder))
  }

  func changes<Value: Sendable>(
    to request: DataService.Request, form: ValueForm<Value>
  ) -> some AsyncSequence<DataService.Response<Value>?, DataServiceError> & Sendable {
    changes(to: request).map { [core = service.core] in core.value(of: $0, for: request, form: form) }
  }
}

extension ServiceCore {
  /// A stored response in the form that is wanted; `nil` where its status is not accepted or its body is refused.
  func value<Value: Sendable>(
    of stored: DataService.Response<Data>?, for request: DataService.Request, form: ValueForm<Value>
  ) -> DataService.Response<Value>? {
    guard let stored, case .whole(_, let decode) = form,
      form.acceptedStatuses(for: request)?.contains(stored.status) ?? true
    else { return nil }
    do {
      let value = try decode(stored)
      return stored.map { _ in value }
    } catch {
      let authority = (try? NormalisedURL(request.url.absoluteString))?.authority ?? "the server"
      let trouble = DataServiceError.storedUndecodable(of: authority, underlying: error)
      warn(.init(kind: trouble.kind, message: trouble.message, remedy: trouble.remedy))
      return nil
    }
  }
}

/// Reduces a load's deliveries to the one response the caller wants.
private final class OneResult<Value: Sendable>: Sendable {
  private struct State {
    /// The response that the policy has delivered.
    var delivered: DataService.Response<Value>?
    var failure: DataServiceError?
    /// Whether the deliveries are over; those of a load that was cancelled never are.
    var isOver = false
  }
  private let state = Guarded(State())

  func take(_ delivery: DataService.Delivery<Value>) {
    state.withLock { state in
      switch delivery {
      case .stored(let response), .fresh(let response, _): state.delivered = response
      case .failure(let error, let lastKnown):
        state.failure = error
        // The account was signed out meanwhile, so its response is withdrawn.
        if lastKnown == nil { state.delivered = nil }
      }
    }
  }

  func end() { state.withLock { $0.isOver = true } }

  func response() throws(DataServiceError) -> DataService.Response<Value> {
    let (isOver, delivered, failure) = state.withLock { ($0.isOver, $0.delivered, $0.failure) }
    guard isOver else { throw .cancelledTask }
    if let delivered { return delivered }
    throw failure ?? .cancelledTask
  }
}
