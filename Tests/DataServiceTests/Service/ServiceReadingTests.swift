import CacheStore
import DataServiceTesting
import PlatformFoundation
import TestSupport
import Testing
import TestTurns

@testable import DataService

@Suite("What is read without a load", .inTurn) struct ServiceReadingTests {
  private let url: URL
  init() throws { url = try #require(URL(string: "http://origin.test/item")) }

  private func look(
    _ fixture: ServiceFixture, _ change: (inout DataService.Request) -> Void = { _ in }
  ) -> DataService.Response<Data>? {
    var request = DataService.Request(url)
    change(&request)
    return fixture.service.storedResponse(for: request)
  }

  @Test func `a body of 4 MiB is there at once, one byte more is not, and the answer to HEAD needs none`()
    async throws
  {
    let most = 4 << 20
    let bodies = [String(repeating: "l", count: most), String(repeating: "l", count: most + 1)]
    let transport = ScriptedTransport { _, number in .answer(bodies[number - 1], ["X-Note": "a"]) }
    let fixture = try ServiceFixture(transport: transport)
    _ = await fixture.deliveries(url)
    let whole = look(fixture)
    #expect(whole?.text == bodies[0])
    _ = await fixture.deliveries(url)
    let longer = look(fixture)
    #expect(longer == nil)
    let headed = try #require(look(fixture) { $0.method = .head })
    #expect(headed.value.isEmpty && headed.fields["X-Note"] == "a")
    await fixture.service.close()
  }

  @Test func `a long body of which a chunk is damaged is not there at once`() async throws {
    let body = String(repeating: "long ", count: 10_000)
    let fixture = try ServiceFixture(transport: ScriptedTransport { _, _ in .answer(body) }) {
      $0.store.chunkBytes = 16_384
    }
    _ = await fixture.deliveries(url)
    let whole = look(fixture)
    #expect(whole?.text == body)
    try fixture.store.execute("UPDATE chunk SET bytes = zeroblob(length(bytes)) WHERE id & 0xFFFFF = 2")
    let damaged = look(fixture)
    #expect(damaged == nil)
    await fixture.service.close()
  }

  @Test func `a short body is there for GET, and is none of HEAD's`() async throws {
    let fixture = try ServiceFixture(transport: ScriptedTransport { _, _ in .answer("body") })
    _ = await fixture.deliveries(url)
    let whole = look(fixture)
    #expect(whole?.text == "body")
    let headed = try #require(look(fixture) { $0.method = .head })
    #expect(headed.value.isEmpty)
    await fixture.service.close()
  }

  @Test func `a stored response of a status that the request does not accept is not there`() async throws {
    let fixture = try ServiceFixture(transport: ScriptedTransport { _, _ in .answer("body", status: 203) })
    _ = await fixture.deliveries(url)
    let any = look(fixture)
    #expect(any?.text == "body")
    let strict = look(fixture) { $0.acceptedStatuses = 200...200 }
    #expect(strict == nil)
    await fixture.service.close()
  }

  @Test func `a sign-out that the store cannot do is told of`() async throws {
    let fixture = try ServiceFixture(transport: ScriptedTransport { _, _ in .answer("body") })
    try FileManager.default.createDirectory(atPath: fixture.store.path, withIntermediateDirectories: true)
    await #expect {
      try await fixture.service.signOut(.named("alice"))
    } throws: { ($0 as? DataServiceError)?.kind == .store }
    await fixture.service.close()
  }
}
