/// What a program shows at its root.
public enum LaunchRoot: Sendable, Hashable {
  /// Why a sign-in is needed.
  public enum LoginReason: Sendable, Hashable {
    /// Nobody is signed in.
    case signedOut(SessionPhase.Reason)
    /// The account's session has expired.
    case expired(account: String)
  }

  /// The launch screen with the preload's progress; `nil` before the preload has begun.
  case splash(PreloadProgress?)
  /// The program must not go on, for example because an update is required; the text says why.
  case blocked(String)
  /// A sign-in is needed.
  case login(LoginReason)
  /// The first screen, with everything to build it from.
  case main(LaunchOutcome)
  /// The launch lacks something it needs; answered with ``LaunchFlow/answer(_:)``.
  case failed(FailurePrompt)
}

extension LaunchOutcome: Hashable {
  /// Two outcomes are equal when they come from the same run.
  public static func == (left: LaunchOutcome, right: LaunchOutcome) -> Bool { left.run == right.run }
  /// Tells one run's outcome from another's.
  public func hash(into hasher: inout Hasher) { hasher.combine(run) }
}
