internal import DataService

/// Carries out a `get` on the main thread: starts the loads, prints each delivery whole and in order, and says how it
/// ended. A stored delivery is on standard output before anything of the network is waited for.
final class FetchRun {
  typealias Delivery = DataService.Delivery<DataService.BodyStream>
  typealias Response = DataService.Response<DataService.BodyStream>

  private struct State {
    var outcome = LoadOutcome()
    /// The stored delivery that `--print last` may yet need.
    var held: Response?
    var wasStoredPrinted = false
  }

  private let plan: GetPlan
  private let feed: LoadFeed
  private let diagnostics: Diagnostics
  private var printer: DeliveryPrinter
  private var states: [State]

  init(_ plan: GetPlan, fetcher: Fetcher, diagnostics: Diagnostics) {
    self.plan = plan
    self.diagnostics = diagnostics
    feed = LoadFeed(
      fetcher, diagnostics: diagnostics,
      showsBar: !(plan.form.insistsOnBytes && diagnostics.terminal.isOutput))
    printer = DeliveryPrinter(plan.form, diagnostics: diagnostics)
    states = plan.requests.map { _ in State() }
  }

  /// Runs to the end and returns the exit status.
  func run() -> ExitStatus {
    let stopped = feed.run(patience: .seconds(10)) { () throws(OutputError) in try runLoads() }
    return stopped
      ?? .combined(states.map { $0.outcome.exitStatus(failsOnStatus: plan.form.failsOnStatus) })
  }

  private func runLoads() throws(OutputError) {
    var next = 0
    if let words = plan.background {
      // Looked up first: what the other process stores is not what was stored.
      while next < states.count {
        start(next)
        next += 1
      }
      do { try Background.start(words) } catch { diagnostics.say(error) }
    }
    while next < states.count || feed.underWay > 0 {
      if next < states.count, feed.underWay < plan.parallel ?? .max {
        start(next)
        next += 1
        while let event = feed.next() { try handle(event) }
      } else {
        guard let event = feed.wait() else { throw .interrupted }
        try handle(event)
      }
    }
  }

  private func start(_ index: Int) { feed.start(index, plan.requests[index], plan.policy.fetchPolicy) }

  private func handle(_ event: LoadFeed.Event) throws(OutputError) {
    if case .delivery(let index, let delivery) = event { try handle(delivery, of: index) }
  }

  private func handle(_ delivery: Delivery, of index: Int) throws(OutputError) {
    switch delivery {
    case .stored(let response):
      states[index].outcome.storedStatus = response.status
      try takeStored(response, delivery, of: index)
    case .fresh(let response, let change):
      states[index].outcome.end = .fresh(status: response.status)
      states[index].held = nil
      try takeFresh(response, change, delivery, of: index)
    case .failure(let error, _):
      let isStore = [.store, .corrupt, .closed].contains(error.kind)
      states[index].outcome.end = .failure(storeIsUnusable: isStore && plan.policy == .storedOnly)
      try takeFailure(error, delivery, of: index)
    }
  }

  private func takeStored(_ response: Response, _ delivery: Delivery, of index: Int) throws(OutputError) {
    let verdict = PrintRule.stored(plan.print)
    if verdict == .hold { states[index].held = response }
    guard verdict == .print else { return }
    states[index].wasStoredPrinted = true
    try show(delivery, response, of: index)
  }

  private func takeFresh(
    _ response: Response, _ change: DataService.Change, _ delivery: Delivery, of index: Int
  ) throws(OutputError) {
    let verdict = PrintRule.fresh(
      plan.print, change, isTerminal: printer.showsOnTerminal && !plan.form.includesHead,
      wasStoredPrinted: states[index].wasStoredPrinted)
    if verdict == .print {
      try show(delivery, response, of: index)
    } else if plan.print != .none, plan.print != .stored {
      printer.showHeading(delivery, plan.lines[index])
    }
  }

  private func takeFailure(_ error: DataServiceError, _ delivery: Delivery, of index: Int) throws(OutputError)
  {
    let held = states[index].held
    states[index].held = nil
    if let held { try show(.stored(held), held, of: index) }
    printer.say(error, delivery, as: plan.lines[index])
    if plan.form.isJSON, PrintRule.failure(plan.print, holdsStored: held != nil) == .print {
      try printer.showFailure(delivery, as: plan.lines[index])
    }
    if plan.policy == .http, plan.isOnlyIfCached, plan.form.includesHead, error.kind == .notStored {
      try printer.showHead(HeadText.gatewayTimeout)
    }
  }

  /// Shows a delivery. Where its body breaks off, the load has not delivered what it said and counts as failed.
  private func show(_ delivery: Delivery, _ response: Response, of index: Int) throws(OutputError) {
    do throws(BodyError) {
      try printer.show(delivery, response, as: plan.lines[index])
    } catch {
      switch error {
      case .output(let error): throw error
      case .body(let error):
        states[index].outcome = LoadOutcome(end: .failure(storeIsUnusable: false))
        diagnostics.say(error, of: plan.lines[index])
      }
    }
  }
}
