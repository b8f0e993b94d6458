public import PlatformFoundation

extension DataService {
  /// The deliveries of loads of one request, and what other tasks and processes store for it, for as long as the
  /// sequence is read. See ``DataService/live(_:policy:refetch:)``.
  public struct Live<Value: Sendable>: AsyncSequence, Sendable {
    /// One delivery.
    public typealias Element = Delivery<Value>
    /// A failure is a delivery, so that nothing is thrown.
    public typealias Failure = Never

    let source: LiveSource<Value>
    let sequence = LiveSequence()

    /// Asks the origin again, for all readers of this sequence, and returns at once: for a pull to refresh, or when the
    /// program learns that the network is back. May be called from any thread.
    ///
    /// The answer comes from an exchange that begins after this call; under the `http` policy RFC 9111 decides whether
    /// the origin is asked. Calls made while a load runs, or before its deliveries are read, result in one further
    /// load. Without a reader nothing happens.
    public func refetch() { source.core.refetch(sequence) }

    /// Takes the deliveries one after the other.
    public struct AsyncIterator: AsyncIteratorProtocol {
      let iteration: LiveIteration<Value>
      /// The next delivery, or `nil` at the end.
      public mutating func next() async -> Delivery<Value>? { await iteration.next() }
      /// The next delivery, or `nil` at the end.
      public mutating func next(isolation actor: isolated (any Actor)?) async -> Delivery<Value>? {
        await iteration.next()
      }
    }

    /// Prepares an iteration; nothing happens before the first `next()`.
    public func makeAsyncIterator() -> AsyncIterator {
      AsyncIterator(iteration: LiveIteration(LiveFeed(source, sequence)))
    }
  }
}

/// Ends its feed when the reader releases it.
final class LiveIteration<Value: Sendable>: Sendable {
  private let feed: LiveFeed<Value>

  init(_ feed: LiveFeed<Value>) { self.feed = feed }

  deinit { feed.end() }

  @concurrent func next() async -> DataService.Delivery<Value>? {
    guard !Task.isCancelled else {
      feed.end()
      return nil
    }
    feed.beginOnce()
    return await withTaskCancellationHandler {
      await feed.next()
    } onCancel: {
      feed.end()
    }
  }
}

// One sequence for a screen that stays open, built upon `deliveries(for:)` and `changes(to:)`.
extension DeliverySource {
  /// The deliveries of a load and then, for as long as the sequence is read, what any task or process stores for the
  /// request and the deliveries of further loads.
  ///
  /// A response that others store is delivered as `fresh`, with its change since the last delivery and `stored` as its
  /// `source`; one that the program itself stores (``store(_:for:fields:receivedAt:)``) is delivered as `stored`.
  /// Nothing is delivered twice, and nothing older than the last delivery: what a load of this sequence stores is
  /// delivered once, by the load. A response that is removed stays on the screen.
  ///
  /// A failure is a delivery and ends nothing, but for `signedOut`: when anybody signs the account out, in whatever
  /// process, that is the last delivery, and nothing of the account is asked for again. The sequence also ends when the
  /// service is closed, its task is cancelled, or the loop is left: then its load is cancelled. Every iteration is a
  /// sequence of its own. Bodies are held in memory (``Limits/dataBytes``), the last one for comparison.
  ///
  /// Further loads judge an answer as the first one: while something is stored, an error page is a failure. The origin is
  /// also asked again when others invalidate what is stored, unless the policy is `storedOnly`. Each response is decoded
  /// once.
  ///
  /// - Parameters:
  ///   - request: What to ask for.
  ///   - policy: Which answers the first load wants; further ones want the fresh one, or what `http` wants.
  ///   - refetch: When the origin is asked again, besides ``Live/refetch()``.
  public func live(
    _ request: DataService.Request, policy: FetchPolicy = .storedThenFresh,
    refetch: Set<DataService.Refetch> = []
  ) -> DataService.Live<Data> {
    live(request, policy, refetch, LiveSource.form(canRefuse: false) { $0.value })
  }

  /// The same, bodies as what `decode` makes of them; see ``live(_:policy:refetch:)``.
  ///
  /// A fresh answer that `decode` refuses is delivered as `undecodable` and leaves what is stored as it is; a response
  /// that others stored is not delivered if `decode` refuses it.
  ///
  /// - Parameters:
  ///   - request: What to ask for.
  ///   - policy: Which answers the first load wants.
  ///   - refetch: When the origin is asked again, besides ``Live/refetch()``.
  ///   - decode: Makes the value; runs on a thread of the service's, or of Swift's pool.
  public func live<Value: Sendable>(
    _ request: DataService.Request, policy: FetchPolicy = .storedThenFresh,
    refetch: Set<DataService.Refetch> = [],
    decode: @escaping @Sendable (DataService.Response<Data>) throws -> Value
  ) -> DataService.Live<Value> {
    live(request, policy, refetch, LiveSource.form(canRefuse: true, decode))
  }

  /// The same, bodies decoded from JSON; see ``live(_:policy:refetch:decode:)``.
  ///
  /// - Parameters:
  ///   - request: What to ask for.
  ///   - type: What to decode.
  ///   - decoder: The decoder to use.
  ///   - policy: Which answers the first load wants.
  ///   - refetch: When the origin is asked again, besides ``Live/refetch()``.
  public func live<Value: Decodable & Sendable>(
    _ request: DataService.Request, as type: Value.Type, decoder: JSONDecoder = .init(),
    policy: FetchPolicy = .storedThenFresh, refetch: Set<DataService.Refetch> = []
  ) -> DataService.Live<Value> {
    live(
      request, policy, refetch, LiveSource.form(canRefuse: true) { try decoder.decode(type, from: $0.value) })
  }

  private func live<Value: Sendable>(
    _ request: DataService.Request, _ policy: FetchPolicy, _ refetch: Set<DataService.Refetch>,
    _ form: ValueForm<WholeValue<Value>>
  ) -> DataService.Live<Value> {
    DataService.Live(
      source: LiveSource(source: self, request: request, policy: policy, refetch: refetch, form: form))
  }
}
