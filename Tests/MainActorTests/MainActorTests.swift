import DataService
import DataServiceTesting
import PlatformFoundation
import TestTurns
import Testing

/// As an application's model stands in a module whose default isolation is the main actor.
nonisolated struct Feed: Codable, Sendable, Equatable { var edition: Int }

/// The forms, called from the main actor without a word of isolation but the model's.
@Suite("A module of the main actor", .inTurn) struct MainActorTests {
  private let url = URL(string: "http://example.test/feed")!

  private final class Screen {
    var shown: [Feed] = []
    func show(_ feed: Feed?) { if let feed { shown.append(feed) } }
  }

  @Test func `every form takes such a model`() async throws {
    let test = try TestService()
    test.origin.answer(url.absoluteString, with: try .json(Feed(edition: 1)))
    let request = DataService.Request(url)
    let screen = Screen()
    for await delivery in test.service.deliveries(for: request, as: Feed.self) { screen.show(delivery.value) }
    screen.show(try await test.service.response(for: request, as: Feed.self).value)
    await test.service.load(request, as: Feed.self) { screen.show($0.value) }.finished()
    screen.show(look(at: request, in: test.service))
    for await delivery in test.service.live(request, as: Feed.self) {
      screen.show(delivery.value)
      break
    }
    for try await response in test.service.changes(to: request, as: Feed.self) {
      screen.show(response?.value)
      break
    }
    for await delivery in test.service.anticipate(request, as: Feed.self).commit() {
      screen.show(delivery.value)
    }
    let decoded = try await test.service.response(for: request) {
      try JSONDecoder().decode(Feed.self, from: $0.value)
    }
    screen.show(decoded.value)
    #expect(Set(screen.shown.map(\.edition)) == [1] && screen.shown.count >= 8)
    await test.close()
  }

  private func look(at request: DataService.Request, in service: DataService) -> Feed? {
    service.storedResponse(for: request, as: Feed.self)?.value
  }
}
