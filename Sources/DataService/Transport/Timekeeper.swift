internal import CacheStore
import Synchronization

/// Time as the service sees it: two clocks, and timers. Injected, so that no test waits for real time.
package protocol Timekeeper: Sendable {
  /// Milliseconds since 1970-01-01 UTC, by a clock that people and servers set.
  var wallMilliseconds: Int64 { get }
  /// Nanoseconds since boot, suspended time included, by a clock that nobody sets.
  var bootNanoseconds: Int64 { get }
  /// Which boot ``bootNanoseconds`` counts from.
  var bootID: String { get }
  /// Runs `action` once, not before `delay` has passed; at once (but never inside this call) where it is not positive.
  ///
  /// The action must be short: all timers of a keeper share a thread.
  func after(_ delay: Duration, _ action: @escaping @Sendable () -> Void) -> TimerHandle
}

extension Timekeeper {
  /// The mark of what begins, or is heard, now.
  var startMark: StartMark { StartMark(boot: bootID, nanoseconds: bootNanoseconds) }

  /// The instant, in nanoseconds since boot, at which `delay` will have passed; the last there is where it overflows.
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
  /// The duration in nanoseconds, held to what an `Int64` can count (292 years).
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
  // Touched by the one thread that finds `mayRun` set, and nobody else.
  nonisolated(unsafe) private var action: (@Sendable () -> Void)?

  /// A timer that will run `action`; the keeper that made it calls ``fire()``.
  package init(_ action: @escaping @Sendable () -> Void) { self.action = action }

  /// Prevents the action from starting, and releases what it holds. Has no effect on one that has started.
  package func cancel() { _ = take() }

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
