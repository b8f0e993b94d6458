/// Lets one task wait until it is told to go on; being told before it waits counts.
final class Wakeup: Sendable {
  private struct State {
    var isTold = false
    var waiter: FirstValue<Bool>?
  }
  private let state = Guarded(State())

  /// Tells whoever waits, or else who waits next.
  func tell() {
    let waiter = state.withLock { state -> FirstValue<Bool>? in
      defer { state.waiter = nil }
      if state.waiter == nil { state.isTold = true }
      return state.waiter
    }
    // Its time was over at the same moment: the next time counts.
    if waiter?.set(true) == false { state.withLock { $0.isTold = true } }
  }

  /// Returns once it is told, or the time is over; `nil` waits for ever.
  /// - Returns: Whether it was told.
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
