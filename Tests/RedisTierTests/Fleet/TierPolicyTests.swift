import CacheStore
import DataService
import DataServiceTesting
import FixtureServer
import PlatformFoundation
import RedisTier
import TestSupport
import Testing
import TestTurns

/// What each policy does with the tier.
@Suite("Policies with a second tier", .inTurn) struct TierPolicyTests {
  private let url: URL
  init() throws { url = try #require(URL(string: "https://origin.test/item")) }

  @Test
  func
    `stored-else-fresh ends with the tier's row where that is young enough, and asks the origin where not`()
    async throws
  {
    let tier = try await FakeTier.with("body", at: url)
    tier.advance(by: 100)
    let young = try FleetMachine(tier) { _, _ in .answer("new") }
    #expect(await young.outline(url, .storedElseFresh(maxAge: .seconds(101))) == ["tier(body)"])
    #expect(young.requests.isEmpty)
    let old = try FleetMachine(tier) { _, _ in .answer("new") }
    #expect(await old.outline(url, .storedElseFresh(maxAge: .seconds(99))) == ["fresh(new, changed)"])
  }

  @Test func `stored-else-fresh falls back to an old row of the tier`() async throws {
    let tier = try await FakeTier.with("body", at: url)
    tier.advance(by: 100)
    #expect(
      try await FleetMachine.offline(tier).outline(url, .storedElseFresh(maxAge: .seconds(1)))
        == ["tier(body)", "failure(offline, last body)"])
  }

  @Test func `fresh-else-stored falls back to the tier's row at its deadline and after a failure`()
    async throws
  {
    let tier = try await FakeTier.with("body", at: url)
    let policy = FetchPolicy.freshElseStored(within: .seconds(1))
    #expect(
      try await FleetMachine.offline(tier).outline(url, policy) == [
        "tier(body)", "failure(offline, last body)",
      ])
    let (isAsked, mayAnswer) = (Gate(), Gate())
    let slow = try FleetMachine(tier) { _, _ in
      isAsked.open()
      await mayAnswer.wait()
      return .answer("late")
    }
    let load = Task { await slow.fixture.outline(url, policy: policy) }
    await isAsked.wait()
    slow.clock.advance(by: .seconds(1))
    #expect(await load.value == ["tier(body)", "failure(timeout(deadline), last body)"])
    mayAnswer.open()
    await slow.fixture.settled()
    let quick = try FleetMachine(tier, answer: "new")
    #expect(await quick.outline(url, policy) == ["fresh(new, changed)"])
  }

  @Test func `stored-then-fresh with an age ends with a row that was received less than that ago`()
    async throws
  {
    let tier = try await FakeTier.with("body", at: url)
    let machine = try FleetMachine(tier) { _, _ in .answer("new") }
    #expect(await machine.outline(url, .storedThenFresh(ifOlderThan: .seconds(60))) == ["tier(body)"])
    #expect(machine.requests.isEmpty)
  }

  @Test func `fresh-only, stored-only, HEAD, unsafe methods and pass-through never ask the tier`()
    async throws
  {
    let tier = try await FakeTier.with("body", at: url)
    let asked = tier.questions.count
    let machine = try FleetMachine(tier, answer: "new")
    #expect(await machine.outline(url, .storedOnly) == ["failure(notStored)"])
    #expect(await machine.deliveries(url, .freshOnly).last?.fresh?.sharing == .no(.policy))
    #expect(machine.fixture.hasTraced("not shared: "))
    let other = try #require(URL(string: "https://origin.test/other"))
    #expect(await machine.deliveries(other) { $0.method = .head }.last?.fresh?.sharing == .no(.method))
    #expect(await machine.deliveries(other) { $0.method = .post }.last?.fresh?.sharing == .no(.passThrough))
    #expect(
      await machine.deliveries(other) { $0.fields = ["Range": "bytes=0-1"] }.last?.fresh?.sharing
        == .no(.passThrough))
    #expect(tier.questions.count == asked && tier.offers.count == 1)
  }

  @Test func `without a tier nothing says whether it is shared`() async throws {
    let fixture = try ServiceFixture(transport: ScriptedTransport { _, _ in .answer("body") })
    let fresh = try #require(await fixture.deliveries(url).last?.fresh)
    #expect(fresh.sharing == nil && fresh.source == .fresh)
  }

  @Test func `a row that the caller's decoder refuses is passed by`() async throws {
    let tier = try await FakeTier.with("not JSON", at: url)
    let machine = try FleetMachine(tier) { _, _ in .answer("[1]", ["ETag": "\"2\""]) }
    var seen: [String] = []
    for await delivery in machine.fixture.service.deliveries(for: .init(url), as: [Int].self) {
      seen.append("\(delivery.value ?? [])")
    }
    #expect(seen == ["[1]"])
    await machine.fixture.settled()
    #expect(tier.bodies == ["[1]"])
  }

  @Test func `a read by POST asks with its body, which is not in its target`() async throws {
    let tier = FakeTier()
    let first = try FleetMachine(tier, answer: "answer")
    let search: (inout DataService.Request) -> Void = {
      $0.method = .post
      $0.isRead = true
      $0.body = Data("query".utf8)
    }
    #expect(await first.outline(url, configure: search) == ["fresh(answer, new)"])
    let second = try FleetMachine.offline(tier)
    #expect(
      await second.outline(url, configure: search) == ["tier(answer)", "failure(offline, last answer)"])
    #expect(
      await second.outline(url) {
        search(&$0)
        $0.body = Data("another".utf8)
      } == ["failure(offline)"])
  }

  @Test func `an unsafe request makes the tier's rows of its targets void`() async throws {
    let tier = try await FakeTier.with("body", at: url)
    let machine = try FleetMachine(tier) { _, _ in .answer("done") }
    _ = await machine.deliveries(url) { $0.method = .put }
    #expect(tier.bodies.isEmpty && tier.invalidated == ["|https://origin.test/item"])
    #expect(try await FleetMachine.offline(tier).outline(url) == ["failure(offline)"])
  }

  @Test func `a removal from the fleet makes the tier's rows void, a local one does not`() async throws {
    let tier = FakeTier()
    let machine = try FleetMachine(tier, answer: "body")
    _ = await machine.deliveries(url)
    let service = machine.fixture.service
    #expect(try await service.remove(.all) == 1)
    #expect(tier.bodies == ["body"])
    let selection = try service.selection(for: .init(url))
    let removed = try await service.removeFromFleet(selection)
    #expect(removed == .init(rows: 0, unconfirmed: 0) && tier.bodies.isEmpty)
    tier.advance(by: 1)
    machine.clock.advance(by: .seconds(1))
    _ = await machine.deliveries(url)
    tier.setSilent(because: "refused")
    #expect(try await service.removeFromFleet(.all) == .init(rows: 1, unconfirmed: 1))
  }

  @Test func `whoever uses the tier first, it is attached once`() async throws {
    var terms = TierTerms()
    terms.accounts = ["ci"]
    let uses: [@Sendable (DataService) async throws -> Void] = [
      { service in _ = await service.examineUpstream() },
      { service in
        let isConfirmed = try await service.signOut(.named("ci"))
        #expect(isConfirmed)
      },
      { [url] service in
        let selection = try service.selection(for: .init(url))
        let removed = try await service.removeFromFleet(selection)
        #expect(removed == .init(rows: 0, unconfirmed: 0))
      },
    ]
    for (number, use) in uses.enumerated() {
      let tier = FakeTier()
      let machine = try FleetMachine(tier, terms: terms, answer: "body")
      try await use(machine.fixture.service)
      _ = await machine.deliveries(url)
      #expect(tier.hosts == 1, "\(number)")
      await machine.fixture.service.close()
    }
  }

  @Test
  func `two services with one configuration have an engine each, and the end of one is not the other's`()
    async throws
  {
    let fleet = FakeTier()
    let tier = fleet.machine()
    func machine() throws -> FleetMachine {
      try FleetMachine(fleet) {
        $0.tier = tier
      } script: { _, _ in
        .answer("body")
      }
    }
    let (one, other) = (try machine(), try machine())
    _ = await one.deliveries(url)
    await one.fixture.service.close()
    #expect(await other.outline(url) == ["tier(body)", "fresh(body, unchanged)"])
    #expect(fleet.hosts == 2)
  }

  @Test func `an account is shared only by name, and then among its own`() async throws {
    let tier = FakeTier()
    var terms = TierTerms()
    terms.accounts = ["ci"]
    let fields: HTTPFields = ["Cache-Control": "must-revalidate", "ETag": "\"1\""]
    func configure(_ account: Account) -> (inout DataService.Request) -> Void {
      {
        $0.fields = ["Authorization": "Bearer secret"]
        $0.account = account
      }
    }
    let machine = try FleetMachine(tier, terms: terms, answer: "body", fields)
    let shared = await machine.deliveries(url, configure: configure(.named("ci"))).last?.fresh
    #expect(shared?.sharing == .yes)
    #expect(tier.questions.map(\.account) == ["ci"] && !"\(tier.questions)".contains("secret"))
    let other = try FleetMachine.offline(tier, terms: terms)
    #expect(
      await other.outline(url, configure: configure(.named("ci"))) == [
        "tier(body)", "failure(offline, last body)",
      ])
    #expect(await other.outline(url, configure: configure(.named("me"))) == ["failure(offline)"])
    #expect(await other.outline(url, configure: configure(.automatic)) == ["failure(offline)"])
    #expect(await other.outline(url) == ["failure(offline)"])
  }

  @Test func `the counts are written beside the store`() async throws {
    let tier = try await FakeTier.with("body", at: url)
    let store = try TemporaryStore()
    let machine = try FleetMachine(tier, store: store, answer: "body")
    _ = await machine.deliveries(url)
    tier.setSilent(because: "gone")
    _ = await machine.deliveries(url)
    await machine.fixture.service.close()
    let reader = try ServiceFixture(store: store)
    #expect(reader.service.store.tierCounts == TierCounts(asked: 2, stored: 1, offered: 1, silent: 1))
  }

  @Test func `an explanation says whether the fleet shares the answer, and if not, why`() async throws {
    let tier = FakeTier()
    let plainURL = try #require(URL(string: "http://origin.test/item"))
    let fixture = try ServiceFixture(transport: ScriptedTransport { _, _ in .answer("body") }) {
      $0.tier = tier.machine()
    }
    let plain = try await fixture.service.explain(DataService.Request(plainURL))
    #expect(plain.isShared == false)
    #expect(plain.unsharedReason == "answers over plain http are not shared")
    let explained = try await fixture.service.explain(DataService.Request(url))
    #expect(explained.isShared == true)
    #expect(explained.unsharedReason == nil)
    await fixture.service.close()
    let alone = try ServiceFixture(transport: ScriptedTransport { _, _ in .answer("body") })
    let unshared = try await alone.service.explain(DataService.Request(url))
    #expect(unshared.isShared == nil)
    await alone.service.close()
  }
}
