import DataService
import DataServiceTesting
import PlatformFoundation
import TestTurns
import Testing

/// The tests that an application would write, with the public product alone.
@Suite("Testing an application", .inTurn) struct NewsModelTests {
  struct News: Codable, Sendable, Equatable { var headlines: [String] }

  /// A screen of an application: what it shows, and whether it says that it is offline.
  @MainActor final class NewsModel {
    nonisolated static let url = "https://api.example.com/news"
    private(set) var headlines: [String] = []
    private(set) var states: [String] = []
    private let service: DataService

    init(_ service: DataService) { self.service = service }

    /// Pull to refresh, and what the screen does when it appears.
    func refresh() async {
      guard let url = URL(string: Self.url) else { return }
      for await delivery in service.deliveries(for: DataService.Request(url), as: News.self) {
        switch delivery {
        case .stored(let response):
          headlines = response.value.headlines
          states.append("stored")
        case .fresh(let response, let change):
          headlines = response.value.headlines
          states.append(change.rawValue)
        case .failure(let error, let lastKnown):
          states.append(error.kind.name + (lastKnown == nil ? "" : ", stale"))
        }
      }
    }
  }

  @Test @MainActor func `what was shown last comes first, also offline`() async throws {
    let test = try TestService()
    let model = NewsModel(test.service)
    test.origin.answer(NewsModel.url, with: try .json(News(headlines: ["one"])))
    await model.refresh()
    test.origin.answer(NewsModel.url, with: try .json(News(headlines: ["two"])))
    await model.refresh()
    test.origin.answer(NewsModel.url, with: .failure(.refused))
    _ = try await test.clock.passing(longest: .seconds(60)) { await model.refresh() }
    #expect(model.headlines == ["two"])
    #expect(model.states == ["new", "stored", "changed", "stored", "refused, stale"])
    await test.close()
  }

  @Test @MainActor func `an answer that is no news is a failure, and the news stay`() async throws {
    let test = try TestService()
    let model = NewsModel(test.service)
    test.origin.answer(NewsModel.url, with: try .json(News(headlines: ["one"])))
    await model.refresh()
    test.origin.answer(NewsModel.url, with: .text("<html>", fields: ["Content-Type": "text/html"]))
    await model.refresh()
    #expect(model.headlines == ["one"])
    #expect(model.states == ["new", "stored", "undecodable, stale"])
    await test.close()
  }
}
