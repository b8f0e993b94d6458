public import DataService

/// What a launch has to build its first screen from, without a second read or fetch.
public struct LaunchOutcome: Sendable {
  /// How the run ended.
  public enum Verdict: String, Sendable, Hashable {
    /// The plan's readiness rule is met.
    case ready
    /// It is not, but every critical step is at least stored.
    case stored
    /// A critical step has nothing.
    case incomplete
    /// The person chose to quit, or the caller cancelled.
    case quit
  }

  /// What became of one step.
  public struct Step: Sendable {
    /// What there is of it.
    public enum State: String, Sendable, Hashable { case fresh, stored, missing }

    /// Its name.
    public let name: String
    /// What there is of it.
    public let state: State
    /// Whether the first screen cannot be built without it.
    public let isCritical: Bool
    /// How the fresh response compares with the stored one; `nil` where there is no fresh one.
    public let change: DataService.Change?
    /// Whether the fresh response is in the store; `nil` where there is no fresh one.
    public let kept: DataService.Kept?
    /// Why there is no fresh response, where that is known.
    public let error: DataServiceError?
    /// How long it took until its newest response or its failure; `nil` where there was neither.
    public let elapsed: Duration?
    /// The length of its body where it is known.
    public let bytes: Int64?
  }

  /// How the run ended.
  public let verdict: Verdict
  /// What became of each step, in the plan's order.
  public let steps: [Step]
  /// How long the run took.
  public let elapsed: Duration
  /// Tells one run's outcome from another's.
  let run: UInt64
  let responses: [String: any Sendable]

  /// A step's response, fresh where there is one, else stored; `nil` where there is none, or of another type.
  public func response<Value: Sendable>(
    _ name: String, as type: Value.Type = Value.self
  ) -> DataService.Response<Value>? {
    responses[name] as? DataService.Response<Value>
  }

  /// A step's value; `nil` where there is none, or of another type.
  public func value<Value: Sendable>(_ name: String, as type: Value.Type = Value.self) -> Value? {
    response(name, as: type)?.value
  }
}
