internal import DataService

/// What to have before the first screen, how long that may take, and when it is enough.
///
/// ```swift
/// var plan = PreloadPlan([
///   PreloadStep("feed", DataService.Request(feedURL), as: Feed.self),
///   PreloadStep("advert", DataService.Request(advertURL), isCritical: false),
/// ])
/// plan.deadline = .seconds(3)
/// plan.readiness = .storedIsEnough
/// ```
public struct PreloadPlan: Sendable {
  /// When a launch has what it needs.
  public enum Readiness: String, Sendable, Hashable, CaseIterable {
    /// Every step is fresh.
    case allFresh = "all-fresh"
    /// Every critical step is fresh; optional ones hold nothing up.
    case criticalFresh = "critical-fresh"
    /// Every critical step is at least stored; optional ones hold nothing up.
    case storedIsEnough = "stored-is-enough"
  }

  /// What happens where the launch cannot have what it needs: a step it waits for has failed, or the deadline is over.
  public enum FailureRule: Sendable, Hashable {
    /// The caller is asked with a ``FailurePrompt``, and the run waits for the answer.
    case ask
    /// What failed is tried again so many times, before the deadline; then what is stored has to do.
    case retry(Int)
    /// What is stored has to do.
    case useStored
    /// The run ends with the first failure.
    case fail
  }

  /// The steps, in the order in which they are started; names are unique.
  public let steps: [PreloadStep]
  /// How long the run may take before its outcome, or its prompt; `nil` leaves that to the requests' own limits.
  public var deadline: Duration?
  /// When it is enough.
  public var readiness = Readiness.criticalFresh
  /// What happens where it is not.
  public var onFailure = FailureRule.useStored
  /// How many steps may be under way at once.
  public var parallelism = 6
  /// What is stored and not older counts as fresh and is not asked for again.
  public var maxAge: Duration?
  /// Whether what is still missing at the outcome goes on into the store; else it is cancelled.
  public var finishesIntoStore = true

  /// Whether the run tells how far it has come; where nobody shows it, nobody needs to be woken for it.
  public var reportsProgress = true

  /// A plan of steps, whose names must differ.
  public init(_ steps: [PreloadStep]) {
    precondition(Set(steps.map(\.name)).count == steps.count, "the names of a plan's steps differ")
    self.steps = steps
  }

  var policy: FetchPolicy { maxAge.map { .storedElseFresh(maxAge: $0) } ?? .storedThenFresh }
}

/// Why a plan or a list of URLs could not be read.
public struct PlanError: Error, Hashable, CustomStringConvertible {
  /// The line that is wrong, counted from 1, where it is known.
  public let line: Int?
  /// What is wrong with it.
  public let message: String

  /// An error of a caller's own reading.
  public init(_ message: String) { self.init(line: nil, message) }

  init(line: Int?, _ message: String) {
    self.line = line
    self.message = message
  }

  /// Both, as `line 3: …`.
  public var description: String { line.map { "line \($0): \(message)" } ?? message }
}
