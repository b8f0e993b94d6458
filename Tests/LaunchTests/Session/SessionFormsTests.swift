import DataService
import DataServiceTesting
import FixtureServer
import Launch
import PlatformFoundation
import TestSupport
import TestTurns
import Testing

@Suite("The forms of a load in an account's name", .inTurn) struct SessionFormsTests {
  private struct Feed: Codable, Sendable, Equatable { var edition: Int }

  private let url = URL(string: "http://origin.test/feed")

  private func request() throws -> DataService.Request {
    var request = DataService.Request(try #require(url))
    request.limits.retries = 0
    return request
  }

  /// The origin renews what it refuses, and numbers its editions.
  private func session(on fixture: ServiceFixture) async -> Session {
    var configuration = Session.Configuration()
    configuration.renew = { _ in SessionTests.new }
    let session = Session(
      service: fixture.service, credentials: MemoryCredentials(SessionTests.old), configuration: configuration
    )
    await session.start()
    return session
  }

  private func fixture() throws -> ServiceFixture {
    try .scripted { request, number in
      request.fields["Authorization"] == "Bearer new"
        ? .answer(#"{"edition":\#(number)}"#) : .answer("who are you?", status: 401)
    }
  }

  @Test func `a sequence, one response and a look, raw and decoded, with the token and a renewed one`()
    async throws
  {
    let fixture = try fixture()
    let session = await session(on: fixture)
    var editions: [Int?] = []
    for await delivery in session.deliveries(for: try request(), as: Feed.self) {
      editions.append(delivery.value?.edition)
    }
    for await delivery in session.deliveries(for: try request(), decode: { $0.text.count }) {
      editions.append(delivery.value)
    }
    editions.append(try await session.response(for: try request(), as: Feed.self).value.edition)
    editions.append(try await session.response(for: try request(), decode: { $0.text.count }).value)
    #expect(editions == [2, 13, 13, 4, 13])
    #expect(try await session.response(for: try request(), policy: .storedOnly).text == #"{"edition":5}"#)
    #expect(look(try request(), in: session) == [5, 5])
    #expect(
      fixture.requests.map { $0.fields["Authorization"] } == ["Bearer old"]
        + .init(repeating: "Bearer new", count: 4))
    try await session.signOut()
    #expect(look(try request(), in: session) == [nil, nil])
    await #expect { try await session.response(for: try request()) } throws: {
      ($0 as? DataServiceError)?.kind == .signedOut
    }
    await fixture.service.close()
  }

  private func look(_ request: DataService.Request, in session: Session) -> [Int?] {
    [
      session.storedResponse(for: request).flatMap {
        try? JSONDecoder().decode(Feed.self, from: $0.value).edition
      },
      session.storedResponse(for: request, as: Feed.self)?.value.edition,
    ]
  }

  @Test func `a sequence that is left, and a task that is cancelled, cancel the load`() async throws {
    let (isAsked, isLeft) = (Gate(), Gate())
    let fixture = try ServiceFixture.scripted { request, _ async throws(DataServiceError) in
      await withTaskCancellationHandler {
        isAsked.open()
        await isLeft.wait()
      } onCancel: {
        isLeft.open()
      }
      throw DataServiceError(.cancelled, "cancelled")
    }
    let session = await session(on: fixture)
    let asked = try request()
    let task = Task { try await session.response(for: asked) }
    await isAsked.wait()
    task.cancel()
    await isLeft.wait()
    let result = await task.result
    #expect { try result.get() } throws: { ($0 as? DataServiceError)?.isCancelled == true }
    await fixture.service.close()
  }

  @Test func `the service itself has its own forms where both are seen`() async throws {
    let fixture = try ServiceFixture.scripted { _, _ in .answer("body") }
    let source: any DeliverySource = fixture.service
    #expect(try await source.response(for: try request()).text == "body")
    #expect(try await fixture.service.response(for: try request()).text == "body")
    await fixture.service.close()
  }
}
