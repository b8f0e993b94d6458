internal import DataService

/// The course of one preload: what to start, when it is enough, when to ask, and when it is over. Pure.
///
/// It knows names, weights and what became of each step, but no response: those stay with the run.
struct PreloadMachine: Sendable {
  /// What has happened.
  enum Event: Sendable {
    case begin
    /// Bytes of a step's body have come.
    case received(Int, bytes: Int64, expected: Int64?)
    /// A step's stored response is at hand.
    case stored(Int)
    /// A step's fresh response is at hand.
    case fresh(Int)
    /// A step's fresh response cannot be had.
    case failed(Int, reason: String)
    /// A step's load is over.
    case ended(Int)
    case deadlinePassed
    case answered(FailurePrompt.Choice)
    case cancelled
  }

  /// What to do, in this order.
  enum Effect: Sendable, Hashable {
    case start(Int)
    case armDeadline
    case disarmDeadline
    case tell(Int)
    case ask(FailurePrompt)
    case finish(LaunchOutcome.Verdict)
    /// Cancel what is under way.
    case stopRest
  }

  /// What there is of a step, and whether more may come.
  struct Step: Sendable {
    let name: String
    let isCritical: Bool
    var part: ProgressMeter.Part
    var isWaiting = true
    var isRunning = false
    var hasStored = false
    var isFresh = false
    var reason: String?

    var hasFailed: Bool { reason != nil }
    var hasAnything: Bool { hasStored || isFresh }
    var state: LaunchOutcome.Step.State { isFresh ? .fresh : hasStored ? .stored : .missing }
  }

  private enum Phase { case idle, running, asking, over }

  private let plan: PreloadPlan
  private(set) var steps: [Step]
  private var phase = Phase.idle
  private var meter = ProgressMeter()
  private var lastStarted: Int?
  private var attempts = 0
  private(set) var fraction: Double?

  init(_ plan: PreloadPlan) {
    self.plan = plan
    steps = plan.steps.map {
      Step(name: $0.name, isCritical: $0.isCritical, part: .init(weight: $0.weight))
    }
  }

  /// Whether the outcome is out; what still runs does so for the store's sake.
  var isOver: Bool { phase == .over }
  /// Whether progress is worth telling: not while a person is asked, and never after the outcome.
  var tellsProgress: Bool { phase == .running }

  mutating func handle(_ event: Event) -> [Effect] {
    var effects: [Effect] = []
    switch event {
    case .begin:
      guard phase == .idle else { return [] }
      phase = .running
      effects.append(.armDeadline)
    case .received(let index, let bytes, let expected):
      steps[index].part.received = max(bytes, steps[index].part.received)
      steps[index].part.expected = expected ?? steps[index].part.expected
    case .stored(let index):
      steps[index].hasStored = true
    case .fresh(let index):
      steps[index].isFresh = true
      steps[index].reason = nil
      effects.append(.tell(index))
    case .failed(let index, let reason):
      steps[index].reason = reason
      effects.append(.tell(index))
    case .ended(let index):
      guard steps[index].isRunning else { return [] }
      steps[index].isRunning = false
      // Stored and nothing more: young enough for the plan's maximum age.
      if steps[index].hasStored, !steps[index].isFresh, !steps[index].hasFailed {
        steps[index].isFresh = true
        effects.append(.tell(index))
      }
    case .deadlinePassed:
      guard phase == .running else { return [] }
    case .answered(let choice):
      guard phase == .asking else { return [] }
      effects += answered(choice)
    case .cancelled:
      guard phase != .over else { return [] }
      phase = .over
      skipWaiting()
      return [.disarmDeadline, .finish(.quit), .stopRest]
    }
    effects += startNext()
    measure()
    var isLate = false
    if case .deadlinePassed = event { isLate = true }
    return effects + (phase == .running ? settle(isLate: isLate) : [])
  }

  // MARK: - Starting

  private mutating func startNext() -> [Effect] {
    guard phase == .running || (phase == .over && plan.finishesIntoStore) else { return [] }
    var effects: [Effect] = []
    var running = steps.count(where: \.isRunning)
    for index in steps.indices where steps[index].isWaiting && running < max(1, plan.parallelism) {
      steps[index].isWaiting = false
      steps[index].isRunning = true
      lastStarted = index
      running += 1
      effects.append(.start(index))
    }
    return effects
  }

  private mutating func skipWaiting() {
    for index in steps.indices { steps[index].isWaiting = false }
  }

  private mutating func retryFailed() {
    for index in steps.indices where steps[index].hasFailed && !steps[index].isRunning {
      steps[index].reason = nil
      steps[index].isWaiting = true
    }
  }

  // MARK: - Enough, or not

  private func holdsUp(_ step: Step) -> Bool { plan.readiness == .allFresh || step.isCritical }

  private func isSatisfied(_ step: Step) -> Bool {
    plan.readiness == .storedIsEnough ? step.hasAnything : step.isFresh
  }

  /// Whether every critical step has at least something.
  private var canContinue: Bool { steps.allSatisfy { !$0.isCritical || $0.hasAnything } }

  private mutating func settle(isLate: Bool) -> [Effect] {
    let missing = steps.filter { holdsUp($0) && !isSatisfied($0) }
    if missing.isEmpty { return finish(.ready) }
    let isHopeless = missing.allSatisfy { !$0.isWaiting && !$0.isRunning }
    let hasFailed = missing.contains { $0.hasFailed && !$0.isRunning }
    switch plan.onFailure {
    case .ask where isLate || isHopeless:
      phase = .asking
      let prompt = FailurePrompt(
        missing: missing.map { ($0.name, $0.reason) }, isLate: isLate, canContinue: canContinue)
      return [.disarmDeadline, .ask(prompt)]
    case .retry(let times) where isHopeless && !isLate && attempts < times:
      attempts += 1
      retryFailed()
      return startNext()
    case .retry, .useStored, .ask:
      return isLate || isHopeless ? finish(canContinue ? .stored : .incomplete) : []
    case .fail:
      return isLate || hasFailed ? finish(canContinue ? .stored : .incomplete) : []
    }
  }

  private mutating func answered(_ choice: FailurePrompt.Choice) -> [Effect] {
    switch choice {
    case .retry:
      phase = .running
      retryFailed()
      return [.armDeadline]
    case .continueWithStored:
      let isReady = steps.allSatisfy { !holdsUp($0) || isSatisfied($0) }
      return finish(isReady ? .ready : canContinue ? .stored : .incomplete)
    case .quit:
      return finish(.quit)
    }
  }

  private mutating func finish(_ verdict: LaunchOutcome.Verdict) -> [Effect] {
    phase = .over
    let goesOn = plan.finishesIntoStore && verdict != .quit && plan.onFailure != .fail
    if !goesOn { skipWaiting() }
    return [.disarmDeadline, .finish(verdict)] + (goesOn ? [] : [.stopRest])
  }

  // MARK: - Progress

  private mutating func measure() {
    var parts = steps.filter(holdsUp).map(part)
    if parts.isEmpty { parts = steps.map(part) }
    fraction = meter.fraction(of: parts)
  }

  private func part(_ step: Step) -> ProgressMeter.Part {
    var part = step.part
    part.isDone = isSatisfied(step) || (step.hasFailed && !step.isRunning)
    return part
  }

  /// How far it has come.
  var progress: PreloadProgress {
    let isKnown = steps.allSatisfy { $0.part.expected != nil }
    return PreloadProgress(
      fraction: fraction, receivedBytes: steps.reduce(0) { $0 + $1.part.received },
      expectedBytes: isKnown ? steps.reduce(0) { $0 + ($1.part.expected ?? 0) } : nil,
      currentStep: currentStep, stepCount: steps.count,
      stored: steps.count { $0.hasStored && !$0.isFresh }, fresh: steps.count(where: \.isFresh),
      failed: steps.count(where: \.hasFailed))
  }

  private var currentStep: String? {
    if let lastStarted, steps[lastStarted].isRunning { return steps[lastStarted].name }
    return steps.last(where: \.isRunning)?.name
  }
}
