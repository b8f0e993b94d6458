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
