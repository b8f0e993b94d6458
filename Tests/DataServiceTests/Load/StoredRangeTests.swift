import CacheStore
import DataService
import FixtureServer
import PlatformFoundation
import TestSupport
import Testing
import TestTurns

/// Under `http` a stored response answers a range (RFC 9111 section 3.2); a long body is read chunk by chunk for it.
@Suite("Ranges of a stored body of many chunks", .inTurn) struct StoredRangeTests {
  private static let chunk = 16_384
  private static let content = distinctBytes(5 * chunk + 123)

  struct Case: Sendable, CustomTestStringConvertible {
    let range: String
    let part: Range<Int>
    var testDescription: String { range }

    init(_ range: String, _ part: Range<Int>) {
      self.range = "bytes=\(range)"
      self.part = part
    }
  }

  static let cases: [Case] = {
    let end = content.count
    return [
      Case("0-0", 0..<1), Case("2-4", 2..<5), Case("20000-20000", 20_000..<20_001),
      Case("40000-40099", 40_000..<40_100),
      // At a border, before it, behind it, over it, and over several.
      Case("16383-16384", chunk - 1..<chunk + 1), Case("16383-16383", chunk - 1..<chunk),
      Case("16384-16384", chunk..<chunk + 1), Case("16384-32767", chunk..<2 * chunk),
      Case("0-16383", 0..<chunk), Case("0-16384", 0..<chunk + 1), Case("16000-50000", 16_000..<50_001),
      // To the end.
      Case("32768-", 2 * chunk..<end), Case("70000-9999999", 70_000..<end), Case("-1", end - 1..<end),
      Case("-123", end - 123..<end), Case("-124", end - 124..<end), Case("-40000", end - 40_000..<end),
      Case("0-", 0..<end), Case("1-", 1..<end), Case("-9999999", 0..<end),
    ]
  }()

  /// An origin that answers with the whole, and 304 to its validator; and a service that has stored it.
  private func filled(_ control: String) async throws -> (FixtureServer, ServiceFixture, URL) {
    let origin = try FixtureServer { request, connection in
      let fields: KeyValuePairs = ["ETag": "\"1\"", "Cache-Control": control]
      if request["If-None-Match"] == "\"1\"" { return try connection.send(.notModified(fields)) }
      try connection.send(.ok(Self.content, fields))
    }
    let fixture = try ServiceFixture { $0.store.chunkBytes = Self.chunk }
    let url = origin.url("/long")
    #expect(try await fixture.streamed(url, policy: .freshOnly).kept == .yes)
    origin.forgetRequests()
    return (origin, fixture, url)
  }

  private func request(_ url: URL, _ range: String) -> DataService.Request {
    var request = DataService.Request(url)
    request.fields = ["Range": range]
    request.limits = .unhurried
    request.limits.retries = 0
    return request
  }

  private func check(_ head: DataService.ResponseHead, _ bytes: [UInt8], _ testCase: Case) {
    let part = testCase.part
    #expect(bytes == Array(Self.content[part]), "\(bytes.count) bytes for \(part.count)")
    #expect(head.status == 206 && head.fields["Content-Length"] == "\(part.count)")
    #expect(
      head.fields["Content-Range"]
        == "bytes \(part.lowerBound)-\(part.upperBound - 1)/\(Self.content.count)")
  }

  @Test("what is stored is served in part, as a stream and as a whole, without a request", arguments: cases)
  func stored(testCase: Case) async throws {
    let (origin, fixture, url) = try await filled("max-age=600")
    let request = request(url, testCase.range)
    var kinds: [String] = []
    for await delivery in fixture.service.streams(for: request, policy: .http) {
      kinds.append(delivery.isStored ? "stored" : "another")
      guard case .stored(let response) = delivery else { continue }
      #expect(response.value.length == Int64(testCase.part.count))
      check(response.head, try await response.value.all(), testCase)
    }
    for await delivery in fixture.service.deliveries(for: request, policy: .http) {
      kinds.append(delivery.kind)
      let response = try #require(delivery.stored)
      check(response.head, [UInt8](response.value), testCase)
    }
    #expect(kinds == ["stored", "stored"])
    #expect(origin.requests().isEmpty)
    await fixture.service.close()
  }

  @Test("what a 304 has confirmed is served in part", arguments: cases)
  func validated(testCase: Case) async throws {
    let (origin, fixture, url) = try await filled("max-age=0")
    let request = request(url, testCase.range)
    var count = 0
    for await delivery in fixture.service.streams(for: request, policy: .http) {
      guard case .fresh(let response, _) = delivery else {
        Issue.record("not fresh")
        continue
      }
      count += 1
      check(response.head, try await response.value.all(), testCase)
    }
    for await delivery in fixture.service.deliveries(for: request, policy: .http) {
      let response = try #require(delivery.fresh)
      count += 1
      check(response.head, [UInt8](response.value), testCase)
    }
    #expect(count == 2)
    #expect(origin.requests().map { $0["If-None-Match"] } == ["\"1\"", "\"1\""])
    await fixture.service.close()
  }

  @Test func `a range behind the end of a long body has none of it`() async throws {
    let (origin, fixture, url) = try await filled("max-age=600")
    let deliveries = await fixture.deliveries(url, policy: .http) {
      $0.fields = ["Range": "bytes=\(Self.content.count)-"]
    }
    let response = try #require(deliveries.last?.stored)
    #expect(response.status == 416 && response.value.isEmpty)
    #expect(response.head.fields["Content-Range"] == "bytes */\(Self.content.count)")
    #expect(origin.requests().isEmpty)
    await fixture.service.close()
  }

  @Test func `a part of a long body whose later chunk is damaged ends with corrupt, and no byte of it`()
    async throws
  {
    let (_, fixture, url) = try await filled("max-age=600")
    try fixture.store.execute(
      "UPDATE chunk SET bytes = CAST(x'00' || substr(bytes, 2) AS BLOB) WHERE id % 1048576 = 2")
    var received = 0
    var thrown: DataServiceError.Kind?
    for await delivery in fixture.service.streams(for: request(url, "bytes=100-60000"), policy: .http) {
      guard case .stored(let response) = delivery else { continue }
      do {
        for try await piece in response.value { received += piece.count }
      } catch {
        thrown = error.kind
      }
    }
    #expect(received == 2 * Self.chunk - 100)
    #expect(thrown == .corrupt)
    await fixture.service.close()
  }
}

extension DataService.Delivery {
  fileprivate var isStored: Bool { if case .stored = self { true } else { false } }
}
