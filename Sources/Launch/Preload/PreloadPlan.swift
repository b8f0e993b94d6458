internal import DataService

/// The loads needed before the first screen, how long they may take, and when they suffice.
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
    /// Every critical step is fresh; optional ones delay nothing.
    case criticalFresh = "critical-fresh"
    /// Every critical step is at least stored; optional ones delay nothing.
    case storedIsEnough = "stored-is-enough"
  }

  /// What happens if a step the launch waits for fails, or the deadline passes.
  public enum FailureRule: Sendable, Hashable {
    /// The caller is asked with a ``FailurePrompt``, and the run waits for the answer.
    case ask
    /// Failed steps are retried this many times before the deadline; then the run uses what is stored.
    case retry(Int)
    /// The run uses what is stored.
    case useStored
    /// The run ends with the first failure, or at the deadline; the steps still missing are cancelled.
    case fail
  }

  /// The steps, in the order in which they are started; names are unique.
  public let steps: [PreloadStep]
  /// How long the run may take before its outcome, or its prompt; `nil` leaves that to the requests' own limits.
  public var deadline: Duration?
  /// When the launch has what it needs.
  public var readiness = Readiness.criticalFresh
  /// What happens if it does not get that.
  public var onFailure = FailureRule.useStored
  /// How many steps may be under way at once.
  public var parallelism = 6
  /// A stored response no older than this counts as fresh and is not requested again.
  public var maxAge: Duration?
  /// Whether steps still missing at the outcome are loaded into the store afterwards; otherwise they are cancelled, as
  /// they always are after the verdict `quit`.
  public var finishesIntoStore = true

  /// Whether the run reports progress. A caller that shows none saves the wake-ups.
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
  /// The line that is wrong, counted from 1, if known.
  public let line: Int?
  /// What is wrong with it.
  public let message: String

  /// Makes an error for a caller's own URL reader.
  public init(_ message: String) { self.init(line: nil, message) }

  init(line: Int?, _ message: String) {
    self.line = line
    self.message = message
  }

  /// The message after its line, as `line 3: …`.
  public var description: String { line.map { "line \($0): \(message)" } ?? message }
}
