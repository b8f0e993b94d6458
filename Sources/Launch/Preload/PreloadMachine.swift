internal import DataService

/// The state machine of one preload: which steps to start, when the plan is satisfied, when to ask and when to end.
/// Pure.
///
/// It knows each step's name, weight and state but holds no responses; the run keeps those.
struct PreloadMachine: Sendable {
  /// What has happened.
  enum Event: Sendable {
    case begin
    /// Bytes of a step's body have arrived.
    case received(Int, bytes: Int64, expected: Int64?)
    /// A step's stored response has arrived.
    case stored(Int)
    /// A step's fresh response has arrived.
    case fresh(Int)
    /// A step could not get a fresh response.
    case failed(Int, reason: String)
    /// What these steps have brought is not delivered any more.
    case lost([Int], reason: String)
    /// A step's load has ended.
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
    case finish(PreloadOutcome.Verdict)
    /// Cancel the loads under way.
    case stopRest
  }

  private enum Phase { case idle, running, asking, over }

  private let plan: PreloadPlan
  private(set) var steps: [PreloadStepState]
  private var tally = PreloadTally()
  /// Whether no step holds the launch up; the progress then measures all steps.
  private let measuresAll: Bool
  private var phase = Phase.idle
  private var meter = ProgressMeter()
  private var lastStarted: Int?
  /// No step before this index waits to be started.
  private var firstWaiting = 0
  private var attempts = 0
  private(set) var fraction: Double?

  init(_ plan: PreloadPlan) {
    self.plan = plan
    steps = plan.steps.map {
      PreloadStepState(name: $0.name, isCritical: $0.isCritical, part: .init(weight: $0.weight))
    }
    measuresAll = plan.readiness != .allFresh && !plan.steps.contains(where: \.isCritical)
    for step in steps { tally.add(entry(step)) }
  }

  /// Whether a step that has failed may be loaded again, so that it fills no bar.
  private var mayRetry: Bool {
    switch plan.onFailure {
    case .ask, .retry: true
    case .useStored, .fail: false
    }
  }

  /// Changes a step and updates the tally.
  private mutating func change(_ index: Int, _ body: (inout PreloadStepState) -> Void) {
    tally.remove(entry(steps[index]))
    body(&steps[index])
    tally.add(entry(steps[index]))
  }

  private func entry(_ step: PreloadStepState) -> PreloadTally.Entry {
    var part = step.part
    part.isDone = isSatisfied(step) || (step.hasFailed && !step.isRunning && !mayRetry)
    let isWaitedFor = holdsUp(step)
    return PreloadTally.Entry(
      step: step, part: isWaitedFor || measuresAll ? part : nil, isMissing: isWaitedFor && !isSatisfied(step))
  }

  /// Whether the outcome has been sent; loads still running only fill the store.
  var isOver: Bool { phase == .over }
  /// Whether progress is reported: not while a prompt awaits its answer, and never after the outcome.
  var tellsProgress: Bool { phase == .running }

  mutating func handle(_ event: Event) -> [Effect] {
    var effects: [Effect] = []
    switch event {
    case .begin:
      guard phase == .idle else { return [] }
      phase = .running
      effects.append(.armDeadline)
    case .received(let index, let bytes, let expected):
      change(index) { step in
        step.part.received = max(bytes, step.part.received)
        step.part.expected = expected ?? step.part.expected
      }
    case .stored(let index):
      change(index) { $0.hasStored = true }
    case .fresh(let index):
      change(index) { step in
        step.isFresh = true
        step.reason = nil
      }
      effects.append(.tell(index))
    case .failed(let index, let reason):
      let isSatisfied = isSatisfied(steps[index])
      change(index) { step in
        step.reason = reason
        // What has arrived of an answer that is of no use is no progress.
        if !isSatisfied { (step.part.received, step.part.expected) = (0, nil) }
      }
      effects.append(.tell(index))
    case .lost(let indices, let reason):
      for index in indices {
        change(index) { step in
          step.hasStored = false
          step.isFresh = false
          step.reason = step.reason ?? reason
        }
        effects.append(.tell(index))
      }
    case .ended(let index):
      guard steps[index].isRunning else { return [] }
      // Only a stored response arrived: it is no older than the plan's maximum age.
      let isYoung = steps[index].hasStored && !steps[index].isFresh && !steps[index].hasFailed
      // A caller's own source may end a load without a delivery; the run would wait for it for ever.
      let isUnanswered = !steps[index].hasAnything && !steps[index].hasFailed
      change(index) { step in
        step.isRunning = false
        if isYoung { step.isFresh = true }
        if isUnanswered { step.reason = "its load ended without a response" }
      }
      if isYoung || isUnanswered { effects.append(.tell(index)) }
    case .deadlinePassed:
      guard phase == .running else { return [] }
    case .answered(let choice):
      guard phase == .asking else { return [] }
      effects += answered(choice)
    case .cancelled:
      defer { skipWaiting() }
      guard phase != .over else { return [.stopRest] }
      phase = .over
      return [.disarmDeadline, .finish(.quit), .stopRest]
    }
    effects += startNext()
    fraction = meter.fraction(of: tally.sum)
    var isLate = false
    if case .deadlinePassed = event { isLate = true }
    return effects + (phase == .running ? settle(isLate: isLate) : [])
  }

  // MARK: - Starting

  private mutating func startNext() -> [Effect] {
    guard phase == .running || (phase == .over && plan.finishesIntoStore), !isGivenUp else { return [] }
    var effects: [Effect] = []
    while firstWaiting < steps.count, tally.running < max(1, plan.parallelism) {
      let index = firstWaiting
      firstWaiting += 1
      guard steps[index].isWaiting else { continue }
      change(index) { step in
        step.isWaiting = false
        step.isRunning = true
      }
      lastStarted = index
      effects.append(.start(index))
    }
    return effects
  }

  /// Whether a failure is about to end the run, so that no step is started only to be cancelled.
  private var isGivenUp: Bool { plan.onFailure == .fail && tally.missingFailed > 0 }

  private mutating func skipWaiting() {
    for index in firstWaiting..<steps.count where steps[index].isWaiting {
      change(index) { $0.isWaiting = false }
    }
  }

  private mutating func retryFailed() {
    for index in steps.indices where steps[index].hasFailed && !steps[index].isRunning {
      change(index) { step in
        step.reason = nil
        step.isWaiting = true
      }
    }
    firstWaiting = 0
  }

  // MARK: - Enough, or not

  private func holdsUp(_ step: PreloadStepState) -> Bool { plan.readiness == .allFresh || step.isCritical }

  private func isSatisfied(_ step: PreloadStepState) -> Bool {
    plan.readiness == .storedIsEnough ? step.hasAnything : step.isFresh
  }

  /// Whether every critical step has some response.
  private var canContinue: Bool { tally.criticalWithNothing == 0 }

  private mutating func settle(isLate: Bool) -> [Effect] {
    if tally.missing == 0 { return finish(.ready) }
    let isHopeless = tally.missingInHope == 0
    switch plan.onFailure {
    case .ask where isLate || isHopeless:
      phase = .asking
      let missing = steps.filter { holdsUp($0) && !isSatisfied($0) }
      let withNothing = steps.filter { $0.isCritical && !$0.hasAnything }
      let prompt = FailurePrompt(
        missing: missing.map { ($0.name, $0.reason) },
        withNothing: withNothing.map { ($0.name, $0.reason) }, isLate: isLate, canContinue: canContinue)
      return [.disarmDeadline, .ask(prompt)]
    case .retry(let times) where isHopeless && !isLate && attempts < times:
      attempts += 1
      retryFailed()
      return startNext()
    case .retry, .useStored, .ask:
      return isLate || isHopeless ? finish(canContinue ? .stored : .incomplete) : []
    case .fail:
      return isLate || tally.missingFailed > 0 ? finish(canContinue ? .stored : .incomplete) : []
    }
  }

  private mutating func answered(_ choice: FailurePrompt.Choice) -> [Effect] {
    switch choice {
    case .retry:
      phase = .running
      retryFailed()
      // The bar may fall here alone: what filled it is loaded once more.
      meter = ProgressMeter()
      return [.armDeadline]
    case .continueWithStored:
      return finish(tally.missing == 0 ? .ready : canContinue ? .stored : .incomplete)
    case .quit:
      return finish(.quit)
    }
  }

  private mutating func finish(_ verdict: PreloadOutcome.Verdict) -> [Effect] {
    phase = .over
    let hasFailed = plan.onFailure == .fail && verdict != .ready
    let goesOn = plan.finishesIntoStore && verdict != .quit && !hasFailed
    if !goesOn { skipWaiting() }
    return [.disarmDeadline, .finish(verdict)] + (goesOn ? [] : [.stopRest])
  }

  // MARK: - Progress

  /// The current progress.
  var progress: PreloadProgress {
    PreloadProgress(
      fraction: fraction, receivedBytes: tally.received,
      expectedBytes: tally.withoutLength == 0 ? tally.expected : nil, currentStep: currentStep,
      stepCount: steps.count, stored: tally.stored, fresh: tally.fresh, failed: tally.failed)
  }

  private var currentStep: String? {
    if let lastStarted, steps[lastStarted].isRunning { return steps[lastStarted].name }
    // Apart from retries, running steps were started last, so the search from the end is short.
    return tally.running == 0 ? nil : steps[..<firstWaiting].last(where: \.isRunning)?.name
  }
}
