internal import Guards
public import PlatformFoundation

extension ServiceCore {
  /// Holds a prefetch for `duration`. It replaces the one held for its group, and the oldest if too many are held.
  func hold(_ prefetch: any AnyPrefetch, for duration: Duration) {
    let limit = max(1, configuration.anticipation.count)
    let replaced = state.withLock { $0.prefetches.hold(prefetch, limit: limit) }
    for prefetch in replaced { prefetch.release(.replaced) }
    // The lookup and the decoding must not delay the caller's thread.
    thread.perform { prefetch.begin() }
    _ = timekeeper.after(duration) { [weak prefetch] in prefetch?.release(.timeOver) }
  }

  /// Releases all prefetches, and every later one.
  func releasePrefetches() {
    for prefetch in state.withLock({ $0.prefetches.close() }) { prefetch.release(.cancelled) }
  }
}

extension DataService {
  /// A prefetch, made by ``DataService/anticipate(_:group:holdFor:whenUnused:decode:)``: it holds what it
  /// receives until ``commit(progress:)``.
  ///
  /// All members may be called from any thread and return at once. Dropping it does nothing: it is held for its time.
  public struct Anticipation<Value: Sendable>: Sendable {
    /// `nil` where nothing could be sent.
    let prefetch: Prefetch<Value>?
    /// A normal load, which reads the prefetch where that can be used.
    let normal: @Sendable (_ progress: (@Sendable (TransferProgress) -> Void)?) -> Deliveries<Value>

    /// Asks for the anticipated load: returns the deliveries of a normal load. The first iteration takes what is
    /// ready and joins what is running; if the prefetch is no longer held, the load is a normal one.
    ///
    /// - Parameter progress: Called with the bytes received from then on, at most every 50 ms, on a thread of the
    ///   service.
    public func commit(progress: (@Sendable (TransferProgress) -> Void)? = nil) -> Deliveries<Value> {
      prefetch?.commit(progress: progress)
      return normal(progress)
    }

    /// Whether the prefetch is still held: not committed, released or refused.
    public var isHeld: Bool { prefetch?.isHeld ?? false }

    /// Returns once its load is over, whatever its result.
    package func finished() async { await prefetch?.finished() }

    /// Releases the prefetch: its exchange is stopped, and nothing of it is delivered.
    public func cancel() { prefetch?.release(.cancelled) }
  }
}

extension DeliverySource {
  /// Prefetches a request: at touch-down, on hover, while a list scrolls.
  ///
  /// Returns at once. The conditional exchange has the field `Sec-Purpose: prefetch`. Loads come first: no
  /// prefetch begins while four exchanges of loads are under way, nor for half a minute after the network has
  /// failed. The value is decoded by the time of ``Anticipation/commit()``. Only safe methods are prefetched;
  /// where nothing is, committing makes a normal load.
  ///
  /// - Parameters:
  ///   - request: What will be asked for.
  ///   - group: A new anticipation replaces the one held for the same group, such as a list whose rows are touched.
  ///   - hold: How long it is held.
  ///   - unused: What becomes of it if it is not committed by then.
  ///   - decode: Makes the value, on a thread of the service's; in a normal load also on the thread that asked for the
  ///     delivery.
  public func anticipate<Value: Sendable>(
    _ request: DataService.Request, group: String? = nil, holdFor hold: Duration = .seconds(2),
    whenUnused unused: DataService.UnusedAnticipation = .cancelled,
    decode: @escaping @Sendable (DataService.Response<Data>) throws -> Value
  ) -> DataService.Anticipation<Value> {
    anticipate(request, form: .decoded(decode), group: group, holdFor: hold, whenUnused: unused)
  }

  /// Prefetches a request, with its body decoded from JSON.
  ///
  /// - Parameters:
  ///   - request: What will be asked for.
  ///   - type: What to decode.
  ///   - decoder: The decoder to use, on a thread of the service's; in a normal load also on the thread that asked for
  ///     the delivery.
  ///   - group: A new anticipation replaces the one held for the same group, such as a list whose rows are touched.
  ///   - hold: How long it is held.
  ///   - unused: What becomes of it if it is not committed by then.
  public func anticipate<Value: Decodable & Sendable>(
    _ request: DataService.Request, as type: Value.Type, decoder: JSONDecoder = .init(), group: String? = nil,
    holdFor hold: Duration = .seconds(2), whenUnused unused: DataService.UnusedAnticipation = .cancelled
  ) -> DataService.Anticipation<Value> {
    anticipate(request, form: .json(type, decoder), group: group, holdFor: hold, whenUnused: unused)
  }

  /// Prefetches a request, with its body as `Data`.
  ///
  /// - Parameters:
  ///   - request: What will be asked for.
  ///   - group: A new anticipation replaces the one held for the same group, such as a list whose rows are touched.
  ///   - hold: How long it is held.
  ///   - unused: What becomes of it if it is not committed by then.
  public func anticipate(
    _ request: DataService.Request, group: String? = nil, holdFor hold: Duration = .seconds(2),
    whenUnused unused: DataService.UnusedAnticipation = .cancelled
  ) -> DataService.Anticipation<Data> {
    anticipate(request, form: .data, group: group, holdFor: hold, whenUnused: unused)
  }

  private func anticipate<Value: Sendable>(
    _ request: DataService.Request, form: ValueForm<Value>, group: String?, holdFor hold: Duration,
    whenUnused unused: DataService.UnusedAnticipation
  ) -> DataService.Anticipation<Value> {
    let core = service.core
    let prefetch = requestAsSent(request).map {
      Prefetch(core: core, request: $0, form: form, group: group, unused: unused)
    }
    if let prefetch { core.hold(prefetch, for: hold) }
    return DataService.Anticipation(prefetch: prefetch) { progress in
      sequence(request, policy: .storedThenFresh, form: form, progress: progress, early: prefetch?.read)
    }
  }
}
