internal import DataService

/// Carries out a `get` on the main thread: starts the loads, prints each delivery whole and in order, and reports how
/// it ended. A stored delivery is written to standard output before the command waits for the network.
final class GetCommand {
  typealias Delivery = LoadReader.Delivery
  typealias Response = DataService.Response<DataService.BodyStream>

  private struct State {
    var outcome = LoadOutcome()
    /// The stored delivery that `--print last` may still need.
    var held: Response?
    /// Whether the stored delivery's body was printed completely.
    var wasStoredPrinted = false
    /// Whether anything was written to standard output or the file.
    var hasPrinted = false
    /// What is to be printed when its turn comes: of several URLs `--one` prints in the order of the arguments.
    var awaited: Delivery?
    var isEnded = false
    /// Whether it failed because nothing is stored.
    var isNotStored = false
    /// What `-w` prints, if given.
    var transfer: WriteOut.Transfer?
    /// The head of the stored delivery.
    var stored: DataService.ResponseHead?

    /// Whether a stored response was delivered that is not older than that.
    func isYoung(_ age: Duration) -> Bool { stored?.satisfies(.storedElseFresh(maxAge: age)) ?? false }
  }

  private let plan: GetArguments
  private let reader: LoadReader
  private let diagnostics: Diagnostics
  private var printer: DeliveryPrinter
  private var states: [State]
  /// The index of the next load to start.
  private var next = 0
  /// The index of the load whose turn it is to be printed, under `--one`.
  private var turn = 0

  init(_ plan: GetArguments, _ source: any LoadSource, _ diagnostics: Diagnostics) {
    self.plan = plan
    self.diagnostics = diagnostics
    reader = LoadReader(
      source, diagnostics: diagnostics,
      showsBar: !(plan.form.insistsOnBytes && diagnostics.terminal.isOutput))
    printer = DeliveryPrinter(plan.form, diagnostics: diagnostics)
    states = plan.requests.map { _ in State() }
  }

  /// Runs to the end and returns the exit status.
  func run() -> ExitStatus {
    reader.run(isResumable: true) { [self] () throws(OutputError) in
      try runLoads()
      return status
    }
  }

  /// The requests that failed because nothing is stored for them.
  var notStored: [Int] { states.indices.filter { states[$0].isNotStored } }

  /// Whether the process that refreshes could not be started.
  private var isRefreshMissing = false

  private var status: ExitStatus {
    let loads = states.map(status)
    return .combined(isRefreshMissing ? loads + [.inputOutput] : loads)
  }

  private func status(_ state: State) -> ExitStatus {
    state.outcome.exitStatus(failsOnStatus: plan.form.failsOnStatus, isStaleFine: plan.isStaleFine)
  }

  private func runLoads() throws(OutputError) {
    if let text = plan.unstored { diagnostics.say(text) }
    if let order = plan.background {
      // Look up every URL before the background process starts, or its fresh row could be shown as the stored one.
      while next < states.count { beginNext() }
      // The process that refreshes may run first where there is but one processor.
      while let event = reader.poll() { try handle(event) }
      if let age = plan.backgroundAge, states.allSatisfy({ $0.isYoung(age) }) { return }
      do {
        try Background.start(order)
      } catch {
        guard case .failed(let number, let path) = error else { throw error }
        isRefreshMissing = true
        diagnostics.say(Background.complaint(number, path))
      }
    }
    while next < states.count || !reader.numbers.isEmpty {
      if next < states.count, reader.numbers.count < plan.parallel ?? .max {
        beginNext()
        while let event = reader.poll() { try handle(event) }
      } else if let event = try reader.next(until: reader.deadline) {
        try handle(event)
      } else {
        // Everything is delivered, and the time to wait for pending writes has passed.
        for index in reader.numbers {
          noteUnwritten(index)
          try end(index)
        }
        return
      }
    }
  }

  private func noteUnwritten(_ index: Int) {
    guard case .fresh = states[index].outcome.end else { return }
    let limit = LoadReader.writing.milliseconds / 1_000
    say("the response is not stored: the store did not take it within \(limit) s", of: index)
  }

  private func say(_ text: String, of index: Int) { diagnostics.say("\(plan.lines[index].url): \(text)") }

  private func beginNext() {
    let index = next
    next += 1
    if plan.writeOut != nil {
      let request = plan.requests[index]
      states[index].transfer = WriteOut.Transfer(
        number: index, url: plan.lines[index].url, method: request.method.rawValue)
    }
    reader.begin(index, plan.requests[index], plan.policy.fetchPolicy)
  }

  private func handle(_ event: LoadReader.Event) throws(OutputError) {
    switch event {
    case .ended(let index): try end(index)
    case .delivery(let index, .stored(let response)):
      states[index].outcome.storedStatus = response.status
      states[index].stored = response.head
      states[index].transfer?.take(response.head, "stored")
      try takeStored(response, of: index)
    case .delivery(let index, .fresh(let response, let change)):
      states[index].outcome.end = .fresh(status: response.status)
      states[index].transfer?.take(response.head, "fresh")
      try takeFresh(response, change, of: index)
    case .delivery(let index, .failure(let failure, let lastKnown)):
      let error = advised(failure)
      let isStore = [.store, .corrupt, .closed].contains(error.kind)
      states[index].outcome.end = .failure(
        storeIsUnusable: isStore && plan.policy == .storedOnly, status: error.status)
      states[index].transfer?.take(error)
      states[index].isNotStored = error.kind == .notStored
      try takeFailure(error, .failure(error, lastKnown: lastKnown), of: index)
    }
  }

  /// The error with a remedy where `--store` names a store that is not there: the name may be mistyped.
  private func advised(_ error: DataServiceError) -> DataServiceError {
    guard error.kind == .notStored, let store = plan.namedStore, !InputFile.isThere(store) else {
      return error
    }
    let shown = TerminalText.visible(store)
    return DataServiceError(
      .notStored, error.message, hint: "there is no store at \(shown): name one that is there with --store")
  }

  private func takeStored(_ response: Response, of index: Int) throws(OutputError) {
    let verdict = PrintRule.stored(plan.print, mayBecomeFresh: plan.policy == .storedThenFresh)
    if verdict == .hold { states[index].held = response }
    if verdict == .print, !leavesOut(response) { try show(.stored(response), response, of: index) }
    noteWithheld(response, isStored: true, of: index)
  }

  private func takeFresh(
    _ response: Response, _ change: DataService.Change, of index: Int
  ) throws(OutputError) {
    let delivery = Delivery.fresh(response, change)
    let verdict = PrintRule.fresh(
      plan.print, change, isRecord: plan.form.isJSON || plan.form.isHeadOnly,
      wasStoredPrinted: states[index].wasStoredPrinted)
    if printer.withholds(response), plan.policy.prefersFresh,
      let stored = try reader.stored(plan.requests[index])
    {
      if PrintRule.standsIn(plan.print) { states[index].held = stored }
      states[index].outcome.storedStatus = stored.status
    }
    // The fresh body must not be shown, perhaps an error page, so the held one is the newest that may be.
    if printer.withholds(response), states[index].stored == nil { try noteTooOld(index) }
    if printer.withholds(response), try showHeld(of: index) {
      printer.showHeading(delivery, plan.lines[index])
    } else if verdict == .print, !leavesOut(response) {
      try showWhole(delivery, response, change, of: index)
    } else {
      if plan.print != .none, plan.print != .stored { printer.showHeading(delivery, plan.lines[index]) }
      // The file has these bytes already.
      if printer.wasFileWritten, !printer.withholds(response) {
        states[index].transfer?.note(printed: delivery, isAlone: true)
      }
      try skip(delivery, response, of: index)
    }
    states[index].held = nil
    noteWithheld(response, isStored: false, of: index)
    try noteUnmarked(response, of: index)
  }

  /// Whether nothing of the response is shown, not even its head: under `--one` no error is an answer.
  private func leavesOut(_ response: Response) -> Bool { plan.form.isOne && printer.withholds(response) }

  /// Shows a fresh delivery. Under `--one` a body that is not stored and still arrives is collected first, so that half of
  /// one is never printed and another can stand in.
  private func showWhole(
    _ delivery: Delivery, _ response: Response, _ change: DataService.Change, of index: Int
  ) throws(OutputError) {
    guard plan.form.isOne, case .no = response.kept, response.value.whole == nil else {
      return try show(delivery, response, of: index)
    }
    let body: DataService.BodyStream
    do throws(BodyError) {
      body = DataService.BodyStream(whole: try SpooledBody.collected(response.value))
    } catch {
      return try takeBroken(error, delivery, of: index)
    }
    let whole = response.map { _ in body }
    try show(.fresh(whole, change), whole, of: index)
  }

  /// Reports that `--pin` or `--tag` had no effect, since the response is not stored. What was stored before has them.
  private func noteUnmarked(_ response: Response, of index: Int) throws(OutputError) {
    let request = plan.requests[index]
    guard request.isPinned || !request.tags.isEmpty, states[index].outcome.storedStatus == nil,
      case .no(let reason) = response.head.kept, reason != .elsewhere, reason != .busy,
      try reader.stored(request) == nil
    else { return }
    let options = [request.isPinned ? "--pin" : nil, request.tags.isEmpty ? nil : "--tag"].compactMap { $0 }
    say(
      "the fresh response is not stored (\(Words.unkept(reason))), so that "
        + "\(options.joined(separator: " and ")) \(options.count == 1 ? "has" : "have") no effect on it",
      of: index)
  }

  private func takeFailure(_ error: DataServiceError, _ delivery: Delivery, of index: Int) throws(OutputError)
  {
    try showHeld(of: index)
    printer.say(error, delivery, as: plan.lines[index], standIn: standIn(index))
    if plan.form.isJSON,
      PrintRule.failure(plan.print, wasStoredPrinted: states[index].hasPrinted) == .print
    {
      try printer.showFailure(delivery, as: plan.lines[index])
      states[index].hasPrinted = true
    }
    if states[index].stored == nil, plan.policy != .storedOnly { try noteTooOld(index) }
    // Standard output has heads only where it has bodies; the file of `-o` takes no response of this status.
    let showsHead = plan.form.includesHead && !plan.form.isJSON && plan.form.file == nil
    if showsHead, plan.print != .none, plan.policy == .http, plan.isOnlyIfCached, error.kind == .notStored {
      try printer.showHead(HeadText.gatewayTimeout)
    }
  }

  /// What a pipe's or a file's reader has in place of a fresh response.
  private func standIn(_ index: Int) -> String? {
    guard hasStoredShown(index) else { return nil }
    if let name = plan.form.file?.name { return "“\(name)” has the stored response" }
    return plan.form.isOne ? "the stored response is printed instead" : nil
  }

  /// Whether the stored response is printed, now or when its turn comes.
  private func hasStoredShown(_ index: Int) -> Bool {
    if case .stored? = states[index].awaited { true } else { states[index].wasStoredPrinted }
  }

  /// Says where something is stored that `--max-stale` does not let stand in.
  private func noteTooOld(_ index: Int) throws(OutputError) {
    guard plan.requests[index].maxStale != nil else { return }
    var any = plan.requests[index]
    any.maxStale = nil
    guard let old = try reader.stored(any) else { return }
    say("what is stored is from \(Words.age(old.age)), older than --max-stale allows", of: index)
  }

  /// The load has ended, so the held delivery is the newest.
  private func end(_ index: Int) throws(OutputError) {
    try showHeld(of: index)
    states[index].isEnded = true
    guard takesTurns else { return try finish(index) }
    while turn < states.count, states[turn].isEnded {
      turn += 1
      if let delivery = states[turn - 1].awaited, let response = delivery.response {
        states[turn - 1].awaited = nil
        try print(delivery, response, of: turn - 1)
      }
      try finish(turn - 1)
    }
  }

  private var takesTurns: Bool { plan.isAlone && states.count > 1 }

  /// Says what is left to say of a load that has ended.
  private func finish(_ index: Int) throws(OutputError) {
    let status = status(states[index])
    if status == .success, !states[index].hasPrinted { sayLeftOut(of: index) }
    guard let writeOut = plan.writeOut, let transfer = states[index].transfer else { return }
    for part in writeOut.text(of: transfer, exitStatus: status, file: plan.form.file?.name) {
      if part.isForErrors {
        diagnostics.write(part.text)
      } else {
        try printer.showText(Array(part.text.utf8))
      }
    }
  }

  /// Shows the stored delivery held for `--print last`, if any.
  @discardableResult private func showHeld(of index: Int) throws(OutputError) -> Bool {
    guard let held = states[index].held else { return false }
    states[index].held = nil
    try show(.stored(held), held, of: index)
    return true
  }

  /// Reports that a delivered body was not printed, and why.
  private func noteWithheld(_ response: Response, isStored: Bool, of index: Int) {
    let status = response.head.statusText
    let answer =
      isStored
      ? "the stored response is \(status)"
      : response.status < 400
        ? "another host answered in its place, as captive portals do" : "answered \(status)"
    if printer.leavesFile(response), let name = plan.form.file?.name {
      states[index].outcome.leavesFile = true
      let content =
        printer.wasFileWritten
        ? "has the stored response" : InputFile.isThere(name) ? "is left as it is" : "is not written"
      say("\(answer); “\(name)” \(content)", of: index)
    } else if printer.withholds(response) {
      states[index].outcome.leavesFile = true
      let body =
        hasStoredShown(index) ? "the stored response is printed instead" : "its body is not printed"
      say("\(answer); \(body)", of: index)
    } else if plan.form.failsOnStatus, response.status >= 400 {
      say(answer, of: index)
    } else if !isStored {
      states[index].outcome.leavesFile = false
    }
  }

  /// Explains why a successful load printed nothing.
  private func sayLeftOut(of index: Int) {
    if case .failure = states[index].outcome.end { return }
    switch plan.print {
    case .fresh:
      say("the stored response was enough, so that --print fresh printed nothing", of: index)
    case .stored:
      say("no stored response was delivered, so that --print stored printed nothing", of: index)
    case .changed:
      if case .fresh = states[index].outcome.end { break }
      say("no fresh response was wanted, so that --print changed printed nothing", of: index)
    case .both, .last, .none: break
    }
  }

  /// Shows a delivery, or keeps it until its turn comes.
  private func show(_ delivery: Delivery, _ response: Response, of index: Int) throws(OutputError) {
    if takesTurns { states[index].awaited = delivery } else { try print(delivery, response, of: index) }
  }

  /// Prints a delivery. If its body is incomplete, the load counts as failed.
  private func print(_ delivery: Delivery, _ response: Response, of index: Int) throws(OutputError) {
    do throws(BodyError) {
      let count = try printer.show(delivery, response, as: plan.lines[index])
      states[index].hasPrinted = true
      if !printer.withholds(response) {
        states[index].transfer?.note(printed: delivery, isAlone: plan.form.file != nil)
      }
      if case .stored = delivery {
        states[index].wasStoredPrinted = !printer.withholds(response)
      } else if let count {
        states[index].transfer?.received = count
      }
    } catch {
      try takeBroken(error, delivery, of: index)
    }
  }

  /// Reads a body that is not shown and still arrives: what is printed does not change the exit status, and it may break
  /// off.
  private func skip(_ delivery: Delivery, _ response: Response, of index: Int) throws(OutputError) {
    guard case .no = response.kept, response.value.whole == nil else { return }
    do throws(BodyError) {
      try BodyPieces(stream: response.value).forEach { _ in }
    } catch {
      try takeBroken(error, delivery, of: index)
    }
  }

  /// A body that is incomplete is a failure. Where a part of it was printed to standard output, what was stored does not
  /// make up for that.
  private func takeBroken(_ error: BodyError, _ delivery: Delivery, of index: Int) throws(OutputError) {
    let error = try error.ofBody()
    states[index].transfer?.take(error)
    let mayBePrinted =
      plan.form.file == nil && !plan.form.isJSON && !plan.form.isOne && plan.print != .none
      && plan.print != .stored
    if case .fresh = delivery, !mayBePrinted {
      states[index].outcome.end = .failure(storeIsUnusable: false, status: nil)
      return try takeFailure(error, .failure(error, lastKnown: nil), of: index)
    }
    states[index].outcome = LoadOutcome(end: .failure(storeIsUnusable: false, status: nil))
    diagnostics.say(error, of: plan.lines[index])
  }
}
