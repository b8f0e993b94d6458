internal import DataService
internal import Launch

/// What the store has of the requests that a run was ended before: those that it did not come to, and those that its
/// deadline cut short.
struct PreloadRemains {
  let plan: PreloadPlan
  let service: DataService
  /// How long the store may take to say so.
  private static let limit: Int32 = 10_000

  /// The names of those that are stored.
  /// - Parameter marks: Whether they get the pin and the tags that the run was to give them; not after a signal.
  func found(of outcome: LaunchOutcome, marks: Bool) -> Set<String> {
    let requests = Dictionary(uniqueKeysWithValues: plan.steps.map { ($0.name, $0.request) })
    let left = outcome.steps.filter { $0.state != .fresh && $0.error == nil }
      .compactMap { step in requests[step.name].map { (step.name, $0) } }
    guard !left.isEmpty else { return [] }
    let stored = Mailbox<Set<String>>()
    Task(executorPreference: service.executor) { [service] in
      var names: Set<String> = []
      for (name, request) in left where await service.isStored(request, marking: marks) { names.insert(name) }
      stored.post(names)
    }
    return stored.wait(milliseconds: Self.limit, heedsSignals: marks) ?? []
  }
}

extension LaunchOutcome.Step {
  /// Which response there is for it, where the store has those of these names.
  func state(found: Set<String>) -> State { state == .missing && found.contains(name) ? .stored : state }
}
