internal import DataService
internal import FoundationEssentials

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
  private let printer: BodyPrinter
  private let mailbox = Mailbox<Message>()
  private var states: [State]
  private var underWay = 0
  private var wasFileWritten = false

  init(_ plan: GetPlan, fetcher: Fetcher, diagnostics: Diagnostics) {
    self.plan = plan
    self.fetcher = fetcher
    self.diagnostics = diagnostics
    printer = BodyPrinter(
      isTerminal: diagnostics.terminal.isOutput && !plan.insistsOnBytes && !plan.isJSON,
      hasColour: diagnostics.terminal.hasColour, diagnostics: diagnostics)
    states = plan.requests.map { _ in State() }
  }

  /// Runs to the end and returns the exit status.
  func run() -> ExitStatus {
    do throws(OutputError) {
      try runLoads()
    } catch {
      return stop(after: error)
    }
    _ = fetcher.close(.seconds(10))
    return .combined(states.map { $0.outcome.exitStatus(failsOnStatus: plan.failsOnStatus) })
  }

  private func runLoads() throws(OutputError) {
    var next = 0
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

  /// Nobody reads any more, a signal came or the disk is full: the exchanges are stopped and nothing half is left.
  private func stop(after error: OutputError) -> ExitStatus {
    for state in states { state.cancel?() }
    _ = fetcher.close(.seconds(2))
    switch error {
    case .interrupted: return Signals.exitStatus
    case .closed: Signals.endProcess(by: Signals.brokenPipe)
    case .failed:
      diagnostics.say(error)
      return .inputOutput
    }
  }

  private func handle(_ message: Message) throws(OutputError) {
    switch message {
    case .delivery(let index, let delivery): try handle(delivery, of: index)
    case .ended: underWay -= 1
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

  // MARK: Each kind of delivery

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
      plan.print, change, isTerminal: printer.isTerminal && plan.file == nil && !plan.includesHead,
      wasStoredPrinted: states[index].wasStoredPrinted)
    if verdict == .print {
      try show(delivery, response, of: index)
    } else if plan.print != .none, plan.print != .stored {
      showHeading(delivery, of: index)
    }
  }

  private func takeFailure(_ error: DataServiceError, _ delivery: Delivery, of index: Int) throws(OutputError)
  {
    let held = states[index].held
    states[index].held = nil
    if let held { try show(.stored(held), held, of: index) }
    say(error, delivery, of: index)
    if plan.isJSON, PrintRule.failure(plan.print, holdsStored: held != nil) == .print {
      try OutputDescriptor.standardOutput.write(line(of: index).bytes(delivery, body: .none))
    }
    if plan.policy == .http, plan.isOnlyIfCached, plan.includesHead, error.kind == .notStored {
      try printer.printHead(HeadText.gatewayTimeout)
    }
  }

  // MARK: Showing

  private func show(_ delivery: Delivery, _ response: Response, of index: Int) throws(OutputError) {
    showHeading(delivery, of: index)
    do throws(BodyError) {
      if plan.isJSON { try showLine(delivery, response, of: index) } else { try showBody(delivery, response) }
    } catch {
      try report(error, of: index)
    }
  }

  private func showBody(_ delivery: Delivery, _ response: Response) throws(BodyError) {
    let isStored = if case .stored = delivery { true } else { false }
    do {
      if plan.includesHead { try printer.printHead(HeadText.bytes(response.head, isStored: isStored)) }
    } catch {
      throw .output(error)
    }
    if plan.isHeadOnly { return }
    if let file = plan.file {
      try write(response, of: delivery, to: file)
    } else if !isFailed(response) {
      try printer.printBody(response)
    }
  }

  private func showLine(_ delivery: Delivery, _ response: Response, of index: Int) throws(BodyError) {
    var body = DeliveryLine.Body.omitted(response.head.bodyLength)
    if let file = plan.file {
      try write(response, of: delivery, to: file)
    } else if plan.isHeadOnly {
      body = .none
    } else if !isFailed(response) {
      let (bytes, length) = try BodyPieces(stream: response.value).collected(limit: DeliveryLine.largestBody)
      body = bytes.map { .bytes($0) } ?? .omitted(length)
    }
    do { try OutputDescriptor.standardOutput.write(line(of: index).bytes(delivery, body: body)) } catch {
      throw .output(error)
    }
  }

  private func write(_ response: Response, of delivery: Delivery, to file: ReplacedFile) throws(BodyError) {
    if case .fresh(_, let change) = delivery,
      !PrintRule.replacesFile(status: response.status, change: change, wasWritten: wasFileWritten)
    {
      return
    }
    try file.replace(with: BodyPieces(stream: response.value))
    wasFileWritten = true
  }

  /// A body that broke off: the load has not delivered what it said, so it counts as a failure.
  private func report(_ error: BodyError, of index: Int) throws(OutputError) {
    switch error {
    case .output(let error): throw error
    case .body(let error):
      states[index].outcome.storedStatus = nil
      states[index].outcome.end = .failure(storeIsUnusable: false)
      diagnostics.say("\(plan.urls[index]): \(Diagnostics.joined(error.message, error.hint))")
    }
  }

  private func isFailed(_ response: Response) -> Bool { plan.failsOnStatus && response.status >= 400 }

  private func line(of index: Int) -> DeliveryLine {
    DeliveryLine(url: plan.urls[index], method: plan.requests[index].method.rawValue)
  }

  private func say(_ error: DataServiceError, _ delivery: Delivery, of index: Int) {
    if diagnostics.terminal.isError {
      showHeading(delivery, of: index)
    } else {
      diagnostics.say("\(plan.urls[index]): \(Diagnostics.joined(error.message, error.hint))")
    }
  }

  private func showHeading(_ delivery: Delivery, of index: Int) {
    guard diagnostics.terminal.isError, !diagnostics.isQuiet else { return }
    let heading = Heading(
      url: plan.urls.count > 1 ? plan.urls[index] : nil, width: Terminal.width(of: 2),
      hasColour: diagnostics.terminal.hasColour)
    diagnostics.show(heading.line(delivery))
  }
}
