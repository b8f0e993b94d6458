extension DataService {
  /// When the origin is asked again while a live sequence is read, besides ``Live/refetch()``.
  public enum Refetch: Sendable, Hashable {
    /// So long after the last load was over and its deliveries were taken; a second at least.
    case every(Duration)
    /// After a failure for want of a network: tried again as with ``Request/onlineWait``, after 0.25 s growing to 5 s, until
    /// there is another answer. The failure is delivered once; a try that fails in that way again is not.
    case onReconnect
  }

  /// The deliveries of loads of one request, and what anybody else stores for it, for as long as it is read. See
  /// ``DataService/live(_:policy:refetch:)``.
  public struct Live<Value: Sendable>: AsyncSequence, Sendable {
    /// One delivery.
    public typealias Element = Delivery<Value>
    /// A failure is a delivery, so that nothing is thrown.
    public typealias Failure = Never

    let source: LiveSource<Value>
    let readers = LiveReaders()

    /// Asks the origin again, for all who read this sequence, and returns at once: for a pull to refresh, or where the program
    /// learns that there is a network again. May be called from any thread.
    ///
    /// The answer is of an exchange that begins after this call. Calls while a load is under way, or while its deliveries were
    /// not taken, come to one load, which follows. Where nobody reads, nothing is asked.
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

/// Ends its feed when nobody reads it any more.
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

/// The iterations of one live sequence, for which somebody may ask the origin again.
final class LiveReaders: Sendable {
  private struct State {
    var last = 0
    var readers: [(number: Int, refetch: @Sendable () -> Void)] = []
  }
  private let state = Guarded(State())

  /// - Returns: The reader's number.
  func add(_ refetch: @escaping @Sendable () -> Void) -> Int {
    state.withLock { state in
      state.last += 1
      state.readers.append((state.last, refetch))
      return state.last
    }
  }

  func remove(_ number: Int) {
    let removed = state.withLock { state in
      state.readers.firstIndex { $0.number == number }.map { state.readers.remove(at: $0) }
    }
    withExtendedLifetime(removed) {}
  }

  func refetch() {
    for reader in state.withLock({ $0.readers }) { reader.refetch() }
  }
}
