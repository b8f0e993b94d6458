import CacheStore
import DataService
import DataServiceTesting
import PlatformFoundation
import Synchronization
import TestSupport
import TestTurns
import Testing

@Suite("Waiting for a network", .inTurn) struct OnlineWaitTests {
  @Test func `the origin is asked ever more seldom, for the last time when the wait is over`() async throws {
    let clock = VirtualClock()
    let asked = Mutex<[Duration]>([])
    let began = clock.bootNanoseconds
    let transport = ScriptedTransport { _, number throws(DataServiceError) in
      guard number > 1 else { return .answer("other") }
      let elapsed = Duration.nanoseconds(clock.bootNanoseconds - began)
      asked.withLock { $0.append(elapsed) }
      throw DataServiceError(number > 9 ? .protocol : .offline, "no network")
    }
    let fixture = try ServiceFixture(transport: transport, timekeeper: clock)
    // With the store made, nothing but the pauses is waited for.
    _ = await fixture.outline(try #require(URL(string: "http://origin.test/other")))
    let url = try #require(URL(string: "http://origin.test/item"))
    let (outline, _) = try await clock.passing {
      await fixture.outline(url) { $0.onlineWait = .seconds(1) }
    }
    #expect(outline == ["failure(offline)"])
    #expect(asked.withLock { $0 } == [.zero, .milliseconds(250), .milliseconds(750), .seconds(1)])
    await fixture.service.close()
  }
}
