internal import Guards

/// Keeps the first value that is set; any number of tasks may wait for it.
package final class FirstValue<Value: Sendable>: Sendable {
  private let state = Guarded(FirstValueState())

  /// Without a value.
  package init() {}

  /// Sets the value; all but the first call do nothing.
  /// - Returns: Whether this was the first call.
  @discardableResult package func set(_ value: Value) -> Bool {
    let box = Box(value)
    let waiting = state.withLock { state -> [UnsafeContinuation<Void, Never>]? in
      guard state.box == nil else { return nil }
      state.box = box
      defer { state.waiting = [] }
      return state.waiting
    }
    guard let waiting else { return false }
    for continuation in waiting { continuation.resume() }
    return true
  }

  /// The value, or `nil` if none has been set.
  package var current: Value? { state.withLock { $0.box }.map(opened) }

  /// Waits for the first value.
  package var value: Value {
    get async {
      while true {
        if let current { return current }
        await withUnsafeContinuation { continuation in
          let isSet = state.withLock { state in
            if state.box == nil { state.waiting.append(continuation) }
            return state.box != nil
          }
          if isSet { continuation.resume() }
        }
      }
    }
  }

  /// `set` alone stores a box, and stores one of a `Value`.
  private func opened(_ box: any AnyObject & Sendable) -> Value {
    unsafeDowncast(box, to: Box<Value>.self).value
  }
}

/// The state of a ``FirstValue``. It does not depend on the type of the value: to free one that does, the runtime
/// looks that type up several times.
private struct FirstValueState {
  /// A `Box` of the value.
  var box: (any AnyObject & Sendable)?
  var waiting: [UnsafeContinuation<Void, Never>] = []
}
