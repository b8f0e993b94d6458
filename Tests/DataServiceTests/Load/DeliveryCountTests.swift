import CacheStore
import DataService
import DataServiceTesting
import PlatformFoundation
import TestSupport
import TestTurns
import Testing

/// What `stats` is told of a load's deliveries, and `Cache-Status` of why the origin was asked.
@Suite("Loads: what is counted and told of deliveries", .inTurn) struct DeliveryCountTests {
  private let url: URL
  init() throws { url = try #require(URL(string: "http://origin.test/item")) }

  @Test func `what the store has saved: the bytes of what was not sent again, and the time of each wait`()
    async throws
  {
    let clock = VirtualClock()
    let fixture = try ServiceFixture.scripted(timekeeper: clock) {
      request, number async throws(DataServiceError) in
      clock.advance(by: .milliseconds(80))
      switch number {
      case 1: return .answer("body", status: 200, ["ETag": "\"1\""])
      case 2: return .answer("", status: 304, ["ETag": "\"1\""])
      case 3: return .answer("other!", status: 200, ["ETag": "\"2\""])
      default: throw DataServiceError(.refused, "nobody listens")
      }
    }
    var expected = UsageCount()
    #expect(await fixture.outline(url) == ["fresh(body, new)"])
    expected.fresh += 1
    #expect(await fixture.outline(url, policy: .storedElseFresh(maxAge: .seconds(60))) == ["stored(body)"])
    expected.stored += 1
    expected.savedBytes += 4
    #expect(await fixture.outline(url) == ["stored(body)", "fresh(body, unchanged)"])
    expected.stored += 1
    expected.unchanged += 1
    expected.savedBytes += 4
    #expect(await fixture.outline(url) == ["stored(body)", "fresh(other!, changed)"])
    expected.stored += 1
    expected.fresh += 1
    #expect(await fixture.outline(url, policy: .storedOnly) == ["stored(other!)"])
    expected.stored += 1
    expected.savedBytes += 6
    let failed = await fixture.outline(url, policy: .freshOnly)
    #expect(failed.count == 1 && failed[0].hasPrefix("failure("), "\(failed)")
    expected.failed += 1
    expected.savedMilliseconds = 4 * 80
    await fixture.service.close()
    let store = ResponseStore(configuration: .unhurried(path: fixture.store.path))
    let part = try #require(try await store.statistics().parts.first { $0.host == "origin.test" })
    #expect(part.deliveries == expected)
    await store.close()
  }

  @Test func `why the origin was asked: nothing stored, another variant, not what is accepted, or stale`()
    async throws
  {
    let fixture = try ServiceFixture.scripted { _, number in
      let type = number == 3 ? "application/json" : "text/plain"
      return .answer("{}", status: 200, ["Vary": "Accept-Language", "Content-Type": type])
    }
    let ifYoung = FetchPolicy.storedElseFresh(maxAge: .seconds(3600))
    func forward(
      _ language: String, accepting types: [String] = [], policy: FetchPolicy = ifYoung
    ) async -> String? {
      let all = await fixture.deliveries(url, policy: policy) {
        $0.fields["Accept-Language"] = language
        $0.acceptedMediaTypes = types
      }
      return all.last?.fresh?.head.cacheStatus.split(separator: "; ").first { $0.hasPrefix("fwd=") }
        .map(String.init)
    }
    #expect(await forward("de") == "fwd=uri-miss")
    #expect(await forward("en") == "fwd=vary-miss")
    #expect(await forward("de", accepting: ["application/json"]) == "fwd=miss")
    #expect(await forward("de", policy: .storedThenFresh) == "fwd=stale")
    await fixture.service.close()
  }

  @Test func `why what is stored is not delivered where nobody is asked`() async throws {
    let fixture = try ServiceFixture.scripted { _, _ in
      .answer("{}", status: 200, ["Vary": "Accept-Language, X-A", "Content-Type": "text/plain"])
    }
    func failure(_ change: (inout DataService.Request) -> Void = { _ in }) async -> String? {
      let all = await fixture.deliveries(url, policy: .storedOnly, configure: change)
      guard case .failure(let error, _)? = all.last else { return nil }
      return error.kind == .notStored ? error.message : error.description
    }
    #expect(await failure() == "nothing is stored for \(url)")
    #expect(await fixture.outline(url) == ["fresh({}, new)"])
    #expect(await failure() == nil)
    let variant = "of another variant (Vary: accept-language, x-a)"
    #expect(await failure { $0.fields["X-A"] = "1" } == "what is stored for \(url) is \(variant)")
    #expect(fixture.hasTraced("what is stored is \(variant)"))
    let type = "of another media type"
    #expect(
      await failure { $0.acceptedMediaTypes = ["text/html"] } == "what is stored for \(url) is \(type)")
    #expect(fixture.hasTraced("what is stored is \(type)"))
    let status = await failure { $0.acceptedStatuses = 201...201 }
    #expect(status == "what is stored for \(url) is of a status that is not accepted")
    let bypassing = "nothing that is stored for \(url) is used: the request bypasses the store"
    #expect(await failure { $0.fields["Range"] = "bytes=0-3" } == bypassing)
    #expect(await failure { $0.fields["Cache-Control"] = "no-store" } == bypassing)
    #expect(await failure { $0.method = .post } == bypassing)
    #expect(fixture.requests.count == 1)
    await fixture.service.close()
  }
}
