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
        await pause { false }
      }
    }
  }

  /// Waits for the first value, unless it `isOver`, which is asked again after ``wake()``. It may be waited for again.
  func value(unless isOver: () -> Bool) async -> Value? {
    while true {
      if let current { return current }
      if isOver() { return nil }
      await pause(unless: isOver)
    }
  }

  /// Lets all who wait look whether it is over.
  func wake() {
    let waiting = state.withLock { state in
      defer { state.waiting = [] }
      return state.waiting
    }
    for continuation in waiting { continuation.resume() }
  }

  private func pause(unless isOver: () -> Bool) async {
    await withUnsafeContinuation { continuation in
      let goesOn = state.withLock { state in
        let goesOn = state.box != nil || isOver()
        if !goesOn { state.waiting.append(continuation) }
        return goesOn
      }
      if goesOn { continuation.resume() }
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
