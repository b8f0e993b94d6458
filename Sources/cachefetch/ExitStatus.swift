/// What the command says when it ends. The one place where outcomes become numbers; `docs/command.md` explains each.
enum ExitStatus: Int32, Sendable, CaseIterable {
  /// The policy was satisfied.
  case success = 0
  /// `diff` found a difference, `doctor` something wrong.
  case different = 1
  /// A fresh answer was wanted and could not be had; the stored one was delivered.
  case storedOnly = 3
  /// Nothing the policy allows could be delivered.
  case nothing = 4
  /// `--fail`, and the last delivered status is 400 or more.
  case httpFailure = 22
  /// Bad usage.
  case usage = 64
  /// Bad input data.
  case badData = 65
  /// The store could not be used by a verb that needs it, or an output could not be written.
  case inputOutput = 74
  /// Ended by SIGINT.
  case interrupted = 130
  /// Ended by SIGTERM.
  case terminated = 143

  /// What several loads come to: the first that applies of 74, 4, 22, 3, 0.
  static func combined(_ all: [ExitStatus]) -> ExitStatus {
    [.inputOutput, .nothing, .httpFailure, .storedOnly].first(where: all.contains) ?? .success
  }

  /// One line on the meaning, for help and the manual.
  var meaning: String {
    switch self {
    case .success:
      "the policy was satisfied: a fresh answer of any status, or a stored one where no more was wanted"
    case .different: "diff: they differ; doctor: something is wrong"
    case .storedOnly: "a fresh answer was wanted and could not be had; the stored one was delivered"
    case .nothing: "nothing the policy allows could be delivered"
    case .httpFailure: "--fail, and the last delivered status is 400 or more"
    case .usage: "bad usage"
    case .badData: "bad input data: a malformed list, an import file"
    case .inputOutput:
      "the store could not be used by a verb that needs it, or an output could not be written"
    case .interrupted: "interrupted, after cleaning up"
    case .terminated: "terminated, after cleaning up"
    }
  }
}

/// What one load has delivered so far, as far as the exit status depends on it.
struct LoadOutcome: Sendable, Hashable {
  /// How a load ended.
  enum End: Sendable, Hashable {
    /// With the stored delivery, or not yet.
    case none
    case fresh(status: Int)
    /// With a failure; `storeIsUnusable` where the store, not the network, was the trouble.
    case failure(storeIsUnusable: Bool)
  }

  /// The status of the stored delivery, where there was one.
  var storedStatus: Int?
  var end = End.none

  /// The status of this load alone.
  func exitStatus(failsOnStatus: Bool) -> ExitStatus {
    switch end {
    case .fresh(let status): failsOnStatus && status >= 400 ? .httpFailure : .success
    case .failure(let storeIsUnusable):
      if storedStatus != nil { .storedOnly } else { storeIsUnusable ? .inputOutput : .nothing }
    case .none:
      if let storedStatus { failsOnStatus && storedStatus >= 400 ? .httpFailure : .success } else { .nothing }
    }
  }
}
