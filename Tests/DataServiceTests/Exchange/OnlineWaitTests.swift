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
    let asked = Mutex<[Int64]>([])
    let transport = ScriptedTransport { _, number async throws(DataServiceError) in
      guard number > 1 else { return .answer("other") }
      asked.withLock { $0.append(clock.bootNanoseconds) }
      throw DataServiceError(number > 9 ? .protocol : .offline, "no network")
    }
    let fixture = try ServiceFixture(transport: transport, timekeeper: clock) { $0.random = { 1 } }
    // With the store made, nothing but the pauses is waited for.
    _ = await fixture.outline(try #require(URL(string: "http://origin.test/other")))
    let url = try #require(URL(string: "http://origin.test/item"))
    let (outline, _) = try await clock.passing {
      await fixture.outline(url) { $0.onlineWait = .seconds(1) }
    }
    #expect(outline == ["failure(offline)"])
    let instants = asked.withLock { $0 }
    let first = try #require(instants.first)
    #expect(instants.map { ($0 - first) / 1_000_000 } == [0, 250, 750, 1_000], "milliseconds")
    await fixture.service.close()
  }
}
