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

  @Test func `an origin that does not answer is given up when its time is over, at once`() async throws {
    let test = try TestService()
    test.origin.answer(NewsModel.url, with: .never)
    var request = DataService.Request(try #require(URL(string: NewsModel.url)))
    request.limits.retries = 0
    request.limits.firstByteTimeout = .seconds(77)
    let service = test.service
    async let deliveries = service.deliveries(for: request).reduce(into: []) { $0.append($1) }
    await test.clock.whenPending(for: .seconds(77))
    test.clock.advance(by: .seconds(77))
    guard case .failure(let error, nil) = try #require(await deliveries.first) else {
      throw DataServiceError(.other, "there was an answer")
    }
    #expect(error.kind == .timeout(.firstByte))
    await test.close()
  }

  @Test func `an answer comes when the clock says so`() async throws {
    let test = try TestService()
    test.origin.answer(NewsModel.url, with: .text("late").after(.seconds(9)))
    let request = DataService.Request(try #require(URL(string: NewsModel.url)))
    let service = test.service
    async let response = service.response(for: request)
    await test.clock.whenPending(for: .seconds(9))
    test.clock.advance(by: .seconds(9))
    #expect(try await response.value == Data("late".utf8))
    await test.close()
  }

  @Test func `an entity tag that the program has is answered with 304`() async throws {
    let test = try TestService()
    let request = DataService.Request(try #require(URL(string: NewsModel.url)))
    test.origin.answer(NewsModel.url, with: .text("one", fields: ["ETag": "\"1\""]))
    _ = try await test.service.response(for: request)
    let second = try await test.service.response(for: request)
    #expect(second.wasValidated && second.value == Data("one".utf8))
    test.origin.answer(NewsModel.url, with: .text("two", fields: ["ETag": "\"2\""]))
    #expect(try await test.service.response(for: request).value == Data("two".utf8))
    #expect(test.origin.requests.map { $0.fields["If-None-Match"] } == [nil, "\"1\"", "\"1\""])
    await test.close()
  }

  @Test func `a URL for which nothing is set is named`() async throws {
    let test = try TestService()
    let request = DataService.Request(try #require(URL(string: "https://api.example.com/other")))
    await #expect { _ = try await test.service.response(for: request) } throws: { error in
      (error as? DataServiceError)?.message.contains("https://api.example.com/other") == true
    }
    await test.close()
  }

  @Test func `the store lies in a folder of its own, which goes with the service`() async throws {
    let one = try TestService()
    let other = try TestService()
    #expect(one.folder != other.folder)
    for test in [one, other] {
      test.origin.answer(NewsModel.url, with: .text("a"))
      _ = try await test.service.response(
        for: DataService.Request(try #require(URL(string: NewsModel.url))))
      #expect(try await test.service.entries().count == 1)
      #expect(FileManager.default.fileExists(atPath: test.folder))
      await test.close()
      #expect(!FileManager.default.fileExists(atPath: test.folder))
    }
  }

  @Test func `the clock says how old a response is`() async throws {
    let clock = VirtualClock(at: Date(timeIntervalSince1970: 1_000_000_000))
    let test = try TestService(clock: clock)
    test.origin.answer(NewsModel.url, with: .text("a", fields: ["Cache-Control": "max-age=60"]))
    let request = DataService.Request(try #require(URL(string: NewsModel.url)))
    #expect(try await test.service.response(for: request).receivedAt == clock.now)
    clock.advance(by: .seconds(59))
    let young = try await test.service.response(for: request, policy: .storedOnly)
    #expect(young.age == .seconds(59) && !young.isStale)
    clock.set(Date(timeIntervalSince1970: 1_000_000_060))
    #expect(try await test.service.response(for: request, policy: .storedOnly).isStale)
    await test.close()
  }
}
