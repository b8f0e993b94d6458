/// The iterations of one live sequence, all of which `refetch()` reaches.
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
