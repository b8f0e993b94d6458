import CacheStore
import DataService
import DataServiceTesting
import FixtureServer
import PlatformFoundation
import Synchronization
import TestSupport
import Testing
import TestTurns

@Suite("The http policy, through the service", .inTurn) struct HTTPPolicyTests {
  @Test("what is delivered is what the case says", arguments: HTTPCase.all(now: 0))
  func each(httpCase: HTTPCase) async throws {
    let httpCase = httpCase.ofNow
    let differences = try await httpCase.settledDifferences { try await run(httpCase) }
    #expect(differences.isEmpty, "\(differences)")
  }

  private func run(_ httpCase: HTTPCase) async throws -> (differences: [String], storeWasSlow: Bool) {
    let wasSlow = Mutex(false)
    let fixture = try ServiceFixture { configuration in
      configuration.onTrace = { line in
        if line.hasPrefix(HTTPCase.slowStore) { wasSlow.withLock { $0 = true } }
      }
    }
    let differences = try await httpCase.differences { step, url in
      let url = try #require(URL(string: url))
      let deliveries = await fixture.deliveries(url, policy: .http) { request in
        request.method = step.method
        request.fields = step.fields
      }
      let kinds = deliveries.map(\.kind).joined(separator: ", ")
      switch deliveries.first {
      case .stored(let response), .fresh(let response, _):
        return (kinds, response.status, response.text, response.fields)
      case .failure, nil: return (kinds, nil, nil, [:])
      }
    }
    await fixture.service.close()
    return (differences, wasSlow.withLock { $0 })
  }

  @Test("There are eighty cases and more, each with a name of its own") func count() {
    let names = HTTPCase.all(now: 0).map(\.name)
    #expect(names.count >= 80)
    #expect(Set(names).count == names.count)
  }

  @Test("A stored response that stands in for an answer is the last known one of the failure that follows")
  func standIn() async throws {
    let origin = try OneReplyOrigin()
    let fixture = try ServiceFixture()
    let url = origin.server.url("/x")
    origin.answer(.ok("one", ["Cache-Control": "max-age=0, stale-if-error=600"]))
    _ = await fixture.outline(url, policy: .http)
    origin.answer(.status(503, "busy"))
    #expect(await fixture.outline(url, policy: .http) == ["stored(one)", "failure(status, last one)"])
    origin.answer(nil)
    #expect(await fixture.outline(url, policy: .http) == ["stored(one)", "failure(disconnected, last one)"])
    #expect(
      try await fixture.service.response(for: fixture.request(url), policy: .http).text == "one")
    await fixture.service.close()
  }

  @Test("What is kept beside the last good response is delivered under no other policy")
  func besides() async throws {
    let origin = try OneReplyOrigin()
    let fixture = try ServiceFixture()
    let url = origin.server.url("/x")
    origin.answer(.ok("good", ["ETag": "\"1\""]))
    _ = await fixture.outline(url)
    origin.answer(.status(410, "gone", ["Cache-Control": "max-age=600"]))
    #expect(await fixture.outline(url, policy: .http) == ["fresh(gone, changed)"])
    #expect(await fixture.outline(url, policy: .http) == ["stored(gone)"])
    // From here on whatever is delivered was stored.
    origin.answer(nil)
    for policy in [
      FetchPolicy.storedOnly, .storedThenFresh, .storedThenFresh(ifOlderThan: .zero),
      .freshElseStored(within: nil), .freshElseStored(), .storedElseFresh(maxAge: .zero), .freshOnly,
    ] {
      let seen = await fixture.outline(url, policy: policy)
      #expect(!seen.joined().contains("gone"), "\(policy): \(seen)")
      #expect(
        seen.first == (policy == .freshOnly ? "failure(disconnected, last good)" : "stored(good)"),
        "\(policy)")
    }
    await fixture.service.close()
  }

  @Test(
    "A 200 that the caller has already is a 304 without a body, though a long one of unknown length arrives",
    arguments: [nil, -1] as [Int64?])
  func notModifiedMeanwhile(length: Int64?) async throws {
    let fixture = try ServiceFixture.scripted { _, number in
      if number == 1 { return .answer("one", ["ETag": "\"1\"", "Cache-Control": "max-age=0"]) }
      // More than is held in memory.
      let sent = Mutex(0)
      return TransportResponse(
        version: "1.1", status: 200, reason: "OK", fields: ["ETag": "\"2\"", "Cache-Control": "no-store"],
        body: DataService.BodyStream(length: length) { () async throws(DataServiceError) -> Data? in
          let count = sent.withLock { count in
            count += 1
            return count
          }
          return count > 9 ? nil : Data(count: 1 << 20)
        })
    }
    let url = try #require(URL(string: "http://origin.test/a"))
    #expect(await fixture.outline(url, policy: .http) == ["fresh(one, new)"])
    let deliveries = await fixture.deliveries(url, policy: .http) { $0.fields = ["If-None-Match": "\"2\""] }
    #expect(deliveries.map(\.kind) == ["fresh"])
    let response = try #require(deliveries.last?.fresh)
    #expect(response.status == 304 && response.value.isEmpty && response.kept == .no(.noStore))
    #expect(fixture.requests.map { $0.fields["If-None-Match"] } == [nil, "\"1\""])
    await fixture.service.close()
  }

  @Test("A 200 to HEAD from another URL than the row's makes the row invalid") func redirectedHead()
    async throws
  {
    let fixture = try ServiceFixture.scripted { _, number in
      switch number {
      case 1: .answer("one", ["Cache-Control": "max-age=0"])
      case 2: .answer("", status: 301, ["Location": "/b"])
      case 3: .answer("", ["Cache-Control": "max-age=600"])
      default: .answer("two")
      }
    }
    let url = try #require(URL(string: "http://origin.test/a"))
    #expect(await fixture.outline(url, policy: .http) == ["fresh(one, new)"])
    let head = await fixture.deliveries(url, policy: .http) { $0.method = .head }
    #expect(head.map(\.kind) == ["fresh"] && head.last?.kept == .no(.method))
    #expect(await fixture.outline(url, policy: .http) == ["fresh(two, changed)"])
    #expect(fixture.requests.count == 4)
    await fixture.service.close()
  }

  @Test("A HEAD that a 304 confirms has the length and the coding of what is stored") func confirmedHead()
    async throws
  {
    let fields: HTTPFields = [
      "ETag": "\"1\"", "Cache-Control": "max-age=0", "Content-Encoding": "gzip", "Content-Length": "4",
    ]
    let fixture = try ServiceFixture.scripted { _, number in
      number == 1 ? .answer("gzip", fields) : .answer("", status: 304, ["ETag": "\"1\""])
    }
    let url = try #require(URL(string: "http://origin.test/a"))
    _ = await fixture.deliveries(url, policy: .http) { $0.fields = ["Accept-Encoding": "gzip"] }
    let head = await fixture.deliveries(url, policy: .http) {
      $0.method = .head
      $0.fields = ["Accept-Encoding": "gzip"]
    }
    let response = try #require(head.last?.fresh)
    #expect(response.wasValidated && response.value.isEmpty)
    #expect(response.fields["Content-Length"] == "4" && response.fields["Content-Encoding"] == "gzip")
    await fixture.service.close()
  }

  @Test("A 200 to HEAD from the URL behind a redirect that the row came from too freshens the row")
  func headRedirectedAlike() async throws {
    let fixture = try ServiceFixture.scripted { _, number in
      number % 2 == 1
        ? .answer("", status: 301, ["Location": "/b"]) : .answer("", ["Cache-Control": "max-age=600"])
    }
    let url = try #require(URL(string: "http://origin.test/a"))
    #expect(await fixture.outline(url, policy: .http) == ["fresh(, new)"])
    let head = await fixture.deliveries(url, policy: .http) { $0.method = .head }
    #expect(head.map(\.kind) == ["fresh"] && head.last?.kept == .yes)
    #expect(fixture.requests.count == 4)
    await fixture.service.close()
  }

  @Test("An explanation names the rule that decides") func explain() async throws {
    let origin = try OneReplyOrigin()
    let fixture = try ServiceFixture()
    let url = origin.server.url("/x")
    let request = DataService.Request(url)
    var explanation = try await fixture.service.explain(request)
    #expect(
      explanation.verdicts.last?.outcome == "fresh or failure: nothing is stored under the key (section 4)")
    origin.answer(.ok("one", ["Cache-Control": "max-age=600", "ETag": "\"1\""]))
    _ = await fixture.outline(url, policy: .http)
    explanation = try await fixture.service.explain(request)
    #expect(explanation.verdicts.last?.outcome == "stored: fresh (section 4.2)")
    #expect(explanation.refreshFields == ["If-None-Match: \"1\""])
    #expect(origin.server.requests().count == 1)
    await fixture.service.close()
  }
}
