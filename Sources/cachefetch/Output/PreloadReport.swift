internal import DataService
internal import Launch

/// What a `preload` shows: a bar on a terminal, else a line a step; JSON Lines on standard output; a summary.
final class PreloadReport {
  private let urls: [String: String]
  private let isJSON: Bool
  private let diagnostics: Diagnostics
  private let clock = ContinuousClock()
  private let began: ContinuousClock.Instant

  init(urls: [String: String], isJSON: Bool, diagnostics: Diagnostics) {
    self.urls = urls
    self.isJSON = isJSON
    self.diagnostics = diagnostics
    began = clock.now
  }

  /// Whether progress is shown at all.
  var showsBar: Bool { diagnostics.hasStatusLine }

  /// Whether anything is shown of a step: its line, its failure, or its object.
  var showsSteps: Bool { isJSON || !diagnostics.isQuiet }

  /// Draws the bar anew.
  func show(_ progress: PreloadProgress) {
    guard showsBar else { return }
    diagnostics.status.show(
      ProgressBar.text(progress, elapsed: clock.now - began, width: Terminal.width(of: 2) - 1))
  }

  /// Takes the bar away, so that other lines can be written.
  func clear() { diagnostics.status.clear() }

  /// Says what became of a step.
  func show(_ step: LaunchOutcome.Step) throws(OutputError) {
    let url = ShownURL.text(urls[step.name] ?? step.name)
    if isJSON {
      clear()
      try OutputDescriptor.standardOutput.write(StepLine.json(step, url: url))
    }
    if let error = step.error {
      diagnostics.say("\(url): \(Diagnostics.joined(error.message, error.hint))")
    } else if !showsBar, !isJSON {
      diagnostics.show(
        TerminalText.visible(StepLine.text(step, url: url)) + "\n")
    }
  }

  /// Sums the run up.
  func sumUp(_ outcome: LaunchOutcome) {
    diagnostics.show(StepLine.summary(outcome) + "\n")
  }
}

/// Steps in words and in JSON.
enum StepLine {
  /// `fresh, changed, 10.2 kB, 34 ms: URL`.
  static func text(_ step: LaunchOutcome.Step, url: String) -> String {
    var parts = [isYoung(step) ? "stored" : step.state.rawValue]
    if let change = step.change { parts.append(change.rawValue) }
    if let bytes = step.bytes { parts.append(Words.size(bytes)) }
    if let elapsed = step.elapsed { parts.append(Words.elapsed(elapsed)) }
    if case .no(let reason)? = step.kept { parts.append("not kept (\(reason.name))") }
    return parts.joined(separator: ", ") + ": " + url
  }

  /// One object a line, with the names of a delivery's.
  static func json(_ step: LaunchOutcome.Step, url: String) -> [UInt8] {
    var json = JSONWriter()
    json.member("delivery", step.error != nil ? "failure" : isYoung(step) ? "stored" : "fresh")
    json.member("url", url)
    if let status = step.error?.status { json.member("status", status) }
    if step.error == nil, let bytes = step.bytes {
      json.member("body_omitted", true)
      json.member("body_bytes", bytes)
    }
    if let elapsed = step.elapsed { json.member("elapsed_ms", elapsed.milliseconds) }
    if let change = step.change { json.member("change", change.rawValue) }
    switch step.kept {
    case .yes?: json.member("kept", true)
    case .no(let reason)?:
      json.member("kept", false)
      json.member("kept_reason", reason.name)
    case nil: break
    }
    if let error = step.error { json.member("error", json: DeliveryLine.error(error)) }
    return json.line()
  }

  /// `500 requests in 3.2 s: 497 fresh (12 changed, 485 unchanged), 2 only stored, 1 missing; 10.2 MB`.
  static func summary(_ outcome: LaunchOutcome) -> String {
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
    let stored = steps.count { $0.state == .stored }
    if stored > 0 { parts.append("\(stored) only stored") }
    let missing = steps.count { $0.state == .missing }
    if missing > 0 { parts.append("\(missing) missing") }
    let unkept = steps.count { if case .no? = $0.kept { true } else { false } }
    if unkept > 0 { parts.append("\(unkept) not kept") }
    let bytes = fresh.reduce(Int64(0)) { $0 + ($1.bytes ?? 0) }
    let requests = steps.count == 1 ? "1 request" : "\(steps.count) requests"
    return "\(requests) in \(Words.elapsed(outcome.elapsed)): \(parts.joined(separator: ", ")); "
      + Words.size(bytes)
  }

  /// Whether a stored answer was young enough, so that nothing was asked.
  private static func isYoung(_ step: LaunchOutcome.Step) -> Bool {
    step.state == .fresh && step.change == nil
  }
}
