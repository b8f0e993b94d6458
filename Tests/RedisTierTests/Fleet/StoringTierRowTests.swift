import CacheStore
import DataServiceTesting
import FixtureServer
import PlatformFoundation
import Synchronization
import RedisTier
import TestSupport
import Testing
import TestTurns

@testable import DataService

/// When a row of the tier comes into the local store.
@Suite("Storing what the tier has", .inTurn) struct StoringTierRowTests {
  private let url: URL
  init() throws { url = try #require(URL(string: "https://origin.test/item")) }

  @Test func `a 200 replaces the tier's row, which was stored first`() async throws {
    let tier = try await FakeTier.with("old", at: url)
    let machine = try FleetMachine(tier, answer: "new", ["ETag": "\"2\""])
    #expect(await machine.outline(url) == ["tier(old)", "fresh(new, changed)"])
    #expect(await machine.stored(url) == ["stored(new)"])
    #expect(machine.fixture.hasTraced("stored from the tier"))
    #expect(tier.bodies == ["new"])
  }

  @Test func `a 304 stores what it says with the row, and offers that`() async throws {
    let tier = try await FakeTier.with("body", at: url)
    let machine = try FleetMachine(tier) { _, _ in
      .answer("", status: 304, ["ETag": "\"1\"", "X-New": "yes"])
    }
    let fresh = try #require(await machine.deliveries(url).last?.fresh)
    #expect(fresh.kept == .yes && fresh.wasValidated && fresh.fields["X-New"] == "yes")
    #expect(
      await machine.fixture.deliveries(url, policy: .storedOnly).first?.stored?.fields["X-New"] == "yes")
    #expect(tier.offers.count == 2 && tier.offers.last?.head.fields["X-New"] == "yes")
  }

  @Test func `a failure stores it, as old as it is`() async throws {
    let tier = try await FakeTier.with("body", at: url)
    tier.advance(by: 60)
    let machine = try FleetMachine.offline(tier)
    #expect(await machine.outline(url) == ["tier(body)", "failure(offline, last body)"])
    // What the tier has is no newer than what was stored of it.
    #expect(await machine.outline(url) == ["stored(body)", "failure(offline, last body)"])
    #expect(machine.fixture.hasTraced("the tier's response is of no use here"))
    machine.clock.advance(by: .seconds(5))
    let stored = try #require(await machine.fixture.deliveries(url, policy: .storedOnly).first?.stored)
    #expect(stored.text == "body" && stored.source == .stored && stored.age == .seconds(65))
    // An ordinary row from here on.
    #expect(await machine.outline(url) == ["stored(body)", "failure(offline, last body)"])
  }

  @Test func `a load that begins on the network's thread, as a preload's do, stores it too`() async throws {
    let tier = try await FakeTier.with("body", at: url)
    let machine = try FleetMachine(tier) {
      (_, _) throws(DataServiceError) in throw DataServiceError(.offline, "no network")
    }
    let (service, url) = (machine.fixture.service, url)
    await withCheckedContinuation { continuation in
      service.core.thread.perform {
        _ = service.start(
          .init(url), policy: .storedThenFresh, progress: nil, deliver: { _ in },
          ended: { continuation.resume() })
      }
    }
    // The store's own thread writes it, a moment after the load has ended.
    #expect(await eventually { await machine.stored(url) == ["stored(body)"] })
  }

  @Test func `a failure to store the tier's row is told`() async throws {
    let tier = try await FakeTier.with("body", at: url)
    let machine = try FleetMachine.offline(tier)
    let store = machine.fixture.store
    _ = try await machine.fixture.service.store.accountID(named: "")
    try store.execute(
      "CREATE TRIGGER full BEFORE INSERT ON last_request BEGIN SELECT RAISE(FAIL, 'no room'); END")
    #expect(await machine.outline(url) == ["tier(body)", "failure(offline, last body)"])
    #expect(machine.fixture.warnings.map(\.kind) == [.store])
    #expect(try store.value("SELECT count(*) FROM last_request") == 0)
    await machine.fixture.service.close()
  }

  @Test(
    "the cookies of a 304 for the tier's row are delivered, and not stored",
    arguments: ["public", "no-store"])
  func cookies(control: String) async throws {
    let tier = try await FakeTier.with("body", at: url)
    let machine = try FleetMachine(tier) { _, _ in
      .answer("", status: 304, ["ETag": "\"1\"", "Cache-Control": control, "Set-Cookie": "a=b"])
    }
    let fresh = try #require(await machine.deliveries(url).last?.fresh)
    #expect(fresh.text == "body" && fresh.wasValidated && fresh.fields["Set-Cookie"] == "a=b")
    let stored = try #require(await machine.fixture.deliveries(url, policy: .storedOnly).first?.stored)
    #expect(stored.text == "body" && stored.fields["Set-Cookie"] == nil)
  }

  @Test func `a service that ends stores what it has delivered of the tier`() async throws {
    let tier = try await FakeTier.with("body", at: url)
    let isAsked = Gate()
    let machine = try FleetMachine(tier) { _, _ async throws(DataServiceError) in
      isAsked.open()
      // A gate that nobody opens is passed by who is cancelled.
      await Gate().wait()
      throw DataServiceError(.cancelled, "cancelled")
    }
    let load = Task { [url] in await machine.fixture.outline(url) }
    await isAsked.wait()
    await machine.fixture.service.close()
    #expect(await load.value.first == "tier(body)")
    let next = try ServiceFixture(store: machine.fixture.store)
    #expect(await next.outline(url, policy: .storedOnly) == ["stored(body)"])
    await next.service.close()
  }

  @Test func `a 500 stores it too, and is not stored itself`() async throws {
    let tier = try await FakeTier.with("body", at: url)
    let machine = try FleetMachine(tier) { _, _ in .answer("broken", status: 500) }
    #expect(await machine.outline(url) == ["tier(body)", "failure(status, last body)"])
    #expect(await machine.stored(url) == ["stored(body)"])
  }

  @Test func `a row that is all that is wanted is stored, without a request to the origin`() async throws {
    let tier = try await FakeTier.with("body", at: url)
    let machine = try FleetMachine(tier) { _, _ in .answer("never asked") }
    #expect(await machine.outline(url, .storedElseFresh(maxAge: .seconds(60))) == ["tier(body)"])
    #expect(machine.requests.isEmpty)
    #expect(await machine.stored(url) == ["stored(body)"])
  }

  @Test
  func `its time of receipt is its age ago on this machine's clock, and a cache's Age is not counted twice`()
    async throws
  {
    let tier = try await FakeTier.with("body", at: url, ["Age": "100", "ETag": "\"1\""])
    tier.advance(by: 20)
    let machine = try FleetMachine.offline(tier)
    let stored = try #require(await machine.deliveries(url).first?.stored)
    #expect(stored.age == .seconds(120))
    #expect(stored.receivedAt == machine.clock.now.addingTimeInterval(-120))
  }

  @Test func `law 5: a failed refresh leaves the local row, though the tier has a newer one`() async throws {
    let (store, clock) = (try TemporaryStore(), VirtualClock())
    let alone = try ServiceFixture(
      store: store, transport: ScriptedTransport { _, _ in .answer("mine") }, timekeeper: clock)
    _ = await alone.outline(url)
    clock.advance(by: .seconds(10))
    let tier = try await FakeTier.with("newer", at: url)
    let machine = try FleetMachine(tier, store: store, clock: clock) { _, _ throws(DataServiceError) in
      throw DataServiceError(.offline, "no network")
    }
    #expect(await machine.outline(url) == ["stored(mine)", "failure(offline, last mine)"])
    #expect(await machine.stored(url) == ["stored(mine)"])
  }

  @Test func `law 5: nor does it take the place of a good response that the load does not accept`()
    async throws
  {
    let (store, clock) = (try TemporaryStore(), VirtualClock())
    let page = ScriptedTransport { _, _ in .answer("page", ["Content-Type": "text/html"]) }
    let alone = try ServiceFixture(store: store, transport: page, timekeeper: clock)
    _ = await alone.outline(url)
    clock.advance(by: .seconds(10))
    let tier = try await FakeTier.with("{}", at: url, ["Content-Type": "application/json"])
    let machine = try FleetMachine(tier, store: store, clock: clock) { _, _ throws(DataServiceError) in
      throw DataServiceError(.offline, "no network")
    }
    let deliveries = await machine.outline(url) { $0.acceptedMediaTypes = ["application/json"] }
    #expect(deliveries == ["tier({})", "failure(offline, last {})"])
    #expect(machine.fixture.hasTraced("not stored: the store has a response"))
    #expect(await machine.stored(url) == ["stored(page)"])
  }

  /// Under the other policy the load has ended, at its deadline, before the exchange fails.
  @Test(arguments: [
    (FetchPolicy.storedThenFresh, "offline"),
    (FetchPolicy.freshElseStored(within: .seconds(1)), "timeout(deadline)"),
  ])
  func `law 5: what a decoder refuses is not stored where nothing was`(policy: FetchPolicy, failure: String)
    async throws
  {
    let tier = try await FakeTier.with("not JSON", at: url)
    let (isAsked, mayFail) = (Gate(), Gate())
    let machine = try FleetMachine(tier) { _, _ async throws(DataServiceError) in
      isAsked.open()
      await mayFail.wait()
      throw DataServiceError(.offline, "no network")
    }
    let service = machine.fixture.service
    let deliveries = service.deliveries(for: machine.fixture.request(url), as: [Int].self, policy: policy)
    let load = Task {
      var seen: [String] = []
      for await delivery in deliveries { seen.append(delivery.error?.kind.name ?? "a value") }
      return seen
    }
    await isAsked.wait()
    if policy == .storedThenFresh { mayFail.open() } else { machine.clock.advance(by: .seconds(1)) }
    #expect(await load.value == [failure])
    mayFail.open()
    await machine.fixture.settled()
    #expect(machine.fixture.hasTraced("not stored: a load refuses it"))
    #expect(await machine.stored(url) == ["failure(notStored)"])
  }

  @Test func `law 11: what comes from the tier for a load that was cancelled is not stored`() async throws {
    let tier = try await FakeTier.with("body", at: url)
    let (isAsked, mayAnswer) = (Gate(), Gate())
    tier.whileAsked {
      isAsked.open()
      await mayAnswer.wait()
    }
    let machine = try FleetMachine.offline(tier)
    let request = machine.fixture.request(url)
    let load = machine.fixture.service.start(request, policy: .storedThenFresh) { _ in
    } ended: {
    }
    await isAsked.wait()
    load.cancel()
    mayAnswer.open()
    await machine.fixture.settled()
    #expect(machine.fixture.hasTraced("the tier has a response"))
    #expect(await machine.stored(url) == ["failure(notStored)"])
  }

  @Test func `law 11: what was stored before a load was cancelled on it stays, where nothing was`()
    async throws
  {
    let tier = try await FakeTier.with("body", at: url)
    let (isAsked, mayAnswer) = (Gate(), Gate())
    tier.whileAsked {
      isAsked.open()
      await mayAnswer.wait()
    }
    let machine = try FleetMachine(tier, answer: "never asked")
    let running = Mutex<DataService.Load?>(nil)
    let count = Mutex(0)
    let load = machine.fixture.service.start(
      machine.fixture.request(url), policy: .storedThenFresh,
      deliver: { _ in
        count.withLock { $0 += 1 }
        running.withLock { $0 }?.cancel()
      }, ended: {})
    await isAsked.wait()
    running.withLock { $0 = load }
    mayAnswer.open()
    await machine.fixture.settled()
    #expect(count.withLock { $0 } == 1)
    #expect(machine.requests.isEmpty)
    #expect(await machine.stored(url) == ["stored(body)"])
    running.withLock { $0 = nil }
  }

  @Test func `law 5: what a decoder refuses is not stored by a 304, but asked for whole`() async throws {
    let (store, clock) = (try TemporaryStore(), VirtualClock())
    let alone = try ServiceFixture(
      store: store, transport: ScriptedTransport { _, _ in .answer("[1]") }, timekeeper: clock)
    _ = await alone.outline(url)
    clock.advance(by: .seconds(10))
    let tier = try await FakeTier.with("not JSON", at: url)
    let machine = try FleetMachine(tier, store: store, clock: clock) { _, number in
      number == 1 ? .answer("", status: 304) : .answer("[2]")
    }
    var seen: [String] = []
    for await delivery in machine.fixture.service.deliveries(for: .init(url), as: [Int].self) {
      seen.append(delivery.error?.kind.name ?? "\(delivery.value ?? [])")
    }
    await machine.fixture.settled()
    #expect(seen == ["[1]", "[2]"])
    #expect(await machine.stored(url) == ["stored([2])"])
  }

  @Test func `a body longer than a chunk is compared, stored and offered like any other`() async throws {
    let body = String(repeating: "0123456789", count: 30)
    let tier = try await FakeTier.with(body, at: url)
    let chunks: (inout DataService.Configuration) -> Void = { $0.store.chunkBytes = 64 }
    let same = try FleetMachine(tier, configure: chunks) { _, _ in .answer(body, ["ETag": "\"2\""]) }
    #expect(await same.outline(url) == ["tier(\(body))", "fresh(\(body), unchanged)"])
    let confirmed = try FleetMachine(tier, configure: chunks) { _, _ in .answer("", status: 304) }
    #expect(await confirmed.outline(url) == ["tier(\(body))", "fresh(\(body), unchanged)"])
    #expect(await confirmed.stored(url) == ["stored(\(body))"])
    let changed = try FleetMachine(tier, configure: chunks) { _, _ in
      .answer(body.dropLast() + "x", ["ETag": "\"3\""])
    }
    #expect(await changed.outline(url).last == "fresh(\(body.dropLast() + "x"), changed)")
  }

  @Test func `tags and pins of the load that asked are those of the row`() async throws {
    let tier = try await FakeTier.with("body", at: url)
    let machine = try FleetMachine.offline(tier)
    _ = await machine.deliveries(url) {
      $0.tags = ["news"]
      $0.isPinned = true
    }
    let entry = try #require(try await machine.fixture.service.entries().first)
    #expect(entry.tags == ["news"] && entry.response.isPinned)
  }

  /// A local follower takes a changed row for its leader's answer. Another process, here another service on the same store, must
  /// never deliver an old row of the tier as fresh.
  @Test(arguments: [true, false])
  func `a local follower never takes the tier's row for the leader's answer`(isAllThatIsWanted: Bool)
    async throws
  {
    let tier = try await FakeTier.with("old", at: url)
    tier.advance(by: 3600)
    let store = try TemporaryStore()
    let (isAsked, mayFail, mayServe) = (Gate(), Gate(), Gate())
    // The leader has the tier's row, and a network that fails while another process waits for it.
    let leader = try FleetMachine(tier, store: store) { _, _ async throws(DataServiceError) in
      isAsked.open()
      await mayFail.wait()
      throw DataServiceError(.offline, "no network")
    }
    if isAllThatIsWanted {
      tier.whileAsked {
        isAsked.open()
        await mayServe.wait()
      }
    }
    let policy: FetchPolicy = isAllThatIsWanted ? .storedElseFresh(maxAge: .seconds(7200)) : .storedThenFresh
    let led = Task { await leader.outline(url, policy) }
    await isAsked.wait()
    let follower = try FleetMachine(tier, store: store) { _, _ in .answer("fresh") }
    let followed = Task { await follower.outline(url) }
    await follower.fixture.traced("waiting for another")
    await follower.clock.whenPending(within: .milliseconds(5))
    tier.whileAsked(nil)
    mayServe.open()
    mayFail.open()
    _ = await led.value
    await leader.fixture.settled()
    #expect(leader.fixture.hasTraced("stored from the tier"))
    #expect(await leader.stored(url) == ["stored(old)"])
    let deliveries = try await follower.clock.passing(longest: .milliseconds(20)) { await followed.value }
      .value
    #expect(deliveries.last == "fresh(fresh, changed)" || deliveries.last == "fresh(fresh, new)")
    #expect(!deliveries.contains { $0.hasPrefix("fresh(old") }, "\(deliveries)")
    #expect(await follower.stored(url) == ["stored(fresh)"])
  }
}
