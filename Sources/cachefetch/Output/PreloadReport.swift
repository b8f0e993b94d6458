internal import CacheStore
internal import DataService
internal import Launch
internal import PlatformFoundation

/// The output of `preload`: a bar on a terminal, otherwise a line for each step; JSON Lines on standard output; a
/// summary.
///
/// Every request is named, even those the run ended before.
final class PreloadReport {
  private let urls: [String: String]
  private let plan: PreloadPlan
  /// The steps reported so far, and those whose JSON object has been written.
  private var said: Set<String> = []
  private var written: Set<String> = []
  private let isJSON: Bool
  private let diagnostics: Diagnostics
  private let output: OutputDescriptor
  private let began = ContinuousClock.now

  init(
    _ plan: PreloadPlan, isJSON: Bool, diagnostics: Diagnostics, output: OutputDescriptor = .standardOutput
  ) {
    self.plan = plan
    urls = Dictionary(uniqueKeysWithValues: plan.steps.map { ($0.name, $0.request.url.absoluteString) })
    self.isJSON = isJSON
    self.diagnostics = diagnostics
    self.output = output
  }

  /// Whether progress is shown at all.
  var showsBar: Bool { diagnostics.hasRedrawnLine }

  /// Whether anything is shown of a step: its line, its failure, or its object.
  var showsSteps: Bool { isJSON || diagnostics.saysFailures }

  /// Redraws the bar.
  func show(_ progress: PreloadProgress) {
    guard showsBar else { return }
    diagnostics.status.show(
      ProgressBar.text(progress, elapsed: began.duration(to: .now), width: Terminal.width(of: 2) - 1))
  }

  /// Erases the bar, so that other lines can be written.
  func clear() { diagnostics.status.clear() }

  /// Reports the result of a step.
  func show(_ step: PreloadOutcome.Step) throws(OutputError) {
    // A failure that is tried again anyway is named at the end, with what has become of it.
    if case .retry = plan.onFailure, step.error != nil { return }
    said.insert(step.name)
    // Whoever is asked may have the step tried again: its object comes at the end.
    if isJSON, step.error == nil || plan.onFailure != .ask { try write(step, step.error) }
    say(step, step.error)
  }

  /// Reports the remaining requests and then the summary.
  /// - Parameters:
  ///   - found: The names of those that the store has though the run did not come to them.
  ///   - evicted: The names of those that the run has stored, and removed again to make room.
  func sumUp(
    _ outcome: PreloadOutcome, found: Set<String> = [], evicted: Set<String> = []
  ) throws(OutputError) {
    clear()
    for step in outcome.steps {
      let error = step.state == .fresh ? nil : step.error ?? ending(outcome)
      if isJSON, !written.contains(step.name) { try write(step, error, found: found) }
      if !said.contains(step.name) { say(step, error) }
    }
    for step in outcome.steps where evicted.contains(step.name) {
      if isJSON { try output.write(StepLine.evictedJSON(url: url(of: step))) }
      diagnostics.show(TerminalText.visible("missing, removed to make room: \(url(of: step))") + "\n")
    }
    diagnostics.show(summary(outcome, found) + "\n")
    if !evicted.isEmpty {
      diagnostics.say(
        "\(Counted.text(evicted.count, "response")) had to make room for others; allow more with cachefetch limits"
          + "\(StoreLocation.repeatedOption) --bytes SIZE or --rows N, or request less")
    }
  }

  /// The summary, with what to do where nothing could be kept.
  private func summary(_ outcome: PreloadOutcome, _ found: Set<String>) -> String {
    let isReadOnly = outcome.steps.contains { $0.kept == .no(.readOnly) }
    return diagnostics.advised(StepLine.summary(outcome, found: found), isReadOnly ? .writableStore : nil)
  }

  private func write(
    _ step: PreloadOutcome.Step, _ error: DataServiceError?, found: Set<String> = []
  ) throws(OutputError) {
    written.insert(step.name)
    clear()
    try output.write(StepLine.json(step, error, found: found, url: url(of: step)))
  }

  private func say(_ step: PreloadOutcome.Step, _ error: DataServiceError?) {
    guard diagnostics.saysFailures else { return }
    let url = url(of: step)
    if let error {
      diagnostics.say("\(url): \(Diagnostics.joined(error.message, error.advice))")
    } else if step.isLeftOut, diagnostics.isQuiet {
      diagnostics.say(StepLine.text(step, url: url))
    } else if !isJSON, !showsBar || step.isLeftOut {
      // On a terminal the bar stands for those that went well.
      clear()
      diagnostics.show(TerminalText.visible(StepLine.text(step, url: url)) + "\n")
    }
  }

  private func url(of step: PreloadOutcome.Step) -> String { Shown.url(urls[step.name] ?? step.name) }

  /// Why a request has no fresh response although it did not fail.
  private func ending(_ outcome: PreloadOutcome) -> DataServiceError {
    if outcome.verdict == .quit {
      return DataServiceError(.cancelled, "was left, since the run was ended")
    }
    if let deadline = plan.deadline, outcome.elapsed >= deadline {
      return DataServiceError(
        .timeout(.deadline), "did not complete within \(Words.elapsed(deadline)), the deadline of the run",
        hint: "allow more time with --deadline, or fewer requests")
    }
    return DataServiceError(.cancelled, "was left, since another request failed")
  }
}

extension PreloadOutcome.Step {
  /// Which response there is for it, where the store has those of these names.
  func state(found: Set<String>) -> State { state == .missing && found.contains(name) ? .stored : state }

  /// Whether its response is not in the store.
  fileprivate var isLeftOut: Bool { if case .no? = kept { true } else { false } }
}

/// Steps in words and in JSON.
enum StepLine {
  /// `fresh, changed, 10.2 kB, 34 ms: URL`.
  static func text(_ step: PreloadOutcome.Step, url: String) -> String {
    var parts = [isYoung(step) ? "stored" : step.state.rawValue]
    if let change = step.change { parts.append(change.rawValue) }
    if let bytes = step.bytes { parts.append(Words.size(bytes)) }
    if let elapsed = step.elapsed { parts.append(Words.elapsed(elapsed)) }
    if case .no(let reason)? = step.kept { parts.append("not kept (\(Words.unkept(reason)))") }
    return parts.joined(separator: ", ") + ": " + url
  }

  /// A step's JSON object on one line, with the member names of a delivery's.
  static func json(
    _ step: PreloadOutcome.Step, _ error: DataServiceError?, found: Set<String> = [], url: String
  ) -> [UInt8] {
    var json = JSONWriter()
    json.member("delivery", error != nil ? "failure" : isYoung(step) ? "stored" : "fresh")
    json.member("url", url)
    json.member("state", step.state(found: found).rawValue)
    if let status = error?.status { json.member("status", status) }
    if error == nil, let bytes = step.bytes {
      json.member("body_omitted", true)
      json.member("body_bytes", bytes)
    }
    if let elapsed = step.elapsed { json.member("elapsed_ms", elapsed.milliseconds) }
    if let change = step.change { json.member("change", change.rawValue) }
    if let kept = step.kept { json.member(kept) }
    if let error { json.member("error", json: DeliveryLine.error(error)) }
    return json.line()
  }

  /// The object of a step whose response was stored, and removed again to make room.
  static func evictedJSON(url: String) -> [UInt8] {
    var json = JSONWriter()
    json.member("delivery", "fresh")
    json.member("url", url)
    json.member("state", PreloadOutcome.Step.State.missing.rawValue)
    json.member("kept", unless: "evicted")
    return json.line()
  }

  /// `500 requests in 3.2 s: 497 fresh (12 changed, 485 unchanged), 2 only stored, 1 missing; 10.2 MB`.
  static func summary(_ outcome: PreloadOutcome, found: Set<String> = []) -> String {
    let steps = outcome.steps
    let fresh = steps.filter { $0.state == .fresh }
    var changes: [String] = []
    for change in [DataService.Change.new, .changed, .unchanged] {
      let count = fresh.count { $0.change == change }
      if count > 0 { changes.append("\(count) \(change.rawValue)") }
    }
    let young = fresh.count { isYoung($0) }
    if young > 0 { changes.append("\(young) young enough") }
    var parts = ["\(fresh.count) fresh" + (changes.isEmpty ? "" : " (\(changes.joined(separator: ", ")))")]
    let stored = steps.count { $0.state(found: found) == .stored }
    if stored > 0 { parts.append("\(stored) only stored") }
    let missing = steps.count { $0.state(found: found) == .missing }
    if missing > 0 { parts.append("\(missing) missing") }
    let unkept = steps.count { if case .no? = $0.kept { true } else { false } }
    if unkept > 0 { parts.append("\(unkept) not kept") }
    let bytes = fresh.reduce(Int64(0)) { $0 + ($1.bytes ?? 0).summable }
    return
      "\(Counted.text(steps.count, "request")) in \(Words.elapsed(outcome.elapsed)): \(parts.joined(separator: ", ")); "
      + Words.size(bytes)
  }

  /// Whether a stored response was young enough, so that no request was sent.
  private static func isYoung(_ step: PreloadOutcome.Step) -> Bool {
    step.state == .fresh && step.change == nil
  }
}
