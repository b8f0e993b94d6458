internal import DataService

/// Carries out a `get` on the main thread: starts the loads, prints each delivery whole and in order, and says how it
/// ended. A stored delivery is on standard output before anything of the network is waited for.
final class FetchRun {
  typealias Delivery = DataService.Delivery<DataService.BodyStream>
  typealias Response = DataService.Response<DataService.BodyStream>

  private enum Message: Sendable {
    case delivery(Int, Delivery)
    case ended(Int)
  }

  private struct State {
    var outcome = LoadOutcome()
    /// The stored delivery that `--print last` may yet need.
    var held: Response?
    var wasStoredPrinted = false
    var cancel: (@Sendable () -> Void)?
  }

  private let plan: GetPlan
  private let fetcher: Fetcher
  private let diagnostics: Diagnostics
  private var printer: DeliveryPrinter
  private let mailbox = Mailbox<Message>()
  private var states: [State]
  private var underWay = 0

  init(_ plan: GetPlan, fetcher: Fetcher, diagnostics: Diagnostics) {
    self.plan = plan
    self.fetcher = fetcher
    self.diagnostics = diagnostics
    printer = DeliveryPrinter(plan.form, diagnostics: diagnostics)
    states = plan.requests.map { _ in State() }
  }

  /// Runs to the end and returns the exit status.
  func run() -> ExitStatus {
    do throws(OutputError) {
      try runLoads()
    } catch {
      for state in states { state.cancel?() }
      return fetcher.stop(after: error, diagnostics)
    }
    _ = fetcher.close(.seconds(10))
    return .combined(states.map { $0.outcome.exitStatus(failsOnStatus: plan.form.failsOnStatus) })
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
    while next < states.count || underWay > 0 {
      if next < states.count, underWay < plan.parallel ?? .max {
        start(next)
        next += 1
        while let message = mailbox.next() { try handle(message) }
      } else {
        guard let message = mailbox.wait() else { throw .interrupted }
        try handle(message)
      }
    }
  }

  private func start(_ index: Int) {
    let mailbox = mailbox
    underWay += 1
    states[index].cancel = fetcher.start(plan.requests[index], plan.policy.fetchPolicy) { delivery in
      mailbox.post(.delivery(index, delivery))
    } _: {
      mailbox.post(.ended(index))
    }
  }

  private func handle(_ message: Message) throws(OutputError) {
    switch message {
    case .delivery(let index, let delivery): try handle(delivery, of: index)
    case .ended(let index):
      states[index].cancel = nil
      underWay -= 1
    }
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
        diagnostics.say("\(plan.lines[index].url): \(Diagnostics.joined(error.message, error.hint))")
      }
    }
  }
}
