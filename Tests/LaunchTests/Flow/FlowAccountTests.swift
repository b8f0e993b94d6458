import DataService
import DataServiceTesting
import FixtureServer
import PlatformFoundation
import Synchronization
import TestSupport
import Testing
import TestTurns

@testable import Launch

@Suite("Launch flow: what comes late of an account that has left", .inTurn) struct FlowAccountTests {
  @Test(
    "an outcome is shown only while its account is the one that is signed in",
    arguments: [("alice", true), ("bob", false)])
  func outcome(account: String, isShown: Bool) async throws {
    let (asked, ended) = (Gate(), Gate())
    let transport = ScriptedTransport.unanswered(asked, ended)
    let fixture = try ServiceFixture(transport: transport)
    let session = Session(
      service: fixture.service, credentials: MemoryCredentials(Credential(account: "alice", token: "a")))
    let request = DataService.Request(try #require(URL(string: "http://origin.test/feed")))
    let flow = LaunchFlow(service: fixture.service, session: session) { _ in
      PreloadPlan([PreloadStep("feed", request)])
    }
    flow.start()
    await asked.wait()
    // Alice's preload is under way.
    flow.take(.outcome(FlowMachineTests.ready), of: 1, for: account)
    #expect((flow.current == .main(FlowMachineTests.ready)) == isShown)
    flow.stop()
    await ended.wait()
  }

  @Test(
    "a plan is made only for the account that is signed in", arguments: [("alice", true), ("bob", false)])
  func plan(account: String, isMade: Bool) async throws {
    let fixture = try ServiceFixture(transport: ScriptedTransport { _, _ in .answer("body") })
    let session = Session(
      service: fixture.service, credentials: MemoryCredentials(Credential(account: "alice", token: "a")))
    await session.start()
    let planned = Mutex<[String?]>([])
    let flow = LaunchFlow(service: fixture.service, session: session) { account in
      planned.withLock { $0.append(account) }
      return PreloadPlan([])
    }
    flow.startPreload(1, account: account)
    let wanted: [String?] = isMade ? [account] : []
    #expect(planned.withLock { $0 } == wanted)
    flow.stop()
  }
}
