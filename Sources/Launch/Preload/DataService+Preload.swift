public import DataService

extension DataService {
  /// Starts a plan; its events come from ``PreloadRun/events``.
  public func preload(_ plan: PreloadPlan) -> PreloadRun { PreloadRun(plan, on: self) }
}

extension PreloadRun {
  /// The run's outcome, once it is there. Of a plan that asks, take the events instead: nobody answers here.
  public func outcome() async -> LaunchOutcome? {
    for await event in events {
      if case .outcome(let outcome) = event { return outcome }
    }
    return nil
  }
}
