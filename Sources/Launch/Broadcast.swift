internal import Synchronization

/// A value that can be read at any time, and any number of sequences that yield its changes.
final class Broadcast<Value: Sendable>: Sendable {
  private struct State {
    var value: Value
    var readers: [Int: AsyncStream<Value>.Continuation] = [:]
    var next = 0
    var isOver = false
  }

  private let state: Mutex<State>
  private let buffer: AsyncStream<Value>.Continuation.BufferingPolicy

  /// - Parameter buffer: Which values are buffered for a slow reader.
  init(_ value: Value, buffer: AsyncStream<Value>.Continuation.BufferingPolicy) {
    state = Mutex(State(value: value))
    self.buffer = buffer
  }

  /// The value now.
  var current: Value { state.withLock { $0.value } }

  /// The value now, and every later one.
  var values: AsyncStream<Value> {
    AsyncStream(bufferingPolicy: buffer) { continuation in
      let number = state.withLock { state -> Int? in
        continuation.yield(state.value)
        guard !state.isOver else { return nil }
        state.next += 1
        state.readers[state.next] = continuation
        return state.next
      }
      guard let number else { return continuation.finish() }
      continuation.onTermination = { [weak self] _ in
        self?.state.withLock { state in state.readers[number] = nil }
      }
    }
  }

  /// Changes the value. Callers serialise their calls. Readers are notified under the lock, so that all see the same
  /// order.
  func send(_ value: Value) {
    state.withLock { state in
      state.value = value
      for reader in state.readers.values { reader.yield(value) }
    }
  }

  /// Ends the sequences.
  func finish() {
    let readers = state.withLock { state in
      state.isOver = true
      defer { state.readers = [:] }
      return Array(state.readers.values)
    }
    for reader in readers { reader.finish() }
  }
}
