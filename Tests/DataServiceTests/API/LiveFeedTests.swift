import CacheStore
import PlatformFoundation
import TestSupport
import TestTurns
import Testing

@testable import DataService

@Suite("What a live sequence keeps for a slow reader", .inTurn) struct LiveFeedTests {
  private func feed(_ fixture: ServiceFixture) throws -> LiveFeed<Data> {
    let url = try #require(URL(string: "http://example.test/feed"))
    return LiveFeed(fixture.service.live(.init(url)).source, LiveSequence())
  }

  private func failure(_ message: String) -> DataService.Delivery<Data> {
    .failure(DataServiceError(.other, message), lastKnown: nil)
  }

  @Test func `all that its loads bring, and of what the observer brings the newest`() async throws {
    let fixture = try ServiceFixture()
    let feed = try feed(fixture)
    for (message, isObserved) in [
      ("a", false), ("b", false), ("c", true), ("d", true), ("e", false), ("f", true), ("g", true),
    ] {
      feed.post(isObserved: isObserved) { _, _ in failure(message) }
    }
    for message in ["a", "b", "d", "e", "g"] {
      #expect(await feed.next()?.error?.message == message, "\(message)")
    }
    // What was taken is not taken back.
    feed.post(isObserved: true) { _, _ in failure("h") }
    #expect(await feed.next()?.error?.message == "h")
    feed.post(isObserved: true) { _, _ in failure("i") }
    feed.end()
    #expect(await feed.next() == nil)
    feed.post(isObserved: false) { _, _ in failure("j") }
    #expect(await feed.next() == nil)
    await fixture.service.close()
  }

  private func response(
    _ text: String, _ started: Int64, version: String = "1.1", in fixture: ServiceFixture
  ) -> LiveJudge<Data>.Response {
    let mark = StartMark(boot: fixture.service.core.timekeeper.bootID, nanoseconds: started)
    let data = Data(text.utf8)
    return .init(
      value: WholeValue(value: data, data: data), head: .live(started: mark, version: version))
  }

  @Test func `the change is that since what was read before, not since what was replaced unread`()
    async throws
  {
    let fixture = try ServiceFixture()
    let feed = try feed(fixture)
    feed.loaded(.fresh(response("a", 1, in: fixture), .new))
    #expect(await feed.next()?.outline == "fresh(a, new)")
    // Somebody has stored b, and somebody has confirmed it twice.
    for started in [2, 3, 4] as [Int64] { feed.observed(response("b", started, in: fixture).map(\.data)) }
    #expect(await feed.next()?.outline == "fresh(b, changed)")
    feed.observed(response("b", 5, in: fixture).map(\.data))
    #expect(await feed.next()?.outline == "fresh(b, unchanged)")
    // So it is where the program itself has stored it, and an origin has confirmed that.
    feed.observed(response("mine", 6, version: StoredResponse.localVersion, in: fixture).map(\.data))
    feed.observed(response("mine", 7, in: fixture).map(\.data))
    #expect(await feed.next()?.outline == "fresh(mine, changed)")
    // What a load brings replaces nothing, and neither does what comes after it.
    feed.observed(response("c", 8, in: fixture).map(\.data))
    feed.loaded(.fresh(response("c", 9, in: fixture), .unchanged))
    feed.observed(response("c", 10, in: fixture).map(\.data))
    for outline in ["fresh(c, changed)", "fresh(c, unchanged)", "fresh(c, unchanged)"] {
      #expect(await feed.next()?.outline == outline)
    }
    await fixture.service.close()
  }

  @Test func `a load that finds a row before the observer tells of it brings its change`() async throws {
    let fixture = try ServiceFixture()
    let feed = try feed(fixture)
    // Before the first delivery the load's own change is all that is known.
    feed.loaded(.fresh(response("a", 1, in: fixture), .unchanged))
    #expect(await feed.next()?.outline == "fresh(a, unchanged)")
    // It has found b in the store, and a 304 has confirmed that.
    feed.loaded(.fresh(response("b", 2, in: fixture), .unchanged))
    feed.observed(response("b", 2, in: fixture).map(\.data))
    feed.loaded(.fresh(response("b", 3, in: fixture), .unchanged))
    // It has found another row, or none, and the origin has sent what the reader has.
    feed.loaded(.fresh(response("b", 4, in: fixture), .changed))
    feed.loaded(.fresh(response("b", 5, in: fixture), .new))
    for change in ["changed", "unchanged", "unchanged", "unchanged"] {
      #expect(await feed.next()?.outline == "fresh(b, \(change))")
    }
    feed.end()
    #expect(await feed.next() == nil)
    await fixture.service.close()
  }

  @Test func `a 304 is unchanged under every rule, and an answer to HEAD has no body to compare`()
    async throws
  {
    let fixture = try ServiceFixture()
    let url = try #require(URL(string: "http://example.test/feed"))
    var confirmed = DataService.Request(url)
    confirmed.changeRule = .notModified
    let strict = LiveFeed(fixture.service.live(confirmed).source, LiveSequence())
    strict.loaded(.fresh(response("a", 1, in: fixture), .new))
    strict.loaded(.fresh(response("a", 2, in: fixture), .unchanged))
    strict.loaded(.fresh(response("a", 3, in: fixture), .changed))
    for change in ["new", "unchanged", "changed"] {
      #expect(await strict.next()?.outline == "fresh(a, \(change))")
    }
    let headless = LiveFeed(fixture.service.live(.init(url, method: .head)).source, LiveSequence())
    headless.loaded(.fresh(response("", 1, in: fixture), .new))
    headless.loaded(.fresh(response("", 2, in: fixture), .changed))
    for change in ["new", "changed"] {
      #expect(await headless.next()?.outline == "fresh(, \(change))")
    }
    await fixture.service.close()
  }
}
