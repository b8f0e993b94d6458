/// An event of a run. The outcome is the last.
public enum PreloadEvent: Sendable {
  /// The run's progress. A slow reader gets only the newest of several in a row.
  case progress(PreloadProgress)
  /// A step is fresh or has failed, with its result; told again when it is tried again, or its account is signed out.
  case step(LaunchOutcome.Step)
  /// The run waits for an answer.
  case prompt(FailurePrompt)
  /// The run has ended for its caller; loads may continue into the store.
  case outcome(LaunchOutcome)
}

/// The progress of a launch, for a progress bar and the line below it.
public struct PreloadProgress: Sendable, Hashable {
  /// From 0 to 1, never less than before; `nil` while nothing is known, for an indeterminate bar.
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
