import CacheStore
import DataService
import DataServiceTesting
import Dispatch
import FixtureServer
import PlatformFoundation
import Synchronization
import Testing
import RedisTier
import TestSupport
import TestTurns

/// What an exchange asks, tells and believes of the tier.
@Suite("The tier in an exchange", .inTurn) struct ExchangeTierTests {
  private let url: URL
  init() throws { url = try #require(URL(string: "https://origin.test/item")) }

  /// Terms under which the account `ci` is shared.
  private var shared: TierTerms {
    var terms = TierTerms()
    terms.accounts = ["ci"]
    return terms
  }

  @Test func `an unsafe request of a shared account makes its rows void, and those of no account`()
    async throws
  {
    let tier = FakeTier()
    let machine = try FleetMachine(tier, terms: shared, answer: "body", ["Cache-Control": "public"])
    _ = await machine.deliveries(url)
    _ = await machine.deliveries(url) { $0.account = .named("ci") }
    #expect(tier.bodies == ["body", "body"])
    _ = await machine.deliveries(url) {
      $0.method = .put
      $0.account = .named("ci")
    }
    #expect(tier.bodies == [])
    #expect(tier.invalidated == ["ci|https://origin.test/item", "|https://origin.test/item"])
  }

  @Test func `another variant that is stored does not keep the tier's row out`() async throws {
    let script: ScriptedTransport.Script = { request, _ in
      .answer(request.fields["Accept-Language"] ?? "none", ["Vary": "Accept-Language"])
    }
    let german = { @Sendable (request: inout DataService.Request) in
      request.fields = ["Accept-Language": "de"]
    }
    let french = { @Sendable (request: inout DataService.Request) in
      request.fields = ["Accept-Language": "fr"]
    }
    let tier = FakeTier()
    let offering = try FleetMachine(tier, script: script)
    _ = await offering.deliveries(url, configure: french)
    #expect(tier.bodies == ["fr"])
    let store = try TemporaryStore()
    let alone = try ServiceFixture(
      store: store, transport: ScriptedTransport(script), timekeeper: VirtualClock())
    #expect(await alone.outline(url, configure: german) == ["fresh(de, new)"])
    let machine = try FleetMachine.offline(tier, store: store)
    #expect(
      await machine.outline(url, configure: french) == ["tier(fr)", "failure(offline, last fr)"])
    for (change, stored) in [(german, "stored(de)"), (french, "stored(fr)")] {
      #expect(await machine.fixture.outline(url, policy: .storedOnly, configure: change) == [stored])
    }
  }

  /// The tier's row came one second ago, the stored one so many milliseconds.
  @Test(
    "law 8: of a stored response of another boot and the tier's, the one that came last is asked about",
    arguments: [(999, false), (1_000, false), (1_001, true)] as [(Int64, Bool)])
  func otherBoot(milliseconds: Int64, isTiers: Bool) async throws {
    let (store, before) = (try TemporaryStore(), VirtualClock())
    let alone = try ServiceFixture(
      store: store, transport: ScriptedTransport { _, _ in .answer("mine", ["ETag": "\"2\""]) },
      timekeeper: before)
    _ = await alone.outline(url)
    await alone.service.close()
    let tier = try await FakeTier.with("theirs", at: url)
    tier.advance(by: 1)
    let clock = VirtualClock(
      wallMilliseconds: before.wallMilliseconds + milliseconds, bootID: "next-boot")
    let machine = try FleetMachine(tier, store: store, clock: clock) { _, _ in .answer("", status: 304) }
    let fresh = isTiers ? "fresh(theirs, changed)" : "fresh(mine, unchanged)"
    #expect(await machine.outline(url) == ["stored(mine)", fresh])
    #expect(machine.requests.map { $0.fields["If-None-Match"] } == [isTiers ? "\"1\"" : "\"2\""])
  }

  @Test func `what a silent tier was not asked about is not shared, and says why`() async throws {
    let tier = FakeTier()
    tier.setSilent(because: "it is gone")
    let machine = try FleetMachine(tier, answer: "body")
    #expect(await machine.deliveries(url).last?.fresh?.sharing == .no(.silent))
    tier.setSilent(because: nil)
    #expect(await machine.deliveries(url).last?.fresh?.sharing == .yes)
    #expect(machine.fixture.hasTraced("the tier has nothing"))
  }

  @Test func `what the store commits only after the delivery is offered then`() async throws {
    let (tier, clock) = (FakeTier(), VirtualClock())
    let hold = Mutex<(@Sendable () -> Void)?>(nil)
    let machine = try FleetMachine(tier, clock: clock) { _, _ in
      hold.withLock { $0 }?()
      return .answer("body")
    }
    _ = await machine.deliveries(try #require(URL(string: "https://origin.test/other")))
    let store = machine.fixture.service.store
    hold.withLock { $0 = { store.suspendForTesting() } }
    let delivered = Gate()
    let fresh = Mutex<DataService.Delivery<Data>?>(nil)
    let load = machine.fixture.service.load(
      machine.fixture.request(url), queue: DispatchQueue(label: "callbacks")
    ) { delivery in
      fresh.withLock { $0 = delivery }
      delivered.open()
    }
    _ = try await clock.passing { await delivered.wait() }
    let kept = fresh.withLock { $0?.kept }
    #expect(kept == .no(.busy) && fresh.withLock { $0?.fresh?.sharing } == .no(.notKept))
    #expect(tier.bodies == ["body"])
    store.resumeForTesting()
    await load.finished()
    await machine.fixture.settled()
    #expect(tier.bodies == ["body", "body"])
    await machine.fixture.service.close()
  }

  @Test func `a redirect to a secret URL is seen by the rule of what is shared`() async throws {
    let tier = FakeTier()
    let machine = try FleetMachine(tier) { request, _ in
      request.url.absoluteString.contains("token")
        ? .answer("body") : .answer("", status: 302, ["Location": "/item?token=secret"])
    }
    #expect(await machine.deliveries(url).last?.fresh?.sharing == .no(.secretURL))
    #expect(machine.requests.count == 2 && tier.bodies == [])
  }

  @Test func `law 13: a body that just keeps to the limits is offered and taken`() async throws {
    var exact = TierTerms()
    exact.largestBody = 4
    let tier = FakeTier()
    let machine = try FleetMachine(tier, terms: exact, answer: "body")
    #expect(await machine.deliveries(url).last?.fresh?.sharing == .yes)
    #expect(tier.bodies == ["body"])
    for terms in [exact, TierTerms()] {
      let other = try FleetMachine.offline(tier, terms: terms)
      #expect(
        await other.outline(url) { $0.limits.bodyBytes = 4 }
          == ["tier(body)", "failure(offline, last body)"],
        "\(terms.largestBody)")
    }
  }

  @Test func `where the tier's row is all that is wanted, the exchange says who has answered`() async throws {
    let tier = try await FakeTier.with("body", at: url)
    let answers = Mutex(0)
    let machine = try FleetMachine(
      tier,
      configure: {
        $0.onEvent = { event in
          if case .answeredByTier = event.kind { answers.withLock { $0 += 1 } }
        }
      }
    ) { _, _ in .answer("never asked") }
    #expect(await machine.outline(url, .storedElseFresh(maxAge: .seconds(60))) == ["tier(body)"])
    #expect(answers.withLock { $0 } == 1)
  }

  @Test(
    "what a 304 confirms of the tier's row is not delivered once another process has signed it out",
    arguments: [false, true])
  func signedOut(isRefused: Bool) async throws {
    let (tier, store) = (FakeTier(), try TemporaryStore())
    let other = try FleetMachine(
      tier, terms: shared, answer: "not JSON", ["Cache-Control": "public", "ETag": "\"1\""])
    _ = await other.deliveries(url) { $0.account = .named("ci") }
    let (isAsked, mayAnswer) = (Gate(), Gate())
    // One way or the other the row may not be stored: by what the answer says, or by what the load makes of it.
    let confirmed: HTTPFields = ["ETag": "\"1\"", "Cache-Control": isRefused ? "public" : "no-store"]
    let asking = try FleetMachine(tier, terms: shared, store: store) { _, _ in
      isAsked.open()
      await mayAnswer.wait()
      return .answer("", status: 304, confirmed)
    }
    // A process of the machine that knows of no tier.
    let signingOut = try ServiceFixture(store: store)
    var request = asking.fixture.request(url)
    request.account = .named("ci")
    let load = Task { [request] in
      var last: String?
      if isRefused {
        for await delivery in asking.fixture.service.deliveries(for: request, as: [Int].self) {
          last = delivery.error?.kind.name ?? "a value"
        }
      } else {
        for await delivery in asking.fixture.service.deliveries(for: request) {
          last = delivery.error?.kind.name ?? "a value"
        }
      }
      return last
    }
    await isAsked.wait()
    // The account's row is made while the tier and the origin are asked.
    #expect(
      await eventually { (try? store.value("SELECT count(*) FROM account WHERE name = 'ci'")) == 1 })
    // Comes behind the call that has made it: the exchange knows of the row before it has its answer.
    _ = try await asking.fixture.service.store.accountID(named: "")
    #expect(try await signingOut.service.signOut(.named("ci")))
    mayAnswer.open()
    #expect(await load.value == "signedOut")
    await asking.fixture.settled()
    #expect(try await signingOut.service.entries() == [])
    await signingOut.service.close()
  }
}
