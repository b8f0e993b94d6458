import PlatformFoundation
import TestSupport
import TestTurns
import Testing

@testable import DataService

@Suite("What a live sequence keeps for a slow reader", .inTurn) struct LiveFeedTests {
  private func feed(_ fixture: ServiceFixture) throws -> LiveFeed<Data> {
    let url = try #require(URL(string: "http://example.test/feed"))
    return LiveFeed(fixture.service.live(.init(url)).source, LiveReaders())
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
      feed.post(isObserved: isObserved) { _ in failure(message) }
    }
    for message in ["a", "b", "d", "e", "g"] {
      #expect(await feed.next()?.error?.message == message, "\(message)")
    }
    // What was taken is not taken back.
    feed.post(isObserved: true) { _ in failure("h") }
    #expect(await feed.next()?.error?.message == "h")
    feed.post(isObserved: true) { _ in failure("i") }
    feed.end()
    #expect(await feed.next() == nil)
    feed.post(isObserved: false) { _ in failure("j") }
    #expect(await feed.next() == nil)
    await fixture.service.close()
  }
}
