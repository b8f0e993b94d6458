public import DataService
internal import Guards

/// Combines session and preload into the root to show, from the launch screen on.
///
/// ```swift
/// let flow = LaunchFlow(service: service, session: session) { account in plan }
/// flow.start()
/// for await root in flow.roots {
///   switch root {
///   case .splash(let progress): showSplash(progress)
///   case .main(let outcome): show(outcome); fadeSplash { flow.splashFaded() }
///   case .login(let reason): showLogin(reason)
///   case .failed(let prompt): ask(prompt) { flow.answer($0) }
///   case .blocked(let reason): showBlocked(reason)
///   }
/// }
/// ```
///
/// An unchanged root is not sent again. The splash changes directly to the next root, without an intermediate one. A
/// change of account shows the splash first. All members may be called from any thread and return at once.
public final class LaunchFlow: Sendable {
  private struct State {
    var machine = FlowMachine()
    var roots = Broadcast<LaunchRoot>(.splash(nil))
    /// The preloads that have not ended, the current one last: after their outcome they go on into the store.
    var preloads: [PreloadRun] = []
    var tasks: [Task<Void, Never>] = []
    var hasStarted = false
    var isOver = false
  }

  private let source: any DeliverySource
  private let session: Session?
  private let clock: LaunchClock
  private let makePlan: @Sendable (_ account: String?) -> PreloadPlan
  private let block: @Sendable (PreloadOutcome) -> String?
  private let state = GuardedWork(State())

  /// Makes a flow; nothing happens before ``start()``.
  ///
  /// - Parameters:
  ///   - service: Performs the loads if there is no session.
  ///   - session: Knows the signed-in account and performs its loads; `nil` for a program without accounts.
  ///   - clock: Measures the deadlines.
  ///   - block: Returns why the data forbids going on, such as a required update; `nil` if it does not.
  ///   - plan: Makes the plan for an account, or for none. If the plan asks, its prompts are answered with
  ///     ``answer(_:)``; if it does not, the flow shows an incomplete outcome as a prompt.
  public init(
    service: DataService, session: Session? = nil, clock: LaunchClock = .continuous,
    block: @escaping @Sendable (PreloadOutcome) -> String? = { _ in nil },
    plan: @escaping @Sendable (_ account: String?) -> PreloadPlan
  ) {
    source = session ?? service
    self.session = session
    self.clock = clock
    self.block = block
    makePlan = plan
  }

  /// What the root shows now.
  public var current: LaunchRoot { state.withLock { $0.roots.value } }

  /// What the root shows now, and every later root; a slow reader gets only the newest.
  public var roots: AsyncStream<LaunchRoot> {
    Broadcast.sequence(buffer: .bufferingNewest(1)) { [weak self] change in
      self?.state.withLock { change(&$0.roots) } ?? nil
    }
  }

  /// Whether the splash is still visible: alone, or over the main root until ``splashFaded()``.
  public var isSplashShowing: Bool { state.withLock { $0.machine.isSplashShowing } }

  /// Starts the flow. Call it once.
  public func start() {
    let isFirst = state.withLock { state in
      defer { state.hasStarted = true }
      return !state.hasStarted
    }
    guard isFirst else { return }
    guard let session else { return handle(.anonymous) }
    // Read before the session starts, so that no phase is missed.
    let phases = session.phases
    let following = Task { [weak self] in
      for await phase in phases { self?.handle(.session(phase)) }
    }
    state.withLock { $0.tasks.append(following) }
    Task { await session.start() }
  }

  /// Answers the prompt that is shown.
  public func answer(_ choice: FailurePrompt.Choice) { handle(.answered(choice)) }

  /// Reports that the splash has faded out over the main root.
  public func splashFaded() { handle(.splashFaded) }

  /// Blocks the program and shows the reason until ``unblock()``.
  public func block(because reason: String) { handle(.blocked(reason)) }

  /// Ends a block: loads and shows what the session needs.
  public func unblock() { handle(.unblocked) }

  /// Ends the flow: its preload is cancelled, and the roots end.
  public func stop() {
    tellReaders()
    let (preloads, tasks, readers) = state.withLock { state in
      state.isOver = true
      defer { (state.tasks, state.preloads) = ([], []) }
      return (state.preloads, state.tasks, state.roots.finish())
    }
    for task in tasks { task.cancel() }
    for preload in preloads { preload.cancel() }
    for reader in readers { reader.finish() }
  }

  private func handle(_ event: FlowMachine.Event) {
    typealias Changed = (effects: [FlowMachine.Effect], preloads: [PreloadRun], before: LaunchRoot?)
    // The root before is released outside the lock, since its values may run the caller's code then.
    let (effects, preloads, _) = state.withLock { state -> Changed in
      guard !state.isOver else { return ([], [], nil) }
      let before = state.machine.root
      let effects = state.machine.handle(event)
      if state.machine.root != before { state.roots.send(state.machine.root) }
      return (effects, state.preloads, before)
    }
    tellReaders()
    for effect in effects {
      switch effect {
      case .startPreload(let number, let account):
        // The caller's closure makes the plan. It must not run on this thread, which may be the main thread.
        Task { startPreload(number, account: account) }
      case .cancelPreload: for preload in preloads { preload.cancel() }
      case .answerPreload(let choice): preloads.last?.answer(choice)
      }
    }
  }

  /// Tells the readers of the roots, outside the lock.
  private func tellReaders() {
    Broadcast.tellReaders { isNext in state.withLock { $0.roots.next(after: isNext) } }
  }

  func startPreload(_ number: Int, account: String?) {
    guard isPresent(account) else { return }
    let preload = PreloadRun(makePlan(account), on: source, clock: clock)
    let isWanted = state.withLock { state in
      guard state.machine.expects(number), !state.isOver else { return false }
      state.preloads.append(preload)
      return true
    }
    guard isWanted else { return preload.cancel() }
    Task { [weak self] in
      for await event in preload.events { self?.take(event, of: number, for: account) }
      await preload.finished()
      self?.state.withLock { state in state.preloads.removeAll { $0 === preload } }
    }
  }

  /// - Parameter account: Whose preload it is; `nil` in a program without accounts.
  func take(_ event: PreloadEvent, of run: Int, for account: String?) {
    let news: FlowMachine.Event
    switch event {
    case .progress(let progress): news = .progress(run: run, progress)
    case .prompt(let prompt): news = .prompt(run: run, prompt)
    case .outcome(let outcome): news = .outcome(run: run, outcome, blocked: block(outcome))
    case .step: return
    }
    if isPresent(account) { handle(news) }
  }

  /// Whether the account is the session's now; `true` in a program without accounts. The session changes
  /// before its phase arrives here. In between the flow begins nothing for the previous account and shows
  /// nothing of it.
  private func isPresent(_ account: String?) -> Bool {
    guard let session, let account else { return true }
    return session.current == .signedIn(account: account)
  }
}
