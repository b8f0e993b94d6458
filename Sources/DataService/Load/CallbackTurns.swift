internal import Dispatch
internal import Synchronization

/// Runs one load's callbacks on the caller's queue, one at a time and in order. The queue may be concurrent, and a
/// `DispatchQueue` does not reveal whether it is.
///
/// A serial queue per load would cost more than the callbacks of most loads, and would be useless if the caller's
/// queue is serial.
final class CallbackTurns: Sendable {
  private struct State {
    var waiting: [@Sendable () -> Void] = []
    /// Whether a block that runs the callbacks is queued or running.
    var isUnderWay = false
  }

  private let queue: DispatchQueue
  private let state = Guarded(State())

  init(_ queue: DispatchQueue) { self.queue = queue }

  /// Runs `call` after all calls added before it.
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

/// Keeps a callback from starting after `cancel` has returned (law 11).
final class CallbackGate: Sendable {
  private let isClosed = Atomic(false)

  func mayCall() -> Bool { !isClosed.load(ordering: .acquiring) }

  func close() { isClosed.store(true, ordering: .releasing) }
}
