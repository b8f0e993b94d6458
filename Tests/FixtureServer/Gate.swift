import Dispatch
import Synchronization

/// A barrier for tests: closed until opened, then open forever. It replaces a guessed delay.
public final class Gate: Sendable {
  private struct State {
    var isOpen = false
    var blocked: [DispatchSemaphore] = []
    var suspended: [Int: CheckedContinuation<Void, Never>] = [:]
    var next = 0
  }

  private let state = Mutex(State())

  /// A closed gate.
  public init() {}

  /// Whether `open` has been called.
  public var isOpen: Bool { state.withLock { $0.isOpen } }

  /// Releases all waiters, present and future. Opening twice is harmless.
  public func open() {
    let (blocked, suspended) = state.withLock { state in
      state.isOpen = true
      defer {
        state.blocked = []
        state.suspended = [:]
      }
      return (state.blocked, Array(state.suspended.values))
    }
    for semaphore in blocked { semaphore.signal() }
    for continuation in suspended { continuation.resume() }
  }

  /// Blocks the thread until the gate opens: for handlers, which have their own thread.
  @available(*, noasync)
  public func wait() {
    let semaphore = state.withLock { state -> DispatchSemaphore? in
      guard !state.isOpen else { return nil }
      let semaphore = DispatchSemaphore(value: 0)
      state.blocked.append(semaphore)
      return semaphore
    }
    semaphore?.wait()
  }

  /// Suspends until the gate opens or the task is cancelled.
  public func wait() async {
    let number = state.withLock { state in
      state.next += 1
      return state.next
    }
    await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        let passes = state.withLock { state in
          if state.isOpen || Task.isCancelled { return true }
          state.suspended[number] = continuation
          return false
        }
        if passes { continuation.resume() }
      }
    } onCancel: {
      state.withLock { $0.suspended.removeValue(forKey: number) }?.resume()
    }
  }
}
