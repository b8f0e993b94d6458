internal import Guards

/// Lets one task wait for a signal; a signal before the wait counts.
final class Wakeup: Sendable {
  private struct State {
    var isTold = false
    var waiter: FirstValue<Bool>?
  }
  private let state = Guarded(State())

  /// Signals the waiting task, or else the next one to wait.
  func tell() {
    let waiter = state.withLock { state -> FirstValue<Bool>? in
      defer { state.waiter = nil }
      if state.waiter == nil { state.isTold = true }
      return state.waiter
    }
    // The waiter timed out at the same moment, so the signal counts for the next wait, which may have begun already.
    if waiter?.set(true) == false { tell() }
  }

  /// Returns on a signal, or when the time limit is over; `nil` waits forever.
  /// - Returns: Whether there was a signal.
  func wait(atMost timeLimit: Duration?, _ clock: any Timekeeper) async -> Bool {
    let waiter = FirstValue<Bool>()
    let isTold = state.withLock { state in
      defer { state.isTold = false }
      if !state.isTold { state.waiter = waiter }
      return state.isTold
    }
    if isTold { return true }
    let timer = timeLimit.map { clock.after($0) { waiter.set(false) } }
    let wasTold = await waiter.value
    timer?.cancel()
    if !wasTold { state.withLock { $0.waiter = nil } }
    return wasTold
  }
}
