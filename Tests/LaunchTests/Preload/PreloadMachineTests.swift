import DataService
import PlatformFoundation
import TestSupport
import Testing
import TestTurns

@testable import Launch

@Suite("Preload machine: when to start, ask and end", .inTurn) struct PreloadMachineTests {
  typealias Event = PreloadMachine.Event
  typealias Effect = PreloadMachine.Effect

  /// Two critical steps, 0 and 1, and an optional one, 2.
  private func plan(
    _ readiness: PreloadPlan.Readiness, _ rule: PreloadPlan.FailureRule = .useStored, finishes: Bool = true
  ) throws -> PreloadPlan {
    let request = DataService.Request(try #require(URL(string: "http://origin.test/")))
    var plan = PreloadPlan([
      PreloadStep("a", request), PreloadStep("b", request), PreloadStep("c", request, isCritical: false),
    ])
    plan.readiness = readiness
    plan.onFailure = rule
    plan.finishesIntoStore = finishes
    return plan
  }

  private func run(_ plan: PreloadPlan, _ events: [Event]) -> (PreloadMachine, [Effect]) {
    var machine = PreloadMachine(plan)
    var last = machine.handle(.begin)
    for event in events { last = machine.handle(event) }
    return (machine, last)
  }

  private func verdict(_ effects: [Effect]) -> PreloadOutcome.Verdict? {
    for case .finish(let verdict) in effects { return verdict }
    return nil
  }

  @Test func `fail: nothing is begun after the first failure, only to be cancelled`() throws {
    var oneByOne = try plan(.criticalFresh, .fail)
    oneByOne.parallelism = 1
    let (_, effects) = run(oneByOne, [.failed(0, reason: Self.down), .ended(0)])
    #expect(effects == [.disarmDeadline, .finish(.incomplete), .stopRest])
  }

  @Test func `fail: where nothing has failed, what is optional goes on into the store`() throws {
    let (_, effects) = run(try plan(.criticalFresh, .fail), [.fresh(0), .fresh(1)])
    #expect(effects == [.tell(1), .disarmDeadline, .finish(.ready)])
  }

  @Test func `what is stored is enough: after a failure the others are begun all the same`() throws {
    var oneByOne = try plan(.criticalFresh, .useStored)
    oneByOne.parallelism = 1
    let (_, effects) = run(oneByOne, [.failed(0, reason: Self.down), .ended(0)])
    #expect(effects == [.start(1)])
  }

  struct Case: Sendable, CustomTestStringConvertible {
    let testDescription: String
    let readiness: PreloadPlan.Readiness
    let rule: PreloadPlan.FailureRule
    let events: [Event]
    let verdict: PreloadOutcome.Verdict?
  }

  static let down = "refused"
  static let cases = [
    Case(
      testDescription: "stored is enough: both critical ones stored", readiness: .storedIsEnough,
      rule: .useStored, events: [.stored(0), .stored(1)], verdict: .ready),
    Case(
      testDescription: "stored is enough: one of two is not enough", readiness: .storedIsEnough,
      rule: .useStored, events: [.stored(0), .stored(2)], verdict: nil),
    Case(
      testDescription: "stored is enough: the other one fresh", readiness: .storedIsEnough, rule: .useStored,
      events: [.stored(0), .fresh(1)], verdict: .ready),
    Case(
      testDescription: "critical fresh: stored ones do not do", readiness: .criticalFresh, rule: .useStored,
      events: [.stored(0), .stored(1)], verdict: nil),
    Case(
      testDescription: "critical fresh: the optional one holds nothing up", readiness: .criticalFresh,
      rule: .useStored, events: [.fresh(0), .fresh(1)], verdict: .ready),
    Case(
      testDescription: "all fresh: the optional one too", readiness: .allFresh, rule: .useStored,
      events: [.fresh(0), .fresh(1)], verdict: nil),
    Case(
      testDescription: "all fresh", readiness: .allFresh, rule: .useStored,
      events: [.fresh(0), .fresh(1), .fresh(2)], verdict: .ready),
    Case(
      testDescription: "stored and no more is young enough, so fresh", readiness: .criticalFresh,
      rule: .useStored, events: [.stored(0), .ended(0), .fresh(1)], verdict: .ready),
    Case(
      testDescription: "a failure is not the end while its load is not over", readiness: .criticalFresh,
      rule: .useStored, events: [.stored(0), .failed(0, reason: down), .fresh(1)], verdict: nil),
    Case(
      testDescription: "a failure, with something stored", readiness: .criticalFresh, rule: .useStored,
      events: [.stored(0), .failed(0, reason: down), .ended(0), .fresh(1)], verdict: .stored),
    Case(
      testDescription: "a failure, with nothing stored", readiness: .criticalFresh, rule: .useStored,
      events: [.failed(0, reason: down), .ended(0), .fresh(1)], verdict: .incomplete),
    Case(
      testDescription: "an optional failure is none", readiness: .criticalFresh, rule: .ask,
      events: [.failed(2, reason: down), .ended(2), .fresh(0), .fresh(1)], verdict: .ready),
    Case(
      testDescription: "the deadline, with everything stored", readiness: .criticalFresh, rule: .useStored,
      events: [.stored(0), .stored(1), .deadlinePassed], verdict: .stored),
    Case(
      testDescription: "the deadline, with nothing", readiness: .criticalFresh, rule: .retry(9),
      events: [.deadlinePassed], verdict: .incomplete),
    Case(
      testDescription: "fail: the first failure ends the run", readiness: .criticalFresh, rule: .fail,
      events: [.failed(0, reason: down), .ended(0)], verdict: .incomplete),
    Case(
      testDescription: "fail: a load that ends with nothing has failed", readiness: .criticalFresh,
      rule: .fail, events: [.ended(0)], verdict: .incomplete),
    Case(
      testDescription: "retry: a load that ends with nothing is tried again, so often and no more",
      readiness: .criticalFresh, rule: .retry(1),
      events: [.fresh(1), .ended(1), .ended(0), .ended(0)], verdict: .incomplete),
    Case(
      testDescription: "ask: a prompt is no outcome", readiness: .criticalFresh, rule: .ask,
      events: [.deadlinePassed], verdict: nil),
    Case(
      testDescription: "ask: quit", readiness: .criticalFresh, rule: .ask,
      events: [.deadlinePassed, .answered(.quit)], verdict: .quit),
    Case(
      testDescription: "ask: continue with what is stored", readiness: .criticalFresh, rule: .ask,
      events: [.stored(0), .stored(1), .deadlinePassed, .answered(.continueWithStored)], verdict: .stored),
    Case(
      testDescription: "ask: what became fresh meanwhile counts", readiness: .criticalFresh, rule: .ask,
      events: [.deadlinePassed, .fresh(0), .fresh(1), .answered(.retry)], verdict: .ready),
    Case(
      testDescription: "cancelled", readiness: .criticalFresh, rule: .ask, events: [.cancelled],
      verdict: .quit),
  ]

  @Test("the verdict follows from the rule and from what became of the steps", arguments: cases)
  func verdicts(_ row: Case) throws {
    let (machine, effects) = run(try plan(row.readiness, row.rule), row.events)
    #expect(verdict(effects) == row.verdict)
    #expect(machine.isOver == (row.verdict != nil))
  }

  @Test func `no more steps than wanted are under way, and they start in the plan's order`() throws {
    var plan = try plan(.allFresh)
    plan.parallelism = 2
    var machine = PreloadMachine(plan)
    #expect(machine.handle(.begin) == [.armDeadline, .start(0), .start(1)])
    #expect(machine.handle(.fresh(1)) == [.tell(1)])
    #expect(machine.handle(.ended(1)) == [.start(2)])
  }

  @Test func `retrying asks again only for what failed, so often and no more`() throws {
    var machine = PreloadMachine(try plan(.criticalFresh, .retry(1)))
    _ = machine.handle(.begin)
    _ = machine.handle(.fresh(0))
    _ = machine.handle(.ended(0))
    #expect(machine.handle(.failed(1, reason: Self.down)) == [.tell(1)])
    #expect(machine.handle(.ended(1)) == [.start(1)])
    _ = machine.handle(.failed(1, reason: Self.down))
    #expect(verdict(machine.handle(.ended(1))) == .incomplete)
  }

  @Test func `the prompt offers to continue only where everything critical is stored`() throws {
    let (_, without) = run(try plan(.criticalFresh, .ask), [.stored(0), .deadlinePassed])
    let (_, with) = run(try plan(.criticalFresh, .ask), [.stored(0), .stored(1), .deadlinePassed])
    #expect(choices(without) == [.retry, .quit])
    #expect(choices(with) == [.retry, .continueWithStored, .quit])
  }

  @Test func `a prompt says that there is nothing only for what is not stored either`() throws {
    let (_, effects) = run(
      try plan(.criticalFresh, .ask),
      [.stored(0), .failed(0, reason: "late"), .ended(0), .failed(1, reason: Self.down), .ended(1)])
    #expect(prompt(effects)?.message == "There is nothing for “b”: refused.")
    #expect(prompt(effects)?.missing.map(\.name) == ["a", "b"])
  }

  private func choices(_ effects: [Effect]) -> [FailurePrompt.Choice]? { prompt(effects)?.choices }

  private func prompt(_ effects: [Effect]) -> FailurePrompt? {
    for case .ask(let prompt) in effects { return prompt }
    return nil
  }

  @Test func `a retry that a person asked for has the whole deadline again`() throws {
    let (_, effects) = run(
      try plan(.criticalFresh, .ask),
      [.failed(0, reason: Self.down), .ended(0), .fresh(1), .ended(1), .answered(.retry)])
    #expect(effects == [.armDeadline, .start(0)])
  }

  @Test func `a retry does not start again what has failed and is not over`() throws {
    let (_, effects) = run(
      try plan(.criticalFresh, .ask), [.failed(0, reason: Self.down), .deadlinePassed, .answered(.retry)])
    #expect(effects == [.armDeadline])
  }

  @Test func `a step that has failed is done for the progress once it is over`() throws {
    var machine = PreloadMachine(try plan(.allFresh))
    _ = machine.handle(.begin)
    _ = machine.handle(.fresh(1))
    let before = machine.fraction
    _ = machine.handle(.failed(0, reason: Self.down))
    #expect(machine.fraction == before)
    _ = machine.handle(.ended(0))
    #expect(try #require(machine.fraction) > #require(before))
  }

  @Test func `a step that may be retried fills no bar when it fails, and the bar falls with the retry`()
    throws
  {
    var machine = PreloadMachine(try plan(.allFresh, .ask))
    for event: Event in [.begin, .received(0, bytes: 10, expected: 10), .failed(0, reason: Self.down)] {
      _ = machine.handle(event)
    }
    #expect(machine.progress.receivedBytes == 0)
    for index in machine.steps.indices {
      if index > 0 { _ = machine.handle(.fresh(index)) }
      _ = machine.handle(.ended(index))
    }
    let asked = try #require(machine.fraction)
    #expect(asked < 1)
    _ = machine.handle(.answered(.retry))
    let retried = try #require(machine.fraction)
    #expect(retried <= asked && retried > 0)
    _ = machine.handle(.fresh(0))
    #expect(machine.fraction == 1)
  }

  @Test("after the outcome the rest goes on into the store only if asked", arguments: [true, false])
  func rest(finishes: Bool) throws {
    var plan = try plan(.criticalFresh, finishes: finishes)
    plan.parallelism = 1
    let (machine, effects) = run(plan, [.fresh(0), .ended(0), .fresh(1)])
    #expect(verdict(effects) == .ready)
    #expect(effects.contains(.stopRest) == !finishes)
    var rest = machine
    #expect(rest.handle(.ended(1)) == (finishes ? [.start(2)] : []))
  }

  @Test func `nothing but the end of what runs counts after the outcome`() throws {
    var (machine, _) = run(try plan(.storedIsEnough), [.stored(0), .stored(1)])
    for event: Event in [.deadlinePassed, .answered(.retry), .begin] {
      #expect(machine.handle(event) == [], "\(event)")
    }
    #expect(!machine.tellsProgress)
  }

  @Test func `cancelling after the outcome ends what goes on into the store, and begins nothing more`() throws
  {
    var oneByOne = try plan(.storedIsEnough)
    oneByOne.parallelism = 1
    var (machine, _) = run(oneByOne, [.stored(0), .ended(0)])
    let effects = machine.handle(.stored(1))
    #expect(verdict(effects) == .ready && !effects.contains(.stopRest))
    #expect(machine.handle(.cancelled) == [.stopRest])
    #expect(machine.handle(.ended(1)).filter { $0 != .tell(1) } == [])
  }

  @Test func `what is lost is missing again, whether the run is under way or has asked`() throws {
    var (machine, last) = run(
      try plan(.criticalFresh, .ask), [.fresh(0), .stored(1), .failed(1, reason: "no"), .ended(1)])
    #expect(
      last.contains {
        if case .ask(let prompt) = $0 { prompt.choices.contains(.continueWithStored) } else { false }
      })
    last = machine.handle(.lost([0, 1], reason: "signed out"))
    #expect(last == [.tell(0), .tell(1)])
    #expect(machine.steps.map(\.state) == [.missing, .missing, .missing])
    #expect(verdict(machine.handle(.answered(.continueWithStored))) == .incomplete)

    var (other, _) = run(try plan(.storedIsEnough), [.stored(0)])
    #expect(verdict(other.handle(.lost([0], reason: "signed out"))) == nil)
    _ = other.handle(.stored(1))
    #expect(verdict(other.handle(.ended(0))) == .incomplete)
  }

  @Test func `what is counted is what the steps are, whatever happens to them`() throws {
    var generator = SeededGenerator(seed: 5)
    for _ in 0..<300 {
      let readiness = PreloadPlan.Readiness.allCases.randomElement(using: &generator) ?? .allFresh
      var plan = try plan(readiness, .retry(3))
      plan.parallelism = 2
      var machine = PreloadMachine(plan)
      _ = machine.handle(.begin)
      for _ in 0..<30 {
        let step = Int.random(in: 0..<3, using: &generator)
        let events: [Event] = [
          .received(step, bytes: .random(in: 0...9, using: &generator), expected: 9), .stored(step),
          .fresh(step), .failed(step, reason: Self.down), .ended(step),
        ]
        guard let event = events.randomElement(using: &generator) else { continue }
        _ = machine.handle(event)
        let progress = machine.progress
        #expect(progress.fresh == machine.steps.count(where: \.isFresh))
        #expect(progress.stored == machine.steps.count { $0.hasStored && !$0.isFresh })
        #expect(progress.failed == machine.steps.count(where: \.hasFailed))
        #expect(progress.receivedBytes == machine.steps.reduce(0) { $0 + $1.part.received })
        let isKnown = machine.steps.allSatisfy { $0.part.expected != nil }
        #expect(progress.expectedBytes == (isKnown ? 27 : nil))
        #expect(machine.steps.count(where: \.isRunning) <= 2)
      }
    }
  }

  @Test func `the progress never goes back, never passes 1, and is unknown only before the first news`()
    throws
  {
    var generator = SeededGenerator(seed: 11)
    for _ in 0..<300 {
      let readiness = PreloadPlan.Readiness.allCases.randomElement(using: &generator) ?? .allFresh
      var machine = PreloadMachine(try plan(readiness, .retry(2)))
      var last: Double?
      _ = machine.handle(.begin)
      #expect(machine.fraction == nil)
      for _ in 0..<40 {
        let step = Int.random(in: 0..<3, using: &generator)
        let length: Int64? =
          Bool.random(using: &generator) ? Int64.random(in: 0...1_000, using: &generator) : nil
        let events: [Event] = [
          .received(step, bytes: .random(in: 0...1_200, using: &generator), expected: length),
          .stored(step), .fresh(step), .failed(step, reason: Self.down), .ended(step),
        ]
        guard let event = events.randomElement(using: &generator) else { continue }
        _ = machine.handle(event)
        if let last {
          let fraction = try #require(machine.fraction)
          #expect(fraction >= last && fraction <= 1)
        }
        last = machine.fraction
      }
    }
  }

  @Test(
    "the progress is that of the steps that are waited for, or of all where none is",
    arguments: [
      (true, .criticalFresh, 1), (true, .storedIsEnough, 1), (true, .allFresh, 0.5),
      (false, .criticalFresh, 0.5), (false, .storedIsEnough, 0.5), (false, .allFresh, 0.5),
    ] as [(Bool, PreloadPlan.Readiness, Double)])
  func measured(isCritical: Bool, readiness: PreloadPlan.Readiness, fraction: Double) throws {
    let request = DataService.Request(try #require(URL(string: "http://origin.test/")))
    var plan = PreloadPlan([
      PreloadStep("a", request, isCritical: isCritical), PreloadStep("b", request, isCritical: false),
    ])
    plan.readiness = readiness
    let (machine, _) = run(plan, [.fresh(0)])
    #expect(machine.fraction == fraction)
  }

  @Test func `at the end the progress is exactly 1, whatever the weights and the order`() throws {
    var generator = SeededGenerator(seed: 3)
    let request = DataService.Request(try #require(URL(string: "http://origin.test/")))
    for _ in 0..<200 {
      let count = Int.random(in: 1...9, using: &generator)
      var plan = PreloadPlan(
        (0..<count).map {
          PreloadStep("\($0)", request, weight: Double(Int.random(in: 1...9, using: &generator)) / 10)
        })
      plan.parallelism = count
      var machine = PreloadMachine(plan)
      _ = machine.handle(.begin)
      // Empty bodies without a length: only the weights say how far it has come.
      for index in (0..<count).shuffled(using: &generator) {
        if let fraction = machine.fraction { #expect(fraction < 1) }
        _ = machine.handle(.fresh(index))
        _ = machine.handle(.ended(index))
      }
      #expect(machine.fraction == 1)
    }
  }

  @Test func `the current step is the last that was started and still runs`() throws {
    var plan = try plan(.allFresh, .retry(1))
    plan.parallelism = 2
    var machine = PreloadMachine(plan)
    #expect(machine.progress.currentStep == nil)
    _ = machine.handle(.begin)
    #expect(machine.progress.currentStep == "b")
    _ = machine.handle(.fresh(1))
    #expect(machine.progress.currentStep == "b", "its load is not over")
    #expect(machine.handle(.ended(1)) == [.start(2)])
    #expect(machine.progress.currentStep == "c")
    _ = machine.handle(.fresh(2))
    _ = machine.handle(.ended(2))
    #expect(machine.progress.currentStep == "a", "an earlier one that goes on")
    _ = machine.handle(.failed(0, reason: Self.down))
    #expect(machine.handle(.ended(0)) == [.start(0)])
    #expect(machine.progress.currentStep == "a", "tried again")
    _ = machine.handle(.fresh(0))
    _ = machine.handle(.ended(0))
    #expect(machine.progress.currentStep == nil && machine.isOver)
  }

  @Test func `of several that go on the one that was started last is the current step`() throws {
    var plan = try plan(.allFresh)
    plan.parallelism = 3
    var machine = PreloadMachine(plan)
    _ = machine.handle(.begin)
    for (ended, current) in [(2, "b"), (0, "b"), (1, nil)] as [(Int, String?)] {
      _ = machine.handle(.fresh(ended))
      _ = machine.handle(.ended(ended))
      #expect(machine.progress.currentStep == current, "\(ended)")
    }
  }

  @Test("progress is by bytes where every length is known, by weights otherwise") func measure() {
    var meter = ProgressMeter()
    typealias Part = ProgressMeter.Part
    typealias Sum = ProgressMeter.Sum
    #expect(meter.fraction(of: Sum([Part(weight: 1), Part(weight: 3)])) == nil)
    #expect(meter.fraction(of: Sum([Part(weight: 1, isDone: true), Part(weight: 3)])) == 0.25)
    #expect(
      meter.fraction(
        of: Sum([
          Part(weight: 1, received: 10, expected: 10, isDone: true),
          Part(weight: 3, received: 45, expected: 90),
        ])) == 0.55)
    // Less than before by any measure: what was said stands.
    #expect(meter.fraction(of: Sum([Part(weight: 1, received: 1, expected: 10), Part(weight: 3)])) == 0.55)
    // What is taken out leaves nothing behind.
    var sum = Sum([Part(weight: 3), Part(weight: 0.1, received: 7, expected: 9)])
    sum.remove(Part(weight: 0.1, received: 7, expected: 9))
    sum.add(Part(weight: 0.1, isDone: true))
    sum.remove(Part(weight: 3))
    sum.add(Part(weight: 3, isDone: true))
    #expect(meter.fraction(of: sum) == 1)
  }
}
