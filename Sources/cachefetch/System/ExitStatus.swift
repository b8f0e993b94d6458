internal import DataService

/// What the command says when it ends. The one place where outcomes become numbers; `StatusText.swift` explains each.
enum ExitStatus: Int32, Sendable, CaseIterable {
  /// The policy was satisfied.
  case success = 0
  /// `diff` found a difference, `doctor` something wrong; `rm` and `sign-out` were told no.
  case different = 1
  /// A fresh answer was wanted and could not be had; the stored one was delivered.
  case storedOnly = 3
  /// Nothing the policy allows could be delivered.
  case nothing = 4
  /// `--fail`, `--fail-with-body` or `-o`, and the last delivered status is 400 or more.
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
}

extension DataService.KeptReason {
  /// Whether the store was the trouble, and not a rule that forbids to keep the response.
  var isOfStore: Bool { [.busy, .full, .readOnly, .corrupt, .unusable].contains(self) }
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
  /// Whether the file of `-o` was left as it is, since the newest response is not one to put there.
  var leavesFile = false

  /// The status of this load alone.
  func exitStatus(failsOnStatus: Bool) -> ExitStatus {
    switch end {
    case .fresh(let status):
      if failsOnStatus, status >= 400 { return .httpFailure }
      guard leavesFile else { return .success }
      return storedStatus.map { $0 < 400 } ?? false ? .storedOnly : .httpFailure
    case .failure(let storeIsUnusable):
      if storedStatus != nil { return .storedOnly }
      return storeIsUnusable ? .inputOutput : .nothing
    case .none:
      guard let storedStatus else { return .nothing }
      return storedStatus >= 400 && (failsOnStatus || leavesFile) ? .httpFailure : .success
    }
  }
}
