import CacheStore
import DataService
import DataServiceTesting
import PlatformFoundation
import TestSupport
import TestTurns
import Testing

/// Law 5: what a 304, and under `http` an answer to HEAD, may do to the row.
@Suite("An answer without a body, and the row it confirms", .inTurn) struct ConfirmedHeadTests {
  private static let url = "http://origin.test/item"

  private static func json(_ request: inout DataService.Request) {
    request.acceptedMediaTypes = ["application/json"]
  }

  @Test(arguments: [false, true]) func `it changes no field that describes the body`(isHead: Bool)
    async throws
  {
    let url = try #require(URL(string: Self.url))
    let fixture = try ServiceFixture.scripted { request, number in
      if number == 1 { return .answer("{}", ["ETag": "\"1\"", "Content-Type": "application/json"]) }
      let fields: HTTPFields = [
        "ETag": "\"1\"", "Content-Type": "text/html; charset=UTF-8", "Content-Encoding": "br",
        "Content-Range": "bytes 0-0/2", "X-New": "1",
      ]
      return .answer("", status: request.method == .head ? 200 : 304, fields)
    }
    #expect(await fixture.outline(url, configure: Self.json) == ["fresh({}, new)"])
    if isHead {
      _ = await fixture.deliveries(url, policy: .http) { $0.method = .head }
    } else {
      let outline = await fixture.outline(url, configure: Self.json)
      #expect(outline == ["stored({})", "fresh({}, unchanged)"])
    }
    let stored = await fixture.deliveries(url, policy: .storedOnly, configure: Self.json)
    #expect(stored.map(\.outline) == ["stored({})"])
    let fields = try #require(stored.first?.response?.fields)
    #expect(fields["X-New"] == "1" && fields["Content-Type"] == "application/json")
    #expect(!fields.contains("Content-Encoding") && !fields.contains("Content-Range"))
    await fixture.service.close()
  }

  /// A hundred fields that no earlier answer had.
  private static func more(_ number: Int) -> HTTPFields {
    var fields: HTTPFields = ["ETag": "\"1\""]
    for index in 0..<100 { fields.append("X-\(number)-\(index)", String(repeating: "y", count: 2_000)) }
    return fields
  }

  @Test func `one that adds more fields than a head may have is asked again, without a condition`()
    async throws
  {
    let url = try #require(URL(string: Self.url))
    let fixture = try ServiceFixture.scripted { request, number in
      request.fields.contains("If-None-Match")
        ? .answer("", status: 304, Self.more(number)) : .answer("body", ["ETag": "\"1\"", "X": "\(number)"])
    }
    for _ in 0..<3 { #expect(await fixture.deliveries(url, policy: .freshOnly).first?.kept == .yes) }
    #expect(fixture.requests.map { $0.fields["If-None-Match"] } == [nil, "\"1\"", "\"1\"", nil])
    let stored = try #require(await fixture.deliveries(url, policy: .storedOnly).first?.response?.fields)
    #expect(stored["X"] == "4" && stored.count < 5)
    await fixture.service.close()
  }

  @Test func `an answer to HEAD that adds more is not kept`() async throws {
    let url = try #require(URL(string: Self.url))
    let fixture = try ServiceFixture.scripted { request, number in
      request.method == .head ? .answer("", Self.more(number)) : .answer("body", ["ETag": "\"1\""])
    }
    _ = await fixture.outline(url)
    var kept: [DataService.Kept?] = []
    for _ in 0..<2 {
      kept.append(
        await fixture.deliveries(url, policy: .http) {
          $0.method = .head
          $0.fields["Cache-Control"] = "no-cache"
        }.last?.kept)
    }
    #expect(kept == [.yes, .no(.tooLarge)])
    #expect(try fixture.store.value("SELECT length(fields) < 262144 FROM last_request") == .integer(1))
    await fixture.service.close()
  }
}
