public import DataService
internal import Guards
internal import Synchronization

/// A preload under way: its events, the answers to its prompts, and its end.
///
/// All members may be called from any thread. ``finished()`` and ``outcome()`` wait, all others return at once; loads
/// and decoders run on other threads than the caller's.
public final class PreloadRun: Sendable {
  private struct State {
    var machine: PreloadMachine
    var responses: [String: any Sendable] = [:]
    var reports: [Report]
    var tasks: [Int: Task<Void, Never>] = [:]
    var deadline: Task<Void, Never>?
    var beganAt = Duration.zero
    var begin: Task<Void, Never>?
    /// Whether the source's account has ended, so that nothing of it is delivered.
    var hasEnded = false
    /// Whether the caller has been sent a prompt.
    var wasAsked = false
    /// The instant of the step under way.
    var now = Duration.zero
    var rest = Rest()
  }

  /// What a step leaves to be done outside the lock, where it may run the caller's code or resume and cancel tasks.
  private struct Rest {
    var cancelled: [Task<Void, Never>] = []
    var told: [(reader: CheckedContinuation<PreloadEvent?, Never>, event: PreloadEvent)] = []
    var dropped: [any Sendable] = []
  }

  /// What the run knows of a step beyond the machine's state.
  private struct Report {
    var beganAt: Duration?
    var elapsed: Duration?
    var change: DataService.Change?
    var kept: DataService.Kept?
    var error: DataServiceError?
    var bytes: Int64?
  }

  private static let lastNumber = Atomic<UInt64>(0)

  private let plan: PreloadPlan
  private let source: any DeliverySource
  private let clock: LaunchClock
  private let number: UInt64
  private let queue = EventQueue()
  private let state: GuardedWork<State>

  /// Starts a plan.
  ///
  /// - Parameters:
  ///   - plan: The steps, and when they suffice.
  ///   - source: The service, or a session on it. A session reports that its account is signed out. Of a
  ///     sign-out of the service only loads under way learn: if there may be none, for example because a
  ///     prompt is open, cancel the run before the sign-out.
  ///   - clock: Measures the deadline.
  public init(_ plan: PreloadPlan, on source: any DeliverySource, clock: LaunchClock = .continuous) {
    self.plan = plan
    self.source = source.forOneAccount()
    self.clock = clock
    number = Self.lastNumber.wrappingAdd(1, ordering: .relaxed).newValue
    state = GuardedWork(
      State(
        machine: PreloadMachine(plan), reports: .init(repeating: Report(), count: plan.steps.count),
        beganAt: clock.now()))
    // Not on the caller's thread, which may be the main one.
    let begin = Task { handle(.begin) }
    state.withLock { $0.begin = begin }
  }

  /// The run's events, for one reader; the sequence ends after the outcome.
  public var events: PreloadEvents { PreloadEvents(queue: queue) }

  /// Answers the current prompt; ignored if there is none.
  public func answer(_ choice: FailurePrompt.Choice) { handle(.answered(choice)) }

  /// Ends the run at once: loads under way are cancelled, and the outcome says `quit`. After the outcome it ends what
  /// goes on into the store.
  public func cancel() { handle(.cancelled) }

  /// Waits until every load has ended, including those that continue into the store after the outcome.
  public func finished() async {
    await state.withLock { $0.begin }?.value
    while let task = state.withLock({ $0.tasks.first?.value }) { await task.value }
  }

  // MARK: - What happens

  private func handle(_ event: PreloadMachine.Event) {
    handle { [self] state in take(event, &state) }
  }

  /// Handles in one step what has happened, so that an outcome has all of it or nothing. Once the source's
  /// account has ended, nothing that came before is delivered.
  private func handle(_ happened: (inout State) -> Void) {
    let (hasEnded, now) = (source.hasEnded, clock.now())
    let rest = state.withLock { state in
      state.now = now
      if hasEnded, !state.hasEnded {
        state.hasEnded = true
        lose(plan.steps.indices.filter { state.machine.steps[$0].hasAnything }, &state)
      }
      happened(&state)
      defer { state.rest = Rest() }
      return state.rest
    }
    for (reader, event) in rest.told { reader.resume(returning: event) }
    guard !rest.cancelled.isEmpty else { return }
    // A cancelled load reports on the thread that cancels it, so cancel off the caller's thread.
    Task {
      for task in rest.cancelled { task.cancel() }
    }
  }

  /// Adds an event under the lock, so that events keep one order. A reader that waits is given it outside: until then
  /// it does not wait for another.
  private func tell(_ event: PreloadEvent, _ state: inout State) {
    if let reader = queue.add(event) { state.rest.told.append((reader, event)) }
  }

  /// Carries out the machine's effects.
  private func take(_ event: PreloadMachine.Event, _ state: inout State) {
    let before = plan.reportsProgress ? state.machine.progress : nil
    let effects = state.machine.handle(event)
    if let before {
      let progress = state.machine.progress
      let isLast = effects.contains { if case .finish = $0 { true } else { false } }
      if progress != before, state.machine.tellsProgress || isLast { tell(.progress(progress), &state) }
    }
    for effect in effects {
      switch effect {
      case .start(let index):
        start(index, &state)
      case .armDeadline:
        // Measured from the start, or from the answer to a prompt: waiting for a thread does not extend the deadline.
        let start = state.wasAsked ? state.now : state.beganAt
        state.deadline = plan.deadline.map { deadline in
          Task { [clock, weak self] in
            guard (try? await clock.sleep(start + deadline - clock.now())) != nil else { return }
            self?.handle(.deadlinePassed)
          }
        }
      case .disarmDeadline:
        if let deadline = state.deadline { state.rest.cancelled.append(deadline) }
        state.deadline = nil
      case .tell(let index):
        tell(.step(step(index, state)), &state)
      case .ask(let prompt):
        state.wasAsked = true
        tell(.prompt(prompt), &state)
      case .finish(let verdict):
        tell(.outcome(outcome(verdict, state)), &state)
        state.rest.dropped += state.responses.values
        state.responses = [:]
      case .stopRest:
        state.rest.cancelled += state.tasks.values
      }
    }
  }

  /// Drops what steps of a signed-out account have brought.
  private func lose(_ indices: [Int], _ state: inout State) {
    for index in indices {
      if let response = state.responses.removeValue(forKey: plan.steps[index].name) {
        state.rest.dropped.append(response)
      }
      state.reports[index].change = nil
      state.reports[index].kept = nil
      state.reports[index].error = state.reports[index].error ?? Session.signedOut
    }
    take(.lost(indices, reason: Session.signedOut.message), &state)
  }

  private func start(_ index: Int, _ state: inout State) {
    state.reports[index].beganAt = state.now
    let previous = state.tasks[index]
    // Steps that only update the store run on the service's thread; decoding and handing over stay off it.
    let executor = plan.steps[index].keepsResponse ? nil : source.service.executor
    state.tasks[index] = Task(executorPreference: executor) { [self] in
      await previous?.value
      await plan.steps[index].run(source, plan.policy, plan.reportsProgress) { news in
        self.take(news, of: index)
      }
      handle(.ended(index))
      self.state.withLock { state in
        if !state.machine.steps[index].isRunning { state.tasks[index] = nil }
      }
    }
  }

  private func take(_ news: StepNews, of index: Int) {
    handle { [self] state in
      switch news {
      case .received(let bytes, let expected):
        take(.received(index, bytes: bytes, expected: expected), &state)
      case .stored where state.hasEnded, .fresh where state.hasEnded:
        note(index, error: Session.signedOut, &state)
        take(.failed(index, reason: Session.signedOut.message), &state)
      case .stored(let response, let bytes):
        note(index, response: response, bytes: bytes, &state)
        take(.stored(index), &state)
      case .fresh(let response, let change, let kept, let bytes):
        note(index, response: response, bytes: bytes, change: change, kept: kept, &state)
        take(.fresh(index), &state)
      case .failed(let error):
        note(index, error: error, &state)
        take(.failed(index, reason: error.message), &state)
        guard error.kind == .signedOut else { return }
        // What the account's other steps have brought is not delivered either.
        let account = plan.steps[index].request.account
        let lost = plan.steps.indices.filter {
          plan.steps[$0].request.account == account && state.machine.steps[$0].hasAnything
        }
        lose(lost, &state)
      }
    }
  }

  private func note(
    _ index: Int, response: (any Sendable)? = nil, bytes: Int64? = nil, change: DataService.Change? = nil,
    kept: DataService.Kept? = nil, error: DataServiceError? = nil, _ state: inout State
  ) {
    // The outcome has its responses already; a later one would never be read.
    if let response, plan.steps[index].keepsResponse, !state.machine.isOver {
      if let earlier = state.responses.updateValue(response, forKey: plan.steps[index].name) {
        state.rest.dropped.append(earlier)
      }
    }
    state.reports[index].elapsed = state.reports[index].beganAt.map { state.now - $0 }
    state.reports[index].bytes = bytes ?? state.reports[index].bytes
    state.reports[index].change = change
    state.reports[index].kept = kept
    if let earlier = state.reports[index].error { state.rest.dropped.append(earlier) }
    state.reports[index].error = error
  }

  private func step(_ index: Int, _ state: State) -> PreloadOutcome.Step {
    let step = state.machine.steps[index]
    let report = state.reports[index]
    return PreloadOutcome.Step(
      name: step.name, state: step.state, isCritical: step.isCritical, change: report.change,
      kept: report.kept, error: report.error, elapsed: report.elapsed, bytes: report.bytes)
  }

  private func outcome(_ verdict: PreloadOutcome.Verdict, _ state: State) -> PreloadOutcome {
    PreloadOutcome(
      verdict: verdict, steps: state.machine.steps.indices.map { step($0, state) },
      elapsed: state.now - state.beganAt, run: number, responses: state.responses)
  }
}

/// The events of a ``PreloadRun``, read one after the other by one reader.
public struct PreloadEvents: AsyncSequence, Sendable {
  /// An event of the run.
  public typealias Element = PreloadEvent
  /// Nothing is thrown: failures are elements.
  public typealias Failure = Never

  let queue: EventQueue

  /// Iterates over the events.
  public struct AsyncIterator: AsyncIteratorProtocol {
    let queue: EventQueue
    /// The next event, or `nil` after the outcome.
    public mutating func next() async -> PreloadEvent? { await queue.next() }
    /// The next event, or `nil` after the outcome.
    public mutating func next(isolation actor: isolated (any Actor)?) async -> PreloadEvent? {
      await queue.next()
    }
  }

  /// An iterator; all iterators of a run share its events.
  public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(queue: queue) }
}

extension DeliverySource {
  /// Starts a plan; its events come from ``PreloadRun/events``.
  public func preload(_ plan: PreloadPlan) -> PreloadRun { PreloadRun(plan, on: self) }
}

extension PreloadRun {
  /// Waits for the run's outcome. For a plan that asks, read ``events`` instead: this method answers no prompts.
  public func outcome() async -> PreloadOutcome? {
    for await event in events {
      if case .outcome(let outcome) = event { return outcome }
    }
    return nil
  }
}
