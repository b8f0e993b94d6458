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

/// The laws with a fleet's second tier behind the store. The tier counts as network.
@Suite("Laws with a second tier", .inTurn) struct TierLawTests {
  private let url: URL
  init() throws { url = try #require(URL(string: "https://origin.test/item")) }

  @Test func `law 1: a stored response waits for no tier`() async throws {
    let (tier, mayAnswer) = (FakeTier(), Gate())
    let machine = try FleetMachine(tier, answer: "body")
    _ = await machine.deliveries(url)
    tier.whileAsked { await mayAnswer.wait() }
    var seen: [String] = []
    for await delivery in machine.fixture.service.deliveries(for: .init(url)) {
      seen.append(delivery.outline)
      // Only once the stored response is in the caller's hands does the tier get to answer.
      mayAnswer.open()
    }
    #expect(seen == ["stored(body)", "fresh(body, unchanged)"])
  }

  @Test func `law 1: where the store has all that is wanted, nobody asks the tier or attaches it`()
    async throws
  {
    let store = try TemporaryStore()
    let alone = try ServiceFixture(
      store: store, transport: ScriptedTransport { _, _ in .answer("body", ["Cache-Control": "max-age=60"]) },
      timekeeper: VirtualClock())
    _ = await alone.outline(url)
    let tier = FakeTier()
    let machine = try FleetMachine(tier, store: store) { _, _ in .answer("another") }
    #expect(await machine.outline(url, .storedOnly) == ["stored(body)"])
    #expect(await machine.outline(url, .storedElseFresh(maxAge: .seconds(60))) == ["stored(body)"])
    #expect(await machine.outline(url, .storedThenFresh(ifOlderThan: .seconds(60))) == ["stored(body)"])
    #expect(await machine.outline(url, .http) == ["stored(body)"])
    #expect(look(machine, url) == "body")
    #expect(tier.questions.isEmpty && tier.hosts == 0 && machine.requests.isEmpty)
  }

  private func look(_ machine: FleetMachine, _ url: URL) -> String? {
    machine.fixture.service.storedResponse(for: .init(url))?.text
  }

  @Test func `laws 1 and 2: what another machine has fetched is stored, then the origin confirms it`()
    async throws
  {
    let tier = try await FakeTier.with("body", at: url)
    tier.advance(by: 30)
    let machine = try FleetMachine(tier, answer: "body")
    let all = await machine.deliveries(url)
    try #require(all.count == 2)
    let stored = try #require(all[0].stored)
    #expect(stored.source == .tier && stored.text == "body" && stored.age == .seconds(30))
    #expect(stored.head.cacheStatus.hasSuffix("; detail=tier"), "\(stored.head.cacheStatus)")
    let fresh = try #require(all[1].fresh)
    #expect(all[1].outline == "fresh(body, unchanged)" && fresh.wasValidated && fresh.kept == .yes)
    #expect(fresh.source == .fresh && fresh.sharing == .yes && stored.sharing == nil)
    #expect(machine.requests.map { $0.fields["If-None-Match"] } == ["\"1\""])
    #expect(await machine.stored(url) == ["stored(body)"])
  }

  @Test func `law 2: a load that joins later has the tier's row too, once and before the fresh one`()
    async throws
  {
    let tier = try await FakeTier.with("old", at: url)
    let (isAsked, mayAnswer) = (Gate(), Gate())
    let machine = try FleetMachine(tier) { _, _ in
      isAsked.open()
      await mayAnswer.wait()
      return .answer("new")
    }
    async let first = machine.outline(url)
    await isAsked.wait()
    let second = Task { await machine.outline(url) }
    await machine.fixture.traced("joining the same request")
    mayAnswer.open()
    #expect(await first == ["tier(old)", "fresh(new, changed)"])
    #expect(await second.value == ["stored(old)", "fresh(new, changed)"])
    #expect(machine.requests.count == 1 && tier.questions.count == 2)
  }

  @Test func `law 3: the question comes before the origin's, and a silent tier is only passed by`()
    async throws
  {
    let tier = try await FakeTier.with("old", at: url)
    let order = Mutex<[String]>([])
    tier.whileAsked { order.withLock { $0.append("tier") } }
    let machine = try FleetMachine(tier) { _, _ in
      order.withLock { $0.append("origin") }
      return .answer("new")
    }
    tier.setSilent(because: "it did not answer")
    #expect(await machine.outline(url) == ["fresh(new, new)"])
    #expect(order.withLock { $0 } == ["tier", "origin"])
    #expect(machine.fixture.hasTraced("the tier is silent: it did not answer"))
  }

  @Test func `law 4: kept is the local store's word, and only what is kept is offered`() async throws {
    let tier = FakeTier()
    let mayTake = Gate()
    tier.whileOffered { await mayTake.wait() }
    let machine = try FleetMachine(tier, answer: "body")
    // The delivery does not wait for the tier to take it.
    let kept = try #require(await machine.fixture.deliveries(url).last?.fresh)
    #expect(kept.kept == .yes && kept.sharing == .yes && tier.offers.isEmpty)
    mayTake.open()
    await machine.fixture.settled()
    #expect(tier.bodies == ["body"])

    let other = try #require(URL(string: "https://origin.test/other"))
    let reader = try FleetMachine(tier, configure: { $0.store.isReadOnly = true }) { _, _ in .answer("other")
    }
    let unkept = try #require(await reader.deliveries(other).last?.fresh)
    #expect(unkept.kept != .yes && unkept.sharing == .no(.notKept))
    #expect(tier.bodies == ["body"])
  }

  @Test(arguments: [
    TransportResponse.answer("gone wrong", status: 500), .answer("", status: 404),
    .answer("{", ["ETag": "\"2\""]),
  ])
  func `law 5: nothing that a failed refresh brought is offered, and the tier's row stays`(
    answer: TransportResponse
  ) async throws {
    let tier = try await FakeTier.with("{}", at: url)
    let machine = try FleetMachine(tier) { _, _ in answer }
    struct Empty: Decodable, Sendable {}
    var request = DataService.Request(url)
    request.limits.retries = 0
    for await _ in machine.fixture.service.deliveries(for: request, as: Empty.self) {}
    await machine.fixture.settled()
    #expect(tier.bodies == ["{}"] && tier.offers.count == 1)
    #expect(await machine.stored(url) == ["stored({})"])
  }

  @Test func `law 7: one exchange of a machine asks the tier, however many loads share it`() async throws {
    let tier = FakeTier()
    let mayAnswer = Gate()
    let machine = try FleetMachine(tier) { _, _ in
      await mayAnswer.wait()
      return .answer("body")
    }
    let loads = (0..<5).map { _ in Task { await machine.outline(url) } }
    await machine.fixture.traced("joining the same request", times: 4)
    mayAnswer.open()
    for load in loads { #expect(await load.value == ["fresh(body, new)"]) }
    #expect(tier.questions.count == 1 && tier.offers.count == 1)
  }

  @Test func `law 8: an exchange that began earlier does not replace the tier's row of a later one`()
    async throws
  {
    let tier = FakeTier()
    let (isAsked, mayAnswer) = (Gate(), Gate())
    let slow = try FleetMachine(tier) { _, _ in
      isAsked.open()
      await mayAnswer.wait()
      return .answer("early")
    }
    async let early = slow.outline(url)
    await isAsked.wait()
    let quick = try FleetMachine(tier, answer: "late")
    #expect(await quick.outline(url) == ["fresh(late, new)"])
    mayAnswer.open()
    #expect(await early == ["fresh(early, new)"])
    #expect(tier.bodies == ["late"])
    #expect(slow.fixture.hasTraced("the tier has a newer response"))
  }

  @Test func `law 8: what was removed here does not come back from the tier`() async throws {
    let tier = FakeTier()
    let clock = VirtualClock()
    let machine = try FleetMachine(tier, clock: clock) { _, number throws(DataServiceError) in
      if number > 1 { throw DataServiceError(.offline, "no network") }
      return .answer("body")
    }
    _ = await machine.deliveries(url)
    clock.advance(by: .seconds(1))
    tier.advance(by: 1)
    #expect(try await machine.fixture.service.remove(.all) == 1)
    #expect(await machine.outline(url) == ["failure(offline)"])
    #expect(await machine.stored(url) == ["failure(notStored)"])
    // Another machine was not told to forget it.
    #expect(
      try await FleetMachine.offline(tier).outline(url) == ["tier(body)", "failure(offline, last body)"])
  }

  @Test func `law 8: nor where the store answers only after the tier`() async throws {
    let (tier, clock, store) = (FakeTier(), VirtualClock(), try TemporaryStore())
    let first = try FleetMachine(tier, store: store, clock: clock, answer: "body")
    _ = await first.deliveries(url)
    clock.advance(by: .seconds(1))
    tier.advance(by: 1)
    #expect(try await first.fixture.service.remove(.all) == 1)
    await first.fixture.service.close()
    let (isOriginAsked, mayAnswer) = (Gate(), Gate())
    let machine = try FleetMachine(tier, store: store, clock: clock) { _, _ async throws(DataServiceError) in
      isOriginAsked.open()
      await mayAnswer.wait()
      throw DataServiceError(.offline, "no network")
    }
    let holder = try await StoreHolder(.exclusive, store.path)
    async let deliveries = machine.outline(url)
    await clock.whenPending(for: .milliseconds(20))
    clock.advance(by: .milliseconds(20))
    // As long as a store that is slow is waited for.
    await clock.whenPending(for: .milliseconds(250))
    clock.advance(by: .milliseconds(250))
    await isOriginAsked.wait()
    #expect(machine.fixture.hasTraced("the tier's response is of no use here"))
    await holder.release()
    // The store's answer comes while the origin is still asked.
    _ = try await machine.fixture.service.entries()
    mayAnswer.open()
    #expect(await deliveries == ["failure(offline)"])
    await holder.end()
  }

  @Test func `law 8: nor where the exchange begins before the store has answered`() async throws {
    let (tier, clock, store) = (FakeTier(), VirtualClock(), try TemporaryStore())
    let first = try FleetMachine(tier, store: store, clock: clock, answer: "body")
    _ = await first.deliveries(url)
    clock.advance(by: .seconds(1))
    tier.advance(by: 1)
    #expect(try await first.fixture.service.remove(.all) == 1)
    await first.fixture.service.close()
    let machine = try FleetMachine(tier, store: store, clock: clock) { _, _ throws(DataServiceError) in
      throw DataServiceError(.offline, "no network")
    }
    let holder = try await StoreHolder(.exclusive, store.path)
    tier.whileAsked { await holder.release() }
    async let deliveries = machine.outline(url)
    await clock.whenPending(for: .milliseconds(20))
    clock.advance(by: .milliseconds(20))
    #expect(await deliveries == ["failure(offline)"])
    #expect(machine.fixture.hasTraced("the store is slow"))
    #expect(machine.fixture.hasTraced("the tier's response is of no use here"))
    await holder.end()
  }

  @Test func `law 8: an older row of the tier does not take the place of a newer local one`() async throws {
    let tier = try await FakeTier.with("old", at: url)
    let clock = VirtualClock()
    clock.advance(by: .seconds(5))
    let store = try TemporaryStore()
    let alone = try ServiceFixture(
      store: store, transport: ScriptedTransport { _, _ in .answer("newer", ["ETag": "\"2\""]) },
      timekeeper: clock)
    _ = await alone.outline(url)
    clock.advance(by: .seconds(5))
    tier.advance(by: 10)
    let machine = try FleetMachine(tier, store: store, clock: clock) { _, _ in .answer("", status: 304) }
    #expect(await machine.outline(url) == ["stored(newer)", "fresh(newer, unchanged)"])
    #expect(machine.requests.map { $0.fields["If-None-Match"] } == ["\"2\""])
  }

  @Test func `law 8: a newer row of the tier is what the origin is asked about`() async throws {
    let store = try TemporaryStore()
    let clock = VirtualClock()
    let alone = try ServiceFixture(
      store: store, transport: ScriptedTransport { _, _ in .answer("old", ["ETag": "\"1\""]) },
      timekeeper: clock)
    _ = await alone.outline(url)
    clock.advance(by: .seconds(10))
    let tier = try await FakeTier.with("new", at: url, ["ETag": "\"2\""])
    let machine = try FleetMachine(tier, store: store, clock: clock) { _, _ in .answer("", status: 304) }
    // The stored response comes first; what the 304 confirms is the tier's, and another body.
    #expect(await machine.outline(url) == ["stored(old)", "fresh(new, changed)"])
    #expect(machine.requests.map { $0.fields["If-None-Match"] } == ["\"2\""])
    #expect(await machine.stored(url) == ["stored(new)"])
  }

  @Test func `law 9: a tier that is down, full or lying costs misses only`() async throws {
    let tier = FakeTier()
    tier.refuseOffers(because: "OOM")
    let full = try FleetMachine(tier, answer: "body")
    #expect(await full.outline(url) == ["fresh(body, new)"])
    #expect(full.fixture.hasTraced("the tier did not take it: OOM"))
    tier.refuseOffers(because: nil)
    tier.setSilent(because: "refused")
    #expect(await full.outline(url) == ["stored(body)", "fresh(body, unchanged)"])
    let failure = try #require(await FleetMachine.offline(tier).deliveries(url).last?.error)
    #expect(failure.kind == .offline && !failure.description.contains("tier"))
    tier.setSilent(because: nil)
    #expect(await full.outline(url) == ["stored(body)", "fresh(body, unchanged)"])
    #expect(tier.bodies == ["body"])
    tier.cutBodies(true)
    #expect(try await FleetMachine.offline(tier).outline(url) == ["failure(offline)"])
    #expect(try await FleetMachine(tier, answer: "body").outline(url) == ["fresh(body, new)"])
  }

  @Test func `law 10: a row whose body is gone, or is not of its length, is a miss`() async throws {
    let tier = try await FakeTier.with("body", at: url)
    tier.sendBodies(false)
    #expect(
      try await FleetMachine.offline(tier).outline(url) == ["tier(body)", "failure(offline, last body)"])
    tier.loseBodies()
    let machine = try FleetMachine.offline(tier)
    #expect(await machine.outline(url) == ["failure(offline)"])
    #expect(machine.fixture.hasTraced("the body of the tier's response is gone"))
    let other = try await FakeTier.with("body", at: url)
    other.cutBodies(true)
    for comesWithRow in [true, false] {
      other.sendBodies(comesWithRow)
      let machine = try FleetMachine.offline(other)
      #expect(await machine.outline(url) == ["failure(offline)"], "\(comesWithRow)")
      #expect(machine.fixture.hasTraced("the body of the tier's response is gone"), "\(comesWithRow)")
    }
  }

  @Test func `law 12: nothing of a no-store answer, no cookie and no secret reaches the tier`() async throws {
    let tier = FakeTier()
    let machine = try FleetMachine(tier) { request, _ in
      request.url.path() == "/item"
        ? .answer("secret", ["Cache-Control": "no-store"])
        : .answer("body", ["Cache-Control": "public", "Set-Cookie": "sid=secret", "X-Api-Key": "secret"])
    }
    #expect(await machine.deliveries(url).last?.fresh?.sharing == .no(.noStore))
    let other = try #require(URL(string: "https://origin.test/other"))
    #expect(await machine.deliveries(other).last?.fresh?.sharing == .yes)
    let token = try #require(URL(string: "https://origin.test/other?token=secret"))
    #expect(await machine.deliveries(token).last?.fresh?.sharing == .no(.secretURL))
    let withKey = await machine.deliveries(other) { $0.fields = ["X-Api-Key": "secret"] }
    #expect(withKey.last?.fresh?.sharing == .no(.account))
    #expect(tier.questions.map(\.target) == ["https://origin.test/item", "https://origin.test/other"])
    #expect(!"\(tier.questions) \(tier.offers)".contains("secret"))
    #expect(tier.bodies == ["body"])
  }

  @Test func `law 13: a body over the limit is neither offered nor taken`() async throws {
    var small = TierTerms()
    small.largestBody = 3
    let tier = FakeTier()
    let fresh = await (try FleetMachine(tier, terms: small, answer: "body")).deliveries(url).last?.fresh
    #expect(fresh?.sharing == .no(.tooLarge) && tier.offers.isEmpty)
    _ = await (try FleetMachine(tier, answer: "body")).deliveries(url)
    #expect(tier.bodies == ["body"])
    #expect(try await FleetMachine.offline(tier, terms: small).outline(url) == ["failure(offline)"])
    // A load's own limit counts too.
    let strict = await (try FleetMachine.offline(tier)).outline(url) { $0.limits.bodyBytes = 3 }
    #expect(strict == ["failure(offline)"])
  }

  @Test func `law 13: the end waits a moment for an offer, and not longer`() async throws {
    let (tier, never) = (FakeTier(), Gate())
    tier.whileOffered { await never.wait() }
    let machine = try FleetMachine(tier, answer: "body")
    _ = await machine.fixture.deliveries(url)
    let closing = Task { await machine.fixture.service.close() }
    await machine.clock.whenPending(for: .milliseconds(250))
    machine.clock.advance(by: .milliseconds(250))
    await closing.value
    never.open()
  }
}
