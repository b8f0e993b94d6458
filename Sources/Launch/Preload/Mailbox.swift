internal import Synchronization

/// Events on their way to one reader. A progress that was not yet taken gives way to the next, so that however slowly
/// the events are taken, no more wait than there are steps, twice.
final class Mailbox: Sendable {
  private struct State {
    var events: [PreloadEvent] = []
    var isOver = false
    var waiting: CheckedContinuation<PreloadEvent?, Never>?
  }
  private let state = Mutex(State())

  /// Adds an event; nothing is taken in after the outcome.
  func send(_ event: PreloadEvent) {
    let reader = state.withLock { state -> CheckedContinuation<PreloadEvent?, Never>? in
      guard !state.isOver else { return nil }
      if case .outcome = event { state.isOver = true }
      if let reader = state.waiting {
        state.waiting = nil
        return reader
      }
      if case .progress = event, case .progress = state.events.last { state.events.removeLast() }
      state.events.append(event)
      return nil
    }
    reader?.resume(returning: event)
  }

  /// The next event; `nil` after the outcome, or once the task is cancelled.
  func next() async -> PreloadEvent? {
    await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        let (event, isReady) = state.withLock { state -> (PreloadEvent?, Bool) in
          if !state.events.isEmpty { return (state.events.removeFirst(), true) }
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
