import CacheStore
import DataService
import DataServiceTesting
import FixtureServer
import PlatformFoundation
import RedisTier
import TestSupport
import TestTurns
import Testing

/// What one machine tells the others, beside responses: pauses, and sign-outs of accounts that are shared by name.
@Suite("A fleet that is told", .inTurn) struct FleetWideTests {
  private let url: URL
  init() throws { url = try #require(URL(string: "https://origin.test/item")) }

  /// Waits until an exchange has made its account's row, which a sign-out is to find: it does so while it
  /// asks the tier, and knows of the row before anything that it is told from now on.
  private static func hasAccount(_ machine: FleetMachine) async throws -> Bool {
    let store = machine.fixture.store
    let isMade = await eventually {
      (try? store.value("SELECT count(*) FROM account WHERE name = 'ci'")) == 1
    }
    // Comes behind the call that has made it.
    _ = try await machine.fixture.service.store.accountID(named: "")
    return isMade
  }

  private func busy(_ tier: FakeTier, terms: TierTerms = TierTerms()) throws -> FleetMachine {
    try FleetMachine(tier, terms: terms) { _, _ in .answer("no", status: 429, ["Retry-After": "60"]) }
  }

  @Test func `the pause that one machine was asked for holds for all, beside what is stored`() async throws {
    let tier = try await FakeTier.with("body", at: url)
    #expect(
      try await busy(tier).outline(url, .freshElseStored(within: .seconds(60)))
        == ["tier(body)", "failure(status, last body)"])
    #expect(tier.pauses == ["https://origin.test": 60_000])
    let other = try FleetMachine(tier, answer: "new")
    let all = await other.deliveries(url)
    #expect(all.first?.stored?.text == "body" && all.count == 2)
    #expect(other.fixture.hasTraced("another machine was asked to wait"))
    #expect(all.last?.error?.kind == .paused && all.last?.error?.retryAfter == .seconds(60))
    #expect(other.requests.isEmpty)
    #expect(try await other.fixture.service.pauses().map(\.origin) == ["https://origin.test"])
    // It holds without the tier, for every request there, and ends.
    tier.setSilent(because: "it is gone")
    let second = try #require(URL(string: "https://origin.test/second"))
    other.clock.advance(by: .seconds(59))
    #expect(await other.outline(second) == ["failure(paused)"])
    other.clock.advance(by: .seconds(1))
    tier.setSilent(because: nil)
    tier.advance(by: 60)
    #expect(await other.outline(second) == ["fresh(new, new)"])
  }

  @Test func `a machine that looked for a pause before it asked the tier obeys it too`() async throws {
    let tier = FakeTier()
    let machine = try FleetMachine(tier, answer: "own")
    #expect(await machine.outline(url) == ["fresh(own, new)"])
    _ = try await busy(tier).deliveries(url)
    #expect(await machine.outline(url) == ["stored(own)", "failure(paused, last own)"])
    #expect(machine.requests.count == 1)
  }

  @Test func `with nothing stored anywhere the failure says for how long`() async throws {
    let tier = FakeTier()
    let first = try busy(tier)
    #expect(await first.outline(url) == ["fresh(no, new)"])
    let other = try FleetMachine(tier, answer: "new")
    let failed = try #require(await other.deliveries(url).last?.error)
    #expect(failed.kind == .paused && failed.retryAfter == .seconds(60))
    #expect(await other.outline(url) == ["failure(paused)"])
    #expect(other.requests.isEmpty)
  }

  @Test func `a removal from the fleet ends the pause, and one that is over is none`() async throws {
    let tier = FakeTier()
    _ = try await busy(tier).deliveries(url)
    let other = try FleetMachine(tier, answer: "new")
    let selection = try other.fixture.service.selection(for: .init(url))
    #expect(try await other.fixture.service.removeFromFleet(selection).unconfirmed == 0)
    #expect(tier.pauses == [:])
    #expect(await other.outline(url) == ["fresh(new, new)"])
    _ = try await busy(tier).deliveries(url)
    tier.advance(by: 60)
    let third = try FleetMachine(tier, answer: "newer", ["ETag": "\"2\""])
    #expect(await third.outline(url) == ["tier(new)", "fresh(newer, changed)"])
    #expect(!third.fixture.hasTraced("another machine was asked to wait"))
  }

  @Test func `who may not share says nothing of a pause`() async throws {
    let tier = FakeTier()
    var readOnly = TierTerms()
    readOnly.isReadOnly = true
    _ = try await busy(tier, terms: readOnly).deliveries(url)
    _ = try await busy(tier).deliveries(url) { $0.account = .named("ada") }
    _ = try await busy(tier).deliveries(url, .freshOnly)
    tier.setSilent(because: "it is gone")
    _ = try await busy(tier).deliveries(url)
    tier.setSilent(because: nil)
    // Who led to the one that asked to wait is not who asked.
    let led = try FleetMachine(tier) { request, _ in
      request.url.host() == "origin.test"
        ? .answer("", status: 307, ["Location": "https://elsewhere.test/"])
        : .answer("no", status: 429, ["Retry-After": "60"])
    }
    _ = await led.deliveries(url)
    #expect(tier.pauses == [:])
  }

  @Test func `the sign-out of a shared account reaches the tier, and of another one does not`() async throws {
    let tier = FakeTier()
    var terms = TierTerms()
    terms.accounts = ["ci"]
    let machine = try FleetMachine(tier, terms: terms, answer: "body", ["Cache-Control": "public"])
    for account in ["ci", "ada"] {
      _ = await machine.deliveries(url) { $0.account = .named(account) }
    }
    #expect(tier.bodies == ["body"])
    #expect(try await machine.fixture.service.signOut(.named("ada")))
    #expect(tier.signedOut == [] && tier.bodies == ["body"])
    #expect(try await machine.fixture.service.signOut(.named("ci")))
    #expect(tier.signedOut == ["ci"] && tier.bodies == [])
    #expect(machine.fixture.warnings.map(\.message) == [])
  }

  @Test func `a sign-out that the tier does not confirm is done here, and says so`() async throws {
    let tier = FakeTier()
    var terms = TierTerms()
    terms.accounts = ["ci"]
    let machine = try FleetMachine(tier, terms: terms, answer: "body", ["Cache-Control": "public"])
    _ = await machine.deliveries(url) { $0.account = .named("ci") }
    tier.setSilent(because: "it is gone")
    #expect(try await machine.fixture.service.signOut(.named("ci")) == false)
    #expect(
      machine.fixture.warnings.map(\.message)
        == ["the tier has not confirmed that it has nothing of ci any more"])
    #expect(try await machine.fixture.service.entries() == [])
    var readOnly = terms
    readOnly.isReadOnly = true
    let reader = try FleetMachine(tier, terms: readOnly, answer: "body")
    #expect(try await reader.fixture.service.signOut(.named("ci")))
    #expect(reader.fixture.warnings.map(\.message) == [])
  }

  @Test
  func `what was asked for before a shared account is signed out is neither delivered nor stored after it`()
    async throws
  {
    let (tier, store) = (FakeTier(), try TemporaryStore())
    var terms = TierTerms()
    terms.accounts = ["ci"]
    let asking = try FleetMachine(
      tier, terms: terms, store: store, answer: "body", ["Cache-Control": "public"])
    // Another process of the machine, which finds nothing of the account but what the first has begun.
    let signingOut = try FleetMachine(tier, terms: terms, store: store, answer: "never asked")
    let (isAsked, mayAnswer) = (Gate(), Gate())
    tier.whileAsked {
      isAsked.open()
      await mayAnswer.wait()
    }
    let load = Task { [url] in await asking.outline(url) { $0.account = .named("ci") } }
    await isAsked.wait()
    #expect(try await Self.hasAccount(asking))
    #expect(try await signingOut.fixture.service.signOut(.named("ci")))
    mayAnswer.open()
    #expect(await load.value == ["failure(signedOut)"])
    tier.whileAsked(nil)
    #expect(try await signingOut.fixture.service.entries() == [])
    #expect(tier.bodies == [])
  }

  @Test func `a row of the tier is not delivered once another process has signed its account out`()
    async throws
  {
    let (tier, store) = (FakeTier(), try TemporaryStore())
    var terms = TierTerms()
    terms.accounts = ["ci"]
    let other = try FleetMachine(tier, terms: terms, answer: "body", ["Cache-Control": "public"])
    _ = await other.deliveries(url) { $0.account = .named("ci") }
    let asking = try FleetMachine(tier, terms: terms, store: store, answer: "fresh")
    // A process of the machine that knows of no tier.
    let signingOut = try ServiceFixture(store: store)
    let (isAsked, mayAnswer) = (Gate(), Gate())
    tier.whileAsked {
      isAsked.open()
      await mayAnswer.wait()
    }
    let load = Task { [url] in await asking.outline(url) { $0.account = .named("ci") } }
    await isAsked.wait()
    #expect(try await Self.hasAccount(asking))
    #expect(try await signingOut.service.signOut(.named("ci")))
    mayAnswer.open()
    #expect(await load.value == ["failure(signedOut)"])
    tier.whileAsked(nil)
    #expect(try await signingOut.service.entries() == [])
  }

  @Test func `what a load finds in the tier while its account is signed out is not stored after it`()
    async throws
  {
    let (tier, store) = (FakeTier(), try TemporaryStore())
    var terms = TierTerms()
    terms.accounts = ["ci"]
    let other = try FleetMachine(tier, terms: terms, answer: "body", ["Cache-Control": "public"])
    _ = await other.deliveries(url) { $0.account = .named("ci") }
    let (isLeftToTier, mayGo) = (Gate(), Gate())
    tier.whileSignedOut {
      isLeftToTier.open()
      await mayGo.wait()
    }
    let signingOut = try FleetMachine.offline(tier, terms: terms, store: store)
    let signedOut = Task { try await signingOut.fixture.service.signOut(.named("ci")) }
    await isLeftToTier.wait()
    // Another process of the machine: the store has nothing of the account any more, and the tier still has.
    let late = try FleetMachine.offline(tier, terms: terms, store: store)
    let deliveries = await late.outline(url) { $0.account = .named("ci") }
    #expect(deliveries == ["tier(body)", "failure(offline, last body)"])
    #expect(try await late.fixture.service.entries().count == 1)
    mayGo.open()
    #expect(try await signedOut.value)
    #expect(tier.signedOut == ["ci"])
    #expect(try await signingOut.fixture.service.entries() == [])
  }
}
