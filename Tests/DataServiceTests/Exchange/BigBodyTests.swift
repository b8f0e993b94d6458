import CacheStore
import DataService
import FixtureServer
import PlatformFoundation
import Synchronization
import TestSupport
import Testing
import TestTurns

/// Bodies longer than a chunk: streamed both ways, resumed after a cut.
@Suite("Big bodies: streamed, compared and resumed", .inTurn) struct BigBodyTests {
  private static let chunk = 16_384

  @Test func `a long body goes through the store and back, byte for byte, and is unchanged the second time`()
    async throws
  {
    let content = distinctBytes(10 * Self.chunk + 123)
    let origin = try FixtureServer(routes: ["/big": .ok(content)])
    let fixture = try ServiceFixture.make(chunkBytes: Self.chunk)
    let fresh = try await fixture.streamed(origin.url("/big"), policy: .freshOnly)
    #expect(fresh.bytes == content && fresh.kind == "new" && fresh.kept == .yes)
    let stored = try await fixture.streamed(origin.url("/big"), policy: .storedOnly)
    #expect(stored.bytes == content)
    #expect(try await fixture.streamed(origin.url("/big"), policy: .freshOnly).kind == "unchanged")
    #expect(try fixture.store.value("SELECT count(*) FROM last_request") == 1)
  }

  @Test func `a limit set in the store lets in a body of half of it, for which the service's own is too low`()
    async throws
  {
    let content = distinctBytes(1_200_000)
    let origin = try FixtureServer(routes: ["/big": .ok(content)])
    let fixture = try ServiceFixture.make(chunkBytes: Self.chunk) { $0.store.maximumBytes = 1 << 20 }
    _ = try await fixture.service.store.accountID(named: "")
    let lastBody = "SELECT seq FROM sqlite_sequence WHERE name = 'body'"
    let before = try fixture.store.value(lastBody)
    let first = try await fixture.streamed(origin.url("/big"), policy: .freshOnly)
    #expect(first.bytes == content && first.kept == .no(.tooLarge))
    #expect(try fixture.store.value(lastBody) == before, "not even begun")
    // What just keeps to the request's own limit is delivered whole, one byte more ends it.
    for (limit, kind) in [(1_200_000, "new"), (1_199_999, "tooLarge")] {
      var request = fixture.request(origin.url("/big"))
      request.limits.bodyBytes = Int64(limit)
      #expect(try await fixture.streamed(request, policy: .freshOnly).kind == kind, "\(limit)")
    }
    // By another process, of which this one hears with what it does next.
    let other = try ServiceFixture(store: fixture.store)
    try await other.service.setLimits(StoreLimits(maximumBytes: 2_400_000))
    #expect(try await fixture.streamed(origin.url("/big"), policy: .freshOnly).kept == .yes)
  }

  @Test func `a body that just keeps to its limit is handed on whole where it is not stored`() async throws {
    // More than is held in memory, so that the caller reads it while it arrives.
    let content = distinctBytes(9 << 20)
    let origin = try FixtureServer(routes: ["/big": .ok(content, ["Cache-Control": "no-store"])])
    let fixture = try ServiceFixture.make(chunkBytes: Self.chunk)
    var request = fixture.request(origin.url("/big"))
    request.limits.bodyBytes = Int64(content.count)
    let read = try await fixture.streamed(request, policy: .freshOnly)
    #expect(read.bytes == content && read.kept == .no(.noStore))
    await fixture.service.close()
  }

  @Test func `a body that is read while it arrives is not taken for the stored one`() async throws {
    let isSecond = Mutex(false)
    let origin = try FixtureServer(routes: [
      "/big": { _ in
        isSecond.withLock { $0 }
          ? .ok(distinctBytes(9 << 20, seed: 2), ["Cache-Control": "no-store"]) : .ok("short")
      } as FixtureServer.Route
    ])
    let fixture = try ServiceFixture.make(chunkBytes: Self.chunk)
    _ = try await fixture.streamed(origin.url("/big"), policy: .freshOnly)
    isSecond.withLock { $0 = true }
    var changes: [DataService.Change] = []
    for await delivery in fixture.service.streams(
      for: fixture.request(origin.url("/big")), policy: .freshOnly)
    {
      guard case .fresh(let response, let change) = delivery else { continue }
      changes.append(change)
      for try await _ in response.value {}
    }
    #expect(changes == [.changed])
    await fixture.service.close()
  }

  /// At every border between chunks, beside it, and within chunks.
  static let cuts: [Int] = {
    let borders = (1...4).flatMap { number in [-1, 0, 1].map { number * chunk + $0 } }
    return borders + [1, 777, 3 * chunk + 77, 5 * chunk - 1]
  }()

  @Test(
    "a download cut off anywhere is resumed where it stopped",
    arguments: cuts)
  func resumed(cut: Int) async throws {
    let content = distinctBytes(5 * Self.chunk)
    let origin = try Self.resumableOrigin(content, cutAt: cut)
    let fixture = try ServiceFixture.make(chunkBytes: Self.chunk)
    let first = try await fixture.streamed(origin.url("/big"), policy: .freshOnly)
    #expect(first.kind == "truncated")
    #expect(try await fixture.streamed(origin.url("/big"), policy: .storedOnly).kind == "notStored")
    let second = try await fixture.streamed(origin.url("/big"), policy: .freshOnly)
    #expect(second.bytes == content && second.kept == .yes)
    #expect(origin.requests().last?["Range"] == "bytes=\(cut)-")
    #expect(origin.requests().last?["If-Range"] == "\"v1\"")
    #expect(try await fixture.streamed(origin.url("/big"), policy: .storedOnly).bytes == content)
  }

  @Test func `a cut-off download is resumed by another service on the store`() async throws {
    let content = distinctBytes(5 * Self.chunk)
    let origin = try Self.resumableOrigin(content, cutAt: 40_000)
    let first = try ServiceFixture.make(chunkBytes: Self.chunk)
    #expect(try await first.streamed(origin.url("/big"), policy: .freshOnly).kind == "truncated")
    await first.service.close()
    let second = try ServiceFixture(store: first.store) { $0.store.chunkBytes = Self.chunk }
    #expect(try await second.streamed(origin.url("/big"), policy: .freshOnly).bytes == content)
    #expect(origin.requests().last?["Range"] == "bytes=40000-")
  }

  @Test func `a download is resumed where a short answer is stored, which stays until it is whole`()
    async throws
  {
    let content = distinctBytes(5 * Self.chunk)
    let asked = Mutex(0)
    let origin = try FixtureServer { request, connection in
      let number = asked.withLock { count in
        count += 1
        return count
      }
      if number == 1 { return try connection.send(.ok("short", ["ETag": "\"v0\""])) }
      if number == 2 { return try Self.cutOff(content, at: 40_000, etag: "\"v1\"", connection) }
      var reply = FixtureReply.ok(
        Array(content[40_000...]),
        ["ETag": "\"v1\"", "Content-Range": "bytes 40000-\(content.count - 1)/\(content.count)"])
      reply.status = 206
      try connection.send(reply)
    }
    let fixture = try ServiceFixture.make(chunkBytes: Self.chunk)
    #expect(try await fixture.streamed(origin.url("/big"), policy: .freshOnly).kept == .yes)
    #expect(try await fixture.streamed(origin.url("/big"), policy: .freshOnly).kind == "truncated")
    #expect(try await fixture.streamed(origin.url("/big"), policy: .storedOnly).bytes == Array("short".utf8))
    let whole = try await fixture.streamed(origin.url("/big"), policy: .freshOnly)
    #expect(whole.bytes == content && whole.kept == .yes && whole.kind == "changed")
    #expect(origin.requests().last?["If-None-Match"] == "\"v0\"")
    #expect(origin.requests().last?["Range"] == "bytes=40000-")
  }

  @Test func `a changed validator between the parts starts over`() async throws {
    let old = distinctBytes(5 * Self.chunk)
    let new = distinctBytes(5 * Self.chunk, seed: 99)
    let asked = Mutex(0)
    let origin = try FixtureServer { request, connection in
      let number = asked.withLock { count in
        count += 1
        return count
      }
      if number == 1 { return try Self.cutOff(old, at: 40_000, etag: "\"v1\"", connection) }
      // If-Range names another version: the whole of the new one (RFC 9110 section 13.1.5).
      try connection.send(.ok(new, ["ETag": "\"v2\""]))
    }
    let fixture = try ServiceFixture.make(chunkBytes: Self.chunk)
    _ = try await fixture.streamed(origin.url("/big"), policy: .freshOnly)
    let second = try await fixture.streamed(origin.url("/big"), policy: .freshOnly)
    #expect(second.bytes == new && second.kept == .yes)
  }

  @Test(
    "an origin that ignores Range, or says there is no such part, is asked for the whole",
    arguments: [200, 416])
  func ignored(status: Int) async throws {
    let content = distinctBytes(5 * Self.chunk)
    let origin = try FixtureServer { request, connection in
      if request.connection == 1 { return try Self.cutOff(content, at: 40_000, etag: "\"v1\"", connection) }
      if request["Range"] != nil, status == 416 {
        return try connection.send(.status(416, "", ["Content-Range": "bytes */\(content.count)"]))
      }
      try connection.send(.ok(content, ["ETag": "\"v1\""]))
    }
    let fixture = try ServiceFixture.make(chunkBytes: Self.chunk)
    _ = try await fixture.streamed(origin.url("/big"), policy: .freshOnly)
    let second = try await fixture.streamed(origin.url("/big"), policy: .freshOnly)
    #expect(second.bytes == content && second.kept == .yes)
    #expect(origin.requests()[1]["Range"] == "bytes=40000-")
    #expect(origin.requests().count == (status == 200 ? 2 : 3))
    #expect(try await fixture.streamed(origin.url("/big"), policy: .storedOnly).bytes == content)
  }

  static let wrongParts: [(String, String)] = [
    ("a part that begins elsewhere", "bytes 100-81919/81920"),
    ("a part that ends early", "bytes 40000-50000/81920"),
    ("a part of another whole", "bytes 40000-81919/90000"), ("nonsense", "bytes */x"),
  ]

  @Test("a wrong part is not joined: the download starts over", arguments: wrongParts)
  func wrongPart(name: String, range: String) async throws {
    let content = distinctBytes(5 * Self.chunk)
    let origin = try FixtureServer { request, connection in
      if request["Range"] != nil {
        var reply = FixtureReply.ok(Array(content[40_000...]), ["ETag": "\"v1\"", "Content-Range": range])
        reply.status = 206
        return try connection.send(reply)
      }
      if request.connection == 1 { return try Self.cutOff(content, at: 40_000, etag: "\"v1\"", connection) }
      try connection.send(.ok(content, ["ETag": "\"v1\""]))
    }
    let fixture = try ServiceFixture.make(chunkBytes: Self.chunk)
    _ = try await fixture.streamed(origin.url("/big"), policy: .freshOnly)
    let second = try await fixture.streamed(origin.url("/big"), policy: .freshOnly)
    #expect(second.bytes == content && second.kept == .yes, "\(name)")
  }

  @Test func `a body over 8 MiB that may not be stored is delivered while it arrives`() async throws {
    let mayEnd = Gate()
    let piece = [UInt8](repeating: 7, count: 1 << 20)
    let origin = try FixtureServer { _, connection in
      var head = FixtureReply.ok([UInt8](), ["Cache-Control": "no-store"])
      head.chunkSize = 1 << 20
      try connection.sendHead(head)
      for _ in 0..<9 { try connection.sendChunk(piece) }
      mayEnd.wait()
      connection.close()
    }
    let fixture = try ServiceFixture.make(chunkBytes: Self.chunk)
    var received = 0
    var ending: DataServiceError.Kind?
    for await delivery in fixture.service.streams(for: fixture.request(origin.url("/live"))) {
      guard case .fresh(let response, _) = delivery else { continue }
      #expect(response.kept == .no(.noStore))
      do {
        for try await piece in response.value {
          received += piece.count
          // The end comes only now: the delivery did not wait for it.
          mayEnd.open()
        }
      } catch {
        ending = error.kind
      }
    }
    #expect(received == 9 << 20)
    #expect(ending == .truncated, "a stream that is cut off throws")
    // The store may still be in the making.
    await fixture.service.close()
    #expect(
      try fixture.store.folder.names().filter { $0.hasSuffix(".sqlite") }.isEmpty
        || fixture.store.value("SELECT count(*) FROM chunk") == 0)
  }

  @Test func `a body of 8 MiB that may not be stored is delivered whole, or not at all`() async throws {
    let origin = try FixtureServer { _, connection in
      var head = FixtureReply.ok([UInt8](), ["Cache-Control": "no-store"])
      head.chunkSize = 1 << 20
      try connection.sendHead(head)
      for _ in 0..<8 { try connection.sendChunk([UInt8](repeating: 7, count: 1 << 20)) }
      connection.close()
    }
    let fixture = try ServiceFixture.make(chunkBytes: Self.chunk)
    #expect(try await fixture.streamed(origin.url("/live"), policy: .freshOnly).kind == "truncated")
  }

  @Test func `a long body replaced under its reader is read to its end`() async throws {
    let old = distinctBytes(8 * Self.chunk)
    let new = distinctBytes(8 * Self.chunk, seed: 2)
    let isNew = Mutex(false)
    let origin = try FixtureServer(routes: [
      "/big": { _ in .ok(isNew.withLock { $0 } ? new : old) } as FixtureServer.Route
    ])
    let fixture = try ServiceFixture.make(chunkBytes: Self.chunk)
    _ = try await fixture.streamed(origin.url("/big"), policy: .freshOnly)
    var read: [UInt8] = []
    for await delivery in fixture.service.streams(
      for: fixture.request(origin.url("/big")), policy: .storedOnly)
    {
      guard case .stored(let response) = delivery else { continue }
      for try await piece in response.value {
        if read.isEmpty {
          isNew.withLock { $0 = true }
          #expect(try await fixture.streamed(origin.url("/big"), policy: .freshOnly).bytes == new)
        }
        read.append(contentsOf: piece)
      }
    }
    #expect(read == old)
  }

  @Test func `the log stays under 16 MiB while a slow reader and a writer are at work`() async throws {
    let content = distinctBytes(24 << 20)
    let origin = try FixtureServer(routes: ["/big": .ok(content)])
    let fixture = try ServiceFixture()
    _ = try await fixture.streamed(origin.url("/big"), policy: .freshOnly)
    var longest = 0
    for await delivery in fixture.service.streams(
      for: fixture.request(origin.url("/big")), policy: .storedOnly)
    {
      guard case .stored(let response) = delivery else { continue }
      var read = 0
      for try await piece in response.value {
        // The reader is in the middle of its body while the whole of another is written.
        if read == 0 { _ = try await fixture.streamed(origin.url("/big"), policy: .freshOnly) }
        read += piece.count
        longest = max(longest, try fixture.store.folder.bytes(of: "store.sqlite-wal").count)
      }
      #expect(read == content.count)
    }
    #expect(longest > 0 && longest < 16 << 20)
  }

  private static func cutOff(
    _ content: [UInt8], at cut: Int, etag: String, _ connection: FixtureConnection
  ) throws {
    try connection.sendRaw(
      "HTTP/1.1 200 OK\r\nETag: \(etag)\r\nContent-Length: \(content.count)\r\n\r\n")
    try connection.sendRaw(Array(content[..<cut]))
    connection.close()
  }

  /// Cuts the first answer off and understands ranges afterwards.
  private static func resumableOrigin(_ content: [UInt8], cutAt cut: Int) throws -> FixtureServer {
    try FixtureServer { request, connection in
      guard let range = request["Range"], let start = Int(range.dropFirst(6).dropLast()) else {
        return try cutOff(content, at: cut, etag: "\"v1\"", connection)
      }
      var reply = FixtureReply.ok(
        Array(content[start...]),
        ["ETag": "\"v1\"", "Content-Range": "bytes \(start)-\(content.count - 1)/\(content.count)"])
      reply.status = 206
      try connection.send(reply)
    }
  }
}
