public import DataService

/// The result of a preload: everything to build the first screen from, without another read or fetch.
public struct PreloadOutcome: Sendable {
  /// How the run ended.
  public enum Verdict: String, Sendable, Hashable {
    /// The plan's readiness rule is met.
    case ready
    /// The rule is not met, but every critical step is at least stored.
    case stored
    /// A critical step has no response.
    case incomplete
    /// The user chose to quit, or the caller cancelled.
    case quit
  }

  /// The result of one step.
  public struct Step: Sendable {
    /// Which response the step has.
    public enum State: String, Sendable, Hashable { case fresh, stored, missing }

    /// Its name.
    public let name: String
    /// Which response the step has.
    public let state: State
    /// Whether the first screen cannot be built without it.
    public let isCritical: Bool
    /// How the fresh response compares with the stored one; `nil` if there is no fresh one.
    public let change: DataService.Change?
    /// Whether the fresh response is in the store; `nil` if there is no fresh one.
    public let kept: DataService.Kept?
    /// Why there is no fresh response, if known.
    public let error: DataServiceError?
    /// The time until its newest response or its failure; `nil` if it had neither.
    public let elapsed: Duration?
    /// The length of its body, if known.
    public let bytes: Int64?
  }

  /// How the run ended.
  public let verdict: Verdict
  /// The result of each step, in the plan's order.
  public let steps: [Step]
  /// How long the run took.
  public let elapsed: Duration
  /// Tells one run's outcome from another's.
  let run: UInt64
  let responses: [String: any Sendable]

  /// A step's fresh response, else its stored one; `nil` if it has none or its value has another type.
  public func response<Value: Sendable>(
    _ name: String, as type: Value.Type = Value.self
  ) -> DataService.Response<Value>? {
    responses[name] as? DataService.Response<Value>
  }

  /// A step's value; `nil` if it has none or its value has another type.
  public func value<Value: Sendable>(_ name: String, as type: Value.Type = Value.self) -> Value? {
    response(name, as: type)?.value
  }
}
