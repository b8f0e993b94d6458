import CacheStore
import DataService
import DataServiceTesting
import PlatformFoundation
import Synchronization
import TestSupport
import Testing
import TestTurns

/// The rest of a download is taken only if it is what was promised.
@Suite("Resuming: how many bytes", .inTurn) struct ResumptionLieTests: CutOffDownload {
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
      let bytes = distinctBytes(whole - start + count, seed: 77)
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
    Lie(testDescription: "a part that calls itself the whole") { start in
      .answer(
        String(repeating: "x", count: content.count - start),
        ["ETag": "\"v\"", "Content-Range": "bytes \(start)-8999/9000"])
    },
    Lie(testDescription: "such a part, as 226") { start in
      .answer(
        String(repeating: "x", count: content.count - start), status: 226,
        ["ETag": "\"v\"", "Content-Range": "bytes \(start)-8999/9000"])
    },
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
    #expect(fixture.hasTraced("repeating the request without a condition: "))
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

  @Test(
    "what comes coded in place of the rest, though no coding was asked for, is asked for again",
    arguments: [200, 404])
  func codedWhole(status: Int) async throws {
    let (fixture, transport) = try Self.fixture { request, number throws(DataServiceError) in
      if number == 1 { return ResumedReply.whole(Self.content, ["ETag": "\"v\""], cutAt: Self.cut) }
      // A transport decodes where it is asked to, and leaves the field.
      let bytes = request.connection.isCompressed ? Self.other : distinctBytes(500, seed: 77)
      return TransportResponse(
        version: "1.1", status: status, fields: ["ETag": "\"w\"", "Content-Encoding": "gzip"],
        body: DataService.BodyStream(whole: Data(bytes)))
    }
    let request = try Self.request()
    #expect(Self.kind(await Self.load(fixture, request)) == .truncated)
    #expect(try await Self.load(fixture, request).get() == Self.other)
    #expect(transport.requests.map { $0.fields["Range"] } == [nil, "bytes=\(Self.cut)-", nil])
    if status == 200 {
      #expect(try await Self.load(fixture, request, .storedOnly).get() == Self.other)
    }
    await fixture.service.close()
  }

  @Test("a coded body in place of the rest is for who wants no decoding", arguments: [true, false])
  func coded(isCompressed: Bool) async throws {
    let (fixture, transport) = try Self.fixture { request, number throws(DataServiceError) in
      if number == 1 { return ResumedReply.whole(Self.content, ["ETag": "\"v\""], cutAt: Self.cut) }
      return ResumedReply.whole(Self.other, ["ETag": "\"w\"", "Content-Encoding": "gzip"])
    }
    let request = try Self.request { $0.connection.isCompressed = isCompressed }
    #expect(Self.kind(await Self.load(fixture, request)) == .truncated)
    #expect(try await Self.load(fixture, request).get() == Self.other)
    let ranges = [nil, "bytes=\(Self.cut)-"] + (isCompressed ? [nil] : [])
    #expect(transport.requests.map { $0.fields["Range"] } == ranges)
    #expect(try await Self.load(fixture, request, .storedOnly).get() == Self.other)
    await fixture.service.close()
  }

  @Test func `a 304 that names a coding in place of the rest confirms what is stored`() async throws {
    let (fixture, transport) = try Self.fixture { _, number throws(DataServiceError) in
      if number == 1 { return ResumedReply.whole(Self.other, ["ETag": "\"u\""]) }
      if number == 2 { return ResumedReply.whole(Self.content, ["ETag": "\"v\""], cutAt: Self.cut) }
      return .answer("", status: 304, ["ETag": "\"u\"", "Content-Encoding": "gzip"])
    }
    let request = try Self.request()
    #expect(try await Self.load(fixture, request).get() == Self.other)
    #expect(Self.kind(await Self.load(fixture, request)) == .truncated)
    #expect(try await Self.load(fixture, request).get() == Self.other)
    #expect(transport.requests.map { $0.fields["Range"] } == [nil, nil, "bytes=\(Self.cut)-"])
    await fixture.service.close()
  }

  @Test func `a 304 that nobody asked for in place of the rest leaves no URL that always fails`() async throws
  {
    let (fixture, transport) = try Self.fixture { request, number throws(DataServiceError) in
      if number == 1 { return ResumedReply.whole(Self.content, ["ETag": "\"v\""], cutAt: Self.cut) }
      if request.fields["Range"] != nil { return .answer("", status: 304, ["ETag": "\"v\""]) }
      return ResumedReply.whole(Self.content, ["ETag": "\"v\""])
    }
    let request = try Self.request()
    #expect(Self.kind(await Self.load(fixture, request)) == .truncated)
    #expect(try await Self.load(fixture, request).get() == Self.content)
    #expect(transport.requests.map { $0.fields["Range"] } == [nil, "bytes=\(Self.cut)-", nil])
    await fixture.service.close()
  }

  @Test func `what was decoded unasked is not resumed, since the rest would be counted in other bytes`()
    async throws
  {
    let (fixture, transport) = try Self.fixture { _, number throws(DataServiceError) in
      var response = ResumedReply.whole(
        Self.content, ["ETag": "\"v\""], cutAt: number == 1 ? Self.cut : nil)
      response.isDecoded = true
      return response
    }
    let request = try Self.request { $0.connection.isCompressed = false }
    #expect(Self.kind(await Self.load(fixture, request)) == .truncated)
    #expect(try await Self.load(fixture, request).get() == Self.content)
    #expect(transport.requests.allSatisfy { $0.fields["Range"] == nil })
    await fixture.service.close()
  }

  @Test func `a body that was resumed is compared with the next one by its bytes, not its chunks`()
    async throws
  {
    let (fixture, _) = try Self.fixture { request, number throws(DataServiceError) in
      if number == 1 { return ResumedReply.whole(Self.content, ["ETag": "\"v\""], cutAt: Self.cut) }
      if request.fields["Range"] != nil {
        let fields: HTTPFields = ["ETag": "\"v\"", "Content-Range": "bytes \(Self.cut)-8999/9000"]
        return ResumedReply.part(Array(Self.content[Self.cut...]), fields)
      }
      return ResumedReply.whole(number == 3 ? Self.content : Self.other, ["ETag": "\"\(number)\""])
    }
    let request = try Self.request()
    #expect(Self.kind(await Self.load(fixture, request)) == .truncated)
    #expect(try await Self.load(fixture, request).get() == Self.content)
    for change in [DataService.Change.unchanged, .changed] {
      let delivery = await fixture.deliveries(request.url, policy: .freshOnly).last
      guard case .fresh(_, change)? = delivery else {
        Issue.record("\(change): \(delivery?.outline.suffix(20) ?? "nothing")")
        continue
      }
    }
    await fixture.service.close()
  }

  // MARK: Whatever comes

  /// 150 rounds; `CACHEFETCH_LIES=4000` for more.
  @Test func `whatever an origin says of ranges, lengths and codings, only its whole body is ever stored`()
    async throws
  {
    let rounds = wished("CACHEFETCH_LIES", else: 150)
    var random = SeededGenerator(for: "resume fuzzer")
    let seed = random.seed
    let origin = Mutex(FuzzedOrigin(random: SeededGenerator(seed: seed, for: "origin")))
    let (fixture, transport) = try Self.fixture { request, _ throws(DataServiceError) in
      origin.withLock { $0.reply(to: request) }
    }
    var stored = 0
    var (refused, resumed) = (0, 0)
    for round in 0..<rounds {
      let content = distinctBytes(Int.random(in: 0...8_000, using: &random), seed: UInt64(round + 1))
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
    print("tried: \(rounds) origins that may lie: \(resumed) rests resumed, \(refused) refused; seed \(seed)")
    #expect(
      stored > rounds / 4 && refused > rounds / 14 && resumed > rounds / 14,
      "\(stored), \(refused), \(resumed) of seed \(seed)")
    await fixture.service.close()
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
      distinctBytes(count, seed: random.next()), fields, saysLength: saysLength)
  }
}
