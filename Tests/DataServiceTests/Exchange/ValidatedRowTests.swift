import CacheStore
import DataServiceTesting
import Dispatch
import FixtureServer
import PlatformFoundation
import Synchronization
import TestSupport
import TestTurns
import Testing

@testable import DataService

/// A 304 whose row could not be freshened: it is gone, newer, or the store does not do it now.
@Suite("A 304 for a row that something has happened to", .inTurn) struct ValidatedRowTests {
  private static let url = "http://origin.test/item"

  /// What happens while the second request is under way, which has a condition.
  private final class Happening: Sendable {
    private let what = Mutex<(@Sendable () async -> Void)?>(nil)
    func set(_ body: @escaping @Sendable () async -> Void) { what.withLock { $0 = body } }
    func happen() async { await what.withLock { $0 }?() }
  }

  /// Answers with a tagged body, then 304 to its tag once that has happened, and with bodies again.
  private func transport(_ happening: Happening) -> ScriptedTransport {
    ScriptedTransport { request, number in
      guard number == 2, request.fields["If-None-Match"] == "\"1\"" else {
        return .answer("body \(number)", ["ETag": "\"\(number)\""])
      }
      await happening.happen()
      return .answer("", status: 304, ["ETag": "\"1\"", "X-Age": "new", "Set-Cookie": "a=b"])
    }
  }

  private func row(_ store: TemporaryStore) throws -> String {
    let rows = try store.rows("SELECT CAST(fields AS TEXT) FROM last_request")
    return rows.first?.first?.text ?? "none"
  }

  @Test func `removed by a person meanwhile, it is asked for again, delivered, and not brought back`()
    async throws
  {
    let happening = Happening()
    let transport = transport(happening)
    let fixture = try ServiceFixture(transport: transport)
    let other = try ServiceFixture(store: fixture.store, transport: transport)
    let url = try #require(URL(string: Self.url))
    _ = await fixture.outline(url)
    happening.set { _ = try? await other.service.remove(.all) }
    let deliveries = await fixture.deliveries(url)
    #expect(deliveries.map(\.outline) == ["stored(body 1)", "fresh(body 3, changed)"])
    #expect(deliveries.last?.kept == .no(.superseded))
    #expect(transport.requests.last?.fields.contains("If-None-Match") == false)
    #expect(await fixture.outline(url, policy: .storedOnly) == ["failure(notStored)"])
    await other.service.close()
    await fixture.service.close()
  }

  @Test func `evicted meanwhile, it is asked for again and stored`() async throws {
    let happening = Happening()
    let transport = transport(happening)
    let fixture = try ServiceFixture(transport: transport)
    let store = fixture.store
    let url = try #require(URL(string: Self.url))
    _ = await fixture.outline(url)
    happening.set { try? store.execute("DELETE FROM last_request") }
    let deliveries = await fixture.deliveries(url, policy: .freshOnly)
    #expect(
      deliveries.map(\.outline) == ["fresh(body 3, new)"]
        || deliveries.map(\.outline) == ["fresh(body 3, changed)"])
    #expect(deliveries.last?.kept == .yes && transport.requests.count == 3)
    #expect(await fixture.outline(url, policy: .storedOnly) == ["stored(body 3)"])
    await fixture.service.close()
  }

  /// What stands in the place of the row that is gone.
  enum Instead: String, CaseIterable, Sendable { case imported, fromTier, older }

  @Test(
    "gone meanwhile, with what no exchange has brought since, it is asked for again",
    arguments: Instead.allCases)
  func instead(_ instead: Instead) async throws {
    let happening = Happening()
    let transport = transport(happening)
    let fixture = try ServiceFixture(transport: transport)
    let url = try #require(URL(string: Self.url))
    _ = await fixture.outline(url)
    let (store, core) = (fixture.store, fixture.service.core)
    let key = try core.prepare(DataService.Request(url), policy: .storedOnly).key
    happening.set {
      try? store.execute("DELETE FROM last_request")
      let mark = core.timekeeper.startMark
      let started = instead == .imported ? StartMark.imported : instead == .fromTier ? mark.odd : mark.even
      let now = core.timekeeper.wallMilliseconds
      guard let account = try? await core.store.accountID(named: "") else { return }
      let write = ResponseStore.Write(
        accountID: account, key: key, started: started, status: 200, fields: [:],
        receivedAt: instead == .older ? now - 3_600_000 : now, body: .bytes(Data("theirs".utf8)))
      _ = try? await core.store.overwrite(write)
    }
    let deliveries = await fixture.deliveries(url)
    #expect(deliveries.map(\.outline) == ["stored(body 1)", "fresh(body 3, changed)"])
    #expect(transport.requests.count == 3)
    await fixture.service.close()
  }

  @Test
  func `replaced by a newer exchange meanwhile, the newer row is the answer, and nothing is asked again`()
    async throws
  {
    let happening = Happening()
    let transport = transport(happening)
    let fixture = try ServiceFixture(transport: transport)
    let newest = ScriptedTransport { _, _ in .answer("newest", ["ETag": "\"9\""]) }
    let other = try ServiceFixture(store: fixture.store, transport: newest)
    let url = try #require(URL(string: Self.url))
    _ = await fixture.outline(url)
    happening.set { _ = await other.outline(url, policy: .freshOnly, configure: apart) }
    let deliveries = await fixture.deliveries(url) { $0.isPinned = true }
    #expect(deliveries.map(\.outline) == ["stored(body 1)", "fresh(newest, changed)"])
    #expect(try fixture.store.value("SELECT pinned FROM last_request") == 1, "as this load wants it")
    let response = try #require(deliveries.last?.fresh)
    #expect(response.kept == .yes && response.head.fields["ETag"] == "\"9\"")
    #expect(!response.wasValidated, "the 304 was about another body")
    #expect(response.head.fields["Set-Cookie"] == "a=b" && response.head.fields["X-Age"] == nil)
    #expect(transport.requests.count == 2 && newest.requests.count == 1)
    #expect(await fixture.outline(url, policy: .storedOnly) == ["stored(newest)"])
    await other.service.close()
    await fixture.service.close()
  }

  @Test func `a decoder that has looked at what was confirmed looks at the newer row too`() async throws {
    // Both are of the same millisecond.
    let (happening, clock) = (Happening(), VirtualClock())
    let fixture = try ServiceFixture(transport: transport(happening), timekeeper: clock)
    let newest = ScriptedTransport { _, _ in .answer("newest", ["ETag": "\"9\""]) }
    let other = try ServiceFixture(store: fixture.store, transport: newest, timekeeper: clock)
    let url = try #require(URL(string: Self.url))
    _ = await fixture.outline(url)
    happening.set { _ = await other.outline(url, policy: .freshOnly, configure: apart) }
    var outlines: [String] = []
    let request = fixture.request(url)
    for await delivery in fixture.service.deliveries(for: request, policy: .storedThenFresh, decode: \.value)
    {
      outlines.append(delivery.outline)
      #expect(delivery.fresh.map { $0.head.fields["ETag"] == "\"9\"" } ?? true)
    }
    #expect(outlines == ["stored(body 1)", "fresh(newest, changed)"])
    await other.service.close()
    await fixture.service.close()
  }

  @Test func `what a load wants of the newer row, and does not get, is told`() async throws {
    let happening = Happening()
    let fixture = try ServiceFixture(transport: transport(happening))
    let newest = ScriptedTransport { _, _ in .answer("newest", ["ETag": "\"9\""]) }
    let other = try ServiceFixture(store: fixture.store, transport: newest)
    let url = try #require(URL(string: Self.url))
    _ = await fixture.outline(url)
    let store = fixture.store
    happening.set {
      _ = await other.outline(url, policy: .freshOnly, configure: apart)
      try? store.execute("CREATE TRIGGER full BEFORE INSERT ON tag BEGIN SELECT RAISE(FAIL, 'no room'); END")
    }
    let outline = await fixture.outline(url) { $0.tags = ["news"] }
    #expect(outline == ["stored(body 1)", "fresh(newest, changed)"])
    #expect(fixture.warnings.map(\.kind) == [.store])
    await other.service.close()
    await fixture.service.close()
  }

  @Test func `to HEAD it is delivered without the stored body, however long that is`() async throws {
    let transport = transport(Happening())
    let fixture = try ServiceFixture(transport: transport)
    let url = try #require(URL(string: Self.url))
    _ = await fixture.outline(url)
    let deliveries = await fixture.deliveries(url, policy: .freshOnly) { request in
      request.method = .head
      request.limits.dataBytes = 3
    }
    #expect(deliveries.map(\.outline) == ["fresh(, unchanged)"])
    #expect(deliveries.last?.kept == .yes)
    #expect(transport.requests.last?.fields["If-None-Match"] == "\"1\"")
    #expect(await fixture.outline(url, policy: .storedOnly) == ["stored(body 1)"])
    await fixture.service.close()
  }

  @Test func `signed out meanwhile, it is not delivered`() async throws {
    let happening = Happening()
    let fixture = try ServiceFixture(transport: transport(happening))
    let other = try ServiceFixture(store: fixture.store)
    let url = try #require(URL(string: Self.url))
    let alice = { (request: inout DataService.Request) in request.account = .named("alice") }
    _ = await fixture.outline(url, configure: alice)
    happening.set { _ = try? await other.service.signOut(.named("alice")) }
    #expect(await fixture.outline(url, policy: .freshOnly, configure: alice) == ["failure(signedOut)"])
    await other.service.close()
    await fixture.service.close()
  }

  @Test func `signed out and in again meanwhile, the other session's row is not its answer`() async throws {
    let happening = Happening()
    let fixture = try ServiceFixture(transport: transport(happening))
    let theirs = ScriptedTransport { _, _ in .answer("theirs", ["ETag": "\"9\""]) }
    let other = try ServiceFixture(store: fixture.store, transport: theirs)
    let url = try #require(URL(string: Self.url))
    let alice = { @Sendable (request: inout DataService.Request) in request.account = .named("alice") }
    _ = await fixture.outline(url, configure: alice)
    happening.set {
      _ = try? await other.service.signOut(.named("alice"))
      _ = await other.outline(url, policy: .freshOnly) {
        alice(&$0)
        apart(&$0)
      }
    }
    #expect(await fixture.outline(url, policy: .freshOnly, configure: alice) == ["failure(signedOut)"])
    #expect(theirs.requests.count == 1)
    #expect(await other.outline(url, policy: .storedOnly, configure: alice) == ["stored(theirs)"])
    await other.service.close()
    await fixture.service.close()
  }

  @Test func `where another process keeps the store too long it is delivered, with why it is not kept`()
    async throws
  {
    let happening = Happening()
    let transport = transport(happening)
    let url = try #require(URL(string: Self.url))
    let fixture = try await ServiceFixture.impatient(transport, stored: url)
    let before = try row(fixture.store)
    let holder = Mutex<RawDatabase?>(nil)
    let path = fixture.store.path
    happening.set {
      holder.withLock { holder in
        holder = try? RawDatabase(path)
        try? holder?.execute("BEGIN IMMEDIATE")
      }
    }
    let deliveries = await fixture.deliveries(url)
    #expect(deliveries.map(\.outline) == ["stored(body 1)", "fresh(body 1, unchanged)"])
    #expect(deliveries.last?.kept == .no(.busy))
    #expect(fixture.warnings.map(\.kind) == [.store])
    holder.withLock { $0 = nil }
    #expect(try row(fixture.store) == before)
    await fixture.service.close()
  }

  @Test func `where the store cannot be written it is delivered, and the warning says why`() async throws {
    let happening = Happening()
    let fixture = try ServiceFixture(transport: transport(happening))
    let url = try #require(URL(string: Self.url))
    _ = await fixture.outline(url)
    let before = try row(fixture.store)
    // Stands for a disk that is full.
    let store = fixture.store
    happening.set {
      try? store.execute(
        "CREATE TRIGGER full BEFORE UPDATE ON last_request BEGIN SELECT RAISE(FAIL, 'no room'); END")
    }
    let deliveries = await fixture.deliveries(url)
    #expect(deliveries.map(\.outline) == ["stored(body 1)", "fresh(body 1, unchanged)"])
    #expect(deliveries.last?.kept != .yes && deliveries.last?.kept != nil)
    #expect(fixture.warnings.map(\.kind) == [.store])
    try store.execute("DROP TRIGGER full")
    #expect(try row(store) == before)
    await fixture.service.close()
  }

  @Test func `where an answer to HEAD cannot be written it is delivered, and the warning says why`()
    async throws
  {
    let fixture = try ServiceFixture(
      transport: ScriptedTransport { request, _ in
        request.method == .head
          ? .answer("", ["Cache-Control": "max-age=600"]) : .answer("body", ["Cache-Control": "max-age=0"])
      })
    let url = try #require(URL(string: Self.url))
    _ = await fixture.outline(url, policy: .http)
    let before = try row(fixture.store)
    try fixture.store.execute(
      "CREATE TRIGGER full BEFORE UPDATE ON last_request BEGIN SELECT RAISE(FAIL, 'no room'); END")
    let deliveries = await fixture.deliveries(url, policy: .http) { $0.method = .head }
    #expect(deliveries.map(\.kind) == ["fresh"])
    #expect(deliveries.last?.kept != .yes && deliveries.last?.kept != nil)
    #expect(fixture.warnings.map(\.kind) == [.store])
    #expect(try row(fixture.store) == before)
    await fixture.service.close()
  }

  @Test func `a field that it names in Vary for the first time tells requests apart from then on`()
    async throws
  {
    let fixture = try ServiceFixture(
      transport: ScriptedTransport { request, _ in
        request.fields["If-None-Match"] == nil
          ? .answer("body", ["ETag": "\"1\""])
          : .answer("", status: 304, ["ETag": "\"1\"", "Vary": "Accept-Language"])
      })
    let url = try #require(URL(string: Self.url))
    for stored in [["fresh(body, new)"], ["stored(body)", "fresh(body, unchanged)"]] {
      #expect(await fixture.outline(url) { $0.fields = ["Accept-Language": "de"] } == stored)
    }
    for (language, outline) in [("de", "stored(body)"), ("fr", "failure(notStored)")] {
      let seen = await fixture.outline(url, policy: .storedOnly) {
        $0.fields = ["Accept-Language": language]
      }
      #expect(seen == [outline], "\(language)")
    }
    #expect(try fixture.store.value("SELECT vary FROM last_request") == "accept-language")
    await fixture.service.close()
  }

  @Test("law 4: a store that takes longer than 250 ms does not hold the delivery, and freshens later")
  func slowStore() async throws {
    let happening = Happening()
    let clock = VirtualClock()
    let fixture = try ServiceFixture(transport: transport(happening), timekeeper: clock) {
      $0.timeouts = InternalTimeouts()
    }
    let url = try #require(URL(string: Self.url))
    _ = await fixture.outline(url)
    let store = fixture.service.store
    happening.set { store.suspendForTesting() }
    let delivered = Gate()
    let seen = Mutex<[String]>([])
    let kept = Mutex<DataService.Kept?>(nil)
    let load = fixture.service.load(
      fixture.request(url), policy: .freshOnly, queue: DispatchQueue(label: "callbacks")
    ) {
      delivery in
      seen.withLock { $0.append(delivery.outline) }
      kept.withLock { $0 = delivery.kept }
      delivered.open()
    }
    let (_, passed) = try await clock.passing { await delivered.wait() }
    #expect(seen.withLock { $0 } == ["fresh(body 1, unchanged)"])
    #expect(kept.withLock { $0 } == .no(.busy))
    #expect(passed == .milliseconds(250), "\(passed)")
    #expect(try !row(fixture.store).contains("X-Age: new"))
    store.resumeForTesting()
    await load.finished()
    #expect(try row(fixture.store).contains("X-Age: new"))
    await fixture.service.close()
  }
}

/// Makes a load unlike others of its key, so that it does not wait for theirs.
private let apart: @Sendable (inout DataService.Request) -> Void = { $0.fields["X-Other"] = "1" }
