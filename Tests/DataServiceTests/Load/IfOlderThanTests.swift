import CacheStore
import DataService
import DataServiceTesting
import PlatformFoundation
import TestSupport
import TestTurns
import Testing

@Suite("Stored, then fresh if older", .inTurn) struct IfOlderThanTests {
  private static let address = "http://example.test/feed"
  private static let policy = FetchPolicy.storedThenFresh(ifOlderThan: .seconds(300))

  private func request() throws -> DataService.Request {
    var request = DataService.Request(try #require(URL(string: Self.address)))
    request.limits.retries = 0
    return request
  }

  private func outline(_ test: TestService, _ policy: FetchPolicy = policy) async throws -> [String] {
    var all: [String] = []
    for await delivery in test.service.deliveries(for: try request(), policy: policy) {
      all.append(delivery.outline)
    }
    return all
  }

  @Test func `what was received less than so long ago is all there is, whatever the answer says of its age`()
    async throws
  {
    let test = try TestService()
    test.origin.answer(
      Self.address, with: .text("one", fields: ["Age": "86400", "Cache-Control": "max-age=0"]))
    #expect(try await outline(test) == ["fresh(one, new)"])
    test.origin.answer(Self.address, with: .text("two"))
    test.clock.advance(by: .milliseconds(299_999))
    #expect(try await outline(test) == ["stored(one)"])
    #expect(test.origin.requests.count == 1)
    test.clock.advance(by: .milliseconds(1))
    #expect(try await outline(test) == ["stored(one)", "fresh(two, changed)"])
    test.origin.answer(Self.address, with: .failure(.refused))
    #expect(try await outline(test) == ["stored(two)"])
    #expect(
      try await outline(test, .storedThenFresh(ifOlderThan: .zero))
        == ["stored(two)", "failure(refused, last two)"])
    #expect(try await outline(test, .storedThenFresh) == ["stored(two)", "failure(refused, last two)"])
    await test.close()
  }

  @Test func `a 304 makes it young again, and a mark makes it old`() async throws {
    let test = try TestService()
    test.origin.answer(Self.address, with: .text("one", fields: ["ETag": "\"1\""]))
    #expect(try await outline(test) == ["fresh(one, new)"])
    test.clock.advance(by: .seconds(300))
    #expect(try await outline(test) == ["stored(one)", "fresh(one, unchanged)"])
    test.clock.advance(by: .seconds(299))
    #expect(try await outline(test) == ["stored(one)"])
    try await test.service.invalidate(.all)
    #expect(try await outline(test) == ["stored(one)", "fresh(one, unchanged)"])
    #expect(try await outline(test) == ["stored(one)"])
    #expect(test.origin.requests.count == 3)
    await test.close()
  }

  @Test func `the trace says on which side of the age a row is`() async throws {
    let clock = VirtualClock()
    let fixture = try ServiceFixture.scripted(timekeeper: clock) { _, _ in .answer("one") }
    let url = try #require(URL(string: Self.address))
    _ = await fixture.outline(url)
    _ = await fixture.outline(url, policy: Self.policy)
    #expect(fixture.hasTraced("a response is stored, 0 ms old, received less than 5 min 0 s ago: no request"))
    clock.advance(by: .seconds(300))
    _ = await fixture.outline(url, policy: Self.policy)
    #expect(fixture.hasTraced("a response is stored, 5 min 0 s old, received at least 5 min 0 s ago"))
    await fixture.service.close()
  }

  @Test func `the one response is the stored one where it is young, and explain says so`() async throws {
    let test = try TestService()
    test.origin.answer(Self.address, with: .text("one"))
    let request = try request()
    #expect(try await test.service.response(for: request, policy: Self.policy).source == .fresh)
    #expect(try await test.service.response(for: request, policy: Self.policy).source == .stored)
    func verdict() async throws -> String? {
      try await test.service.explain(request, policy: Self.policy).verdicts.first {
        $0.policy == "stored-then-fresh"
      }?.outcome
    }
    #expect(try await verdict() == "stored, 0 ms old, which was received less than 5 min 0 s ago")
    test.clock.advance(by: .seconds(300))
    #expect(try await verdict() == "stored, 5 min 0 s old, then fresh or failure")
    #expect(try await test.service.response(for: request, policy: Self.policy).source == .fresh)
    await test.close()
  }
}
