internal import CacheStore
internal import Guards
internal import Synchronization

/// The service's source of time: two clocks, and timers. Injected, so that no test waits for real time.
package protocol Timekeeper: Sendable {
  /// Milliseconds since 1970-01-01 UTC, by the wall clock, which can be set.
  var wallMilliseconds: Int64 { get }
  /// Nanoseconds since boot, including suspended time, by a clock that cannot be set.
  var bootNanoseconds: Int64 { get }
  /// Identifies the boot that ``bootNanoseconds`` counts from.
  var bootID: String { get }
  /// Runs `action` once, no earlier than after `delay`. A delay of zero or less runs it as soon as possible, but
  /// never inside this call.
  ///
  /// The action must be short: all timers of a keeper share a thread.
  func after(_ delay: Duration, _ action: @escaping @Sendable () -> Void) -> TimerHandle
  /// Lets the store come to rest before a limit on it is set: a clock that a test moves waits until the store has
  /// answered, or evidently does not. The system's clock does nothing.
  func letStoreRest(until hasAnswered: @Sendable () -> Bool) async
}

extension Timekeeper {
  package func letStoreRest(until hasAnswered: @Sendable () -> Bool) async {}

  /// The mark of an event that happens now.
  var startMark: StartMark { StartMark(boot: bootID, nanoseconds: bootNanoseconds) }

  /// The instant, in nanoseconds since boot, that lies `delay` ahead; `Int64.max` on overflow.
  func instant(after delay: Duration) -> Int64 {
    let (sum, overflow) = bootNanoseconds.addingReportingOverflow(delay.clampedNanoseconds)
    return overflow ? .max : sum
  }

  /// Returns after `delay`, or throws as soon as the task is cancelled.
  package func sleep(for delay: Duration) async throws(CancellationError) {
    if Task.isCancelled { throw CancellationError() }
    let over = FirstValue<Void>()
    let timer = after(delay) { over.set(()) }
    await withTaskCancellationHandler {
      await over.value
    } onCancel: {
      over.set(())
    }
    timer.cancel()
    if Task.isCancelled { throw CancellationError() }
  }
}

extension Duration {
  /// The duration in nanoseconds, clamped to the range of `Int64` (292 years).
  package var clampedNanoseconds: Int64 {
    let (seconds, attoseconds) = components
    let (product, overflow) = seconds.multipliedReportingOverflow(by: 1_000_000_000)
    guard !overflow else { return seconds < 0 ? .min : .max }
    let (sum, sumOverflow) = product.addingReportingOverflow(attoseconds / 1_000_000_000)
    return sumOverflow ? (seconds < 0 ? .min : .max) : sum
  }
}

/// A timer that has been set. Dropping the handle does not cancel it.
package final class TimerHandle: Sendable {
  private let mayRun = Atomic(true)
  // Accessed only by the thread that finds `mayRun` set.
  nonisolated(unsafe) private var action: (@Sendable () -> Void)?

  /// A timer that will run `action`; the keeper that made it calls ``fire()``.
  package init(_ action: @escaping @Sendable () -> Void) { self.action = action }

  /// Prevents the action from starting, and releases its closure. Has no effect once the action has started.
  /// - Returns: Whether it has not.
  @discardableResult package func cancel() -> Bool { take() != nil }

  /// Runs the action, unless it has run or was cancelled.
  package func fire() { take()?() }

  /// Whether the action has neither run nor been cancelled.
  package var isPending: Bool { mayRun.load(ordering: .relaxed) }

  private func take() -> (@Sendable () -> Void)? {
    guard mayRun.exchange(false, ordering: .acquiringAndReleasing) else { return nil }
    defer { action = nil }
    return action
  }
}

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
