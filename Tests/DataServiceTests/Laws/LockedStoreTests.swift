import CacheStore
import DataService
import DataServiceTesting
import FixtureServer
import PlatformFoundation
import TestSupport
import Testing
import TestTurns

/// Another process has the store's lock before the load begins, and still has it when the load has ended.
@Suite("Laws 4 and 9: a locked store, under every policy and body length", .inTurn)
struct LockedStoreTests {
  /// A policy that wants a fresh response, whatever is stored.
  struct Named: CustomTestStringConvertible, Sendable {
    let testDescription: String
    let policy: FetchPolicy

    static let all = [
      Named(testDescription: "stored-then-fresh", policy: .storedThenFresh),
      Named(testDescription: "fresh-only", policy: .freshOnly),
      // A deadline that no machine is busy enough to reach: one of these tests runs in real time.
      Named(testDescription: "fresh-else-stored", policy: .freshElseStored(within: .seconds(3_600))),
      Named(testDescription: "stored-else-fresh", policy: .storedElseFresh(maxAge: .milliseconds(-1))),
      Named(testDescription: "http", policy: .http),
    ]
  }

  /// None, one that is delivered at once, one of several chunks, one of many, and one longer than is held in memory.
  static let bodies = [0, 100, 700_000, 1_500_000, 9 << 20].map { distinctBytes($0, seed: UInt64($0)) }

  /// How the other process holds the store, and whether this one has used it before.
  struct Holding: CustomTestStringConvertible, Sendable {
    let kind: StoreHolder.Kind
    let isOpen: Bool
    /// What all the waiting of a load for such a store comes to at most: for its row and for the stored response, where the
    /// store is open and can be read; else for the look-up and the lock file as well.
    let timeLimit: Duration
    var testDescription: String { "\(kind.rawValue), \(isOpen ? "open" : "not open") here" }

    static let all = [
      Holding(kind: .writing, isOpen: true, timeLimit: .milliseconds(600)),
      Holding(kind: .writing, isOpen: false, timeLimit: .seconds(3)),
      Holding(kind: .exclusive, isOpen: false, timeLimit: .seconds(3)),
    ]
  }

  @Test(
    "law 4: the fresh body is delivered whole, after a moment's waiting, and the sequence ends",
    arguments: Named.all, Holding.all)
  func locked(named: Named, holding: Holding) async throws {
    for (number, body) in Self.bodies.enumerated() {
      // The longest takes most of the time: beside a row where the store is open, else the first time.
      for hasRow in [false, true] where body.count < 9 << 20 || hasRow == holding.isOpen {
        let what = Comment(rawValue: "\(body.count) bytes, \(hasRow ? "beside a row" : "the first time")")
        try await locked(body, at: number, hasRow: hasRow, named.policy, holding, what)
      }
    }
  }

  private func locked(
    _ body: [UInt8], at number: Int, hasRow: Bool, _ policy: FetchPolicy, _ holding: Holding, _ what: Comment
  ) async throws {
    let clock = VirtualClock()
    let store = try TemporaryStore()
    let url = try #require(URL(string: "http://origin.test/item"))
    let transport = ScriptedTransport { request, _ in
      request.url == url ? ArrivingBody(bytes: body).response : .answer("other")
    }
    let old = ScriptedTransport { _, _ in .answer("old") }
    let first = try fixture(store, old, clock)
    let other = try #require(URL(string: "http://origin.test/other"))
    #expect(await first.outline(hasRow ? url : other) == ["fresh(old, new)"])
    await first.service.close()
    let fixture = try fixture(store, transport, clock)
    if holding.isOpen { #expect(await fixture.deliveries(other, policy: .freshOnly).count == 1) }
    clock.advance(by: .seconds(1))

    let holder = try await StoreHolder(holding.kind, store.path)
    let hasCome = Gate()
    async let all = Self.deliveries(of: fixture, url, policy, hasCome)
    let (_, passed) = try await clock.passing(longest: .seconds(10)) { await hasCome.wait() }
    // Nobody has released the store yet; what there is to write still waits for it.
    #expect(passed <= holding.timeLimit, what)
    await holder.release()
    let deliveries = await all
    let response = try #require(deliveries.last?.fresh, what)
    #expect(response.value == Data(body), what)
    #expect(response.kept == .no(.busy), what)
    #expect(deliveries.dropLast().allSatisfy { $0.outline == "stored(old)" } && deliveries.count <= 2, what)
    await fixture.service.close()
    await holder.end()
  }

  /// All deliveries; opens the gate as soon as there is one that is not stored.
  private static func deliveries(
    of fixture: ServiceFixture, _ url: URL, _ policy: FetchPolicy, _ hasCome: Gate
  ) async -> [DataService.Delivery<Data>] {
    var all: [DataService.Delivery<Data>] = []
    for await delivery in fixture.service.deliveries(for: fixture.request(url), policy: policy) {
      all.append(delivery)
      if delivery.kind != "stored" { hasCome.open() }
    }
    return all
  }

  @Test(
    "law 4: what cannot be written is given up after the waiting time for locks, and the sequence ends",
    arguments: Named.all, [StoreHolder.Kind.writing, .exclusive])
  func neverReleased(named: Named, kind: StoreHolder.Kind) async throws {
    let store = try TemporaryStore()
    let url = try #require(URL(string: "http://origin.test/item"))
    let old = try ServiceFixture(store: store, transport: ScriptedTransport { _, _ in .answer("old") })
    #expect(await old.outline(url) == ["fresh(old, new)"])
    await old.service.close()
    let holder = try await StoreHolder(kind, store.path)
    for body in Self.bodies {
      let transport = ScriptedTransport { _, _ in ArrivingBody(bytes: body).response }
      let fixture = try ServiceFixture(store: store, transport: transport) {
        $0.store.busyTimeout = .milliseconds(1)
      }
      let deliveries = await fixture.deliveries(url, policy: named.policy)
      let response = try #require(deliveries.last?.fresh, "\(body.count) bytes")
      #expect(response.value == Data(body), "\(body.count) bytes")
      #expect(response.kept == .no(.busy), "\(body.count) bytes")
      await fixture.service.close()
    }
    await holder.release()
    await holder.end()
  }

  /// A service that would wait for the other process longer than any test machine is busy.
  private func fixture(
    _ store: TemporaryStore, _ transport: ScriptedTransport, _ clock: VirtualClock
  ) throws -> ServiceFixture {
    try ServiceFixture(store: store, transport: transport, timekeeper: clock) {
      $0.store.busyTimeout = .seconds(300)
      $0.timeouts = InternalTimeouts()
    }
  }
}

extension DataService.Delivery where Value == Data {
  /// The fresh response, where it is one.
  fileprivate var fresh: DataService.Response<Data>? {
    if case .fresh(let response, _) = self { response } else { nil }
  }
}
