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

extension ScriptedTransport {
  /// An origin that answers nobody: each request opens one gate, and another when it is cancelled.
  static func unanswered(_ asked: Gate, _ cancelled: Gate) -> ScriptedTransport {
    ScriptedTransport { _, _ async throws(DataServiceError) in
      asked.open()
      // A gate that nobody opens is passed by who is cancelled.
      await Gate().wait()
      cancelled.open()
      throw DataServiceError(.cancelled, "cancelled")
    }
  }
}

@Suite("Launch flow: from the launch screen to the first screen", .inTurn) struct LaunchFlowTests {
  private static func plan(_ rule: PreloadPlan.FailureRule = .ask) throws -> PreloadPlan {
    var request = DataService.Request(try #require(URL(string: "http://origin.test/feed")))
    request.limits.retries = 0
    var plan = PreloadPlan([PreloadStep("feed", request)])
    plan.readiness = .storedIsEnough
    plan.onFailure = rule
    return plan
  }

  /// The first root that satisfies the condition.
  private func root(of flow: LaunchFlow, where condition: (LaunchRoot) -> Bool) async -> LaunchRoot? {
    for await root in flow.roots where condition(root) { return root }
    return nil
  }

  /// What the main screen begins with; fails where the flow ends, or comes to another end, without one.
  private func outcome(of flow: LaunchFlow) async throws -> PreloadOutcome {
    let root = try #require(await root(of: flow, where: isEnd))
    if case .main(let outcome) = root { return outcome }
    throw OtherRoot(root: root)
  }

  private struct OtherRoot: Error { let root: LaunchRoot }

  /// Whether nothing follows but what a person does.
  private func isEnd(_ root: LaunchRoot) -> Bool {
    switch root {
    case .main, .failed, .blocked: true
    default: false
    }
  }
  private func isLogin(_ root: LaunchRoot) -> Bool { if case .login = root { true } else { false } }
  private func prompt(_ root: LaunchRoot?) -> FailurePrompt? {
    if case .failed(let prompt) = root { prompt } else { nil }
  }

  @Test func `login, main, sign-out, and another account sees nothing of the first one's`() async throws {
    let transport = ScriptedTransport { request, _ in
      .answer("for \(request.fields["Authorization"] ?? "nobody")")
    }
    let fixture = try ServiceFixture(transport: transport)
    let session = Session(service: fixture.service, credentials: MemoryCredentials())
    let plan = try Self.plan()
    let flow = LaunchFlow(service: fixture.service, session: session) { _ in plan }
    flow.start()
    #expect(await root(of: flow, where: isLogin) == .login(.signedOut(.noCredential)))
    for token in ["a", "b"] {
      try await session.signIn(Credential(account: "account \(token)", token: token))
      let outcome = try await outcome(of: flow)
      #expect(outcome.response("feed", as: Data.self)?.text == "for Bearer \(token)", "\(token)")
      #expect(flow.isSplashShowing, "\(token)")
      flow.splashFaded()
      #expect(!flow.isSplashShowing, "\(token)")
      try await session.signOut()
      #expect(await root(of: flow, where: isLogin) == .login(.signedOut(.requested)), "\(token)")
    }
    flow.stop()
  }

  @Test func `a first launch offline asks; a second one shows what is stored`() async throws {
    let isDown = Atomic(true)
    let transport = ScriptedTransport { _, _ throws(DataServiceError) in
      if isDown.load(ordering: .relaxed) { throw DataServiceError(.offline, "there is no network") }
      return .answer("news")
    }
    let fixture = try ServiceFixture(transport: transport)
    let plan = try Self.plan()
    let first = LaunchFlow(service: fixture.service) { _ in plan }
    first.start()
    let prompt = try #require(prompt(await root(of: first, where: isEnd)))
    #expect(prompt.choices == [.retry, .quit])
    #expect(prompt.message == "There is nothing for “feed”: there is no network.")
    #expect(prompt.missing.map(\.name) == ["feed"] && !prompt.isLate)
    #expect(prompt.missing.map(\.reason) == ["there is no network"])
    isDown.store(false, ordering: .relaxed)
    first.answer(.retry)
    let shown = await root(of: first) { if case .failed = $0 { false } else { isEnd($0) } }
    if case .main? = shown {} else { Issue.record("\(String(describing: shown))") }
    first.stop()

    isDown.store(true, ordering: .relaxed)
    let second = LaunchFlow(service: fixture.service) { _ in plan }
    second.start()
    let outcome = try await outcome(of: second)
    #expect(outcome.response("feed", as: Data.self)?.text == "news")
    second.stop()
  }

  @Test func `a flow shows how far its preload is, and once it is stopped its roots end`() async throws {
    let (asked, ended) = (Gate(), Gate())
    let transport = ScriptedTransport.unanswered(asked, ended)
    let fixture = try ServiceFixture(transport: transport)
    let plan = try Self.plan()
    let flow = LaunchFlow(service: fixture.service) { _ in plan }
    let early = flow.roots
    flow.start()
    await asked.wait()
    let shown = await root(of: flow) { if case .splash(.some) = $0 { true } else { false } }
    #expect(shown != nil)
    flow.stop()
    for await _ in early {}
    for await _ in flow.roots {}
    #expect(flow.current == shown)
    // What it loads is cancelled.
    await ended.wait()
  }

  @Test func `data that requires an update blocks the program`() async throws {
    let fixture = try ServiceFixture(transport: ScriptedTransport { _, _ in .answer("2.0") })
    let plan = try Self.plan()
    let flow = LaunchFlow(service: fixture.service) { outcome in
      outcome.response("feed", as: Data.self).map { "version \($0.text) is required" }
    } plan: { _ in
      plan
    }
    flow.start()
    // Not the main screen, which would be the end too.
    #expect(await root(of: flow, where: isEnd) == .blocked("version 2.0 is required"))
    flow.stop()
  }
}
