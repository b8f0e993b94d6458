import CacheStore
import DataService
import DataServiceTesting
import FixtureServer
import PlatformFoundation
import TestSupport
import Testing
import TestTurns

/// Law 13: every limit has an error of its own, and reaching one loses nothing.
@Suite("Law 13: nothing unbounded", .inTurn) struct LawOfLimitsTests {
  struct Case: Sendable, CustomTestStringConvertible {
    let limit: String
    let reply: FixtureReply
    let kind: DataServiceError.Kind
    let set: @Sendable (inout Limits) -> Void
    var testDescription: String { limit }
  }

  static let cases: [Case] = [
    Case(limit: "body", reply: .ok(String(repeating: "x", count: 2_000)), kind: .tooLarge) {
      $0.bodyBytes = 1_999
    },
    Case(
      limit: "body without a length", reply: .ok(String(repeating: "x", count: 2_000)).chunked(),
      kind: .tooLarge
    ) {
      $0.bodyBytes = 1_999
    },
    Case(limit: "body as Data", reply: .ok(String(repeating: "x", count: 2_000)), kind: .tooLarge) {
      $0.dataBytes = 1_999
    },
    Case(
      limit: "field section", reply: .ok("", ["X-Long": String(repeating: "x", count: 2_000)]),
      kind: .protocol
    ) {
      $0.fieldSectionBytes = 1_000
    },
    Case(limit: "fields", reply: (0..<60).reduce(.ok("")) { $0.adding("X-\($1)", "1") }, kind: .protocol) {
      $0.fieldCount = 50
    },
    Case(limit: "redirects", reply: .redirect(to: "/item"), kind: .tooManyRedirects) { $0.redirects = 3 },
  ]

  @Test("law 13: each limit has its error, and the row stays", arguments: cases)
  func limit(testCase: Case) async throws {
    let isSeeded = Gate()
    let origin = try FixtureServer { _, connection in
      try connection.send(isSeeded.isOpen ? testCase.reply : .ok("good"))
    }
    let fixture = try ServiceFixture()
    let url = origin.url("/item")
    _ = await fixture.outline(url)
    let before = try fixture.store.rows("SELECT * FROM last_request")
    isSeeded.open()
    let outline = await fixture.outline(url) { testCase.set(&$0.limits) }
    #expect(outline == ["stored(good)", "failure(\(testCase.kind.name), last good)"], "\(testCase.limit)")
    if testCase.limit != "body as Data" {
      #expect(try fixture.store.rows("SELECT * FROM last_request") == before, "\(testCase.limit)")
    }
    await fixture.service.close()
  }

  /// An answer, and the limit that it just keeps to.
  static let exact: [Case] = [
    Case(limit: "body", reply: .ok(String(repeating: "x", count: 2_000)), kind: .tooLarge) {
      $0.bodyBytes = 2_000
    },
    Case(
      limit: "body without a length", reply: .ok(String(repeating: "x", count: 2_000)).chunked(),
      kind: .tooLarge
    ) {
      $0.bodyBytes = 2_000
    },
    Case(limit: "body as Data", reply: .ok(String(repeating: "x", count: 2_000)), kind: .tooLarge) {
      $0.dataBytes = 2_000
    },
    Case(
      limit: "long body as Data", reply: .ok(String(repeating: "x", count: 50_000)).chunked(), kind: .tooLarge
    ) {
      $0.dataBytes = 50_000
    },
    // And the length, which the origin adds.
    Case(limit: "fields", reply: (0..<49).reduce(.ok("x")) { $0.adding("X-\($1)", "1") }, kind: .protocol) {
      $0.fieldCount = 50
    },
  ]

  @Test("law 13: what just keeps to a limit is delivered and kept", arguments: exact)
  func limitKept(testCase: Case) async throws {
    let origin = try FixtureServer(routes: ["/item": testCase.reply])
    let fixture = try ServiceFixture { $0.store.chunkBytes = 16_384 }
    let deliveries = await fixture.deliveries(origin.url("/item")) { testCase.set(&$0.limits) }
    let body = String(decoding: testCase.reply.body, as: UTF8.self)
    #expect(deliveries.map(\.outline) == ["fresh(\(body), new)"], "\(testCase.limit)")
    #expect(deliveries.last?.kept == .yes, "\(testCase.limit)")
    let stored = await fixture.outline(origin.url("/item"), policy: .storedOnly) {
      testCase.set(&$0.limits)
    }
    #expect(stored == ["stored(\(body))"], "\(testCase.limit)")
    await fixture.service.close()
  }

  @Test(
    "law 5: what a decoder refuses, or is not given because of its length, replaces nothing",
    arguments: [2_000, 50_000], [0, 1])
  func decoded(count: Int, over: Int) async throws {
    let transport = ScriptedTransport { _, number in
      .answer(number == 1 ? "good" : String(repeating: "x", count: count), ["ETag": "\"\(number)\""])
    }
    let fixture = try ServiceFixture(transport: transport) { $0.store.chunkBytes = 16_384 }
    var request = DataService.Request(try #require(URL(string: "http://origin.test/item")))
    request.limits.dataBytes = Int64(count - over)
    var seen: [String] = []
    for _ in 0..<3 {
      let deliveries = fixture.service.deliveries(for: request, policy: .freshOnly) { response in
        if response.text != "good" { throw CancellationError() }
        return response.text
      }
      for await delivery in deliveries {
        switch delivery {
        case .stored(let response), .fresh(let response, _): seen.append(response.value)
        case .failure(let error, _): seen.append(error.kind.name)
        }
      }
    }
    let refused = over == 0 ? "undecodable" : "tooLarge"
    #expect(seen == ["good", refused, refused])
    #expect(
      transport.requests.allSatisfy { $0.fields["Range"] == nil }, "it is complete, and not to be resumed")
    #expect(await fixture.outline(request.url, policy: .storedOnly) == ["stored(good)"])
    await fixture.service.close()
  }

  @Test func `law 13: as many redirects as are allowed are followed`() async throws {
    let origin = try FixtureServer(routes: [
      "/0": .redirect(to: "/1"), "/1": .redirect(to: "/2"), "/2": .redirect(to: "/3"), "/3": .ok("there"),
    ])
    let fixture = try ServiceFixture()
    #expect(await fixture.outline(origin.url("/0")) { $0.limits.redirects = 3 } == ["fresh(there, new)"])
    #expect(await fixture.outline(origin.url("/2")) { $0.limits.redirects = 1 } == ["fresh(there, new)"])
    #expect(
      await fixture.outline(origin.url("/0"), policy: .freshOnly) { $0.limits.redirects = 2 }
        == ["failure(tooManyRedirects, last there)"])
    await fixture.service.close()
  }

  @Test func `law 13: where none is allowed a redirect is the answer itself`() async throws {
    let fixture = try ServiceFixture.scripted { _, _ in .answer("moved", status: 302, ["Location": "/there"])
    }
    let url = try #require(URL(string: "http://origin.test/item"))
    let fresh = try #require(await fixture.deliveries(url) { $0.limits.redirects = 0 }.first?.fresh)
    #expect(fresh.text == "moved" && fresh.status == 302 && fresh.kept == .no(.status))
    #expect(fixture.requests.count == 1)
    await fixture.service.close()
  }

  @Test func `law 13: what is stored is delivered whatever the limit for the network`() async throws {
    let origin = try FixtureServer(routes: ["/item": .ok(String(repeating: "x", count: 2_000))])
    let fixture = try ServiceFixture()
    _ = await fixture.outline(origin.url("/item"))
    let stored = await fixture.deliveries(origin.url("/item"), policy: .storedOnly) {
      $0.limits.bodyBytes = 10
    }
    #expect(stored.count == 1)
    await fixture.service.close()
  }

  @Test func `law 13: a load ends at its total time even while it waits for a pause or a retry`() async throws
  {
    let clock = VirtualClock()
    let fixture = try ServiceFixture.scripted(timekeeper: clock) { _, _ in
      .answer("busy", status: 503, ["Retry-After": "30"])
    }
    let url = try #require(URL(string: "http://origin.test/item"))
    // A retry after 30 s would not fit into 10 s: the answer is delivered at once instead.
    let outline = await fixture.outline(url) {
      $0.limits.retries = 2
      $0.limits.totalTimeout = .seconds(10)
    }
    #expect(outline == ["fresh(busy, new)"])
    #expect(fixture.requests.count == 1)
    // Later loads, and those of other processes, hear of the pause.
    #expect(await fixture.outline(url) == ["failure(paused)"])
  }
}
