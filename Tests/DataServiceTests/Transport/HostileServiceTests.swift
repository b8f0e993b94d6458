import CacheStore
import DataService
import DataServiceTesting
import Dispatch
import FixtureServer
import Foundation
import TestSupport
import Testing
import TestTurns

/// Law 5 against every hostile server: what was stored is delivered, the failure is named, and the stored row's raw
/// bytes, read by a connection that shares no code with the store, are those of before.
@Suite("Hostile servers: the stored row", .inTurn) struct HostileServiceTests {
  /// Everything a row consists of, as SQLite holds it.
  static func bytes(of store: TemporaryStore) throws -> [[SQLiteValue]] {
    let owned = "IN (SELECT body_id FROM last_request)"
    return try store.rows("SELECT * FROM last_request ORDER BY id")
      + store.rows("SELECT * FROM body WHERE id \(owned) ORDER BY id")
      + store.rows("SELECT * FROM chunk WHERE id >> 20 \(owned) ORDER BY id")
  }

  @Test(
    "after an exchange with a hostile server the failure is named, and the stored row is as it was",
    arguments: HostileServer.all) func exchange(server: HostileServer) async throws
  {
    let origin = try FixtureServer { request, connection in
      if request.isConditional {
        try server.answer(connection)
      } else {
        try connection.send(.ok("good", ["ETag": "\"1\""]))
      }
    }
    let fixture = try ServiceFixture()
    #expect(await fixture.outline(origin.url("/item")) == ["fresh(good, new)"])
    let before = try Self.bytes(of: fixture.store)
    let outline = await fixture.outline(origin.url("/item")) { $0.limits = server.limits }
    #expect(outline == ["stored(good)", "failure(\(server.kind.name), last good)"])
    #expect(try Self.bytes(of: fixture.store) == before)
    await fixture.service.close()
  }

  @Test("what is odd and harmless replaces the row", arguments: HostileServer.taken)
  func taken(answer: HostileServer.Taken) async throws {
    let origin = try FixtureServer { request, connection in
      guard request.isConditional else { return try connection.send(.ok("good", ["ETag": "\"1\""])) }
      try connection.sendRaw(answer.bytes)
      connection.close()
    }
    let fixture = try ServiceFixture()
    #expect(await fixture.outline(origin.url("/item")) == ["fresh(good, new)"])
    #expect(
      await fixture.outline(origin.url("/item")) == ["stored(good)", "fresh(\(answer.body), changed)"])
    #expect(await fixture.outline(origin.url("/item"), policy: .storedOnly) == ["stored(\(answer.body))"])
    await fixture.service.close()
  }

  /// A behaviour that takes more than one exchange, or whose answer is well-formed.
  struct Answer: Sendable, CustomTestStringConvertible {
    let name: String
    /// What follows `stored(good)`.
    let outcome: String
    /// The answer to every request but the first to the path.
    let reply: @Sendable (FixtureRequest, UInt16) -> FixtureReply
    /// Whether the last good response has an ETag to ask with.
    var hasValidator = true

    var testDescription: String { name }

    init(
      _ name: String, _ outcome: String, hasValidator: Bool = true,
      _ reply: @escaping @Sendable (FixtureRequest, UInt16) -> FixtureReply
    ) {
      self.name = name
      self.outcome = outcome
      self.hasValidator = hasValidator
      self.reply = reply
    }

    static func redirect(_ name: String, to location: String, _ outcome: String) -> Answer {
      Answer(name, outcome) { _, _ in .redirect(to: location) }
    }

    static func status(_ status: Int, _ outcome: String) -> Answer {
      Answer("status \(status)", outcome) { _, _ in .status(status, "x") }
    }
  }

  static let failed = "failure(protocol, last good)"

  static let answers: [Answer] = [
    .redirect("a redirect to itself", to: "/item", "failure(tooManyRedirects, last good)"),
    Answer("redirects that go on for ever", "failure(tooManyRedirects, last good)") { request, _ in
      .redirect(to: request.target + "x")
    },
    .redirect("a redirect to a file", to: "file:///etc/passwd", failed),
    .redirect("a redirect to another protocol", to: "ftp://127.0.0.1/x", failed),
    .redirect("a redirect to a script", to: "javascript:alert(1)", failed),
    .redirect("a redirect without a host", to: "http:///x", failed),
    .redirect("a redirect to a host with a space", to: "http://a b/", failed),
    .redirect("a redirect to a port that is no number", to: "http://127.0.0.1:port/", failed),
    Answer("a redirect without a Location", "fresh(x, changed)") { _, _ in .status(302, "x") },
    Answer("a captive portal", "failure(portal, last good)") { request, port in
      request["Host"]?.hasPrefix("localhost") == true
        ? .ok("<html>log in</html>") : .redirect(to: "http://localhost:\(port)/login")
    },
    Answer("304 without having been asked", failed, hasValidator: false) { _, _ in .notModified() },
    Answer("304 with another strong ETag, for ever", failed) { _, _ in .notModified(etag: "\"2\"") },
    Answer("304 with an ETag of bytes beyond ASCII, for ever", failed) { _, _ in .notModified(etag: "\"é\"")
    },
    Answer("206 without having been asked", failed) { _, _ in
      .status(206, "oo", ["Content-Range": "bytes 1-2/4"])
    },
    .status(300, "fresh(x, changed)"), .status(400, "fresh(x, changed)"), .status(401, "fresh(x, changed)"),
    .status(402, "fresh(x, changed)"), .status(403, "fresh(x, changed)"), .status(404, "fresh(x, changed)"),
    .status(410, "fresh(x, changed)"), .status(418, "fresh(x, changed)"), .status(451, "fresh(x, changed)"),
    .status(408, "failure(status, last good)"), .status(429, "failure(status, last good)"),
    .status(500, "failure(status, last good)"), .status(501, "failure(status, last good)"),
    .status(502, "failure(status, last good)"), .status(503, "failure(status, last good)"),
    .status(504, "failure(status, last good)"), .status(599, "failure(status, last good)"),
    // RFC 9110 section 15: a status outside 100 to 599 is taken for a 5xx.
    .status(600, "failure(status, last good)"), .status(999, "failure(status, last good)"),
    Answer("200 that may not be stored", "fresh(secret, changed)") { _, _ in
      .ok("secret", ["Cache-Control": "no-store"])
    },
  ]

  @Test(
    "A well-formed answer that may not be stored is delivered or a failure, and the row is as it was",
    arguments: answers)
  func answer(answer: Answer) async throws {
    let port = Gate()
    let number = Locked<UInt16>(0)
    let origin = try FixtureServer { request, connection in
      port.wait()
      let isFirst = request.target == "/item" && !request.fields.contains { $0.name == "X-Second" }
      let good: FixtureReply = answer.hasValidator ? .ok("good", ["ETag": "\"1\""]) : .ok("good")
      try connection.send(isFirst ? good : answer.reply(request, number.value))
    }
    number.value = origin.port
    port.open()
    let fixture = try ServiceFixture()
    #expect(await fixture.outline(origin.url("/item")) == ["fresh(good, new)"])
    let before = try Self.bytes(of: fixture.store)
    let outline = await fixture.outline(origin.url("/item")) { $0.fields = ["X-Second": "1"] }
    #expect(outline == ["stored(good)", answer.outcome])
    // After these the row itself is marked stale; its body is as it was.
    let isMarked = ["status 404", "status 410", "200 that may not be stored"].contains(answer.name)
    let after = try Self.bytes(of: fixture.store)
    #expect((isMarked ? Array(after.dropFirst()) : after) == (isMarked ? Array(before.dropFirst()) : before))

    await fixture.service.close()
  }

  @Test("401 for credentials that are no longer good is delivered, and the row is as it was")
  func unauthorised() async throws {
    let isGood = Gate()
    let origin = try FixtureServer { request, connection in
      try connection.send(
        isGood.isOpen ? .status(401, "who are you") : .ok("good \(request["Authorization"]?.count ?? 0)"))
    }
    let fixture = try ServiceFixture()
    func load() async -> [String] {
      await fixture.outline(origin.url("/item")) { $0.fields = ["Authorization": "Bearer t"] }
    }
    #expect(await load() == ["fresh(good 8, new)"])
    isGood.open()
    let before = try Self.bytes(of: fixture.store)
    #expect(await load() == ["stored(good 8)", "fresh(who are you, changed)"])
    #expect(try Self.bytes(of: fixture.store) == before)
    #expect(try !fixture.store.filesContain("Bearer t"))
    await fixture.service.close()
  }

  @Test func `one byte a second, which is never silent long enough, ends with the total`() async throws {
    let mayGoOn = DispatchSemaphore(value: 0)
    let origin = try FixtureServer { request, connection in
      guard request.isConditional else { return try connection.send(.ok("good", ["ETag": "\"1\""])) }
      try connection.sendRaw("HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n")
      while !connection.isClosed {
        try connection.sendRaw("x")
        mayGoOn.wait()
      }
    }
    let clock = VirtualClock()
    let fixture = try ServiceFixture(timekeeper: clock)
    // libcurl counts this limit by the real clock.
    let connectTimeout = Duration.seconds(3_600)
    let first = await fixture.outline(origin.url("/item")) { $0.limits.connectTimeout = connectTimeout }
    #expect(first == ["fresh(good, new)"])
    let before = try Self.bytes(of: fixture.store)
    var request = DataService.Request(origin.url("/item"))
    request.limits.retries = 0
    request.limits.connectTimeout = connectTimeout
    request.limits.totalTimeout = .seconds(20)
    // Each byte that has come moves the clock on by a second and lets the next one go.
    let progress: @Sendable (DataService.TransferProgress) -> Void = { _ in
      clock.advance(by: .seconds(1))
      mayGoOn.signal()
    }
    var outline: [String] = []
    for await delivery in fixture.service.deliveries(for: request, progress: progress) {
      outline.append(delivery.outline)
    }
    #expect(outline == ["stored(good)", "failure(timeout(total), last good)"])
    #expect(try Self.bytes(of: fixture.store) == before)
    // The handler finds its connection closed once it goes on, and ends.
    origin.stop()
    mayGoOn.signal()
    await fixture.service.close()
  }

  @Test func `the tables together have at least sixty behaviours`() {
    #expect(HostileServer.all.count + Self.answers.count >= 100)
  }
}

/// A value that a handler on another thread reads.
final class Locked<Value: Sendable>: @unchecked Sendable {
  private let lock = NSLock()
  // Guarded by the lock.
  private var stored: Value
  init(_ value: Value) { stored = value }
  var value: Value {
    get { lock.withLock { stored } }
    set { lock.withLock { stored = newValue } }
  }
}
