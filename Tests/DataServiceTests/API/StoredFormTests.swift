import CacheStore
import DataService
import DataServiceTesting
import FixtureServer
import PlatformFoundation
import Synchronization
import TestSupport
import Testing
import TestTurns

/// What a stored response becomes where the caller wants it whole, or as a value of its own.
@Suite("A stored response in the form that is wanted", .inTurn) struct StoredFormTests {
  private struct Item: Decodable, Sendable, Equatable { var name: String }

  private static let chunk = 16_384
  private static let url = "http://origin.test/item"

  /// Every delivery of a load for items, in short.
  private func items(_ fixture: ServiceFixture, _ policy: FetchPolicy = .storedThenFresh) async throws
    -> [String]
  {
    var request = DataService.Request(try #require(URL(string: Self.url)))
    request.limits.retries = 0
    var seen: [String] = []
    for await delivery in fixture.service.deliveries(for: request, as: Item.self, policy: policy) {
      switch delivery {
      case .stored(let response): seen.append("stored \(response.value.name)")
      case .fresh(let response, let change): seen.append("fresh \(response.value.name) \(change.rawValue)")
      case .failure(let error, let last): seen.append("\(error.kind.name) \(last?.value.name ?? "-")")
      }
    }
    return seen
  }

  @Test(
    "a body of many chunks is handed over as Data, byte for byte",
    arguments: [chunk + 1, 2 * chunk, 5 * chunk + 77])
  func long(count: Int) async throws {
    let content = distinctBytes(count)
    let origin = try FixtureServer(routes: ["/long": .ok(content)])
    let fixture = try ServiceFixture { $0.store.chunkBytes = Self.chunk }
    let fresh = await fixture.deliveries(origin.url("/long"))
    #expect([UInt8](try #require(fresh.last?.fresh).value) == content)
    let again = await fixture.deliveries(origin.url("/long"))
    #expect(again.map(\.kind) == ["stored", "fresh"])
    #expect([UInt8](try #require(again.first?.stored).value) == content)
    #expect([UInt8](try #require(again.last?.fresh).value) == content)
    #expect(fixture.warnings.isEmpty)
    await fixture.service.close()
  }

  @Test
  func `a long stored body that is more than may be handed over as Data is told of, and the fresh one comes`()
    async throws
  {
    let fixture = try ServiceFixture.make(
      chunkBytes: Self.chunk, bodies: [String(repeating: "long ", count: 10_000), "short"])
    let url = try #require(URL(string: Self.url))
    _ = try await fixture.streamed(url, policy: .freshOnly)
    let small = { (request: inout DataService.Request) in request.limits.dataBytes = 1_000 }
    #expect(await fixture.outline(url, policy: .storedOnly, configure: small) == ["failure(tooLarge)"])
    #expect(await fixture.outline(url, configure: small) == ["fresh(short, changed)"])
    #expect(fixture.warnings.map(\.kind) == [.tooLarge, .tooLarge])
    await fixture.service.close()
  }

  @Test func `a long stored body with a damaged chunk is told of, and the fresh one comes`() async throws {
    let fixture = try ServiceFixture.make(
      chunkBytes: Self.chunk, bodies: [String(repeating: "long ", count: 10_000), "fresh"])
    let url = try #require(URL(string: Self.url))
    _ = try await fixture.streamed(url, policy: .freshOnly)
    try fixture.store.execute(
      "UPDATE chunk SET bytes = CAST(x'00' || substr(bytes, 2) AS BLOB) WHERE id % 1048576 = 2")
    #expect(await fixture.outline(url) == ["fresh(fresh, changed)"])
    #expect(fixture.warnings.map(\.kind) == [.corrupt])
    #expect(await fixture.outline(url, policy: .storedOnly) == ["stored(fresh)"])
    await fixture.service.close()
  }

  @Test("law 10: a body with a damaged chunk, or without one, is asked for again", arguments: [false, true])
  func confirmed(isMissing: Bool) async throws {
    let body = String(repeating: "long ", count: 10_000)
    let transport = ScriptedTransport { request, _ in
      let tag: HTTPFields = ["ETag": "\"1\""]
      return request.fields["If-None-Match"] == nil ? .answer(body, tag) : .answer("", status: 304, tag)
    }
    let fixture = try ServiceFixture(transport: transport) { $0.store.chunkBytes = Self.chunk }
    let url = try #require(URL(string: Self.url))
    _ = try await fixture.streamed(url, policy: .freshOnly)
    try fixture.store.execute(
      isMissing
        ? "DELETE FROM chunk WHERE id % 1048576 = 2"
        : "UPDATE chunk SET bytes = CAST(x'00' || substr(bytes, 2) AS BLOB) WHERE id % 1048576 = 2")
    // A 304 would confirm what cannot be read.
    #expect(await fixture.outline(url, policy: .storedOnly) == ["failure(corrupt)"])
    await fixture.service.store.performMaintenance(budget: .zero)
    #expect(await fixture.outline(url) == ["fresh(\(body), new)"])
    #expect(transport.requests.map { $0.fields["If-None-Match"] } == [nil, nil])
    #expect(await fixture.outline(url, policy: .storedOnly) == ["stored(\(body))"])
    await fixture.service.close()
  }

  @Test(
    "a stored response that does not decode any more is told of, stays, and is replaced by a fresh one that does",
    arguments: [10, 50_000])
  func undecodable(count: Int) async throws {
    let old = String(repeating: "<html>", count: count / 6 + 1)
    let fixture = try ServiceFixture.make(
      chunkBytes: Self.chunk, bodies: [old, #"{"name": 7}"#, #"{"name": "new"}"#])
    let url = try #require(URL(string: Self.url))
    _ = try await fixture.streamed(url, policy: .freshOnly)
    #expect(try await items(fixture, .storedOnly) == ["undecodable -"])
    #expect(fixture.warnings.map(\.kind) == [.undecodable])
    #expect(
      fixture.warnings.first?.message == "the stored response of origin.test does not decode any more")
    #expect(fixture.warnings.first?.hint == "a fresh response that does replaces it")
    // Neither does the fresh one: nothing replaces what is stored.
    #expect(try await items(fixture) == ["undecodable -"])
    #expect(fixture.warnings.count == 2)
    #expect(await fixture.outline(url, policy: .storedOnly) == ["stored(\(old))"])
    #expect(try await items(fixture) == ["fresh new changed"])
    #expect(try await items(fixture) == ["stored new", "refused new"])
    #expect(fixture.warnings.count == 3)
    await fixture.service.close()
  }
}
