import CacheStore
import DataServiceTesting
import FixtureServer
import PlatformFoundation
import TestSupport
import Testing
import TestTurns

@testable import DataService

@Suite("The account that an exchange began with", .inTurn) struct AccountGenerationTests {
  /// The task that makes the account's row has a thread of its own here, which stands still between the commit of the row
  /// and the news of it.
  @Test func `a sign-out is noticed that comes before the exchange knows that the account has a row`()
    async throws
  {
    let (clock, apart, mayLearn) = (VirtualClock(), NetworkThread(), Gate())
    let url = try #require(URL(string: "https://origin.test/item"))
    let fixture = try ServiceFixture(
      transport: ScriptedTransport { _, _ in .answer("body") }, timekeeper: clock)
    // The store is there, so that another process can hold it.
    _ = await fixture.outline(url)
    let signingOut = try ServiceFixture(store: fixture.store)
    let core = fixture.service.core
    var request = fixture.request(url)
    request.account = .named("ci")
    let prepared = try core.prepare(request, policy: .storedThenFresh)
    let exchange = Exchange(plan: .init(prepared: prepared, isShared: true, mayFollow: true), core: core)

    let holder = try await StoreHolder(.writing, fixture.store.path)
    exchange.generation.begin(on: apart)
    // Behind this the row's making waits for the store, and no longer for the thread.
    await Task(executorPreference: apart) {}.value
    apart.perform { Self.wait(mayLearn) }
    await holder.release()
    await holder.end()
    #expect(
      await eventually {
        (try? fixture.store.value("SELECT count(*) FROM account WHERE name = 'ci'")) == 1
      })
    #expect(try await signingOut.service.signOut(.named("ci")))

    let isNoticed = FirstValue<Bool>()
    Task { isNoticed.set(await Self.isSignedOut(exchange)) }
    // It waits for the row's number, as long as for a commit.
    let limit = core.configuration.timeouts.commit
    #expect(await eventually { isNoticed.current != nil || clock.pendingDelays.contains(limit) })
    mayLearn.open()
    #expect(await isNoticed.value)
    await signingOut.service.close()
    await fixture.service.close()
    await apart.stop()
  }

  @Test func `a row that is being made counts from the beginning, and is known once it is there`()
    async throws
  {
    let fixture = try ServiceFixture(
      transport: ScriptedTransport { _, _ in .answer("body") }, timekeeper: VirtualClock())
    let store = fixture.service.store
    let generation = AccountGeneration(
      known: nil, account: "ci", door: fixture.service.core.door)
    #expect(!generation.hasBegun)
    #expect(try await generation.begun() == nil)
    // The store is there, and answers only later.
    _ = try await store.accountID(named: "")
    store.suspendForTesting()
    generation.begin(on: fixture.service.core.thread)
    #expect(generation.hasBegun && generation.known == nil)
    store.resumeForTesting()
    let id = try await generation.id()
    let stored = try await store.accountID(named: "ci")
    #expect(id == stored && generation.known == id)
    #expect(try await generation.begun() == id)
    await fixture.service.close()
  }

  @Test func `the row comes before all that the store is asked for next`() async throws {
    let fixture = try ServiceFixture(
      transport: ScriptedTransport { _, _ in .answer("body") }, timekeeper: VirtualClock())
    let generation = AccountGeneration(known: nil, account: "ci", door: fixture.service.core.door)
    let thread = NetworkThread.drivenForTesting()
    generation.begin(on: thread)
    // A removal names the accounts that are there.
    _ = try await fixture.service.store.accountID(named: "")
    #expect(try fixture.store.value("SELECT count(*) FROM account WHERE name = 'ci'") == 1)
    #expect(generation.hasBegun && generation.known == nil)
    while !thread.waitingForTesting.isEmpty { thread.runForTesting(at: 0) }
    let stored = try await fixture.service.store.accountID(named: "ci")
    #expect(generation.known == stored)
    await fixture.service.close()
  }

  @Test func `the id of the store that replaced a removed one counts from then on`() async throws {
    let fixture = try ServiceFixture(
      transport: ScriptedTransport { _, _ in .answer("body") }, timekeeper: VirtualClock())
    let store = fixture.service.store
    let old = try await store.accountID(named: "ci")
    let generation = AccountGeneration(
      known: old, account: "ci", door: fixture.service.core.door)
    // Its row goes, and the next one has another id.
    try await fixture.service.signOut(.named("ci"))
    let used = try await generation.with { (id) throws(CacheStoreError) in
      if id == old { throw CacheStoreError(.missing, "the store was removed") }
      return id
    }
    #expect(used != old && generation.known == used)
    #expect(try await generation.id() == used)
    await fixture.service.close()
  }

  @Test func `an id that is looked up counts though the row could not be made before`() async throws {
    let fixture = try ServiceFixture(
      transport: ScriptedTransport { _, _ in .answer("body") }, timekeeper: VirtualClock())
    let store = fixture.service.store
    let id = try await store.accountID(named: "ci")
    var configuration = store.configuration
    configuration.isReadOnly = true
    let reading = ResponseStore(configuration: configuration)
    let door = StoreDoor(
      reading, clock: VirtualClock(), thread: fixture.service.core.thread, timeouts: InternalTimeouts())
    let missing = AccountGeneration(
      known: nil, account: "nobody", door: door)
    missing.begin(on: fixture.service.core.thread)
    await #expect(throws: CacheStoreError.self) { try await missing.id() }
    let generation = AccountGeneration(
      known: nil, account: "ci", door: door)
    generation.begin(on: fixture.service.core.thread)
    _ = try? await generation.id()
    try await generation.learn()
    #expect(generation.known == id)
    #expect(try await generation.id() == id)
    await reading.close()
    await fixture.service.close()
  }

  private static func isSignedOut(_ exchange: Exchange) async -> Bool {
    do throws(DataServiceError) {
      try await exchange.generation.checkSignOut()
      return false
    } catch {
      return error.kind == .signedOut
    }
  }

  /// For a thread of its own.
  private static func wait(_ gate: Gate) { gate.wait() }
}
