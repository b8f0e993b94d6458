extension DataService {
  /// The deliveries of loads of one request, and what other tasks and processes store for it, for as long as the
  /// sequence is read. See ``DataService/live(_:policy:refetch:)``.
  public struct Live<Value: Sendable>: AsyncSequence, Sendable {
    /// One delivery.
    public typealias Element = Delivery<Value>
    /// A failure is a delivery, so that nothing is thrown.
    public typealias Failure = Never

    let source: LiveSource<Value>
    let readers = LiveReaders()

    /// Asks the origin again, for all readers of this sequence, and returns at once: for a pull to refresh, or when the
    /// program learns that the network is back. May be called from any thread.
    ///
    /// The answer comes from an exchange that begins after this call; under the `http` policy RFC 9111 decides whether
    /// the origin is asked. Calls made while a load runs, or before its deliveries are read, result in one further
    /// load. Without a reader nothing happens.
    public func refetch() { readers.refetch() }

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
      AsyncIterator(iteration: LiveIteration(LiveFeed(source, readers)))
    }
  }
}

/// Ends its feed when the reader releases it.
final class LiveIteration<Value: Sendable>: Sendable {
  private let feed: LiveFeed<Value>

  init(_ feed: LiveFeed<Value>) { self.feed = feed }

  deinit { feed.end() }

  func next() async -> DataService.Delivery<Value>? {
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
