internal import Synchronization

/// The first of several values that are set, for one task to wait for.
final class FirstValue<Value: Sendable>: Sendable {
  private enum State {
    case empty
    case waiting(UnsafeContinuation<Value, Never>)
    case full(Value)
  }
  private let state = Mutex(State.empty)

  /// Sets the value; all but the first call do nothing.
  func set(_ value: Value) {
    let waiting = state.withLock { state -> UnsafeContinuation<Value, Never>? in
      switch state {
      case .empty:
        state = .full(value)
        return nil
      case .waiting(let continuation):
        state = .full(value)
        return continuation
      case .full:
        return nil
      }
    }
    waiting?.resume(returning: value)
  }

  /// The first value, as soon as there is one; awaited by one task.
  var value: Value {
    get async {
      await withUnsafeContinuation { continuation in
        let value = state.withLock { state -> Value? in
          if case .full(let value) = state { return value }
          state = .waiting(continuation)
          return nil
        }
        if let value { continuation.resume(returning: value) }
      }
    }
  }
}
