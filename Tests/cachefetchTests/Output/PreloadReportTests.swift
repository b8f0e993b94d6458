import DataService
import PlatformFoundation
import TestSupport
import Testing
import TestTurns

@testable import Launch
@testable import cachefetch

@Suite("Output: what preload says", .inTurn) struct PreloadReportTests {
  private typealias Step = PreloadOutcome.Step

  private func step(
    _ name: String, _ state: Step.State, change: DataService.Change? = nil, kept: DataService.Kept? = nil,
    error: DataServiceError? = nil, elapsed: Duration? = nil, bytes: Int64? = nil
  ) -> Step {
    Step(
      name: name, state: state, isCritical: true, change: change, kept: kept, error: error, elapsed: elapsed,
      bytes: bytes)
  }

  private func outcome(
    _ steps: [Step], _ verdict: PreloadOutcome.Verdict = .ready, elapsed: Duration = .seconds(2)
  ) -> PreloadOutcome {
    PreloadOutcome(verdict: verdict, steps: steps, elapsed: elapsed, run: 1, responses: [:])
  }

  private func written(
    isJSON: Bool = false, terminal: Terminal = Terminal(), isQuiet: Bool = false,
    _ rule: PreloadPlan.FailureRule = .useStored, _ work: (PreloadReport) throws -> Void
  ) throws -> (output: String, errors: String) {
    let streams = try WrittenStreams(isQuiet: isQuiet, terminal: terminal)
    var plan = PreloadPlan(
      try ["a", "b"].map {
        PreloadStep($0, DataService.Request(try #require(URL(string: "http://\($0)/"))))
      })
    plan.onFailure = rule
    plan.deadline = .seconds(3)
    let report = PreloadReport(
      plan, isJSON: isJSON, diagnostics: streams.diagnostics, output: streams.output.output)
    try work(report)
    return (streams.output.text, streams.errors.text)
  }

  private static let down = DataServiceError(.refused, "refused it", hint: "wait", status: 503)

  @Test func `a step is a line, and each is named once`() throws {
    let steps = [
      step("a", .fresh, change: .new, kept: .yes, elapsed: .milliseconds(34), bytes: 3),
      step("b", .missing, error: Self.down),
    ]
    let run = try written {
      #expect($0.showsSteps && !$0.showsBar)
      for step in steps { try $0.show(step) }
      try $0.sumUp(outcome(steps))
    }
    #expect(
      run.errors == """
        fresh, new, 3 B, 34 ms: http://a/
        cachefetch: http://b/: refused it; wait
        2 requests in 2.0 s: 1 fresh (1 new), 1 missing; 3 B

        """)
    #expect(run.output.isEmpty)
  }

  @Test(
    "Why there is nothing fresh of a step that neither came nor failed",
    arguments: [
      (.ready, 2, "was left, since another request failed"),
      (
        .ready, 3,
        "did not complete within 3.0 s, the deadline of the run; "
          + "allow more time with --deadline, or fewer requests"
      ),
      (.quit, 3, "was left, since the run was ended"),
    ] as [(PreloadOutcome.Verdict, Int, String)])
  func left(verdict: PreloadOutcome.Verdict, seconds: Int, words: String) throws {
    let run = try written {
      try $0.sumUp(outcome([step("a", .stored), step("b", .fresh)], verdict, elapsed: .seconds(seconds)))
    }
    #expect(run.errors.hasPrefix("cachefetch: http://a/: \(words)\nstored: http://b/\n"))
    #expect(
      run.errors.hasSuffix("2 requests in \(seconds).0 s: 1 fresh (1 young enough), 1 only stored; 0 B\n"))
  }

  @Test func `a failure that may be tried again has its object at the end`() throws {
    let failed = step("a", .missing, error: Self.down)
    for rule in [PreloadPlan.FailureRule.retry(1), .ask] {
      let run = try written(isJSON: true, rule) {
        try $0.show(failed)
        try $0.show(step("b", .fresh, change: .new))
        #expect($0.showsSteps && !$0.showsBar, "\(rule)")
        try $0.sumUp(outcome([step("a", .fresh, change: .changed), step("b", .fresh, change: .new)]))
      }
      let urls = run.output.split(separator: "\n").map { $0.contains("http://a/") ? "a" : "b" }
      #expect(urls == ["b", "a"] && run.output.contains(#""change":"changed"}"#), "\(rule)")
      let named = rule == .ask ? "cachefetch: http://a/: refused it; wait\n" : ""
      #expect(run.errors.hasPrefix(named + "2 requests in"), "\(rule)")
    }
    for rule in [PreloadPlan.FailureRule.useStored, .fail] {
      let run = try written(isJSON: true, rule) { try $0.show(failed) }
      #expect(
        run.output.contains(#""delivery":"failure","url":"http://a/","state":"missing","status":503"#),
        "\(rule)")
    }
  }

  @Test(arguments: [false, true])
  func `what is tried again by itself is named once in all, with what has become of it`(isJSON: Bool) throws {
    let failed = step("a", .missing, error: Self.down)
    let run = try written(isJSON: isJSON, .retry(3)) {
      for _ in 1...4 { try $0.show(failed) }
      try $0.sumUp(outcome([failed, step("b", .fresh, change: .new)]))
    }
    let named = run.errors.split(separator: "\n").filter { $0.hasPrefix("cachefetch: ") }
    #expect(named == ["cachefetch: http://a/: refused it; wait"], "\(run.errors)")
    #expect(run.output.split(separator: "\n").count == (isJSON ? 2 : 0))
  }

  @Test func `on a terminal there is a bar in place of the lines`() throws {
    let run = try written(terminal: .both) {
      #expect($0.showsBar)
      $0.show(
        PreloadProgress(
          fraction: 0.5, receivedBytes: 1, expectedBytes: 2, currentStep: nil, stepCount: 2, stored: 0,
          fresh: 1,
          failed: 0))
      try $0.show(step("a", .fresh, change: .new))
      $0.clear()
    }
    #expect(run.errors.hasPrefix("\r[") && run.errors.contains("]   50%  1/2"))
    #expect(run.errors.hasSuffix("\u{1B}[J\r\r\u{1B}[J"))
    #expect(!run.errors.contains("http://a/"))
    let quiet = try written(terminal: .both, isQuiet: true) {
      #expect(!$0.showsBar && !$0.showsSteps)
      $0.show(
        PreloadProgress(
          fraction: 0.5, receivedBytes: 1, expectedBytes: 2, currentStep: nil, stepCount: 2, stored: 0,
          fresh: 1,
          failed: 0))
      try $0.sumUp(outcome([]))
    }
    #expect(quiet.errors.isEmpty)
    // The bar goes before an object is written, and before the sum.
    let both = try written(isJSON: true, terminal: Terminal(isError: true, redraws: true)) {
      $0.show(
        PreloadProgress(
          fraction: nil, receivedBytes: 1, expectedBytes: nil, currentStep: nil, stepCount: 2, stored: 0,
          fresh: 1,
          failed: 0))
      try $0.show(step("a", .fresh, change: .new))
    }
    #expect(both.errors.hasSuffix("\u{1B}[J"))
  }

  @Test func `its JSON objects have what there is`() {
    func text(_ step: Step, _ error: DataServiceError? = nil) -> String {
      String(decoding: StepLine.json(step, error, url: "u"), as: UTF8.self)
    }
    #expect(
      text(step("a", .fresh, change: .changed, kept: .yes, elapsed: .seconds(1), bytes: 3))
        == #"{"delivery":"fresh","url":"u","state":"fresh","body_omitted":true,"body_bytes":3,"elapsed_ms":1000,"#
        + #""change":"changed","kept":true}"# + "\n")
    #expect(
      text(step("a", .fresh, change: .new, kept: .no(.noStore)))
        == #"{"delivery":"fresh","url":"u","state":"fresh","change":"new","kept":false,"kept_reason":"noStore"}"#
        + "\n")
    #expect(text(step("a", .fresh)) == #"{"delivery":"stored","url":"u","state":"fresh"}"# + "\n")
    #expect(
      text(step("a", .stored, bytes: 3), Self.down)
        == #"{"delivery":"failure","url":"u","state":"stored","status":503,"error":{"kind":"refused","message":"refused it","hint":"wait"}}"#
        + "\n")
  }

  @Test func `a step's line has what there is`() {
    #expect(StepLine.text(step("a", .fresh), url: "u") == "stored: u")
    #expect(StepLine.text(step("a", .stored), url: "u") == "stored: u")
    #expect(StepLine.text(step("a", .missing), url: "u") == "missing: u")
    #expect(
      StepLine.text(step("a", .fresh, change: .new, kept: .no(.noStore)), url: "u")
        == "fresh, new, not kept (no-store): u")
  }

  @Test func `the sum counts every kind`() {
    let steps = [
      step("a", .fresh, change: .changed, kept: .yes, bytes: 1_000),
      step("b", .fresh, change: .new, bytes: 500),
      step("c", .fresh, change: .unchanged, kept: .no(.full)), step("d", .fresh),
      step("e", .stored, bytes: 7),
      step("f", .missing), step("g", .missing), step("h", .fresh, change: .new),
    ]
    #expect(
      StepLine.summary(outcome(steps))
        == "8 requests in 2.0 s: 5 fresh (2 new, 1 changed, 1 unchanged, 1 young enough), 1 only stored, 2 missing, 1 not kept; 1.5 kB"
    )
    let largest = ["a", "b"].map { step($0, .fresh, change: .new, bytes: Int64.max) }
    #expect(StepLine.summary(outcome(largest)) == "2 requests in 2.0 s: 2 fresh (2 new); 17592.2 GB")
    #expect(StepLine.summary(outcome([])) == "0 requests in 2.0 s: 0 fresh; 0 B")
    #expect(StepLine.summary(outcome([step("a", .missing)])) == "1 request in 2.0 s: 0 fresh, 1 missing; 0 B")
  }

  @Test func `an output that takes no more is an error`() throws {
    let file = try FileWithRoom(for: 0)
    let plan = PreloadPlan([PreloadStep("a", DataService.Request(try #require(URL(string: "http://a/"))))])
    let streams = try WrittenStreams()
    let report = PreloadReport(
      plan, isJSON: true, diagnostics: streams.diagnostics, output: OutputDescriptor(number: file.descriptor))
    let one = step("a", .fresh, change: .new)
    #expect(throws: OutputError.self) { try report.sumUp(outcome([one])) }
    #expect(throws: OutputError.self) { try report.show(one) }
  }
}
