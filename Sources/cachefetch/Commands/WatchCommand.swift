internal import CacheStore
internal import DataService
internal import PlatformFoundation

/// Carries out `watch`: loads each URL repeatedly and prints what changed, and one line when a URL begins to fail or
/// recovers.
///
/// The baseline is the stored answer, else the first fresh one. Each response is compared with the one this process saw
/// last, so that a change another process fetched first is not missed.
final class WatchCommand {
  typealias Delivery = LoadReader.Delivery
  typealias Response = DataService.Response<DataService.BodyStream>

  private struct State {
    /// The body last seen, if small enough to compare.
    var baseline: Data?
    /// The status last seen; `nil` if none yet.
    var status: Int?
    /// When and why it began to fail.
    var failure: (since: ContinuousClock.Instant, kind: DataServiceError.Kind)?
    var isLoading = false
    var due: ContinuousClock.Instant
    var outcome = LoadOutcome()
  }

  private let plan: WatchPlan
  private let reader: LoadReader
  private let diagnostics: Diagnostics
  private var printer: DeliveryPrinter
  private var states: [State]
  private var isDone = false

  init(_ plan: WatchPlan, _ source: any LoadSource, _ diagnostics: Diagnostics) {
    self.plan = plan
    self.diagnostics = diagnostics
    reader = LoadReader(source, diagnostics: diagnostics)
    printer = DeliveryPrinter(plan.form, diagnostics: diagnostics)
    let now = ContinuousClock.now
    states = plan.requests.map { _ in State(due: now) }
  }

  /// Runs until a signal, or the first change under `--until-changed`.
  func run() -> ExitStatus {
    if diagnostics.terminal.isError { diagnostics.show(TerminalText.visible(plan.announcement) + "\n") }
    return reader.run(timeLimit: .seconds(2)) { [self] () throws(OutputError) in
      while !isDone { try step() }
      return .combined(states.map { $0.outcome.exitStatus(failsOnStatus: plan.form.failsOnStatus) })
    }
  }

  private func step() throws(OutputError) {
    let now = ContinuousClock.now
    for index in states.indices where !states[index].isLoading && states[index].due <= now { load(index) }
    let due = states.filter { !$0.isLoading }.map(\.due).min()
    // Between changes nothing is written, so that only the wait can tell that the reader is gone.
    if let event = try reader.next(until: due, watching: .standardOutput) { try handle(event) }
  }

  private func load(_ index: Int) {
    states[index].isLoading = true
    reader.begin(index, plan.requests[index], .storedThenFresh)
  }

  private func handle(_ event: LoadReader.Event) throws(OutputError) {
    switch event {
    case .ended(let index):
      states[index].isLoading = false
      states[index].due = max(states[index].due, ContinuousClock.now + plan.pause(after: nil))
    case .delivery(let index, .stored(let response)): takeBaseline(response, of: index)
    case .delivery(let index, .fresh(let response, let change)): try takeFresh(response, change, of: index)
    case .delivery(let index, .failure(let error, let lastKnown)):
      try takeFailure(error, lastKnown, of: index)
    }
  }

  /// The first load takes the stored response as its baseline; later loads want only the fresh one.
  private func takeBaseline(_ response: Response, of index: Int) {
    guard states[index].status == nil else { return }
    states[index].baseline = try? collected(response)
    states[index].status = response.status
    diagnostics.trace("\(plan.lines[index].url): the baseline is from \(Words.age(response.age))")
  }

  private func takeFresh(_ response: Response, _ told: DataService.Change, of index: Int) throws(OutputError)
  {
    if AnswerRule.isFailure(response.status) {
      return try takeFailure(.outage(response.head), nil, of: index)
    }
    states[index].due = ContinuousClock.now + plan.pause(after: response.head)
    let body: Data?
    do throws(BodyError) {
      body = try collected(response)
    } catch {
      return try takeFailure(error.ofBody(), nil, of: index)
    }
    let oldStatus = states[index].status
    var change = told
    if oldStatus == nil {
      change = .new
    } else if let old = states[index].baseline, let body {
      change = old == body ? .unchanged : plan.requests[index].changeRule.change(from: old, to: body)
    }
    let isOtherStatus = oldStatus != nil && oldStatus != response.status
    states[index].status = response.status
    if change != .unchanged || states[index].baseline == nil { states[index].baseline = body }
    let recovered = takeRecovery(of: index)
    if let oldStatus, isOtherStatus { say("status \(oldStatus) → \(response.status)", of: index) }
    let isFailure = plan.form.failsOnStatus && response.status >= 400
    let answered = "answered \(response.head.statusText)"
    if oldStatus == nil, response.status >= 400, !isFailure { say(answered, of: index) }
    if change == .changed || plan.form.isJSON && (isOtherStatus || recovered || isFailure) {
      try show(response, change, body, of: index)
    }
    if isFailure || plan.endsAtChange && (change == .changed || isOtherStatus) {
      if isFailure, !isOtherStatus { say(answered, of: index) }
      states[index].outcome.end = .fresh(status: response.status)
      // The state of the other URLs does not count: the awaited change has happened.
      for other in states.indices where other != index { states[other].outcome.end = .fresh(status: 200) }
      isDone = true
    }
  }

  private func takeFailure(
    _ error: DataServiceError, _ lastKnown: Response?, of index: Int
  ) throws(OutputError) {
    states[index].due = ContinuousClock.now + plan.pause(after: nil)
    let kind = WatchPlan.outage(error.kind)
    guard states[index].failure?.kind != kind else { return }
    states[index].failure = (states[index].failure?.since ?? ContinuousClock.now, kind)
    let delivery = Delivery.failure(error, lastKnown: lastKnown)
    printer.say(error, delivery, as: plan.lines[index])
    if plan.form.isJSON { try printer.showFailure(delivery, as: plan.lines[index]) }
  }

  /// Prints a line if the origin answers again after a failure. Returns whether it had failed.
  private func takeRecovery(of index: Int) -> Bool {
    guard let failure = states[index].failure else { return false }
    states[index].failure = nil
    let seconds = failure.since.duration(to: .now).components.seconds
    say("answers again, after \(Words.span(seconds: max(1, seconds)))", of: index)
    return true
  }

  private func say(_ text: String, of index: Int) { diagnostics.say("\(plan.lines[index].url): \(text)") }

  private func show(
    _ response: Response, _ change: DataService.Change, _ body: Data?, of index: Int
  ) throws(OutputError) {
    let shown = body.map { response.replacingBody($0) } ?? response
    do throws(BodyError) {
      try printer.show(.fresh(shown, change), shown, as: plan.lines[index])
    } catch {
      diagnostics.say(try error.ofBody(), of: plan.lines[index])
    }
  }

  /// The body, if it is small enough to keep and compare.
  private func collected(_ response: Response) throws(BodyError) -> Data? {
    guard response.value.length ?? 0 <= WatchPlan.largestBody else { return nil }
    return try BodyPieces(stream: response.value).collected(limit: WatchPlan.largestBody).bytes.map {
      Data($0)
    }
  }
}

extension DataServiceError {
  /// The error for a status that means a temporary outage, when nothing is stored to fall back on.
  fileprivate static func outage(_ head: DataService.ResponseHead) -> DataServiceError {
    let authority =
      head.url.split(separator: "/", maxSplits: 2, omittingEmptySubsequences: false).last?
      .prefix { $0 != "/" && $0 != "?" && $0 != "#" } ?? "the server"
    return DataServiceError(.status, "\(authority) answered \(head.statusText)", status: head.status)
  }
}

extension DataService.Response<DataService.BodyStream> {
  /// The same response with a body in memory, in place of a stream that has been read.
  fileprivate func replacingBody(_ body: Data) -> Self {
    DataService.Response(value: .init(whole: body), head: head)
  }
}

/// A parsed `watch`.
struct WatchPlan {
  let requests: [DataService.Request]
  let lines: [DeliveryLine]
  let form: DeliveryPrinter.Form
  /// `--every`; `nil` follows the responses' freshness lifetimes.
  let every: Duration?
  let endsAtChange: Bool

  /// The largest body that is compared here; for larger ones the service's comparison counts.
  static let largestBody = 16 << 20
  /// The pause without `--every`.
  private static let usualPause = Duration.seconds(30)
  /// The longest pause, even for a response with a longer freshness lifetime.
  static let longestPause = Duration.seconds(3_600)

  init(_ arguments: Arguments) throws(UsageError) {
    try RequestArguments.checkKey(arguments, urls: arguments.operands.count)
    requests = try RequestArguments(arguments).requests()
    lines = zip(arguments.operands, requests).map { DeliveryLine(url: $0, request: $1) }
    form = try DeliveryPrinter.Form(arguments)
    every = arguments.duration(.every)
    endsAtChange = arguments.has(.untilChanged)
    for request in requests where !request.method.isSafe && !request.isRead {
      throw UsageError(
        "watch would send \(request.method.rawValue) again and again",
        "write --read if this request only reads")
    }
    if let every, every < .milliseconds(10) {
      throw UsageError(
        "--every \(every.milliseconds)ms is no pause", "write at least 10ms; most servers prefer 30s or more")
    }
  }

  /// The first line on a terminal, where nothing else appears until something changes.
  var announcement: String {
    let what = lines.count == 1 ? lines[0].url : "\(lines.count) URLs"
    let pause = every.map { "every \(Words.elapsed($0))" } ?? "every 30 s, or as long as it stays fresh"
    return "watching \(what) \(pause); changes are shown, Ctrl-C ends it"
  }

  /// The kind of outage a failure belongs to: a paused origin (`Retry-After`) is still in the outage its status began.
  static func outage(_ kind: DataServiceError.Kind) -> DataServiceError.Kind {
    kind == .paused ? .status : kind
  }

  /// How long to wait after a response: the time of `--every`, otherwise 30 seconds or the response's freshness
  /// lifetime. A random tenth more or less keeps many watchers from asking in step.
  func pause(
    after head: DataService.ResponseHead?, random: (ClosedRange<Int64>) -> Int64 = { .random(in: $0) }
  ) -> Duration {
    let pause = every ?? Self.ownPause(head)
    let tenth = pause.milliseconds / 10
    return .milliseconds(pause.milliseconds + random(-tenth...tenth))
  }

  private static func ownPause(_ head: DataService.ResponseHead?) -> Duration {
    guard let head, let seconds = CacheControl(fields: head.fields).maxAge.value else { return usualPause }
    let left = Duration.seconds(min(seconds, 31_536_000)) - head.age
    return min(max(left, usualPause), longestPause)
  }
}
