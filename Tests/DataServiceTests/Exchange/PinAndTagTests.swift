import CacheStore
import DataService
import DataServiceTesting
import FixtureServer
import PlatformFoundation
import TestSupport
import TestTurns
import Testing

/// What a load wants kept of its response holds however the response came.
@Suite("Pins and tags, whoever asked the origin", .inTurn) struct PinAndTagTests {
  private let url = URL(string: "http://origin.test/item")

  /// What is stored of pins and tags: `1 news`.
  private func stored(_ fixture: ServiceFixture) throws -> String {
    let pinned = try fixture.store.value("SELECT pinned FROM last_request").integer ?? -1
    let tags = try fixture.store.rows("SELECT name FROM tag ORDER BY name").compactMap { $0.first?.text }
    return ([String(pinned)] + tags).joined(separator: " ")
  }

  /// Says when it is asked, and answers when it may; the first `free` requests at once.
  private func transport(_ isAsked: Gate, _ mayAnswer: Gate, free: Int = 0) -> ScriptedTransport {
    ScriptedTransport { _, number async throws(DataServiceError) in
      if number > free {
        isAsked.open()
        await mayAnswer.wait()
      }
      return .answer("a")
    }
  }

  private func want(_ request: inout DataService.Request, _ tag: String) {
    request.isPinned = true
    request.tags = [tag]
  }

  @Test func `a response that is confirmed is pinned and tagged as one that comes anew`() async throws {
    let url = try #require(url)
    let fixture = try ServiceFixture.scripted { request, _ in
      request.fields["If-None-Match"] == nil
        ? .answer("a", ["ETag": "\"1\""]) : .answer("", status: 304, ["ETag": "\"1\""])
    }
    #expect(await fixture.outline(url) == ["fresh(a, new)"])
    #expect(try stored(fixture) == "0")
    #expect(await fixture.outline(url) { want(&$0, "news") } == ["stored(a)", "fresh(a, unchanged)"])
    #expect(try stored(fixture) == "1 news")
    // Who wants neither takes nothing away.
    #expect(await fixture.outline(url) == ["stored(a)", "fresh(a, unchanged)"])
    #expect(try stored(fixture) == "1 news")
    await fixture.service.close()
  }

  @Test(
    "A load that is content with what is stored has it pinned and tagged",
    arguments: [
      FetchPolicy.storedElseFresh(maxAge: .seconds(3_600)), .storedThenFresh(ifOlderThan: .seconds(3_600)),
      .http,
    ])
  func storedAlone(policy: FetchPolicy) async throws {
    let url = try #require(url)
    let transport = ScriptedTransport { _, _ in .answer("a", ["Cache-Control": "max-age=3600"]) }
    let fixture = try ServiceFixture(transport: transport)
    #expect(await fixture.outline(url) == ["fresh(a, new)"])
    // Who only reads changes nothing.
    #expect(await fixture.outline(url, policy: .storedOnly) { want(&$0, "read") } == ["stored(a)"])
    #expect(await fixture.outline(url, policy: policy) { want(&$0, "news") } == ["stored(a)"])
    #expect(transport.requests.count == 1)
    await fixture.service.close()
    #expect(try stored(fixture) == "1 news")
    // What is pinned already is not written again.
    let reader = try ServiceFixture(store: fixture.store, transport: transport)
    #expect(await reader.outline(url, policy: policy) { $0.isPinned = true } == ["stored(a)"])
    #expect(!reader.service.store.isWriting)
    // A tag is, also where no pin is asked for.
    #expect(await reader.outline(url, policy: policy) { $0.tags = ["more"] } == ["stored(a)"])
    await reader.service.close()
    #expect(try stored(fixture) == "1 more news")
  }

  /// What becomes of the request whose response would be pinned.
  enum Trouble: CaseIterable, Sendable {
    case refused, noStore, missing, deadline
  }

  @Test(
    "What is stored is pinned and tagged where no fresh response is",
    arguments: Trouble.allCases)
  func notReplaced(trouble: Trouble) async throws {
    let url = try #require(url)
    let (clock, mayAnswer) = (VirtualClock(), Gate())
    let transport = ScriptedTransport { _, number async throws(DataServiceError) in
      guard number > 1 else { return .answer("a") }
      switch trouble {
      case .refused: throw DataServiceError(.refused, "refused")
      case .noStore: return .answer("b", ["Cache-Control": "no-store"])
      case .missing: return .answer("none", status: 404)
      case .deadline:
        await mayAnswer.wait()
        throw DataServiceError(.refused, "late")
      }
    }
    let fixture = try ServiceFixture(transport: transport, timekeeper: clock)
    #expect(await fixture.outline(url) == ["fresh(a, new)"])
    // Delivered or not.
    if trouble != .deadline {
      _ = await fixture.outline(url, policy: .freshOnly) {
        want(&$0, "unseen")
        $0.limits.retries = 0
      }
      #expect(try stored(fixture) == "1 unseen")
    }
    let policy = trouble == .deadline ? FetchPolicy.freshElseStored(within: .seconds(1)) : .storedThenFresh
    async let outline = fixture.outline(url, policy: policy) {
      want(&$0, "news")
      $0.limits.retries = 0
    }
    if trouble == .deadline {
      #expect(await eventually { transport.requests.count == 2 && clock.pendingDelays.contains(.seconds(1)) })
      clock.advance(by: .seconds(1))
    }
    _ = await outline
    mayAnswer.open()
    await fixture.service.close()
    #expect(try stored(fixture) == (trouble == .deadline ? "1 news" : "1 news unseen"))
  }

  @Test func `law 11: a load that is cancelled marks nothing, whatever it had delivered`() async throws {
    let url = try #require(url)
    let (isAsked, mayAnswer) = (Gate(), Gate())
    let fixture = try ServiceFixture(transport: transport(isAsked, mayAnswer, free: 1))
    #expect(await fixture.outline(url) == ["fresh(a, new)"])
    let leaving = Task { await fixture.outline(url) { want(&$0, "gone") } }
    await isAsked.wait()
    leaving.cancel()
    _ = await leaving.value
    mayAnswer.open()
    await fixture.service.close()
    #expect(try stored(fixture) == "0")
  }

  @Test func `loads that share an exchange have what each of them wants`() async throws {
    let url = try #require(url)
    let (isAsked, mayAnswer) = (Gate(), Gate())
    let transport = transport(isAsked, mayAnswer)
    let fixture = try ServiceFixture(transport: transport)
    async let plain = fixture.outline(url)
    await isAsked.wait()
    async let first = fixture.outline(url) { want(&$0, "one") }
    await fixture.traced("joining the same request", times: 1)
    async let second = fixture.outline(url) { want(&$0, "two") }
    await fixture.traced("joining the same request", times: 2)
    mayAnswer.open()
    #expect(await [plain, first, second] == Array(repeating: ["fresh(a, new)"], count: 3))
    #expect(transport.requests.count == 1)
    #expect(try stored(fixture) == "1 one two")
    await fixture.service.close()
  }

  @Test func `a load that leaves takes its own wishes along, and no other's`() async throws {
    let url = try #require(url)
    let (isAsked, mayAnswer) = (Gate(), Gate())
    let transport = transport(isAsked, mayAnswer)
    let fixture = try ServiceFixture(transport: transport)
    // The one that began the exchange is cancelled, the one that joined it stays.
    let leaving = Task { await fixture.outline(url) { want(&$0, "gone") } }
    await isAsked.wait()
    async let staying = fixture.outline(url) { want(&$0, "here") }
    await fixture.traced("joining the same request")
    leaving.cancel()
    _ = await leaving.value
    mayAnswer.open()
    #expect(await staying == ["fresh(a, new)"])
    #expect(transport.requests.count == 1)
    #expect(try stored(fixture) == "1 here")
    await fixture.service.close()
  }

  /// What a load wants of its response.
  enum Wish: CaseIterable, Sendable {
    case pin, tag, both

    func change(_ request: inout DataService.Request) {
      request.isPinned = self != .tag
      if self != .pin { request.tags = ["late"] }
    }
  }

  @Test("who follows another process has what it wants", arguments: Wish.allCases)
  func following(wish: Wish) async throws {
    let url = try #require(url)
    let (isAsked, mayAnswer) = (Gate(), Gate())
    let transport = transport(isAsked, mayAnswer, free: 1)
    // On clocks that stand still no call to the store is given up, however long the machine takes: on the
    // system's the one would ask without its lease after two seconds, and the other go alone.
    let clock = VirtualClock()
    let leader = try ServiceFixture(transport: transport, timekeeper: VirtualClock())
    let follower = try ServiceFixture(store: leader.store, transport: transport, timekeeper: clock)
    #expect(
      await leader.outline(try #require(URL(string: "http://origin.test/other"))) == ["fresh(a, new)"])
    async let led = leader.outline(url)
    await isAsked.wait()
    let followed = Task { await follower.outline(url) { wish.change(&$0) } }
    await follower.traced("waiting for another")
    await clock.whenPending(within: .milliseconds(5))
    mayAnswer.open()
    #expect(await led == ["fresh(a, new)"])
    // The leader has given its lease back before it delivered: the follower's next look finds it free.
    let (outline, _) = try await clock.passing(longest: .milliseconds(20)) { await followed.value }
    #expect(outline == ["fresh(a, new)"])
    #expect(transport.requests.count == 2)
    #expect(
      try leader.store.value("SELECT count(*) FROM last_request WHERE pinned = 1") == (wish == .tag ? 0 : 1))
    #expect(
      try leader.store.rows("SELECT name FROM tag").compactMap { $0.first?.text }
        == (wish == .pin ? [] : ["late"]))
    await leader.service.close()
    await follower.service.close()
  }

  @Test("who asks the origin itself has what it wants", arguments: Wish.allCases)
  func asking(wish: Wish) async throws {
    let url = try #require(url)
    let fixture = try ServiceFixture(transport: ScriptedTransport { _, _ in .answer("a") })
    #expect(await fixture.outline(url) { wish.change(&$0) } == ["fresh(a, new)"])
    #expect(try stored(fixture) == (wish == .pin ? "1" : wish == .tag ? "0 late" : "1 late"))
    await fixture.service.close()
  }
}
