internal import Guards

/// A queue of events for one reader. A newer progress replaces one that was not read yet, so that at most two events
/// per step wait, however slow the reader.
final class EventQueue: Sendable {
  private struct State {
    /// The newest last.
    var coming: [PreloadEvent] = []
    /// The oldest last, so that removing one moves no others.
    var going: [PreloadEvent] = []
    var isOver = false
    var waiting: CheckedContinuation<PreloadEvent?, Never>?
  }
  private let state = Guarded(State())

  /// Adds an event; events after the outcome are dropped.
  func send(_ event: PreloadEvent) {
    let reader = state.withLock { state -> CheckedContinuation<PreloadEvent?, Never>? in
      guard !state.isOver else { return nil }
      if case .outcome = event { state.isOver = true }
      if let reader = state.waiting {
        state.waiting = nil
        return reader
      }
      if case .progress = event, let last = state.coming.indices.last, case .progress = state.coming[last] {
        state.coming[last] = event
      } else if case .progress = event, state.coming.isEmpty, case .progress = state.going.first {
        state.going[0] = event
      } else {
        state.coming.append(event)
      }
      return nil
    }
    reader?.resume(returning: event)
  }

  /// The next event; `nil` after the outcome, or once the task is cancelled.
  func next() async -> PreloadEvent? {
    await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        let (event, isReady) = state.withLock { state -> (PreloadEvent?, Bool) in
          if state.going.isEmpty {
            state.going = state.coming.reversed()
            state.coming.removeAll()
          }
          if let event = state.going.popLast() { return (event, true) }
          if state.isOver || Task.isCancelled || state.waiting != nil { return (nil, true) }
          state.waiting = continuation
          return (nil, false)
        }
        if isReady { continuation.resume(returning: event) }
      }
    } onCancel: {
      let reader = state.withLock { state in
        defer { state.waiting = nil }
        return state.waiting
      }
      reader?.resume(returning: nil)
    }
  }
}
