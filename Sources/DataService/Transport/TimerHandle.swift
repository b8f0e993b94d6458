import Synchronization

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
