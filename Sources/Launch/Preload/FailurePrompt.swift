internal import DataService

/// The question to the user when the launch lacks something it needs; answered with ``PreloadRun/answer(_:)``.
public struct FailurePrompt: Sendable, Hashable {
  /// What the user can choose.
  public enum Choice: String, Sendable, Hashable, CaseIterable {
    /// Retry the failed steps, with the full deadline.
    case retry
    /// Go on with what is stored.
    case continueWithStored
    /// Give up.
    case quit
  }

  /// A step that the launch still waits for.
  public struct Missing: Sendable, Hashable {
    /// The step's name; a URL where it was given none.
    public let name: String
    /// Why, in one line (``DataServiceError/message``), where a failure is known.
    public let reason: String?
  }

  /// The steps that the launch waits for and that have not succeeded; with ``isLate`` for a prompt in an application's
  /// own words.
  public let missing: [Missing]
  /// Whether the deadline has passed while steps were under way.
  public let isLate: Bool
  /// The title, a few words.
  public let title: String
  /// One or two sentences: what is missing, and why.
  public let message: String
  /// The choices offered; `continueWithStored` only if every critical step is stored.
  public let choices: [Choice]

  /// - Parameter withNothing: Those of the missing steps for which nothing is stored either; by default all.
  init(
    missing: [(name: String, reason: String?)], withNothing: [(name: String, reason: String?)] = [],
    isLate: Bool, canContinue: Bool
  ) {
    self.missing = missing.map { Missing(name: $0.name, reason: $0.reason) }
    self.isLate = isLate
    title = isLate ? "This takes longer than usual" : "Not everything could be loaded"
    // A step without a name is named by its URL, which may contain a secret.
    let shownSteps = canContinue || withNothing.isEmpty ? missing : withNothing
    let names = shownSteps.map { "“\($0.name.contains("://") ? ShownURL.text($0.name) : $0.name)”" }
    let shown = names.prefix(3).joined(separator: ", ")
    let rest = names.count > 3 ? " and \(names.count - 3) more" : ""
    let reason = shownSteps.lazy.compactMap(\.reason).first.map { ": \($0)" } ?? ""
    let what = canContinue ? "There is no fresh response for" : "There is nothing for"
    message = "\(what) \(shown)\(rest)\(reason)."
    choices = canContinue ? [.retry, .continueWithStored, .quit] : [.retry, .quit]
  }
}
