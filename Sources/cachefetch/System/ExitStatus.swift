internal import DataService
internal import PlatformC

/// The command's exit status. The only place where outcomes become numbers; `StatusText.swift` explains each.
enum ExitStatus: Int32, Sendable, CaseIterable {
  /// The policy was satisfied.
  case success = 0
  /// `diff` found a difference, `doctor` something wrong; the user refused `rm` or `sign-out`.
  case different = 1
  /// No fresh response could be had; the stored one was delivered.
  case storedOnly = 3
  /// Nothing the policy allows could be delivered.
  case nothing = 4
  /// `--one`, `--fail`, `--fail-with-body` or `-o`, and a status of 400 or more is all there was.
  case httpFailure = 22
  /// Bad usage.
  case usage = 64
  /// Bad input data.
  case badData = 65
  /// The store could not be used by a verb that needs it, or an output could not be written.
  case inputOutput = 74
  /// Ended by SIGINT.
  case interrupted = 130
  /// A reader closed the pipe. ``endProcess()`` ends the process by SIGPIPE itself, which a shell shows as this number.
  case brokenPipe = 141
  /// Ended by SIGTERM.
  case terminated = 143

  /// The status of several loads: the first of 74, 4, 22, 3, 0 that applies.
  static func combined(_ all: [ExitStatus]) -> ExitStatus {
    [.inputOutput, .nothing, .httpFailure, .storedOnly].first(where: all.contains) ?? .success
  }

  /// Ends the process, once everything is cleaned up.
  func endProcess() -> Never {
    if self == .brokenPipe { Signals.endProcess(by: Signals.brokenPipe) }
    // This process buffers no output, so the exit handlers of libraries would only take time.
    _exit(rawValue)
  }
}

/// The part of a load's outcome that decides the exit status.
struct LoadOutcome: Sendable, Hashable {
  /// How a load ended.
  enum End: Sendable, Hashable {
    /// With the stored delivery, or not yet.
    case none
    case fresh(status: Int)
    /// With a failure; `storeIsUnusable` if the store failed, not the network; with the status that it was, if any.
    case failure(storeIsUnusable: Bool, status: Int?)
  }

  /// The HTTP status of the stored delivery, if there was one.
  var storedStatus: Int?
  var end = End.none
  /// Whether the newest response was kept out of the file of `-o`, or not printed, since it is no answer.
  var leavesFile = false

  /// The status of this load alone.
  ///
  /// - Parameter isStaleFine: Whether a stored response in place of a fresh one is a success in an outage.
  func exitStatus(failsOnStatus: Bool, isStaleFine: Bool = false) -> ExitStatus {
    let hasStored = storedStatus.map { $0 < 400 } ?? false
    switch end {
    case .fresh(let status):
      guard leavesFile || failsOnStatus && status >= 400 else { return .success }
      return hasStored ? standIn(isStaleFine, for: status) : .httpFailure
    case .failure(let storeIsUnusable, let status):
      if storedStatus != nil { return standIn(isStaleFine, for: status) }
      if failsOnStatus, let status, status >= 400 { return .httpFailure }
      return storeIsUnusable ? .inputOutput : .nothing
    case .none:
      guard let storedStatus else { return .nothing }
      return storedStatus >= 400 && (failsOnStatus || leavesFile) ? .httpFailure : .success
    }
  }

  /// The status where the stored response was delivered in place of a fresh one of that status, or of none.
  private func standIn(_ isStaleFine: Bool, for status: Int?) -> ExitStatus {
    // A revoked token or a removed page is no outage.
    let isRefusal = status.map { (400..<500).contains($0) && ![408, 429].contains($0) } ?? false
    return isStaleFine && !isRefusal ? .success : .storedOnly
  }
}

extension Signals {
  /// The exit status for the signal received.
  static var exitStatus: ExitStatus { pending == SIGTERM ? .terminated : .interrupted }
}

/// Bad usage, or bad input data: one line that names the problem and the remedy.
struct UsageError: Error, Equatable {
  /// What is wrong.
  let message: String
  /// What to do about it.
  let remedy: String
  /// The command's exit status.
  let status: ExitStatus

  init(_ message: String, _ remedy: String, status: ExitStatus = .usage) {
    self.message = message
    self.remedy = remedy
    self.status = status
  }

  /// The line, without the program's name.
  var line: String { "\(message); \(remedy)" }
}
