import CacheStore
import DataService
import DataServiceTesting
import FixtureServer
import Launch
import PlatformFoundation
import Synchronization
import TestSupport
import Testing
import TestTurns

@Suite("Preload: progress, then an outcome with everything in it", .inTurn) struct PreloadRunTests {
  private struct Feed: Codable, Sendable, Equatable { var title: String }

  private static func url(_ path: String) throws -> URL {
    try #require(URL(string: "http://origin.test/\(path)"))
  }

  private static func request(_ path: String) throws -> DataService.Request {
    var request = DataService.Request(try url(path))
    request.limits.retries = 0
    return request
  }

  /// Everything a run says, in short.
  private func events(of run: PreloadRun, answers: [FailurePrompt.Choice] = []) async -> (
    lines: [String], outcome: PreloadOutcome?
  ) {
    var lines: [String] = []
    var outcome: PreloadOutcome?
    var answers = answers[...]
    for await event in run.events {
      switch event {
      case .progress: break
      case .step(let step): lines.append("\(step.name) \(step.state.rawValue)")
      case .prompt(let prompt):
        lines.append("prompt \(prompt.choices.map(\.rawValue).joined(separator: "|"))")
        run.answer(answers.popFirst() ?? .quit)
      case .outcome(let last):
        #expect(outcome == nil)
        outcome = last
        lines.append(last.verdict.rawValue)
      }
    }
    return (lines, outcome)
  }

  @Test func `the outcome carries every step's response by name and type, and nothing is fetched twice`()
    async throws
  {
    let transport = ScriptedTransport { request, _ in
      .answer(request.url.path() == "/feed" ? #"{"title": "News"}"# : "plain")
    }
    let fixture = try ServiceFixture(transport: transport)
    let plan = PreloadPlan([
      PreloadStep("feed", try Self.request("feed"), as: Feed.self),
      PreloadStep("text", try Self.request("text")),
      .storing("asset", try Self.request("asset")),
    ])
    let run = fixture.service.preload(plan)
    let outcome = try #require(await events(of: run).outcome)
    await run.finished()
    #expect(outcome.verdict == .ready)
    #expect(outcome.value("feed", as: Feed.self) == Feed(title: "News"))
    #expect(outcome.response("text", as: Data.self)?.text == "plain")
    #expect(outcome.response("text", as: Feed.self) == nil)
    #expect(outcome.response("asset", as: DataService.BodyStream.self) == nil)
    #expect(outcome.steps.map(\.state) == [.fresh, .fresh, .fresh])
    #expect(outcome.steps.allSatisfy { $0.elapsed != nil && $0.change == .new })
    #expect(outcome.steps.first?.bytes == 17)
    #expect(transport.requests.count == 3)
  }

  @Test func `a second launch offline: what is stored is enough`() async throws {
    let isDown = Atomic(false)
    let transport = ScriptedTransport { _, _ throws(DataServiceError) in
      if isDown.load(ordering: .relaxed) { throw DataServiceError(.offline, "there is no network") }
      return .answer(#"{"title": "News"}"#)
    }
    let fixture = try ServiceFixture(transport: transport)
    var plan = PreloadPlan([
      PreloadStep("feed", try Self.request("feed"), as: Feed.self),
      PreloadStep("more", try Self.request("more"), as: Feed.self),
    ])
    plan.readiness = .storedIsEnough
    let first = fixture.service.preload(plan)
    #expect(await first.outcome()?.verdict == .ready)
    await first.finished()

    isDown.store(true, ordering: .relaxed)
    let second = fixture.service.preload(plan)
    let outcome = try #require(await second.outcome())
    #expect(outcome.verdict == .ready)
    #expect(outcome.value("feed", as: Feed.self) == Feed(title: "News"))
    #expect(outcome.value("more", as: Feed.self) == Feed(title: "News"))
    await second.finished()
  }

  @Test("the deadline is kept whatever a step hangs in", arguments: ["connect", "body"])
  func deadline(phase: String) async throws {
    let clock = ManualClock()
    let never = Gate()
    let transport = ScriptedTransport { request, _ async throws(DataServiceError) in
      if request.url.path() == "/quick" { return .answer("quick") }
      if phase == "connect" {
        await never.wait()
        throw DataServiceError(.cancelled, "cancelled")
      }
      return TransportResponse(
        version: "1.1", status: 200, fields: [:],
        body: DataService.BodyStream(length: 10) { () async throws(DataServiceError) -> Data? in
          await never.wait()
          throw DataServiceError(.cancelled, "cancelled")
        })
    }
    let fixture = try ServiceFixture(transport: transport)
    var plan = PreloadPlan([
      PreloadStep("quick", try Self.request("quick")), PreloadStep("slow", try Self.request("slow")),
    ])
    plan.deadline = .seconds(3)
    plan.finishesIntoStore = false
    let run = PreloadRun(plan, on: fixture.service, clock: LaunchClock(clock))
    await clock.whenSleeping()
    var events = run.events.makeAsyncIterator()
    // The quick one is in before the time is up.
    while case let event? = await events.next() {
      if case .step = event { break }
    }
    clock.advance(by: .seconds(3))
    var outcome: PreloadOutcome?
    while let event = await events.next() {
      if case .outcome(let last) = event { outcome = last }
    }
    #expect(outcome?.verdict == .incomplete)
    #expect(outcome?.elapsed == .seconds(3))
    #expect(outcome?.steps.map(\.state) == [.fresh, .missing])
    #expect(outcome?.response("quick", as: Data.self)?.text == "quick")
    // What hangs is cancelled, so this returns.
    await run.finished()
  }

  @Test("the deadline is kept on the network too", arguments: ["connect", "head", "body"])
  func deadlineOnTheNetwork(phase: String) async throws {
    let clock = ManualClock()
    let hangs = Gate()
    let origin = try FixtureServer { request, connection in
      guard request.path == "/slow" else { return try connection.send(.ok("quick")) }
      if phase == "head" { try connection.sendRaw("HTTP/1.1 200 OK\r\nContent-Len") }
      if phase == "body" { try connection.sendRaw("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n12345") }
      hangs.open()
      connection.waitForPeerClose()
    }
    let full = try FullListener()
    let slow =
      phase == "connect"
      ? try #require(URL(string: "http://127.0.0.1:\(full.port)/slow")) : origin.url("/slow")
    let fixture = try ServiceFixture()
    // Without a time limit of their own: the plan's is the only one that may pass.
    var plan = PreloadPlan([
      PreloadStep("quick", fixture.request(origin.url("/quick"))),
      PreloadStep("slow", fixture.request(slow)),
    ])
    plan.deadline = .seconds(3)
    plan.finishesIntoStore = false
    let run = PreloadRun(plan, on: fixture.service, clock: LaunchClock(clock))
    await clock.whenSleeping()
    var events = run.events.makeAsyncIterator()
    while case let event? = await events.next() {
      if case .step = event { break }
    }
    if phase == "connect" {
      await fixture.traced("request to 127.0.0.1:\(full.port)")
    } else {
      await hangs.wait()
    }
    clock.advance(by: .seconds(3))
    var outcome: PreloadOutcome?
    while let event = await events.next() {
      if case .outcome(let last) = event { outcome = last }
    }
    #expect(outcome?.verdict == .incomplete && outcome?.elapsed == .seconds(3))
    #expect(outcome?.steps.map(\.state) == [.fresh, .missing])
    await run.finished()
    withExtendedLifetime((origin, full)) {}
  }

  /// A clock that says when a sleep was broken off.
  private struct NotingClock: Clock {
    typealias Instant = ManualClock.Instant
    let base = ManualClock()
    let wasBrokenOff = Gate()

    var now: Instant { base.now }
    var minimumResolution: Duration { base.minimumResolution }
    func sleep(until deadline: Instant, tolerance: Duration?) async throws {
      do {
        try await base.sleep(until: deadline, tolerance: tolerance)
      } catch {
        wasBrokenOff.open()
        throw error
      }
    }
  }

  @Test func `the deadline of a run that has its outcome is broken off, and a step says how long it took`()
    async throws
  {
    let (asked, mayAnswer) = (Gate(), Gate())
    let transport = ScriptedTransport { _, _ async in
      asked.open()
      await mayAnswer.wait()
      return .answer("body")
    }
    let fixture = try ServiceFixture(transport: transport)
    var plan = PreloadPlan([PreloadStep("a", try Self.request("a"))])
    plan.deadline = .seconds(3)
    let clock = NotingClock()
    let run = PreloadRun(plan, on: fixture.service, clock: LaunchClock(clock))
    await asked.wait()
    clock.base.advance(by: .seconds(2))
    mayAnswer.open()
    let outcome = try #require(await run.outcome())
    #expect(outcome.verdict == .ready && outcome.steps.map(\.elapsed) == [.seconds(2)])
    await clock.wasBrokenOff.wait()
    await run.finished()
  }

  @Test func `a status of 400 is an error page, and no launch data`() async throws {
    let fixture = try ServiceFixture(transport: ScriptedTransport { _, _ in .answer("oops", status: 400) })
    let plan = PreloadPlan([PreloadStep("a", try Self.request("a"))])
    #expect(await events(of: fixture.service.preload(plan)).lines == ["a missing", "incomplete"])
  }

  @Test func `what is late goes on into the store if asked`() async throws {
    let clock = ManualClock()
    let mayAnswer = Gate()
    let transport = ScriptedTransport { _, _ async in
      await mayAnswer.wait()
      return .answer("late")
    }
    let fixture = try ServiceFixture(transport: transport)
    var plan = PreloadPlan([PreloadStep("slow", try Self.request("slow"))])
    plan.deadline = .seconds(1)
    let run = PreloadRun(plan, on: fixture.service, clock: LaunchClock(clock))
    await clock.whenSleeping()
    clock.advance(by: .seconds(1))
    #expect(await run.outcome()?.verdict == .incomplete)
    mayAnswer.open()
    await run.finished()
    #expect(await fixture.outline(try Self.url("slow"), policy: .storedOnly) == ["stored(late)"])
  }

  @Test func `on a failure the caller is asked, and the run goes on as answered`() async throws {
    let transport = ScriptedTransport { _, number throws(DataServiceError) in
      if number == 1 { throw DataServiceError(.refused, "the origin refused") }
      return .answer("second")
    }
    let fixture = try ServiceFixture(transport: transport)
    var plan = PreloadPlan([PreloadStep("a", try Self.request("a"))])
    plan.onFailure = .ask
    let (lines, outcome) = await events(of: fixture.service.preload(plan), answers: [.retry])
    #expect(lines == ["a missing", "prompt retry|quit", "a fresh", "ready"])
    #expect(outcome?.response("a", as: Data.self)?.text == "second")
  }

  @Test func `an error page is no launch data: the stored response stands`() async throws {
    let transport = ScriptedTransport { _, number in
      number == 1 ? .answer("good") : .answer("oops", status: 404)
    }
    let fixture = try ServiceFixture(transport: transport)
    var plan = PreloadPlan([PreloadStep("a", try Self.request("a"))])
    plan.onFailure = .ask
    #expect(await events(of: fixture.service.preload(plan)).lines == ["a fresh", "ready"])
    let (lines, outcome) = await events(of: fixture.service.preload(plan), answers: [.continueWithStored])
    #expect(lines == ["a stored", "prompt retry|continueWithStored|quit", "stored"])
    #expect(outcome?.response("a", as: Data.self)?.text == "good")
    #expect(outcome?.steps.first?.error?.status == 404)
  }

  @Test func `what is young enough is not asked for again`() async throws {
    let transport = ScriptedTransport { _, _ in .answer("body") }
    let fixture = try ServiceFixture(transport: transport)
    var plan = try PreloadPlan(list: "http://origin.test/a\nhttp://origin.test/b\n")
    plan.maxAge = .seconds(3_600)
    for _ in 0..<2 {
      let run = fixture.service.preload(plan)
      #expect(await run.outcome()?.steps.map(\.state) == [.fresh, .fresh])
      await run.finished()
    }
    #expect(transport.requests.count == 2)
  }

  @Test func `cancelling ends the run at once and leaves nothing under way`() async throws {
    let asked = Gate()
    let never = Gate()
    let transport = ScriptedTransport { _, _ async throws(DataServiceError) in
      asked.open()
      await never.wait()
      throw DataServiceError(.cancelled, "cancelled")
    }
    let fixture = try ServiceFixture(transport: transport)
    let run = fixture.service.preload(PreloadPlan([PreloadStep("a", try Self.request("a"))]))
    await asked.wait()
    run.cancel()
    #expect(await run.outcome()?.verdict == .quit)
    await run.finished()
  }

  @Test func `cancelling after the outcome ends what goes on into the store`() async throws {
    let asked = Gate()
    let never = Gate()
    let transport = ScriptedTransport { request, _ async throws(DataServiceError) in
      if request.url.path() == "/feed" { return .answer("feed") }
      asked.open()
      await never.wait()
      throw DataServiceError(.cancelled, "cancelled")
    }
    let fixture = try ServiceFixture(transport: transport)
    let run = fixture.service.preload(
      PreloadPlan([
        PreloadStep("feed", try Self.request("feed")),
        .storing("rest", try Self.request("rest"), isCritical: false),
      ]))
    #expect(await run.outcome()?.verdict == .ready)
    await asked.wait()
    run.cancel()
    await run.finished()
  }

  @Test func `a run that nobody reads is finished when everything is stored`() async throws {
    let fixture = try ServiceFixture(transport: ScriptedTransport { _, _ in .answer("body") })
    let plan = PreloadPlan(try ["a", "b"].map { .storing($0, try Self.request($0)) })
    await fixture.service.preload(plan).finished()
    #expect(try await fixture.service.entries().count == 2)
  }

  // MARK: - One account

  /// A run of two steps in alice's name: `feed` is there, `slow` waits for the gate. The fixture is to be
  /// kept until the run is over: with it the folder of its store goes.
  private func ofAlice(
    _ mayAnswer: Gate, parallelism: Int = 6
  ) async throws -> (
    fixture: ServiceFixture, session: Session, run: PreloadRun, transport: ScriptedTransport
  ) {
    let transport = ScriptedTransport { request, _ async in
      if request.url.path() == "/slow" { await mayAnswer.wait() }
      return .answer("of \(request.fields["Authorization"] ?? "nobody")")
    }
    let fixture = try ServiceFixture(transport: transport)
    let session = Session(
      service: fixture.service, credentials: MemoryCredentials(Credential(account: "alice", token: "a")))
    await session.start()
    var plan = PreloadPlan([
      PreloadStep("feed", try Self.request("feed")), PreloadStep("slow", try Self.request("slow")),
    ])
    plan.parallelism = parallelism
    return (fixture, session, PreloadRun(plan, on: session), transport)
  }

  @Test func `an outcome after a sign-out has nothing of the account`() async throws {
    let mayAnswer = Gate()
    let (fixture, session, run, _) = try await ofAlice(mayAnswer)
    var outcome: PreloadOutcome?
    for await event in run.events {
      switch event {
      case .step(let step) where step.name == "feed" && step.state == .fresh: try await session.signOut()
      case .outcome(let last): outcome = last
      default: break
      }
    }
    let last = try #require(outcome)
    #expect(last.verdict == .incomplete)
    #expect(last.response("feed", as: Data.self) == nil)
    #expect(last.steps.map(\.state) == [.missing, .missing] && last.steps.allSatisfy { $0.change == nil })
    #expect(last.steps.map(\.error?.kind) == [.signedOut, .signedOut])
    mayAnswer.open()
    await run.finished()
    withExtendedLifetime(fixture) {}
  }

  @Test func `a prompt that is answered after a sign-out gives nothing of the account`() async throws {
    let transport = ScriptedTransport { request, _ async throws(DataServiceError) in
      if request.url.path() == "/slow" { throw DataServiceError(.refused, "refused") }
      return .answer("mine")
    }
    let fixture = try ServiceFixture(transport: transport)
    let session = Session(
      service: fixture.service, credentials: MemoryCredentials(Credential(account: "alice", token: "a")))
    await session.start()
    var plan = PreloadPlan([
      PreloadStep("feed", try Self.request("feed")), PreloadStep("slow", try Self.request("slow")),
    ])
    plan.onFailure = .ask
    let run = PreloadRun(plan, on: session)
    var outcome: PreloadOutcome?
    for await event in run.events {
      switch event {
      case .prompt:
        try await session.signOut()
        run.answer(.continueWithStored)
      case .outcome(let last): outcome = last
      default: break
      }
    }
    #expect(outcome?.verdict == .incomplete)
    #expect(outcome?.response("feed", as: Data.self) == nil)
    await run.finished()
  }

  @Test func `a run for one account asks nothing in another's name`() async throws {
    let mayAnswer = Gate()
    let (fixture, session, run, transport) = try await ofAlice(mayAnswer, parallelism: 1)
    for await event in run.events {
      guard case .step(let step) = event, step.name == "feed", step.state == .fresh else { continue }
      try await session.signIn(Credential(account: "bob", token: "b"))
      mayAnswer.open()
    }
    await run.finished()
    #expect(!transport.requests.contains { $0.fields["Authorization"] == "Bearer b" })
    withExtendedLifetime(fixture) {}
  }

  @Test func `of a sign-out each step under way tells once`() async throws {
    let allAsked = Gate()
    let never = Gate()
    let names = (0..<6).map { "step \($0)" }
    let transport = ScriptedTransport { _, number async throws(DataServiceError) in
      if number == names.count { allAsked.open() }
      await never.wait()
      throw DataServiceError(.cancelled, "cancelled")
    }
    let fixture = try ServiceFixture(transport: transport)
    let steps = try names.indices.map { number in
      var request = try Self.request("\(number)")
      request.account = .named("alice")
      return PreloadStep(names[number], request)
    }
    let run = fixture.service.preload(PreloadPlan(steps))
    await allAsked.wait()
    try await fixture.service.signOut(.named("alice"))
    var told: [String] = []
    for await event in run.events {
      if case .step(let step) = event { told.append(step.name) }
    }
    #expect(told.sorted() == names)
    never.open()
    await run.finished()
  }

  /// A source whose account ends while its only delivery is under way.
  private final class EndingSource: DeliverySource {
    let service: DataService
    private let isOver = Atomic(false)
    var hasEnded: Bool { isOver.load(ordering: .relaxed) }

    init(_ service: DataService) { self.service = service }

    func begin<Value: Sendable>(_ load: DataService.PendingLoad<Value>) -> DataService.Load {
      load.begin { [self] deliver in
        for await delivery in load.deliveries(from: service, for: load.request, policy: load.policy) {
          isOver.store(true, ordering: .relaxed)
          deliver(delivery)
        }
      }
    }
  }

  @Test func `what is delivered as its account ends is not in the outcome`() async throws {
    let fixture = try ServiceFixture(transport: ScriptedTransport { _, _ in .answer("body") })
    let plan = PreloadPlan([PreloadStep("a", try Self.request("a"))])
    let run = PreloadRun(plan, on: EndingSource(fixture.service))
    let outcome = try #require(await run.outcome())
    #expect(outcome.verdict == .incomplete && outcome.steps.map(\.state) == [.missing])
    #expect(outcome.response("a", as: Data.self) == nil && outcome.steps.first?.error?.kind == .signedOut)
    await run.finished()
  }

  @Test func `a sign-out of the service takes what the account's other steps have brought`() async throws {
    let (isSlowAsked, mayAnswer) = (Gate(), Gate())
    let transport = ScriptedTransport { request, _ async in
      if request.url.path() == "/slow" {
        isSlowAsked.open()
        await mayAnswer.wait()
      }
      return .answer("body")
    }
    let fixture = try ServiceFixture(transport: transport)
    let requests = try ["feed", "slow", "open"].map { name in
      var request = try Self.request(name)
      if name != "open" { request.account = .named("alice") }
      return request
    }
    let plan = PreloadPlan(zip(["feed", "slow", "open"], requests).map { PreloadStep($0, $1) })
    let run = fixture.service.preload(plan)
    var (isFed, isOpen, isOut) = (false, false, false)
    var outcome: PreloadOutcome?
    for await event in run.events {
      switch event {
      case .step(let step):
        if step.name == "feed", step.state == .fresh { isFed = true }
        if step.name == "open" { isOpen = true }
        guard isFed, isOpen, !isOut else { continue }
        isOut = true
        // A load that began after the sign-out would be none of those that it ends, and wait for its answer.
        await isSlowAsked.wait()
        try await fixture.service.signOut(.named("alice"))
      case .outcome(let last): outcome = last
      default: break
      }
    }
    let last = try #require(outcome)
    #expect(last.verdict == .incomplete && last.steps.map(\.state) == [.missing, .missing, .fresh])
    #expect(last.response("feed", as: Data.self) == nil)
    #expect(last.response("open", as: Data.self)?.text == "body")
    mayAnswer.open()
    await run.finished()
  }

  @Test func `progress over the network: never back, never past 1, none after the outcome`() async throws {
    let body = [UInt8](repeating: 0x61, count: 300_000)
    let origin = try FixtureServer(routes: [
      "/a": .ok(body), "/b": .ok("short"), "/c": FixtureReply.ok(body).chunked(by: 10_000),
    ])
    let fixture = try ServiceFixture()
    let run = fixture.service.preload(
      PreloadPlan(["a", "b", "c"].map { PreloadStep($0, fixture.request(origin.url("/\($0)"))) }))
    var last = 0.0
    var isOver = false
    for await event in run.events {
      #expect(!isOver)
      switch event {
      case .progress(let progress):
        #expect(progress.stepCount == 3)
        guard let fraction = progress.fraction else { continue }
        #expect(fraction >= last && fraction <= 1)
        last = fraction
      case .outcome(let outcome):
        isOver = true
        #expect(outcome.steps.map(\.bytes) == [300_000, 5, 300_000])
      case .step, .prompt: break
      }
    }
    #expect(isOver && last == 1)
  }
}
