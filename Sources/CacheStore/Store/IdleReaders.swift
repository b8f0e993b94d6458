internal import Guards

/// The connections of a ``ReaderPool`` that wait for their next use.
final class IdleReaders: Sendable {
  /// How many are kept; more are opened where more threads read at once.
  private static let limit = 4

  // @unchecked: a connection is either in here, where the lock guards it, or with the one thread that took it out.
  private struct Reader: @unchecked Sendable { let connection: Connection }

  private struct State {
    var readers: [Reader] = []
    var isClosed = false
  }

  private let state = Guarded(State())

  var isEmpty: Bool { state.withLock { $0.readers.isEmpty } }

  /// Takes a connection to the file of that identity out; `nil` where there is none.
  /// - Throws: `closed` after ``close()``.
  func take(_ identity: FileIdentity) throws(CacheStoreError) -> Connection? {
    try state.withLock { (state: inout State) throws(CacheStoreError) -> Reader? in
      guard !state.isClosed else { throw CacheStoreError(.closed, "the store was closed") }
      while let last = state.readers.popLast() {
        // A connection to a file that was quarantined or removed is closed.
        if last.connection.identity == identity { return last }
      }
      return nil
    }?.connection
  }

  /// Keeps a connection for its next use, where there is room for it.
  func add(_ connection: Connection) {
    let reader = Reader(connection: connection)
    state.withLock { state in
      if !state.isClosed, state.readers.count < Self.limit { state.readers.append(reader) }
    }
  }

  /// Closes the idle connections.
  func removeAll() { state.withLock { $0.readers.removeAll() } }

  /// Closes the idle connections, and every connection returned later.
  func close() {
    state.withLock { state in
      state.isClosed = true
      state.readers.removeAll()
    }
  }
}
