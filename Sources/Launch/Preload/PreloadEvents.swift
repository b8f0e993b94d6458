internal import Guards

/// An event of a run. The outcome is the last.
public enum PreloadEvent: Sendable {
  /// The run's progress. A slow reader gets only the newest of several in a row.
  case progress(PreloadProgress)
  /// A step is fresh or has failed, with its result; told again when it is tried again, or its account is signed out.
  case step(PreloadOutcome.Step)
  /// The run waits for an answer.
  case prompt(FailurePrompt)
  /// The run has ended for its caller; loads may continue into the store.
  case outcome(PreloadOutcome)
}

/// The progress of a launch, for a progress bar and the line below it.
public struct PreloadProgress: Sendable, Hashable {
  /// From 0 to 1, never less than before unless a prompt was answered with a retry; `nil` while nothing is
  /// known, for an indeterminate bar.
  public let fraction: Double?
  /// Bytes received so far, decoded.
  public let receivedBytes: Int64
  /// Bytes expected in all, if every step's length is known.
  public let expectedBytes: Int64?
  /// The step that was started last and is still under way.
  public let currentStep: String?
  /// How many steps there are.
  public let stepCount: Int
  /// How many have a stored response and no fresh one yet.
  public let stored: Int
  /// How many have a fresh response, or a stored one no older than the plan's maximum age.
  public let fresh: Int
  /// How many have failed.
  public let failed: Int
}

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
  /// - Returns: The reader that waits for it, whom the caller gives it outside of its own lock.
  func add(_ event: PreloadEvent) -> CheckedContinuation<PreloadEvent?, Never>? {
    state.withLock { state in
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
