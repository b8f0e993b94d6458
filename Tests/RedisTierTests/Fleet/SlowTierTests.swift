import CacheStore
import DataService
import DataServiceTesting
import FixtureServer
import PlatformFoundation
import Synchronization
import RedisTier
import TestSupport
import Testing
import TestTurns

/// A tier, or the store beside it, that takes its time.
@Suite("The tier where something is slow", .inTurn) struct SlowTierTests {
  private let url: URL
  init() throws {
    url = try #require(URL(string: "https://origin.test/item"))
  }

  /// A machine without a network, whose store is there.
  private func machine(_ tier: FakeTier, _ isAsked: Gate, _ mayFail: Gate) async throws -> FleetMachine {
    let machine = try FleetMachine(tier) { _, _ async throws(DataServiceError) in
      isAsked.open()
      await mayFail.wait()
      throw DataServiceError(.offline, "no network")
    }
    _ = try await machine.fixture.service.store.accountID(named: "")
    return machine
  }

  @Test func `what the tier has is of use where the store has answered by then, and nothing was removed`()
    async throws
  {
    let tier = try await FakeTier.with("body", at: url)
    let (isAsked, mayFail) = (Gate(), Gate())
    let machine = try await machine(tier, isAsked, mayFail)
    let store = machine.fixture.service.store
    tier.whileAsked { store.resumeForTesting() }
    store.suspendForTesting()
    async let deliveries = machine.outline(url)
    await machine.clock.whenPending(for: .milliseconds(20))
    machine.clock.advance(by: .milliseconds(20))
    await isAsked.wait()
    mayFail.open()
    #expect(await deliveries.last?.hasPrefix("failure(offline") == true)
    #expect(machine.fixture.hasTraced("the store is slow"))
    #expect(machine.fixture.hasTraced("the tier has a response"))
    await machine.fixture.service.close()
  }

  @Test func `what a 304 has confirmed of the tier's row is counted, however late it is stored`()
    async throws
  {
    let tier = try await FakeTier.with("body", at: url)
    let (store, isAsked, mayAnswer) = (try TemporaryStore(), Gate(), Gate())
    let machine = try FleetMachine(tier, store: store) { _, _ in
      isAsked.open()
      await mayAnswer.wait()
      return .answer("", status: 304, ["ETag": "\"1\""])
    }
    let held = machine.fixture.service.store
    _ = try await held.accountID(named: "")
    let load = Task { [url] in await machine.outline(url) }
    await isAsked.wait()
    held.suspendForTesting()
    mayAnswer.open()
    await machine.clock.whenPending(for: .milliseconds(250))
    machine.clock.advance(by: .milliseconds(250))
    held.resumeForTesting()
    #expect(await load.value == ["tier(body)", "fresh(body, unchanged)"])
    await machine.fixture.service.close()
    let reader = try ServiceFixture(store: store)
    #expect(reader.service.store.tierCounts == TierCounts(asked: 1, stored: 1, offered: 1))
    await reader.service.close()
  }

  /// A tier that has a row of one URL, and its body only when the caller no longer wants it.
  private final class Bodiless: SecondTier {
    let terms = TierTerms()
    let isAskedForBody = Gate()
    private let host = Mutex<TierHost?>(nil)

    func attach(to host: TierHost) { self.host.withLock { $0 = host } }

    func ask(_ question: TierQuestion) async -> TierReply {
      guard let clock = host.withLock({ $0 })?.timekeeper else { return .silent(because: "not attached") }
      let started = StartMark(boot: clock.bootID, nanoseconds: clock.bootNanoseconds)
      let head = ReceivedHead(
        status: 200, fields: [:], started: started, receivedAt: clock.wallMilliseconds)
      return .answered(
        TierTicket(number: 2, bootNanoseconds: clock.bootNanoseconds),
        TierRow(head: head, vary: "", ticket: 1, length: 4, checksum: 1, body: nil))
    }

    func body(of row: TierRow, for question: TierQuestion) async -> Data? {
      isAskedForBody.open()
      // A gate that nobody opens is passed by who is cancelled.
      await Gate().wait()
      return nil
    }

    func offer(_ offer: TierOffer) async -> TierOffered {
      .refused(because: "it is slow")
    }
    func invalidate(_ question: TierQuestion) async -> Bool { true }
    func pause(_ milliseconds: Int64, _ question: TierQuestion) async {}
    func signOut(_ account: String) async -> Bool { true }
    func examine() async -> [StoreFinding] { [] }
    func close() {}
  }

  @Test func `for a body of the tier no more than half of the time is waited, and the origin has the rest`()
    async throws
  {
    let (tier, clock) = (Bodiless(), VirtualClock())
    let fixture = try ServiceFixture(
      transport: ScriptedTransport { _, _ in .answer("new") }, timekeeper: clock
    ) {
      $0.tier = DataService.Tier { tier }
    }
    async let deliveries = fixture.outline(url) { $0.limits.totalTimeout = .seconds(8) }
    await tier.isAskedForBody.wait()
    await clock.whenPending(for: .seconds(4))
    clock.advance(by: .seconds(4))
    #expect(await deliveries == ["fresh(new, new)"])
    #expect(fixture.hasTraced("the body of the tier's response is gone"))
    await fixture.service.close()
  }
}
