package import DataService
import Synchronization

/// Clocks that stand still until a test moves them; timers fire on the thread that calls ``advance(by:)``.
package final class TestTimekeeper: Timekeeper {
  private struct State {
    var wallMilliseconds: Int64
    var bootNanoseconds: Int64
    var timers = TimerHeap()
    var watchers: [(count: Int, continuation: CheckedContinuation<Void, Never>)] = []
  }

  private let state: Mutex<State>
  package let bootID: String

  /// Clocks at 2026-01-01 00:00:00 UTC and 1,000 seconds after boot, unless told otherwise.
  package init(
    wallMilliseconds: Int64 = 1_767_225_600_000, bootNanoseconds: Int64 = 1_000_000_000_000,
    bootID: String = "test-boot"
  ) {
    state = Mutex(State(wallMilliseconds: wallMilliseconds, bootNanoseconds: bootNanoseconds))
    self.bootID = bootID
  }

  package var wallMilliseconds: Int64 { state.withLock(\.wallMilliseconds) }
  package var bootNanoseconds: Int64 { state.withLock(\.bootNanoseconds) }

  package func after(_ delay: Duration, _ action: @escaping @Sendable () -> Void) -> TimerHandle {
    let timer = TimerHandle(action)
    let ready = state.withLock { state in
      let (instant, overflow) = state.bootNanoseconds.addingReportingOverflow(delay.clampedNanoseconds)
      state.timers.insert(timer, at: overflow ? .max : instant)
      return Self.takeReadyWatchers(&state)
    }
    for continuation in ready { continuation.resume() }
    return timer
  }

  /// Moves both clocks on and fires what has come due, in order, each at its own instant.
  package func advance(by delay: Duration) {
    let end = state.withLock { $0.bootNanoseconds + delay.clampedNanoseconds }
    while fireNext(until: end) {}
    state.withLock { state in
      state.wallMilliseconds += (end - state.bootNanoseconds) / 1_000_000
      state.bootNanoseconds = end
    }
  }

  /// Sets the wall clock, as a person or a time server does; timers and the clock since boot do not care.
  package func setWall(milliseconds: Int64) { state.withLock { $0.wallMilliseconds = milliseconds } }

  /// How long from now the timers that are set would fire, in order.
  package var pendingDelays: [Duration] {
    state.withLock { state in
      state.timers.pending.map { .nanoseconds($0.instant - state.bootNanoseconds) }
    }
  }

  /// Returns as soon as at least `count` timers are set: the barrier before ``advance(by:)``.
  package func whenPending(atLeast count: Int = 1) async {
    await withCheckedContinuation { continuation in
      let isReady = state.withLock { state in
        if state.timers.pending.count >= count { return true }
        state.watchers.append((count, continuation))
        return false
      }
      if isReady { continuation.resume() }
    }
  }

  private func fireNext(until end: Int64) -> Bool {
    let timer: TimerHandle? = state.withLock { state in
      guard let next = state.timers.nextInstant, next <= end else { return nil }
      if next > state.bootNanoseconds {
        state.wallMilliseconds += (next - state.bootNanoseconds) / 1_000_000
        state.bootNanoseconds = next
      }
      return state.timers.removeDue(at: next)
    }
    timer?.fire()
    return timer != nil
  }

  private static func takeReadyWatchers(_ state: inout State) -> [CheckedContinuation<Void, Never>] {
    let count = state.timers.pending.count
    let ready = state.watchers.filter { $0.count <= count }.map(\.continuation)
    state.watchers.removeAll { $0.count <= count }
    return ready
  }
}
