internal import Synchronization

/// The first of several values that are set, for any number of tasks to wait for.
final class FirstValue<Value: Sendable>: Sendable {
  private enum State {
    /// Mostly one task waits, which needs no array.
    case waiting(UnsafeContinuation<Value, Never>?, others: [UnsafeContinuation<Value, Never>])
    case full(Value)
  }
  private let state = Mutex(State.waiting(nil, others: []))

  /// Sets the value; all but the first call do nothing.
  func set(_ value: Value) {
    let (first, others) = state.withLock {
      state -> (UnsafeContinuation<Value, Never>?, [UnsafeContinuation<Value, Never>]) in
      guard case .waiting(let first, let others) = state else { return (nil, []) }
      state = .full(value)
      return (first, others)
    }
    first?.resume(returning: value)
    for continuation in others { continuation.resume(returning: value) }
  }

  /// The first value, as soon as there is one.
  var value: Value {
    get async {
      await withUnsafeContinuation { continuation in
        let value = state.withLock { state -> Value? in
          switch state {
          case .full(let value): return value
          case .waiting(nil, let others): state = .waiting(continuation, others: others)
          case .waiting(let first, let others): state = .waiting(first, others: others + [continuation])
          }
          return nil
        }
        if let value { continuation.resume(returning: value) }
      }
    }
  }
}
