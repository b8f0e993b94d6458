internal import Dispatch

/// One load's calls on the caller's queue: in the order in which they were added and one at a time, also where the queue is
/// concurrent, which nothing says of a queue.
///
/// Not a serial queue of the load's own: making one costs more than the calls of most loads, and would be for nothing where
/// the caller's is serial.
final class CallbackTurns: Sendable {
  private struct State {
    var waiting: [@Sendable () -> Void] = []
    /// Whether a block that makes the calls is on the queue or under way.
    var isUnderWay = false
  }

  private let queue: DispatchQueue
  private let state = Guarded(State())

  init(_ queue: DispatchQueue) { self.queue = queue }

  /// Has it called after everything that was added before.
  func add(_ call: @escaping @Sendable () -> Void) {
    let isFirst = state.withLock { state in
      state.waiting.append(call)
      defer { state.isUnderWay = true }
      return !state.isUnderWay
    }
    if isFirst { queue.async { self.makeCalls() } }
  }

  private func makeCalls() {
    while let call = state.withLock({ state -> (@Sendable () -> Void)? in
      guard !state.waiting.isEmpty else {
        state.isUnderWay = false
        return nil
      }
      return state.waiting.removeFirst()
    }) {
      call()
    }
  }
}
