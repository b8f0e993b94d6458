import CacheStore
import DataService
import PlatformFoundation
import TestTurns
import Testing

@testable import Launch

@Suite("Words, plans and lines of a launch, up to their exact borders", .inTurn) struct LaunchRuleTests {
  private func prompt(_ names: [String], isLate: Bool = false, canContinue: Bool = false) -> FailurePrompt {
    FailurePrompt(missing: names.map { ($0, nil) }, isLate: isLate, canContinue: canContinue)
  }

  // MARK: Prompts

  @Test func `a prompt names three steps, and says how many more there are`() {
    #expect(prompt(["a", "b", "c"]).message == "There is nothing for “a”, “b”, “c”.")
    #expect(prompt(["a", "b", "c", "d"]).message == "There is nothing for “a”, “b”, “c” and 1 more.")
    #expect(prompt(["a"], canContinue: true).message == "There is no fresh response for “a”.")
  }

  @Test func `the title of a prompt says whether something is late or has failed`() {
    #expect(prompt(["a"], isLate: true).title == "This takes longer than usual")
    #expect(prompt(["a"]).title == "Not everything could be loaded")
  }

  @Test func `a step that is named by its URL is shown without what is secret in it`() {
    let message = prompt(["http://me:hunter2@a.test/feed"]).message
    #expect(message.contains("a.test/feed") && !message.contains("hunter2"), "\(message)")
    // Not a URL, whatever it has in common with one.
    #expect(prompt(["me@home"]).message == "There is nothing for “me@home”.")
  }

  // MARK: Plans

  @Test func `what a plan and a step are not told has a default`() throws {
    let request = DataService.Request(try #require(URL(string: "http://a.test/")))
    let steps: [PreloadStep] = [
      PreloadStep("data", request), PreloadStep("json", request, as: String.self),
      PreloadStep("decoded", request) { response in response.value.count },
      .storing("stored", request),
    ]
    #expect(steps.map(\.weight) == [1, 1, 1, 1])
    #expect(steps.map(\.isCritical) == [true, true, true, true])
    #expect(steps.map(\.keepsResponse) == [true, true, true, false])
    #expect(PreloadPlan(steps).parallelism == 50)
  }

  private func plan(_ settings: String, inMemory: Bool = true) throws(PlanError) -> PreloadPlan {
    try PreloadPlan(
      json: Data("{\"steps\": [{\"url\": \"http://a.test/\"}]\(settings)}".utf8), inMemory: inMemory)
  }

  @Test func `the numbers of a plan are taken up to their limits`() throws {
    #expect(try plan(", \"parallel\": 1").parallelism == 1)
    #expect(try plan(", \"parallel\": 1000").parallelism == 1_000)
    #expect(throws: PlanError.self) { try plan(", \"parallel\": 1001") }
    #expect(try plan(", \"deadline_ms\": 0").deadline == .zero)
    let longest: Int64 = 1 << 53
    #expect(try plan(", \"max_age_ms\": \(longest)").maxAge == .milliseconds(longest))
    #expect(throws: PlanError.self) { try plan(", \"max_age_ms\": \(longest + 2)") }
  }

  @Test func `a name that no plan has is refused beside the steps too`() {
    let error = #expect(throws: PlanError.self) { try plan(", \"parralel\": 2") }
    let known = "deadline_ms, max_age_ms, parallel, readiness, steps"
    #expect(error?.description == "line 1: “parralel” is no name of a plan; there are \(known)")
  }

  @Test func `the bodies of a plan are kept only in memory, and its requests may be changed`() throws {
    #expect(try plan("").steps.map(\.keepsResponse) == [true])
    #expect(try plan("", inMemory: false).steps.map(\.keepsResponse) == [false])
    let json = Data(#"{"steps": [{"url": "http://a.test/"}]}"#.utf8)
    let changed = try PreloadPlan(json: json, adjust: { $0.tags = ["launch"] })
    #expect(changed.steps.first?.request.tags == ["launch"])
  }

  @Test func `a list may end with the end of a line, and of a long line the beginning is shown`() throws {
    #expect(try PreloadPlan(list: "http://a.test/1\r").steps.map(\.name) == ["http://a.test/1"])
    let error = #expect(throws: PlanError.self) {
      try PreloadPlan(list: "\r\n\r" + String(repeating: "x", count: 100))
    }
    #expect(error?.line == 3)
    #expect(error?.message == "“" + String(repeating: "x", count: 80) + "” is not a URL")
  }

  // MARK: Lines

  private func lines(_ text: String) -> JSONLines { JSONLines(Data(text.utf8)) }

  @Test func `each value of a JSON text has the line where it begins, or that of what it is in`() {
    let text = "{\"a b\": \"c \\\" d\",\n\"\": [1,\n{\"e\": true}, null],\n\"f\":\n-1.5e3}"
    let lines = lines(text)
    #expect(lines.broken == nil)
    for (path, line) in [
      ([], 1), (["a b"], 1), ([""], 2), (["", "0"], 2), (["", "1"], 3), (["", "1", "e"], 3), (["", "2"], 3),
      (["f"], 5), (["f", "g"], 5), (["h"], 1),
    ] as [([String], Int)] {
      #expect(lines.line(of: path) == line, "\(path)")
    }
  }

  @Test func `a text that ends too early or is too deep is broken`() {
    for text in ["\"abc", "\"abc\\", "{\"a\"", "[1", "\n"] { #expect(lines(text).broken != nil, "\(text)") }
    let nested = { (depth: Int) in
      String(repeating: "[", count: depth) + String(repeating: "]", count: depth)
    }
    #expect(lines(nested(512)).broken == nil)
    #expect(lines(nested(513)).broken == 1)
  }

  // MARK: Runs of a flow

  @Test func `a flow expects the preload that it began last, until it has its outcome`() {
    var machine = FlowMachine()
    _ = machine.handle(FlowMachineTests.alice)
    #expect(machine.expects(1) && !machine.expects(2))
    _ = machine.handle(FlowMachineTests.bob)
    #expect(!machine.expects(1) && machine.expects(2))
    _ = machine.handle(.outcome(run: 2, FlowMachineTests.ready, blocked: nil))
    #expect(!machine.expects(2))
  }

  @Test func `of two who wait for an event one is told at once that the other has it`() async {
    let queue = EventQueue()
    await withTaskGroup(of: Bool.self) { group in
      for _ in 0..<2 { group.addTask { await queue.next() != nil } }
      let first = await group.next()
      #expect(first == false)
      queue.send(.prompt(FailurePrompt(missing: [], isLate: false, canContinue: false)))
      let second = await group.next()
      #expect(second == true)
    }
  }
}
