/// What a run says while it goes on. The outcome is the last, and nothing follows it.
public enum PreloadEvent: Sendable {
  /// How far it has come. Where they are taken slowly, only the newest of several in a row is kept.
  case progress(PreloadProgress)
  /// A step is over, with what became of it.
  case step(LaunchOutcome.Step)
  /// The run waits for an answer.
  case prompt(FailurePrompt)
  /// The run is over for its caller.
  case outcome(LaunchOutcome)
}

/// How far a launch has come: for a progress bar, and the line below it.
public struct PreloadProgress: Sendable, Hashable {
  /// From 0 to 1, never less than before; `nil` while nothing is known, for an indeterminate bar.
  public let fraction: Double?
  /// Bytes received so far, decoded.
  public let receivedBytes: Int64
  /// Bytes expected in all, where every step's length is known.
  public let expectedBytes: Int64?
  /// The step that was started last and is still under way.
  public let currentStep: String?
  /// How many steps there are.
  public let stepCount: Int
  /// How many have a stored response and no fresh one yet.
  public let stored: Int
  /// How many have a fresh response, or a stored one young enough.
  public let fresh: Int
  /// How many have failed.
  public let failed: Int
}
