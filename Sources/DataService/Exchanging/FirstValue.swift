internal import Synchronization

/// The first of several values that are set, for any number of tasks to wait for.
final class FirstValue<Value: Sendable>: Sendable {
  private enum State {
    case waiting([UnsafeContinuation<Value, Never>])
    case full(Value)
  }
  private let state = Mutex(State.waiting([]))

  /// Sets the value; all but the first call do nothing.
  func set(_ value: Value) {
    let waiting = state.withLock { state -> [UnsafeContinuation<Value, Never>] in
      guard case .waiting(let continuations) = state else { return [] }
      state = .full(value)
      return continuations
    }
    for continuation in waiting { continuation.resume(returning: value) }
  }

  /// The first value, as soon as there is one.
  var value: Value {
    get async {
      await withUnsafeContinuation { continuation in
        let value = state.withLock { state -> Value? in
          switch state {
          case .full(let value): return value
          case .waiting(let others):
            state = .waiting(others + [continuation])
            return nil
          }
        }
        if let value { continuation.resume(returning: value) }
      }
    }
  }
}
