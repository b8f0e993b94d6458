internal import DataService

/// Decides which root to show, from the events of the session and of the preload. Pure.
///
/// Preloads are numbered, so that late events of a replaced preload are ignored.
struct FlowMachine: Sendable {
  /// What has happened.
  enum Event: Sendable {
    case session(SessionPhase)
    /// The program has no accounts.
    case anonymous
    case progress(run: Int, PreloadProgress)
    case prompt(run: Int, FailurePrompt)
    /// A preload has ended; `blocked` is the reason to block the program, if its data gives one.
    case outcome(run: Int, PreloadOutcome, blocked: String?)
    case answered(FailurePrompt.Choice)
    case blocked(String)
    case unblocked
    /// The splash has faded out over the main root.
    case splashFaded
  }

  /// What to do.
  enum Effect: Sendable, Hashable {
    case startPreload(run: Int, account: String?)
    case cancelPreload
    case answerPreload(FailurePrompt.Choice)
  }

  /// Whose data the root shows.
  private enum Subject: Equatable {
    case unknown
    case anonymous
    case account(String)
    case nobody(LaunchRoot.LoginReason)
  }

  private(set) var root = LaunchRoot.splash(nil)
  /// Whether the splash is still visible: alone, or over the main root.
  private(set) var isSplashShowing = true
  private var subject = Subject.unknown
  private var run = 0
  private var isRunning = false
  /// Whether a preload of the subject has begun, so that there may be something to cancel: after its outcome
  /// it continues into the store. It does not report its end there; cancelling it then does nothing.
  private var isCancellable = false
  private var blockedBecause: String?

  /// Whether `number` is the current preload, still running.
  func expects(_ number: Int) -> Bool { isRunning && run == number }

  mutating func handle(_ event: Event) -> [Effect] {
    switch event {
    case .session(.launching), .session(.signingOut): return turn(to: .unknown)
    case .session(.signedIn(let account)): return turn(to: .account(account))
    case .session(.signedOut(let reason)): return turn(to: .nobody(.signedOut(reason)))
    case .session(.expired(let account)): return turn(to: .nobody(.expired(account: account)))
    case .anonymous: return turn(to: .anonymous)
    case .progress(run, let progress):
      if isRunning { show(.splash(progress)) }
    case .prompt(run, let prompt):
      if isRunning { show(.failed(prompt)) }
    case .outcome(run, let outcome, let blocked):
      guard isRunning else { return [] }
      isRunning = false
      return arrive(outcome, blocked: blocked)
    case .progress, .prompt, .outcome: break
    case .answered(let choice):
      guard case .failed(let prompt) = root, prompt.choices.contains(choice) else { return [] }
      if choice != .quit { show(.splash(nil)) }
      if isRunning { return [.answerPreload(choice)] }
      // No run waits for the answer: it ended with the failure that is shown, or by an earlier answer.
      return choice == .quit ? [] : startPreload()
    case .blocked(let reason):
      blockedBecause = reason
      show(.blocked(reason))
      return cancelPreload()
    case .unblocked:
      guard blockedBecause != nil else { return [] }
      blockedBecause = nil
      return present()
    case .splashFaded:
      if case .main = root { isSplashShowing = false }
    }
    return []
  }

  private mutating func turn(to next: Subject) -> [Effect] {
    guard next != subject else { return [] }
    subject = next
    let cancelled = cancelPreload()
    return blockedBecause == nil ? cancelled + present() : cancelled
  }

  /// Shows the first root of the current subject and starts its preload, if it has one.
  private mutating func present() -> [Effect] {
    switch subject {
    case .nobody(let reason):
      show(.login(reason))
      return []
    case .unknown:
      show(.splash(nil))
      return []
    case .anonymous, .account:
      show(.splash(nil))
      return startPreload()
    }
  }

  private mutating func startPreload() -> [Effect] {
    run += 1
    isRunning = true
    isCancellable = true
    var account: String?
    if case .account(let name) = subject { account = name }
    return [.startPreload(run: run, account: account)]
  }

  private mutating func cancelPreload() -> [Effect] {
    defer {
      isRunning = false
      isCancellable = false
    }
    return isCancellable ? [.cancelPreload] : []
  }

  private mutating func arrive(_ outcome: PreloadOutcome, blocked: String?) -> [Effect] {
    if let blocked {
      blockedBecause = blocked
      show(.blocked(blocked))
      return []
    }
    switch outcome.verdict {
    case .ready, .stored:
      show(.main(outcome))
    case .incomplete:
      let missing = outcome.steps.filter { $0.isCritical && $0.state == .missing }
      show(
        .failed(
          FailurePrompt(
            missing: missing.map { ($0.name, $0.error?.message) }, isLate: false, canContinue: false)))
    case .quit:
      // A choice that came after the one that ended this run has shown the splash, so a new preload begins.
      if case .splash = root { return startPreload() }
    }
    return []
  }

  /// The main root appears below the splash, which then fades. Every other root replaces the splash at once.
  private mutating func show(_ next: LaunchRoot) {
    switch (root, next) {
    case (.splash, .main): isSplashShowing = true
    case (_, .splash): isSplashShowing = true
    default: isSplashShowing = false
    }
    root = next
  }
}

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
  case main(PreloadOutcome)
  /// The launch lacks something it needs; answered with ``LaunchFlow/answer(_:)``.
  case failed(FailurePrompt)
}

extension PreloadOutcome: Hashable {
  /// Two outcomes are equal when they come from the same run.
  public static func == (left: PreloadOutcome, right: PreloadOutcome) -> Bool { left.run == right.run }
  /// Tells one run's outcome from another's.
  public func hash(into hasher: inout Hasher) { hasher.combine(run) }
}
