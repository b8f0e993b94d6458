import CacheStore
import DataService
import DataServiceTesting
import PlatformFoundation
import Synchronization
import TestSupport
import Testing
import TestTurns

/// A download that was cut off goes on only with the bytes of whoever began it.
@Suite("Resuming: whose bytes", .inTurn) struct ResumptionTests: CutOffDownload {
  /// Two requests that are answered by two servers.
  struct Pair: Sendable, CustomTestStringConvertible {
    let testDescription: String
    let first: @Sendable (inout DataService.Request) -> Void
    let second: @Sendable (inout DataService.Request) -> Void
    /// Whether the first request may be resumed at all.
    var isResumable = true
  }

  static let pairs: [Pair] = [
    Pair(testDescription: "a unix socket", first: { $0.connection.unixSocket = "/evil" }, second: { _ in }),
    Pair(
      testDescription: "--resolve",
      first: { $0.connection.resolutions = [.init(host: "a.test", port: 80, address: "127.0.0.9")] },
      second: { _ in }),
    Pair(testDescription: "a proxy", first: { $0.connection.proxy = "http://evil:1" }, second: { _ in }),
    Pair(
      testDescription: "a proxy of another", first: { $0.connection.proxy = "http://evil:1" },
      second: { $0.connection.proxy = "http://good:1" }),
    Pair(testDescription: "another Host", first: { $0.fields = ["Host": "evil.test"] }, second: { _ in }),
    Pair(
      testDescription: "another URL under one key",
      first: {
        $0.key = "k"
        $0.url = $0.url.appending(path: "evil")
      }, second: { $0.key = "k" }),
    Pair(
      testDescription: "a POST that reads, and a GET",
      first: {
        $0.method = .post
        $0.isRead = true
        $0.body = Data("x".utf8)
      }, second: { _ in }, isResumable: false),
    Pair(
      testDescription: "a POST and a GET under one key",
      first: {
        $0.method = .post
        $0.isRead = true
        $0.key = "k"
      }, second: { $0.key = "k" }, isResumable: false),
    Pair(
      testDescription: "an unverified connection", first: { $0.connection.isInsecure = true },
      second: { _ in }, isResumable: false),
    Pair(
      testDescription: "other authorities",
      first: { $0.connection.certificateAuthorityFile = "/etc/passwd" }, second: { _ in }),
    Pair(
      testDescription: "a client certificate", first: { $0.connection.clientCertificateFile = "/etc/passwd" },
      second: { _ in }),
    Pair(
      testDescription: "another's credentials", first: { $0.fields = ["Authorization": "Bearer evil"] },
      second: { $0.fields = ["Authorization": "Bearer good"] }),
    Pair(
      testDescription: "another account", first: { $0.account = .named("evil") },
      second: { $0.account = .named("good") }),
    Pair(testDescription: "--no-location", first: { $0.limits.redirects = 0 }, second: { _ in }),
    Pair(
      testDescription: "another variant", first: { $0.fields = ["Accept-Language": "evil"] },
      second: { $0.fields = ["Accept-Language": "good"] }),
  ]

  /// Cuts the first answer off, and sends the whole or the rest to those after it; the tag is always the same.
  private static func pairScript(_ isEvil: @escaping @Sendable (Int) -> Bool) -> ScriptedTransport.Script {
    { request, number throws(DataServiceError) in
      let bytes = isEvil(number) ? other : content
      var fields: HTTPFields = ["ETag": "\"v\"", "Vary": "Accept-Language"]
      guard let start = ResumedReply.start(of: request) else {
        return ResumedReply.whole(bytes, fields, cutAt: number == 1 ? cut : nil)
      }
      fields.append("Content-Range", "bytes \(start)-\(bytes.count - 1)/\(bytes.count)")
      return ResumedReply.part(Array(bytes[start...]), fields)
    }
  }

  @Test(
    "A resumed body with the bytes that are stored is unchanged, and with one other byte, in either part, changed",
    arguments: [nil, 0, 4_999, 5_000, 8_999])
  func comparedWithStored(place: Int?) async throws {
    var second = Self.content
    if let place { second[place] ^= 1 }
    let (next, cut) = (second, Self.cut)
    let (fixture, transport) = try Self.fixture { request, number in
      switch number {
      case 1: return ResumedReply.whole(Self.content, ["ETag": "\"1\""])
      case 2: return ResumedReply.whole(next, ["ETag": "\"2\""], cutAt: cut)
      default:
        guard let start = ResumedReply.start(of: request) else { return .answer("no range", status: 500) }
        let range = "bytes \(start)-\(next.count - 1)/\(next.count)"
        return ResumedReply.part(Array(next[start...]), ["ETag": "\"2\"", "Content-Range": range])
      }
    }
    let request = try Self.request()
    #expect(try await Self.load(fixture, request).get() == Self.content)
    #expect(Self.kind(await Self.load(fixture, request)) == .truncated)
    var changes: [DataService.Change] = []
    for await delivery in fixture.service.deliveries(for: request, policy: .freshOnly) {
      if case .fresh(let response, let change) = delivery {
        changes.append(change)
        #expect(Array(response.value) == next)
      }
    }
    #expect(changes == [place == nil ? .unchanged : .changed])
    #expect(transport.requests.last?.fields.contains("Range") == true)
    #expect(try await Self.load(fixture, request, .storedOnly).get() == next)
    await fixture.service.close()
  }

  @Test("no other request goes on with it", arguments: pairs) func whoseBytes(pair: Pair) async throws {
    let (fixture, transport) = try Self.fixture(Self.pairScript { $0 == 1 })
    let first = try Self.request(pair.first)
    let second = try Self.request(pair.second)
    #expect(Self.kind(await Self.load(fixture, first)) == .truncated)
    #expect(try await Self.load(fixture, second).get() == Self.content)
    #expect(transport.requests.count == 2 && transport.requests[1].fields["Range"] == nil)
    #expect(try await Self.load(fixture, second, .storedOnly).get() == Self.content)
    await fixture.service.close()
  }

  @Test("the same request does, where it may", arguments: pairs) func same(pair: Pair) async throws {
    let (fixture, transport) = try Self.fixture(Self.pairScript { _ in false })
    let request = try Self.request(pair.first)
    #expect(Self.kind(await Self.load(fixture, request)) == .truncated)
    #expect(try await Self.load(fixture, request).get() == Self.content)
    #expect(transport.requests.count == 2)
    #expect(transport.requests[1].fields["Range"] == (pair.isResumable ? "bytes=\(Self.cut)-" : nil))
    let resuming = "resuming a download that was cut off after 5000 bytes"
    #expect(fixture.hasTraced(resuming) == pair.isResumable)
    #expect(try await Self.load(fixture, request, .storedOnly).get() == Self.content)
    await fixture.service.close()
  }

  @Test(
    "what came after a redirect is not resumed",
    arguments: ["http://portal.test/", "http://a.test/login", url])
  func portal(target: String) async throws {
    let (fixture, transport) = try Self.fixture { request, number throws(DataServiceError) in
      if number == 1 { return .answer("", status: 302, ["Location": target]) }
      return ResumedReply.whole(
        number == 2 ? Self.other : Self.content, ["ETag": "\"v\""], cutAt: number == 2 ? Self.cut : nil)
    }
    let request = try Self.request()
    #expect(Self.kind(await Self.load(fixture, request)) == .truncated)
    #expect(try await Self.load(fixture, request).get() == Self.content)
    #expect(transport.requests.allSatisfy { $0.fields["Range"] == nil })
    #expect(try fixture.store.value("SELECT count(*) FROM body WHERE partial_target IS NOT NULL") == 0)
    await fixture.service.close()
  }

  @Test func `the next attempt of the same load goes on where the first was cut off`() async throws {
    let clock = VirtualClock()
    let transport = ScriptedTransport { request, number throws(DataServiceError) in
      if number == 1 { return .answer("other") }
      guard let start = ResumedReply.start(of: request) else {
        return ResumedReply.whole(Self.content, ["ETag": "\"v\""], cutAt: number == 2 ? Self.cut : nil)
      }
      return ResumedReply.part(
        Array(Self.content[start...]),
        ["ETag": "\"v\"", "Content-Range": "bytes \(start)-\(Self.content.count - 1)/\(Self.content.count)"])
    }
    let fixture = try ServiceFixture(transport: transport, timekeeper: clock) {
      $0.store.chunkBytes = Self.chunk
    }
    // With the store made, the load knows before it asks that nothing was cut off.
    _ = await fixture.outline(try #require(URL(string: "http://a.test/other")))
    let request = try Self.request { $0.limits.retries = 1 }
    let (loaded, _) = try await clock.passing { try await Self.load(fixture, request).get() }
    #expect(loaded == Self.content)
    #expect(transport.requests.map { $0.fields["Range"] } == [nil, nil, "bytes=\(Self.cut)-"])
    await fixture.service.close()
  }

  @Test func `of what has no byte yet nothing is left to ask for`() async throws {
    let (fixture, transport) = try Self.fixture { _, number throws(DataServiceError) in
      ResumedReply.whole(Self.content, ["ETag": "\"v\""], cutAt: number == 1 ? Self.cut : nil)
    }
    let request = try Self.request()
    #expect(Self.kind(await Self.load(fixture, request)) == .truncated)
    // As a process leaves it that is killed before its first chunk.
    try fixture.store.execute("DELETE FROM chunk")
    #expect(try await Self.load(fixture, request).get() == Self.content)
    #expect(transport.requests.map { $0.fields["Range"] } == [nil, nil])
    #expect(!fixture.hasTraced("resuming a download"))
    await fixture.service.close()
  }

  @Test func `where a redirect takes the place of the rest, its target is asked for the whole`() async throws
  {
    let (fixture, transport) = try Self.fixture { request, number throws(DataServiceError) in
      switch number {
      case 1: return ResumedReply.whole(Self.other, ["ETag": "\"v\""], cutAt: Self.cut)
      case 2: return .answer("", status: 301, ["Location": "http://b.test/big"])
      default: return ResumedReply.whole(Self.content, ["ETag": "\"v\""])
      }
    }
    let request = try Self.request()
    #expect(Self.kind(await Self.load(fixture, request)) == .truncated)
    #expect(try await Self.load(fixture, request).get() == Self.content)
    #expect(transport.requests.map { $0.fields["Range"] } == [nil, "bytes=\(Self.cut)-", nil])
    #expect(try await Self.load(fixture, request, .storedOnly).get() == Self.content)
    await fixture.service.close()
  }

  @Test func `a rest that reads like the beginning of what is stored is a change all the same`() async throws
  {
    let content = Array(Self.content.prefix(Self.cut)) + Self.other.prefix(Self.other.count - Self.cut)
    let (fixture, _) = try Self.fixture { request, number throws(DataServiceError) in
      if number == 1 { return ResumedReply.whole(Self.other, ["ETag": "\"u\""]) }
      guard let start = ResumedReply.start(of: request) else {
        return ResumedReply.whole(content, ["ETag": "\"v\""], cutAt: Self.cut)
      }
      return ResumedReply.part(
        Array(content[start...]),
        ["ETag": "\"v\"", "Content-Range": "bytes \(start)-\(content.count - 1)/\(content.count)"])
    }
    let request = try Self.request()
    #expect(try await Self.load(fixture, request).get() == Self.other)
    #expect(Self.kind(await Self.load(fixture, request)) == .truncated)
    var change: DataService.Change?
    for await delivery in fixture.service.deliveries(for: request, policy: .freshOnly) {
      guard case .fresh(let response, let found) = delivery else { continue }
      #expect(Array(response.value) == content)
      change = found
    }
    #expect(change == .changed)
    await fixture.service.close()
  }

  @Test(
    "without one strong tag, or coded, nothing is resumed",
    arguments: [
      [:], ["ETag": "W/\"v\""], ["ETag": "v"], ["ETag": "\"v\"", "etag": "\"w\""],
      ["ETag": "\"v\"", "Content-Encoding": "gzip"], ["ETag": "\"v\"", "Vary": "*"],
      ["ETag": "\"v\"", "Cache-Control": "max-age=5; no-store"],
    ] as [HTTPFields])
  func unresumable(fields: HTTPFields) async throws {
    let (fixture, transport) = try Self.fixture { request, number throws(DataServiceError) in
      ResumedReply.whole(Self.content, fields, cutAt: number == 1 ? Self.cut : nil)
    }
    let request = try Self.request()
    #expect(Self.kind(await Self.load(fixture, request)) == .truncated)
    #expect(try await Self.load(fixture, request).get() == Self.content)
    #expect(transport.requests.allSatisfy { $0.fields["Range"] == nil })
    await fixture.service.close()
  }

  @Test func `the row has the first part's fields, updated by the rest's`() async throws {
    let (fixture, _) = try Self.fixture { request, number throws(DataServiceError) in
      guard let start = ResumedReply.start(of: request) else {
        return ResumedReply.whole(
          Self.content, ["ETag": "\"v\"", "Content-Type": "a/b", "X-Old": "1", "Cache-Control": "max-age=1"],
          cutAt: Self.cut)
      }
      return ResumedReply.part(
        Array(Self.content[start...]),
        [
          "ETag": "\"v\"", "Cache-Control": "max-age=9", "Set-Cookie": "a=b",
          "Content-Range": "bytes \(start)-\(Self.content.count - 1)/\(Self.content.count)",
        ])
    }
    let request = try Self.request()
    _ = await Self.load(fixture, request)
    var fresh = 0
    for await delivery in fixture.service.deliveries(for: request, policy: .storedThenFresh) {
      let response = try #require(delivery.fresh, "\(delivery.kind)")
      fresh += 1
      #expect(response.fields["Content-Type"] == "a/b" && response.fields["X-Old"] == "1")
      #expect(response.fields.values(of: "Cache-Control") == ["max-age=9"])
      #expect(response.fields["Set-Cookie"] == "a=b", "delivered, though not stored")
      #expect(response.fields["Content-Range"] == nil && response.status == 200)
      #expect(response.fields["Content-Length"] == "\(Self.content.count)")
    }
    #expect(fresh == 1)
    let entry = try #require(try await fixture.service.entries().first)
    #expect(entry.response.fields["Content-Type"] == "a/b" && entry.response.fields["Set-Cookie"] == nil)
    #expect(try fixture.store.value("SELECT count(*) FROM partial") == 0)
    await fixture.service.close()
  }
}
