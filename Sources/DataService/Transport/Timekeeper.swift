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
    let sleeper = Sleeper()
    await withTaskCancellationHandler {
      await withUnsafeContinuation { continuation in
        guard sleeper.begin(continuation) else { return }
        sleeper.attach(after(delay) { sleeper.finish() })
      }
    } onCancel: {
      sleeper.finish()
    }
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

/// One sleeping task: woken once, by its timer or by cancellation, whichever comes first.
private final class Sleeper: Sendable {
  private enum State {
    case idle
    case waiting(UnsafeContinuation<Void, Never>, TimerHandle?)
    case finished
  }
  private let state = Mutex(State.idle)

  /// Takes the continuation; `false` where the task was cancelled before, and the continuation is resumed already.
  func begin(_ continuation: UnsafeContinuation<Void, Never>) -> Bool {
    let isWaiting = state.withLock { state in
      guard case .idle = state else { return false }
      state = .waiting(continuation, nil)
      return true
    }
    if !isWaiting { continuation.resume() }
    return isWaiting
  }

  func attach(_ timer: TimerHandle) {
    let isWaiting = state.withLock { state in
      guard case .waiting(let continuation, _) = state else { return false }
      state = .waiting(continuation, timer)
      return true
    }
    if !isWaiting { timer.cancel() }
  }

  func finish() {
    let previous = state.withLock { state in
      defer { state = .finished }
      return state
    }
    guard case .waiting(let continuation, let timer) = previous else { return }
    timer?.cancel()
    continuation.resume()
  }
}
