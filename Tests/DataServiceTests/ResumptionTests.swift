import CacheStore
import DataService
import FoundationEssentials
import Synchronization
import TestSupport
import Testing
import TestTurns

/// A download that was cut off goes on only with the bytes of whoever began it, and only if they are what was promised.
@Suite("Resuming: whose bytes, and how many", .inTurn) struct ResumptionTests {
  private static let chunk = 1_024
  private static let content = StreamedBody.bytes(9_000)
  private static let other = StreamedBody.bytes(9_000, seed: 9)
  private static let cut = 5_000
  private static let url = "http://a.test/big"

  private static func fixture(_ script: @escaping ScriptedTransport.Script) throws -> (
    ServiceFixture, ScriptedTransport
  ) {
    let transport = ScriptedTransport(script)
    let fixture = try ServiceFixture(transport: transport) {
      $0.store.chunkBytes = chunk
      // So that both halves of a load's life are on one clock.
      $0.timeouts = .endless
    }
    return (fixture, transport)
  }

  private static func request(_ change: (inout DataService.Request) -> Void = { _ in }) throws
    -> DataService.Request
  {
    var request = DataService.Request(try #require(URL(string: url)))
    request.limits.retries = 0
    change(&request)
    return request
  }

  /// The load's outcome: the body, or the failure's kind.
  private static func load(
    _ fixture: ServiceFixture, _ request: DataService.Request, _ policy: FetchPolicy = .freshOnly
  ) async -> Result<[UInt8], DataServiceError> {
    var result: Result<[UInt8], DataServiceError> = .failure(.init(.notStored, "nothing came"))
    for await delivery in fixture.service.deliveries(for: request, policy: policy) {
      switch delivery {
      case .stored(let response), .fresh(let response, _): result = .success(Array(response.value))
      case .failure(let error, _): result = .failure(error)
      }
    }
    return result
  }

  private static func kind(_ result: Result<[UInt8], DataServiceError>) -> DataServiceError.Kind? {
    if case .failure(let error) = result { return error.kind }
    return nil
  }

  // MARK: Whose bytes

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
    for await delivery in fixture.service.deliveries(for: request, policy: .storedThenFresh) {
      guard case .fresh(let response, _) = delivery else { continue }
      #expect(response.fields["Content-Type"] == "a/b" && response.fields["X-Old"] == "1")
      #expect(response.fields.values(of: "Cache-Control") == ["max-age=9"])
      #expect(response.fields["Set-Cookie"] == "a=b", "delivered, though not stored")
      #expect(response.fields["Content-Range"] == nil && response.status == 200)
      #expect(response.fields["Content-Length"] == "\(Self.content.count)")
    }
    let entry = try #require(try await fixture.service.entries().first)
    #expect(entry.response.fields["Content-Type"] == "a/b" && entry.response.fields["Set-Cookie"] == nil)
    #expect(try fixture.store.value("SELECT count(*) FROM partial") == 0)
    await fixture.service.close()
  }

  // MARK: How many

  /// An answer to the request for the rest.
  struct Lie: Sendable, CustomTestStringConvertible {
    let testDescription: String
    let reply: @Sendable (_ start: Int) -> TransportResponse
  }

  private static func lie(
    _ name: String, count: Int = 0, range: String? = nil, says: Bool = true, _ more: HTTPFields = [:],
    tag: String? = "\"v\""
  ) -> Lie {
    Lie(testDescription: name) { start in
      let whole = content.count
      // Bytes that are never the right ones.
      let bytes = StreamedBody.bytes(whole - start + count, seed: 77)
      var fields = more
      if let tag { fields.append("ETag", tag) }
      let range = range?.replacing("START", with: "\(start)") ?? "bytes \(start)-\(whole - 1)/\(whole)"
      if !range.isEmpty { fields.append("Content-Range", range) }
      return ResumedReply.part(bytes, fields, saysLength: says)
    }
  }

  static let lies: [Lie] = [
    lie("shorter", count: -1_000), lie("one byte short", count: -1), lie("longer", count: 1_000),
    lie("one byte more", count: 1), lie("a chunk less", count: -chunk), lie("a chunk more", count: chunk),
    lie("shorter, without a length", count: -1_000, says: false),
    lie("one byte short, without a length", count: -1, says: false),
    lie("longer, without a length", count: 1_000, says: false),
    lie("one byte more, without a length", count: 1, says: false),
    lie("nothing", count: -(content.count - cut)),
    lie("nothing, chunked", count: -(content.count - cut), says: false),
    lie("gzip", ["Content-Encoding": "gzip"]), lie("br", ["Content-Encoding": "br"]),
    lie("coded twice", ["Content-Encoding": "identity, gzip"]),
    lie("from the beginning", range: "bytes 0-8999/9000"), lie("too early", range: "bytes 4999-8999/9000"),
    lie("too late", range: "bytes 5001-8999/9000"), lie("not to the end", range: "bytes START-8998/9000"),
    lie("of a longer whole", range: "bytes START-8999/9001"),
    lie("of another whole", range: "bytes START-9999/10000"),
    lie("of an unknown whole", range: "bytes START-8999/*"),
    lie("past the end", range: "bytes START-9000/9000"),
    lie("backwards", range: "bytes 8999-START/9000"), lie("no range", range: ""),
    lie("unsatisfied", range: "bytes */9000"), lie("another unit", range: "items START-8999/9000"),
    lie("with signs", range: "bytes +START-+8999/+9000"),
    lie("with blanks", range: "bytes START - 8999/9000"),
    lie("two ranges", ["Content-Range": "bytes 0-1/9000"]),
    lie("another tag", tag: "\"w\""), lie("a weak tag", tag: "W/\"v\""), lie("no tag", tag: nil),
    lie("two tags", ["ETag": "\"w\""]),
    lie("another date", ["Last-Modified": "Sun, 06 Nov 1994 08:49:37 GMT"]),
    lie("another variant", ["Vary": "Accept-Language"]), lie("of no variant", ["Vary": "*"]),
    lie("several parts", ["Content-Type": "multipart/byteranges; boundary=x"]),
    lie("not to be stored", ["Cache-Control": "no-store"]),
    Lie(testDescription: "416") { _ in .answer("no", status: 416, ["Content-Range": "bytes */9000"]) },
    Lie(testDescription: "416 alone") { _ in .answer("no", status: 416) },
  ]

  @Test("a lie about the rest costs one more exchange, from zero", arguments: lies) func lied(lie: Lie)
    async throws
  {
    let (fixture, transport) = try Self.fixture { request, number throws(DataServiceError) in
      if let start = ResumedReply.start(of: request) { return lie.reply(start) }
      return ResumedReply.whole(
        Self.content, ["ETag": "\"v\"", "Last-Modified": "Mon, 07 Nov 1994 08:49:37 GMT"],
        cutAt: number == 1 ? Self.cut : nil)
    }
    let request = try Self.request()
    #expect(Self.kind(await Self.load(fixture, request)) == .truncated)
    #expect(try await Self.load(fixture, request).get() == Self.content)
    #expect(transport.requests.map { $0.fields["Range"] } == [nil, "bytes=\(Self.cut)-", nil])
    #expect(transport.requests[2].fields["If-Range"] == nil)
    #expect(try await Self.load(fixture, request, .storedOnly).get() == Self.content)
    await fixture.service.store.performMaintenance(budget: .seconds(60))
    #expect(
      try fixture.store.value("SELECT count(*) FROM body WHERE checksum IS NULL") == 0, "it is given up")
    await fixture.service.close()
  }

  @Test func `a lie beside a stored response leaves that as it is until the whole has come`() async throws {
    let isDown = Mutex(false)
    let (fixture, transport) = try Self.fixture { request, number throws(DataServiceError) in
      if ResumedReply.start(of: request) != nil {
        isDown.withLock { $0 = true }
        return Self.lies[0].reply(Self.cut)
      }
      if isDown.withLock({ $0 }) { throw DataServiceError(.refused, "down") }
      return number == 1
        ? ResumedReply.whole(Self.other, ["ETag": "\"u\""])
        : ResumedReply.whole(Self.content, ["ETag": "\"v\""], cutAt: Self.cut)
    }
    let request = try Self.request()
    #expect(try await Self.load(fixture, request).get() == Self.other)
    #expect(Self.kind(await Self.load(fixture, request)) == .truncated)
    #expect(Self.kind(await Self.load(fixture, request)) == .refused)
    #expect(transport.requests.count == 4 && transport.requests[3].fields["If-None-Match"] == nil)
    #expect(try await Self.load(fixture, request, .storedOnly).get() == Self.other)
    await fixture.service.close()
  }

  @Test(
    "an honest rest is taken, coded as nothing too, and in as many cuts as there are", arguments: [1, 3, 9])
  func honest(cuts: Int) async throws {
    let (fixture, transport) = try Self.fixture { request, number throws(DataServiceError) in
      let start = ResumedReply.start(of: request) ?? 0
      let end = number > cuts ? nil : Self.content.count * number / (cuts + 1)
      guard start > 0 else { return ResumedReply.whole(Self.content, ["ETag": "\"v\""], cutAt: end) }
      return ResumedReply.part(
        Array(Self.content[start...]),
        [
          "ETag": "\"v\"", "Content-Range": "bytes \(start)-\(Self.content.count - 1)/\(Self.content.count)",
          "Content-Encoding": "identity",
        ], cutAt: end.map { $0 - start }, saysLength: number.isMultiple(of: 2))
    }
    let request = try Self.request()
    for _ in 0..<cuts { #expect(Self.kind(await Self.load(fixture, request)) == .truncated) }
    #expect(try await Self.load(fixture, request).get() == Self.content)
    #expect(transport.requests.dropFirst().allSatisfy { $0.fields["Range"] != nil })
    #expect(try await Self.load(fixture, request, .storedOnly).get() == Self.content)
    await fixture.service.close()
  }

  @Test func `another whole in place of the rest is the answer, and the old half goes`() async throws {
    let (fixture, transport) = try Self.fixture { request, number throws(DataServiceError) in
      number == 1
        ? ResumedReply.whole(Self.content, ["ETag": "\"v\""], cutAt: Self.cut)
        : ResumedReply.whole(Array(Self.other.prefix(500)), ["ETag": "\"w\""])
    }
    let request = try Self.request()
    _ = await Self.load(fixture, request)
    #expect(try await Self.load(fixture, request).get() == Array(Self.other.prefix(500)))
    #expect(try await Self.load(fixture, request).get() == Array(Self.other.prefix(500)))
    #expect(transport.requests.map { $0.fields["Range"] } == [nil, "bytes=\(Self.cut)-", nil])
    await fixture.service.close()
  }

  // MARK: Whatever comes

  @Test func `whatever an origin says of ranges, lengths and codings, only its whole body is ever stored`()
    async throws
  {
    var random = SeededGenerator(for: "resume fuzzer")
    let seed = random.seed
    let origin = Mutex(FuzzedOrigin(random: SeededGenerator(seed: seed, for: "origin")))
    let (fixture, transport) = try Self.fixture { request, _ throws(DataServiceError) in
      origin.withLock { $0.reply(to: request) }
    }
    var stored = 0
    var (refused, resumed) = (0, 0)
    for round in 0..<400 {
      let content = StreamedBody.bytes(Int.random(in: 0...8_000, using: &random), seed: UInt64(round + 1))
      origin.withLock { $0.begin(content) }
      var request = DataService.Request(try #require(URL(string: "http://a.test/\(round)")))
      request.limits.retries = 0
      for _ in 0..<Int.random(in: 1...5, using: &random) {
        let before = transport.requests.count
        switch await Self.load(fixture, request) {
        case .success(let bytes): #expect(bytes == content, "round \(round) of seed \(seed)")
        case .failure(let error):
          #expect(error.kind == .truncated, "\(error.message), round \(round) of \(seed)")
        }
        let asked = transport.requests[before...]
        if asked.first?.fields["Range"] != nil { if asked.count > 1 { refused += 1 } else { resumed += 1 } }
        guard case .success(let bytes) = await Self.load(fixture, request, .storedOnly) else { continue }
        stored += 1
        #expect(bytes == content, "stored in round \(round) of seed \(seed)")
      }
    }
    #expect(stored > 100 && refused > 30 && resumed > 30, "\(stored), \(refused), \(resumed) of seed \(seed)")
    await fixture.service.close()
  }
}

/// Replies as a transport hands them over.
enum ResumedReply {
  /// Where the request wants the body to begin.
  static func start(of request: TransportRequest) -> Int? {
    request.fields["Range"].flatMap { Int($0.dropFirst(6).dropLast()) }
  }

  static func whole(_ bytes: [UInt8], _ fields: HTTPFields, cutAt end: Int? = nil, saysLength: Bool = true)
    -> TransportResponse
  {
    TransportResponse(
      version: "1.1", status: 200, reason: "OK", fields: fields,
      body: stream(bytes, cutAt: end, length: saysLength ? bytes.count : nil))
  }

  static func part(_ bytes: [UInt8], _ fields: HTTPFields, cutAt end: Int? = nil, saysLength: Bool = true)
    -> TransportResponse
  {
    TransportResponse(
      version: "1.1", status: 206, reason: "Partial Content", fields: fields,
      body: stream(bytes, cutAt: end, length: saysLength ? bytes.count : nil))
  }

  private static func stream(_ bytes: [UInt8], cutAt end: Int?, length: Int?) -> DataService.BodyStream {
    let next = Mutex(0)
    let sent = end.map { Array(bytes.prefix($0)) } ?? bytes
    return DataService.BodyStream(length: length.map { Int64($0) }) { () throws(DataServiceError) -> Data? in
      let start = next.withLock { next in
        defer { next += 700 }
        return next
      }
      if start < sent.count { return Data(sent[start..<min(start + 700, sent.count)]) }
      if end != nil { throw DataServiceError(.truncated, "cut off") }
      return nil
    }
  }
}

/// An origin that is honest, is cut off, or lies about the rest in some way that can be told.
private struct FuzzedOrigin: Sendable {
  var random: SeededGenerator
  private var content: [UInt8] = []

  init(random: SeededGenerator) { self.random = random }

  mutating func begin(_ content: [UInt8]) { self.content = content }

  mutating func reply(to request: TransportRequest) -> TransportResponse {
    let saysLength = Bool.random(using: &random)
    guard let start = ResumedReply.start(of: request), Int.random(in: 0..<8, using: &random) > 0 else {
      let end =
        Int.random(in: 0..<4, using: &random) == 0 ? nil : Int.random(in: 0...content.count, using: &random)
      return ResumedReply.whole(content, ["ETag": "\"v\""], cutAt: end, saysLength: saysLength)
    }
    let rest = Array(content[min(start, content.count)...])
    guard Bool.random(using: &random) else {
      let end = Bool.random(using: &random) ? nil : Int.random(in: 0...rest.count, using: &random)
      let range = "bytes \(start)-\(content.count - 1)/\(content.count)"
      return ResumedReply.part(
        rest, ["ETag": "\"v\"", "Content-Range": range], cutAt: end, saysLength: saysLength)
    }
    return lie(start, rest.count, saysLength)
  }

  /// At least one thing is not as it should be, and none of the bytes is.
  private mutating func lie(_ start: Int, _ length: Int, _ saysLength: Bool) -> TransportResponse {
    var (first, last, whole, count) = (start, content.count - 1, content.count, length)
    var tag = "\"v\""
    var fields: HTTPFields = [:]
    for turn in 0..<Int.random(in: 1...3, using: &random) {
      let step = [-1, 1, -700, 700, 1_024, -1_024, 100_000].randomElement(using: &random) ?? 1
      switch Int.random(in: turn == 0 ? 0..<6 : 0..<7, using: &random) {
      case 0: first += step
      case 1: last += step
      case 2: whole += step
      case 3: count = max(0, count + step) == length ? length + 1 : max(0, count + step)
      case 4: tag = ["W/\"v\"", "\"w\"", "v", ""].randomElement(using: &random) ?? ""
      case 5:
        fields.append(
          "Content-Encoding", ["gzip", "br", "deflate, identity"].randomElement(using: &random) ?? "")
      default: fields.append("X-Other", "1")
      }
    }
    // Two lies may have made a truth of it, or three a longer whole, which nobody can tell from one where the first answer
    // did not say how long it was.
    if first == start, last == whole - 1, count == last - first + 1, tag == "\"v\"",
      fields["Content-Encoding"] == nil
    {
      count += 1
    }
    fields.append("ETag", tag)
    fields.append("Content-Range", "bytes \(first)-\(last)/\(whole)")
    return ResumedReply.part(
      StreamedBody.bytes(count, seed: random.next()), fields, saysLength: saysLength)
  }
}
