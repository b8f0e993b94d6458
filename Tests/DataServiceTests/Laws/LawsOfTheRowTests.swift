import CacheStore
import DataService
import DataServiceTesting
import Dispatch
import FixtureServer
import PlatformFoundation
import Synchronization
import TestSupport
import Testing
import TestTurns

/// Laws 4, 5, 6, 8: what happens to the row.
@Suite(
  "Laws 4 to 6 and 8: kept means durable, failures change nothing, one row, newest wins", .inTurn)
struct LawsOfTheRowTests {
  @Test func `law 4: kept means durable: the row is committed before fresh is delivered`() async throws {
    let fixture = try ServiceFixture.scripted { _, _ in .answer("durable") }
    let url = try #require(URL(string: "http://origin.test/item"))
    var committed: [SQLiteValue] = []
    for await delivery in fixture.service.deliveries(for: fixture.request(url)) {
      #expect(delivery.kept == .yes)
      // Another connection sees it at this very instant.
      committed = try fixture.store.rows("SELECT bytes FROM chunk").flatMap { $0 }
    }
    #expect(committed == [.blob(Array("durable".utf8))])
  }

  @Test func `law 4: a commit that takes longer than 250 ms does not hold the delivery, and goes on`()
    async throws
  {
    let clock = VirtualClock()
    let hold = Mutex<(@Sendable () -> Void)?>(nil)
    let fixture = try ServiceFixture.scripted(timekeeper: clock) { _, number in
      hold.withLock { $0 }?()
      return .answer("body \(number)")
    }
    let url = try #require(URL(string: "http://origin.test/item"))
    _ = await fixture.outline(url)
    let store = fixture.service.store
    hold.withLock { $0 = { store.suspendForTesting() } }
    let delivered = Gate()
    let kept = Mutex<DataService.Kept?>(nil)
    let load = fixture.service.load(
      fixture.request(url), policy: .freshOnly, queue: DispatchQueue(label: "callbacks")
    ) {
      delivery in
      kept.withLock { $0 = delivery.kept }
      delivered.open()
    }
    let advancing = Task {
      while !delivered.isOpen {
        await clock.whenPending()
        clock.advance(by: .milliseconds(10))
      }
    }
    await delivered.wait()
    // A last timer, so that the task that moves the clock sees that it is done.
    _ = clock.after(.milliseconds(1)) {}
    await advancing.value
    #expect(kept.withLock { $0 } == .no(.busy))
    fixture.service.store.resumeForTesting()
    await load.finished()
    #expect(try fixture.store.value("SELECT bytes FROM chunk") == .blob(Array("body 2".utf8)))
  }

  struct Failure: Sendable, CustomTestStringConvertible {
    typealias Answer = @Sendable () throws(DataServiceError) -> TransportResponse
    let testDescription: String
    let answer: Answer

    init(_ name: String, _ answer: @escaping Answer) { (testDescription, self.answer) = (name, answer) }
  }

  static let failures: [Failure] = [
    Failure("no answer", { () throws(DataServiceError) in throw DataServiceError(.refused, "refused") }),
    Failure(
      "a time-out", { () throws(DataServiceError) in throw DataServiceError(.timeout(.firstByte), "slow") }),
    Failure(
      "a malformed head", { () throws(DataServiceError) in throw DataServiceError(.protocol, "garbage") }),
    Failure("408", { .answer("busy", status: 408) }), Failure("429", { .answer("busy", status: 429) }),
    Failure("500", { .answer("broken", status: 500) }), Failure("503", { .answer("broken", status: 503) }),
    Failure("599", { .answer("broken", status: 599) }), Failure("403", { .answer("no", status: 403) }),
    Failure("206 unasked", { .answer("part", status: 206) }),
    Failure(
      "a truncated body",
      {
        TransportResponse(
          version: "1.1", status: 200, fields: [:],
          body: .init(length: 100) { () throws(DataServiceError) in
            throw DataServiceError(.truncated, "cut off")
          })
      }),
  ]

  @Test("law 5: a failed refresh changes nothing", arguments: failures)
  func failedRefresh(failure: Failure) async throws {
    let fixture = try ServiceFixture.scripted { _, number throws(DataServiceError) in
      if number == 1 { return .answer("good", ["ETag": "\"1\""]) }
      return try failure.answer()
    }
    let url = try #require(URL(string: "http://origin.test/item"))
    _ = await fixture.outline(url)
    let before = try rawRow(fixture)
    let outline = await fixture.outline(url)
    #expect(outline.first == "stored(good)")
    #expect(outline.count == 2)
    #expect(try rawRow(fixture) == before)
    #expect(await fixture.outline(url, policy: .storedOnly) == ["stored(good)"])
  }

  @Test func `law 5: a body over the limit changes nothing`() async throws {
    let fixture = try ServiceFixture.scripted { _, number in
      .answer(String(repeating: "x", count: number == 1 ? 10 : 1_000))
    }
    let url = try #require(URL(string: "http://origin.test/item"))
    _ = await fixture.outline(url)
    let before = try rawRow(fixture)
    let outline = await fixture.outline(url) { $0.limits.bodyBytes = 100 }
    #expect(outline == ["stored(xxxxxxxxxx)", "failure(tooLarge, last xxxxxxxxxx)"])
    #expect(try rawRow(fixture) == before)
  }

  @Test func `law 5: an answer that the caller's decoder refuses changes nothing`() async throws {
    struct Item: Decodable, Sendable, Equatable { var name: String }
    let fixture = try ServiceFixture.scripted { _, number in
      .answer(number == 1 ? #"{"name":"good"}"# : "<html>an error page</html>")
    }
    let url = try #require(URL(string: "http://origin.test/item"))
    _ = await fixture.outline(url)
    let before = try rawRow(fixture)
    var kinds: [String] = []
    for await delivery in fixture.service.deliveries(for: fixture.request(url), as: Item.self) {
      switch delivery {
      case .stored(let response): kinds.append("stored \(response.value.name)")
      case .fresh(let response, _): kinds.append("fresh \(response.value.name)")
      case .failure(let error, let last): kinds.append("\(error.kind.name) \(last?.value.name ?? "-")")
      }
    }
    #expect(kinds == ["stored good", "undecodable good"])
    #expect(try rawRow(fixture) == before)
  }

  /// An origin that answers once itself, and from then on through a page that a temporary redirect leads to.
  private static func portal(_ fields: HTTPFields = [:]) -> ScriptedTransport {
    ScriptedTransport { request, number in
      if number == 1 { return .answer("{}") }
      if request.url.host() == "origin.test" {
        return .answer("", status: 302, ["Location": "http://portal.test/login"])
      }
      return .answer("<html>log in</html>", fields)
    }
  }

  @Test(
    "law 5: a captive portal's page is a failure where a response is stored, and changes nothing",
    arguments: [
      (.storedThenFresh, ["stored({})", "failure(portal, last {})"]),
      (.freshOnly, ["failure(portal, last {})"]),
      (.freshElseStored(within: nil), ["stored({})", "failure(portal, last {})"]),
      (.storedElseFresh(maxAge: .zero), ["stored({})", "failure(portal, last {})"]),
      (.http, ["fresh(<html>log in</html>, changed)"]),
    ] as [(FetchPolicy, [String])])
  func portal(policy: FetchPolicy, outline: [String]) async throws {
    for fields in [[:], ["Cache-Control": "no-store"], ["Cache-Control": "max-age=600"]] as [HTTPFields] {
      let fixture = try ServiceFixture(transport: Self.portal(fields))
      let url = try #require(URL(string: "http://origin.test/item"))
      _ = await fixture.outline(url)
      let before = try rawRow(fixture)
      let deliveries = await fixture.deliveries(url, policy: policy)
      #expect(deliveries.map(\.outline) == outline, "\(fields)")
      if policy == .http { #expect(deliveries.last?.kept == .no(.portal), "\(fields)") }
      #expect(try rawRow(fixture) == before, "\(fields)")
    }
  }

  @Test func `law 5: where the stored response is not usable, a portal's page is fresh and not kept`()
    async throws
  {
    let isRefused = Gate()
    let portal = Self.portal()
    let transport = ScriptedTransport { request, number async throws(DataServiceError) in
      if number > 1 { await isRefused.wait() }
      return try await portal.response(to: request)
    }
    let fixture = try ServiceFixture(transport: transport) { $0.onWarning = { _ in isRefused.open() } }
    let url = try #require(URL(string: "http://origin.test/item"))
    _ = await fixture.outline(url)
    let before = try rawRow(fixture)
    let refusing = fixture.service.deliveries(for: fixture.request(url)) { response in
      if response.text == "{}" { throw CancellationError() }
      return response.text
    }
    var seen: [String] = []
    for await delivery in refusing {
      switch delivery {
      case .stored(let response): seen.append("stored \(response.value)")
      case .fresh(let response, _): seen.append("fresh \(response.value), \(response.kept)")
      case .failure(let error, _): seen.append(error.kind.name)
      }
    }
    #expect(seen == ["fresh <html>log in</html>, \(DataService.Kept.no(.portal))"])
    #expect(try rawRow(fixture) == before)
  }

  @Test func `law 5: nor is it kept where the store does not say in time what it has`() async throws {
    let clock = VirtualClock()
    let fixture = try ServiceFixture(transport: Self.portal(), timekeeper: clock) {
      $0.timeouts = InternalTimeouts()
    }
    let url = try #require(URL(string: "http://origin.test/item"))
    _ = await fixture.outline(url)
    let before = try rawRow(fixture)
    fixture.service.store.suspendForTesting()
    let kept = Mutex<DataService.Kept?>(nil)
    let delivered = Gate()
    let load = fixture.service.load(fixture.request(url), queue: DispatchQueue(label: "callbacks")) {
      delivery in
      kept.withLock { $0 = delivery.kept }
      delivered.open()
    }
    _ = try await clock.passing { await delivered.wait() }
    #expect(kept.withLock { $0 } == .no(.portal))
    fixture.service.store.resumeForTesting()
    await load.finished()
    await fixture.service.close()
    #expect(try rawRow(fixture) == before)
  }

  @Test func `law 5: an answer of a media type that is not accepted changes nothing`() async throws {
    let fixture = try ServiceFixture.scripted { _, number in
      number == 1
        ? .answer("{}", ["Content-Type": "application/json; charset=utf-8"])
        : .answer("<html>log in</html>", ["Content-Type": "text/html"])
    }
    let url = try #require(URL(string: "http://origin.test/item"))
    _ = await fixture.outline(url)
    let before = try rawRow(fixture)
    for policy in [FetchPolicy.storedThenFresh, .freshElseStored(within: nil)] {
      let outline = await fixture.outline(url, policy: policy) { $0.acceptedMediaTypes = ["application/*"] }
      #expect(outline == ["stored({})", "failure(mediaType, last {})"], "\(policy)")
    }
    for policy in [FetchPolicy.freshOnly, .http] {
      let outline = await fixture.outline(url, policy: policy) {
        $0.acceptedMediaTypes = ["application/json"]
      }
      #expect(outline == ["failure(mediaType, last {})"], "\(policy)")
    }
    #expect(try rawRow(fixture) == before)
  }

  @Test func `a stored response of a media type that is not accepted is neither delivered nor validated`()
    async throws
  {
    let fixture = try ServiceFixture.scripted { request, _ in
      if request.fields.contains("If-None-Match") { return .answer("", status: 304) }
      return .answer("<html>", ["Content-Type": "text/html", "ETag": "\"1\""])
    }
    let url = try #require(URL(string: "http://origin.test/item"))
    _ = await fixture.outline(url)
    for policy in [FetchPolicy.storedThenFresh, .http] {
      let outline = await fixture.outline(url, policy: policy) {
        $0.acceptedMediaTypes = ["application/json"]
      }
      #expect(outline == ["failure(mediaType)"], "\(policy)")
    }
    let offline = await fixture.outline(url, policy: .storedOnly) {
      $0.acceptedMediaTypes = ["application/json"]
    }
    #expect(offline == ["failure(notStored)"])
    #expect(await fixture.outline(url) == ["stored(<html>)", "fresh(<html>, unchanged)"])
  }

  @Test func `law 6: one row: overwriting leaves one row and one body`() async throws {
    let fixture = try ServiceFixture.scripted { _, number in
      .answer(String(repeating: "\(number)", count: number * 100))
    }
    let url = try #require(URL(string: "http://origin.test/item"))
    for _ in 1...5 { _ = await fixture.outline(url) }
    #expect(try fixture.store.value("SELECT count(*) FROM last_request") == 1)
    #expect(try fixture.store.value("SELECT count(*) FROM body WHERE released_at_ms IS NULL") == 1)
    let stored = await fixture.outline(url, policy: .storedOnly)
    #expect(stored == ["stored(\(String(repeating: "5", count: 500)))"])
  }

  @Test func `law 8: newest wins: an exchange that began earlier does not overwrite the later one's row`()
    async throws
  {
    let (isAsked, mayAnswer) = (Gate(), Gate())
    let fixture = try ServiceFixture.scripted { _, number async throws(DataServiceError) in
      if number == 1 {
        isAsked.open()
        await mayAnswer.wait()
      }
      return .answer("answer \(number)")
    }
    let url = try #require(URL(string: "http://origin.test/item"))
    async let older = fixture.deliveries(url, policy: .freshOnly)
    // The trace of the request comes before its number: whoever is asked first is the one that waits.
    await isAsked.wait()
    // freshOnly never joins an exchange that began before it.
    let newer = await fixture.deliveries(url, policy: .freshOnly)
    #expect(newer.map(\.outline) == ["fresh(answer 2, new)"])
    mayAnswer.open()
    let late = await older
    #expect(late.map(\.outline) == ["fresh(answer 1, new)"])
    #expect(late.last?.kept == .no(.superseded))
    #expect(await fixture.outline(url, policy: .storedOnly) == ["stored(answer 2)"])
  }

  private func rawRow(_ fixture: ServiceFixture) throws -> [[SQLiteValue]] {
    try fixture.store.rows("SELECT * FROM last_request") + fixture.store.rows("SELECT * FROM chunk")
  }
}
