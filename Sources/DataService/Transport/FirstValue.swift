/// The first of several values that are set, for any number of tasks to wait for.
final class FirstValue<Value: Sendable>: Sendable {
  private enum State {
    /// Mostly one task waits, which needs no array.
    case waiting(UnsafeContinuation<Value, Never>?, others: [UnsafeContinuation<Value, Never>])
    case full(Value)
  }
  private let state = Guarded(State.waiting(nil, others: []))

  /// Sets the value; all but the first call do nothing.
  /// - Returns: Whether this was the first call.
  @discardableResult func set(_ value: Value) -> Bool {
    let (first, others, isFirst) = state.withLock {
      state -> (UnsafeContinuation<Value, Never>?, [UnsafeContinuation<Value, Never>], Bool) in
      guard case .waiting(let first, let others) = state else { return (nil, [], false) }
      state = .full(value)
      return (first, others, true)
    }
    first?.resume(returning: value)
    for continuation in others { continuation.resume(returning: value) }
    return isFirst
  }

  /// The value, where there is one already.
  var current: Value? {
    state.withLock { state in
      if case .full(let value) = state { return value }
      return nil
    }
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
