/// Keeps the first value that is set; any number of tasks may wait for it.
final class FirstValue<Value: Sendable>: Sendable {
  private enum State {
    case waiting([UnsafeContinuation<Value, Never>])
    case full(Value)
  }
  private let state = Guarded(State.waiting([]))

  /// Sets the value; all but the first call do nothing.
  /// - Returns: Whether this was the first call.
  @discardableResult func set(_ value: Value) -> Bool {
    let waiting = state.withLock { state -> [UnsafeContinuation<Value, Never>]? in
      guard case .waiting(let waiting) = state else { return nil }
      state = .full(value)
      return waiting
    }
    guard let waiting else { return false }
    for continuation in waiting { continuation.resume(returning: value) }
    return true
  }

  /// The value, or `nil` if none has been set.
  var current: Value? {
    state.withLock { state in
      if case .full(let value) = state { return value }
      return nil
    }
  }

  /// Waits for the first value.
  var value: Value {
    get async {
      await withUnsafeContinuation { continuation in
        let value = state.withLock { state -> Value? in
          switch state {
          case .full(let value): return value
          case .waiting(let waiting): state = .waiting(waiting + [continuation])
          }
          return nil
        }
        if let value { continuation.resume(returning: value) }
      }
    }
  }
}
