internal import DataService
internal import Launch

/// Carries out `preload`: fills the store, shows the progress, and prints a summary.
///
/// Every response is committed when it arrives. After an interrupt the store is consistent and, with `--max-age`, the
/// next run continues where this one ended.
struct PreloadCommand {
  private let plan: PreloadPlan
  private let report: PreloadReport
  private let service: DataService
  private let diagnostics: Diagnostics
  private let failsOnStatus: Bool
  private let isStaleFine: Bool

  static func run(_ arguments: Arguments, _ diagnostics: Diagnostics) throws(UsageError) -> ExitStatus {
    try PreloadCommand(arguments, diagnostics).run()
  }

  private init(_ arguments: Arguments, _ diagnostics: Diagnostics) throws(UsageError) {
    var plan = try PreloadArguments(arguments).plan
    if plan.onFailure == .ask, !(diagnostics.terminal.isInput && diagnostics.terminal.isError) {
      diagnostics.say("there is nobody to ask; making do with what is stored")
      plan.onFailure = .useStored
    }
    plan.reportsProgress = diagnostics.hasRedrawnLine
    self.plan = plan
    self.diagnostics = diagnostics
    failsOnStatus = arguments.has(.fail)
    isStaleFine = arguments.has(.staleOK)
    report = PreloadReport(plan, isJSON: arguments.has(.json), diagnostics: diagnostics)
    service = .forCommand(arguments, diagnostics, exchanges: Self.limits(plan.parallelism, arguments))
  }

  /// `--parallel`, or the plan, may raise the limits on exchanges.
  private static func limits(_ parallel: Int, _ arguments: Arguments) -> DataService.ExchangeLimits {
    var limits = DataService.ExchangeLimits()
    guard arguments.has(.parallel) || parallel != PreloadPlan([]).parallelism else { return limits }
    limits.perHost = max(parallel, limits.perHost)
    limits.perHTTP2Host = max(parallel, limits.perHTTP2Host)
    limits.inAll = max(parallel, limits.inAll)
    return limits
  }

  private var remains: PreloadRemains { PreloadRemains(plan: plan, service: service) }

  private func run() -> ExitStatus {
    let mailbox = Mailbox<PreloadEvent>()
    let preload = service.preload(plan)
    let showsSteps = report.showsSteps
    // On the thread that sends the events, since there is so little to do.
    Task(executorPreference: service.executor) {
      for await event in preload.events {
        // The main thread is not woken for events it does not show.
        if case .step = event, !showsSteps { continue }
        mailbox.post(event)
      }
    }
    do throws(OutputError) {
      let outcome = try follow(preload, mailbox)
      let found = remains.found(of: outcome, marks: true)
      let evicted = remains.evicted(of: outcome)
      let removed = remains.removed(of: outcome)
      service.close(within: .seconds(10))
      try report.sumUp(outcome, found: found, evicted: evicted)
      return .combined([status(of: outcome, found)] + (evicted.union(removed).isEmpty ? [] : [.nothing]))
    } catch {
      report.clear()
      preload.cancel()
      return service.stop(after: error, diagnostics)
    }
  }

  private func follow(
    _ preload: PreloadRun, _ mailbox: Mailbox<PreloadEvent>
  ) throws(OutputError) -> PreloadOutcome {
    while true {
      guard let event = mailbox.wait() else {
        nameRest(preload, mailbox)
        throw .interrupted
      }
      switch event {
      case .progress(let progress): report.show(progress)
      case .step(let step): try report.show(step)
      case .prompt(let prompt): preload.answer(ask(prompt))
      case .outcome(let outcome): return outcome
      }
    }
  }

  /// Ends the run after a signal, and names what became of each request that is not named yet.
  private func nameRest(_ preload: PreloadRun, _ mailbox: Mailbox<PreloadEvent>) {
    preload.cancel()
    do throws(OutputError) {
      while let event = mailbox.wait(heedsSignals: false) {
        switch event {
        case .step(let step): try report.show(step)
        case .outcome(let outcome):
          return try report.sumUp(outcome, found: remains.found(of: outcome, marks: false))
        case .progress, .prompt: continue
        }
      }
    } catch {
      // The signal decides the exit status, even if it also closed the reader.
    }
  }

  /// Asks the user at the terminal until the answer is one of the choices.
  private func ask(_ prompt: FailurePrompt) -> FailurePrompt.Choice {
    report.clear()
    let choices = prompt.choices.map { choice in
      switch choice {
      case .retry: "[r]etry"
      case .continueWithStored: "[c]ontinue with what is stored"
      case .quit: "[q]uit"
      }
    }
    diagnostics.show(TerminalText.visible("\(prompt.title). \(prompt.message)") + "\n")
    while true {
      diagnostics.show(choices.joined(separator: ", ") + "? ")
      // Nobody answers any more: the input has ended, or a signal came.
      guard let line = InputFile.line() else { return .quit }
      let answer = prompt.choices.first { !line.isEmpty && $0.rawValue.hasPrefix(line.lowercased()) }
      if let answer { return answer }
    }
  }

  /// The first of 74, 4, 22, 3, 0 that applies, whatever the failure rule.
  private func status(of outcome: PreloadOutcome, _ found: Set<String>) -> ExitStatus {
    .combined(
      outcome.steps.map {
        Self.status(of: $0, found: found, failsOnStatus: failsOnStatus, isStaleFine: isStaleFine)
      })
  }

  static func status(
    of step: PreloadOutcome.Step, found: Set<String> = [], failsOnStatus: Bool, isStaleFine: Bool = false
  ) -> ExitStatus {
    if case .no(let reason)? = step.kept, reason.isOfStore { return .inputOutput }
    switch step.state(found: found) {
    case .fresh:
      switch step.kept {
      // A newer response is there, or another machine's comes at the end.
      case nil, .yes?, .no(.superseded)?, .no(.elsewhere)?: return .success
      // What the run is for has not been done.
      case .no?: return step.change == .new ? .nothing : .storedOnly
      }
    case .stored, .missing:
      let hasStored = step.state(found: found) == .stored
      return LoadOutcome(
        storedStatus: hasStored ? 200 : nil, end: .failure(storeIsUnusable: false, status: step.error?.status)
      ).exitStatus(failsOnStatus: failsOnStatus, isStaleFine: isStaleFine)
    }
  }
}

/// What the store has of the requests that a run was ended before: those that it did not come to, and those that its
/// deadline cut short.
private struct PreloadRemains {
  let plan: PreloadPlan
  let service: DataService
  /// How long the store may take to say so, in milliseconds.
  private var limit: Int32 { plan.deadline == nil ? 10_000 : 1_000 }

  /// The names of those that are stored.
  /// - Parameter marks: Whether they get the pin and the tags that the run was to give them; not after a signal.
  func found(of outcome: PreloadOutcome, marks: Bool) -> Set<String> {
    stored(of: outcome.steps.filter { $0.state != .fresh && $0.error == nil }, marks: marks) ?? []
  }

  /// The names of those that the run has stored, and that are no longer there.
  func evicted(of outcome: PreloadOutcome) -> Set<String> {
    service.store.hasEvicted ? gone(of: outcome.steps.filter { $0.kept == .yes }) : []
  }

  /// The names of those that a removal came before, so that the store has neither this response nor another.
  func removed(of outcome: PreloadOutcome) -> Set<String> {
    gone(of: outcome.steps.filter { $0.kept == .no(.superseded) })
  }

  private func gone(of steps: [PreloadOutcome.Step]) -> Set<String> {
    let names = Set(steps.map(\.name))
    return names.subtracting(stored(of: steps, marks: false) ?? names)
  }

  private func stored(of steps: [PreloadOutcome.Step], marks: Bool) -> Set<String>? {
    let requests = Dictionary(uniqueKeysWithValues: plan.steps.map { ($0.name, $0.request) })
    let left = steps.compactMap { step in requests[step.name].map { (step.name, $0) } }
    guard !left.isEmpty else { return [] }
    let stored = Mailbox<Set<String>>()
    Task(executorPreference: service.executor) { [service] in
      var names: Set<String> = []
      for (name, request) in left where await service.isStored(request, marking: marks) { names.insert(name) }
      stored.post(names)
    }
    return stored.wait(milliseconds: limit, heedsSignals: marks)
  }
}
