import CacheStore
import DataService
import DataServiceTesting
import FixtureServer
import PlatformFoundation
import Synchronization
import TestSupport
import Testing
import TestTurns

/// Law 7 in a process, and what observers see.
@Suite("Coalescing: one exchange for loads alike in all that shapes it", .inTurn)
struct CoalescingTests {
  private static let url = "https://origin.test/item"

  @Test func `loads alike share one exchange, each with its own policy`() async throws {
    let mayAnswer = Gate()
    let fixture = try ServiceFixture.scripted { _, number async throws(DataServiceError) in
      if number > 1 { await mayAnswer.wait() }
      return .answer("body \(number)")
    }
    let url = try #require(URL(string: Self.url))
    _ = await fixture.outline(url)
    async let both = fixture.outline(url)
    async let either = fixture.outline(url, policy: .freshElseStored(within: nil))
    await fixture.traced("joining")
    mayAnswer.open()
    #expect(await both == ["stored(body 1)", "fresh(body 2, changed)"])
    #expect(await either == ["fresh(body 2, changed)"])
    #expect(fixture.requests.count == 2)
  }

  struct Difference: Sendable, CustomTestStringConvertible {
    let testDescription: String
    let change: @Sendable (inout DataService.Request) -> Void

    init(_ name: String, _ change: @escaping @Sendable (inout DataService.Request) -> Void) {
      (testDescription, self.change) = (name, change)
    }
  }

  static let differences: [Difference] = [
    Difference("a field", { $0.fields = ["Accept-Language": "fr"] }),
    Difference("a limit", { $0.limits.bodyBytes = 17 }),
    Difference("--insecure", { $0.connection.isInsecure = true }),
    Difference("a proxy", { $0.connection.proxy = "http://p:1" }),
    Difference("whom is trusted", { $0.connection.certificateAuthorityFile = "/etc/passwd" }),
    Difference("a unix socket", { $0.connection.unixSocket = "/nowhere" }),
    Difference(
      "--resolve",
      { $0.connection.resolutions = [.init(host: "origin.test", port: 80, address: "127.0.0.1")] }),
    Difference("the account", { $0.account = .named("alice") }),
    Difference("keeping despite no-store", { $0.keepsAnyway = true }),
    Difference("the accepted media types", { $0.acceptedMediaTypes = ["*/*", "text/html"] }),
    Difference("the method", { $0.method = .head }),
    Difference("pass-through", { $0.fields = ["Range": "bytes=0-1"] }),
  ]

  @Test("loads that differ do not share an exchange", arguments: differences)
  func different(difference: Difference) async throws {
    let bothAreHere = Gate()
    let fixture = try ServiceFixture.scripted { _, number async throws(DataServiceError) in
      if number == 2 { bothAreHere.open() }
      // Were there but one exchange, it would wait for ever.
      await bothAreHere.wait()
      return .answer("body", ["Content-Type": "text/plain"])
    }
    let url = try #require(URL(string: Self.url))
    async let one = fixture.deliveries(url)
    async let other = fixture.deliveries(url, configure: difference.change)
    #expect(await one.count == 1)
    #expect(await other.count == 1)
    #expect(fixture.requests.count == 2)
  }

  @Test func `verified and unverified loads never share a row`() async throws {
    let fixture = try ServiceFixture.scripted { _, number in .answer("body \(number)") }
    let url = try #require(URL(string: Self.url))
    let unverified: (inout DataService.Request) -> Void = { $0.connection.isInsecure = true }
    _ = await fixture.outline(url, configure: unverified)
    #expect(await fixture.outline(url, policy: .storedOnly) == ["failure(notStored)"])
    #expect(await fixture.outline(url) == ["fresh(body 2, new)"])
    #expect(
      await fixture.outline(url, policy: .storedOnly, configure: unverified) == ["stored(body 1)"])
    #expect(await fixture.outline(url, policy: .storedOnly) == ["stored(body 2)"])
  }

  @Test func `an unverified load is not answered with a verified load's row`() async throws {
    let fixture = try ServiceFixture(transport: ScriptedTransport { _, _ in .answer("body") })
    let url = try #require(URL(string: Self.url))
    _ = await fixture.outline(url)
    #expect(
      await fixture.outline(url, policy: .storedOnly) { $0.connection.isInsecure = true }
        == ["failure(notStored)"])
  }

  @Test func `a thousand loads over twenty keys, with cancels: in order, once, and silent after cancel`()
    async throws
  {
    let fixture = try ServiceFixture.scripted { request, _ async throws(DataServiceError) in
      await Task.yield()
      return .answer(request.url.path())
    }
    var random = SeededGenerator(seed: 4)
    let plans = (0..<1_000).map { _ in
      (
        key: Int.random(in: 0..<20, using: &random), policy: Int.random(in: 0..<4, using: &random),
        cancels: Int.random(in: 0..<4, using: &random) == 0
      )
    }
    let policies: [FetchPolicy] = [
      .storedThenFresh, .freshOnly, .freshElseStored(within: nil), .storedElseFresh(maxAge: .seconds(60)),
    ]
    let urls = try (0..<20).map { try #require(URL(string: "http://origin.test/\($0)")) }
    await withTaskGroup(of: Void.self) { group in
      for plan in plans {
        let url = urls[plan.key]
        group.addTask {
          let log = DeliveryLog()
          let load = fixture.service.start(
            .init(url), policy: policies[plan.policy], deliver: { log.add($0) }, ended: {})
          if plan.cancels {
            load.cancel()
            log.close()
          }
          await load.finished()
          log.check(cancelled: plan.cancels)
        }
      }
    }
    #expect(fixture.requests.count < 1_000)
    #expect(try fixture.store.value("SELECT count(*) FROM last_request") == 20)
  }

  @Test func `a load that joins an exchange as it ends is over like any other`() async throws {
    let fixture = try ServiceFixture(transport: ScriptedTransport { _, _ in .answer("body") })
    let url = try #require(URL(string: Self.url))
    await withTaskGroup(of: Void.self) { group in
      for _ in 0..<8 {
        group.addTask {
          for number in 0..<400 {
            let load = fixture.service.start(
              .init(url), policy: .storedThenFresh, deliver: { _ in }, ended: {})
            if number % 8 == 0 { load.cancel() }
            await load.finished()
          }
        }
      }
    }
    // Every one of them was over, or this line is not reached; and none is still known to the service.
    await fixture.service.close()
  }

  @Test func `law 7: fresh-only loads share an exchange that waits for a place, and others join it`()
    async throws
  {
    let (isQueued, hasPlace) = (Gate(), Gate())
    let fixture = try ServiceFixture.scripted { request, number async throws(DataServiceError) in
      if number == 1 {
        request.onPlace?(true)
        isQueued.open()
        await hasPlace.wait()
        request.onPlace?(false)
      }
      return .answer("body \(number)")
    }
    let url = try #require(URL(string: Self.url))
    async let first = fixture.outline(url, policy: .freshOnly)
    await isQueued.wait()
    async let second = fixture.outline(url, policy: .freshOnly)
    await fixture.traced("joining")
    async let third = fixture.outline(url)
    await fixture.traced("joining", times: 2)
    hasPlace.open()
    #expect(await [first, second, third] == Array(repeating: ["fresh(body 1, new)"], count: 3))
    #expect(fixture.requests.count == 1)
  }

  @Test
  func `fresh-only takes no row that was asked for before it, though a 304 finds that in place of its own`()
    async throws
  {
    let (isAsked, mayAnswer) = ([Gate(), Gate()], [Gate(), Gate()])
    let fixture = try ServiceFixture.scripted { request, number async throws(DataServiceError) in
      if 2...3 ~= number {
        isAsked[number - 2].open()
        await mayAnswer[number - 2].wait()
      }
      return number == 3
        ? .answer("", status: 304, ["ETag": "\"1\""]) : .answer("body \(number)", ["ETag": "\"\(number)\""])
    }
    let url = try #require(URL(string: Self.url))
    #expect(await fixture.outline(url) == ["fresh(body 1, new)"])
    async let first = fixture.outline(url)
    await isAsked[0].wait()
    async let second = fixture.outline(url, policy: .freshOnly)
    await isAsked[1].wait()
    mayAnswer[0].open()
    #expect(await first == ["stored(body 1)", "fresh(body 2, changed)"])
    mayAnswer[1].open()
    #expect(await second == ["fresh(body 4, changed)"])
    #expect(fixture.requests.map { $0.fields["If-None-Match"] } == [nil, "\"1\"", "\"1\"", nil])
    await fixture.service.close()
  }

  @Test func `law 7: fresh-only goes beside an exchange that has asked, which others still join`()
    async throws
  {
    let (isAsked, mayAnswer) = (Gate(), Gate())
    let fixture = try ServiceFixture.scripted { _, number async throws(DataServiceError) in
      if number == 1 {
        isAsked.open()
        await mayAnswer.wait()
      }
      return .answer("body \(number)")
    }
    let url = try #require(URL(string: Self.url))
    async let first = fixture.outline(url, policy: .freshOnly)
    await isAsked.wait()
    #expect(await fixture.outline(url, policy: .freshOnly) == ["fresh(body 2, new)"])
    async let third = fixture.outline(url, policy: .freshElseStored(within: nil))
    await fixture.traced("joining")
    mayAnswer.open()
    #expect(await first == ["fresh(body 1, new)"])
    #expect(await third == ["fresh(body 1, changed)"])
    #expect(fixture.requests.count == 2)
    #expect(await fixture.outline(url, policy: .storedOnly) == ["stored(body 2)"], "law 8")
  }
}

/// What one load delivered.
private final class DeliveryLog: Sendable {
  private struct State {
    var stored = 0
    var terminal = 0
    var isClosed = false
    var afterClose = 0
    var storedAfterTerminal = false
  }
  private let state = Mutex(State())

  func add(_ delivery: DataService.Delivery<DataService.BodyStream>) {
    state.withLock { state in
      if state.isClosed { state.afterClose += 1 }
      switch delivery {
      case .stored:
        state.stored += 1
        if state.terminal > 0 { state.storedAfterTerminal = true }
      case .fresh, .failure: state.terminal += 1
      }
    }
  }

  func close() { state.withLock { $0.isClosed = true } }

  func check(cancelled: Bool) {
    let state = state.withLock { $0 }
    #expect(state.stored <= 1 && state.terminal <= 1 && !state.storedAfterTerminal)
    #expect(state.afterClose == 0)
    if !cancelled { #expect(state.stored + state.terminal >= 1) }
  }
}
