import CacheStore
import DataService
import DataServiceTesting
import FixtureServer
import Foundation
import TestSupport
import Testing
import TestTurns
import URLSessionTransport

/// The transports that have to keep the contract, by name.
enum TransportUnderTest: String, CaseIterable, CustomTestStringConvertible {
  #if !PORTABLE
    case curl
  #endif
  case urlSession

  var testDescription: String { rawValue }

  func make() -> any Transport {
    switch self {
    #if !PORTABLE
      case .curl: CurlTransport()
    #endif
    case .urlSession: SessionTransport()
    }
  }

  /// One that counts its limits by a clock of the test's.
  func make(by clock: VirtualClock) -> any Transport {
    switch self {
    #if !PORTABLE
      case .curl: CurlTransport(thread: NetworkThread(), timekeeper: clock)
    #endif
    case .urlSession: SessionTransport(timekeeper: clock)
    }
  }

  /// What URLSession on Linux does otherwise (swift-corelibs-foundation of Swift 6.3); docs/network.md names
  /// each. Each excuses it from one test, or from a line of one.
  enum LinuxFault {
    /// A body is received as fast as it comes, whoever reads: 230 MB of memory for one of 100 MB.
    case noBackPressure
    /// A request without a body states a length of 0, whatever its method.
    case lengthOfNothing
    /// A connection that the origin closes without an answer is waited on until the limit for the first byte.
    case closingUnnoticed
    /// A redirect that comes after a 1xx head is not reported at all.
    case redirectUnreported
  }

  static func all(but fault: LinuxFault) -> [TransportUnderTest] {
    allCases.filter { $0 != .urlSession }
  }
}

@Suite("Transport contract", .inTurn) struct TransportContractTests {
  @Test("Head and body arrive as sent", arguments: TransportUnderTest.allCases)
  func headAndBody(kind: TransportUnderTest) async throws {
    let origin = try FixtureServer(routes: [
      "/a": FixtureReply(fields: ["ETag": "\"1\"", "X-Two": "a", "X-Two": "b"], body: Array("hello".utf8))
    ])
    let response = try await kind.make().response(
      to: origin.request("/a"))
    #expect(response.version == "1.1" && response.status == 200)
    #expect(response.fields["etag"] == "\"1\"")
    #expect(response.fields.combined("X-Two") == "a, b")
    #expect(response.body.length == 5)
    #expect(try await response.body.text() == "hello")
  }

  @Test(
    "Every status is an answer", arguments: TransportUnderTest.allCases,
    [201, 204, 301, 304, 401, 404, 429, 500, 503, 599, 999])
  func statuses(kind: TransportUnderTest, status: Int) async throws {
    let origin = try FixtureServer(routes: [
      "/a": .status(status, "", ["Location": "/b", "WWW-Authenticate": "Basic"])
    ])
    let response = try await kind.make().response(
      to: origin.request("/a"))
    #expect(response.status == status)
    #expect(try await response.body.text() == "")
    #expect(origin.requests().count == 1)
  }

  @Test("A HEAD has no body, whatever its fields say", arguments: TransportUnderTest.allCases)
  func head(kind: TransportUnderTest) async throws {
    let origin = try FixtureServer(routes: ["/a": .ok("hello")])
    let response = try await kind.make().response(
      to: origin.request("/a", method: .head))
    #expect(response.fields["Content-Length"] == "5")
    #expect(try await response.body.text() == "")
    #expect(origin.requests().first?.method == "HEAD")
  }

  @Test(
    "a method and a body of any length arrive as they were given", arguments: TransportUnderTest.allCases,
    ["POST", "PUT", "PATCH", "DELETE", "QUERY"])
  func bodies(kind: TransportUnderTest, method: String) async throws {
    let origin = try FixtureServer { request, connection in try connection.send(.ok(request.body)) }
    for size in [0, 1, 100_000, 2_000_000] {
      let body = Data(distinctBytes(size))
      let response = try await kind.make().response(
        to: origin.request(
          "/a", method: RequestMethod(rawValue: method), fields: ["Content-Type": "text/x"],
          body: body))
      var received = Data()
      while let piece = try await response.body.next() { received.append(piece) }
      #expect(received == body, "\(size)")
    }
    for request in origin.requests() {
      #expect(request.method == method, "\(request.method)")
      #expect(request["Content-Type"] == "text/x" && request["Expect"] == nil, "\(request.method)")
    }
  }

  @Test(
    "A request without a body states a length of 0 where its method is one that has a body",
    arguments: TransportUnderTest.allCases, ["POST", "PUT", "PATCH", "DELETE", "QUERY", "OPTIONS"])
  func withoutBody(kind: TransportUnderTest, method: String) async throws {
    let origin = try FixtureServer(routes: ["/a": .ok("done")])
    let response = try await kind.make().response(
      to: origin.request("/a", method: RequestMethod(rawValue: method)))
    #expect(try await response.body.text() == "done")
    let request = try #require(origin.requests().first)
    #expect(request.method == method && request.body.isEmpty && request["Transfer-Encoding"] == nil)
    let hasLength = ["POST", "PUT", "PATCH"].contains(method)
    // It is superfluous otherwise, and harmless (RFC 9110 section 8.6).
    if hasLength || TransportUnderTest.all(but: .lengthOfNothing).contains(kind) {
      #expect(request["Content-Length"] == (hasLength ? "0" : nil))
    }
    #expect(request["Content-Type"] == nil && request["Expect"] == nil)
  }

  @Test(
    "A body without a type is not said to be a form", arguments: TransportUnderTest.allCases,
    ["POST", "PUT", "DELETE"])
  func untyped(kind: TransportUnderTest, method: String) async throws {
    let origin = try FixtureServer(routes: ["/a": .ok("done")])
    _ = try await kind.make().response(
      to: origin.request("/a", method: RequestMethod(rawValue: method), body: Data("x".utf8)))
    let request = try #require(origin.requests().first)
    // URLSession adds a type where there is none; this one says nothing (RFC 9110 section 8.3).
    #expect(request["Content-Type"] == (kind == .urlSession ? "application/octet-stream" : nil))
  }

  @Test("How the body is sent is the transport's to say", arguments: TransportUnderTest.allCases)
  func framing(kind: TransportUnderTest) async throws {
    let origin = try FixtureServer(routes: ["/a": .ok("done")])
    let fields: HTTPFields = [
      "Content-Type": "text/x", "Content-Length": "1", "Transfer-Encoding": "chunked",
      "Expect": "100-continue",
    ]
    _ = try await kind.make().response(
      to: origin.request("/a", method: .post, fields: fields, body: Data("x".utf8)))
    let request = try #require(origin.requests().first)
    #expect(request.bodyText == "x" && request.values(of: "Content-Length") == ["1"])
    #expect(request["Transfer-Encoding"] == nil && request["Expect"] == nil)
  }

  @Test(
    "A GET with a body is sent as it is, or refused before anything is sent",
    arguments: TransportUnderTest.allCases)
  func bodyOfGet(kind: TransportUnderTest) async throws {
    let origin = try FixtureServer { request, connection in try connection.send(.ok(request.body)) }
    let request = origin.request("/a", fields: ["Content-Type": "text/x"], body: Data("x".utf8))
    guard kind == .urlSession else {
      #expect(try await kind.make().response(to: request).body.text() == "x")
      return
    }
    let error = await #expect(throws: DataServiceError.self) {
      _ = try await kind.make().response(to: request)
    }
    #expect(error?.kind == .invalidRequest)
    #expect(origin.requests().isEmpty)
  }

  /// A request whose body is read in three steps. One takes less than the limit for silence, and all of them
  /// take more than that for the first byte of an answer.
  private func upload(to origin: SlowReader) throws -> TransportRequest {
    let url = try #require(URL(string: "http://127.0.0.1:\(origin.port)/"))
    var request = TransportRequest(
      url: url, method: .put, fields: ["Content-Type": "text/x"], body: Data(count: 3 * SlowReader.step),
      limits: .unhurried)
    request.limits.firstByteTimeout = .seconds(30)
    request.limits.idleTimeout = .seconds(20)
    return request
  }

  @Test(
    "An upload that goes on may take longer than the first byte of its answer",
    arguments: TransportUnderTest.allCases)
  func longUpload(kind: TransportUnderTest) async throws {
    let clock = VirtualClock()
    let transport = kind.make(by: clock)
    let other = try FixtureServer(routes: ["/": .ok("hello")])
    let origin = try SlowReader()
    let request = try upload(to: origin)
    async let answer = transport.response(to: request).body.text()
    await origin.readHead()
    for _ in 0..<3 {
      await origin.read(SlowReader.step)
      // The transport learns of this answer after it has learnt that those bytes were taken.
      _ = try await transport.response(to: other.request("/")).body.text()
      clock.advance(by: .seconds(15))
      // It may have read the clock before; from here on it reads it anew.
      _ = try await transport.response(to: other.request("/")).body.text()
    }
    origin.answer("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\ndone")
    #expect(try await answer == "done")
    withExtendedLifetime((origin, other)) {}
  }

  @Test("An upload that nobody takes reaches the limit for silence", arguments: TransportUnderTest.allCases)
  func stalledUpload(kind: TransportUnderTest) async throws {
    let clock = VirtualClock()
    let transport = kind.make(by: clock)
    let other = try FixtureServer(routes: ["/": .ok("hello")])
    let origin = try SlowReader()
    let request = try upload(to: origin)
    let hasEnded = Gate()
    let ending = Task {
      defer { hasEnded.open() }
      return await #expect(throws: DataServiceError.self) { _ = try await transport.response(to: request) }
    }
    await origin.readHead()
    // Until the kernel takes no more of it, the upload goes on.
    while !hasEnded.isOpen {
      _ = try await transport.response(to: other.request("/")).body.text()
      clock.advance(by: .seconds(20))
    }
    #expect(await ending.value?.kind == .timeout(.idle))
    withExtendedLifetime((origin, other)) {}
  }

  @Test(
    "A request that changes something is sent once, though the connection was open and is closed without an answer",
    arguments: TransportUnderTest.all(but: .closingUnnoticed), ["POST", "PUT", "PATCH", "DELETE"])
  func sentOnce(kind: TransportUnderTest, method: String) async throws {
    let origin = try FixtureServer { request, connection in
      if request.method == "GET" { return try connection.send(.ok("open")) }
      connection.close()
    }
    let transport = kind.make()
    #expect(
      try await transport.response(to: origin.request("/a")).body.text() == "open")
    let request = origin.request("/a", method: RequestMethod(rawValue: method), body: Data("pay 10".utf8))
    await #expect(throws: DataServiceError.self) { try await transport.response(to: request) }
    #expect(origin.requests().map(\.method) == ["GET", method])
  }

  @Test("Fields are sent as given", arguments: TransportUnderTest.allCases)
  func fields(kind: TransportUnderTest) async throws {
    let origin = try FixtureServer(routes: ["/a": .ok("")])
    let fields: HTTPFields = [
      "X-One": "1", "Accept-Language": "fr, en;q=0.5", "If-None-Match": "\"a\", W/\"b\"",
    ]
    _ = try await kind.make().response(
      to: origin.request("/a", fields: fields))
    let request = try #require(origin.requests().first)
    #expect(request["X-One"] == "1")
    #expect(request["Accept-Language"] == "fr, en;q=0.5")
    #expect(request["If-None-Match"] == "\"a\", W/\"b\"")
    #expect(request["Cookie"] == nil && request["Authorization"] == nil)
  }

  @Test("The query is part of what is asked for", arguments: TransportUnderTest.allCases)
  func query(kind: TransportUnderTest) async throws {
    let origin = try FixtureServer { request, connection in try connection.send(.ok(request.target)) }
    let response = try await kind.make().response(
      to: origin.request("/a%20b/c?d=%2F&e=f+g"))
    #expect(try await response.body.text() == "/a%20b/c?d=%2F&e=f+g")
  }

  @Test("Compressed answers are decoded", arguments: TransportUnderTest.allCases)
  func compressed(kind: TransportUnderTest) async throws {
    let origin = try FixtureServer { request, connection in
      let accepts = request["Accept-Encoding"]?.contains("gzip") == true
      try connection.send(accepts ? .ok(Gzip.hello, ["Content-Encoding": "gzip"]) : .ok("not asked"))
    }
    let response = try await kind.make().response(
      to: origin.request("/"))
    #expect(try await response.body.text() == "hello")
    #expect(response.body.length == nil)
  }

  @Test("an answer in chunks is delivered whole, and has no length", arguments: TransportUnderTest.allCases)
  func chunked(kind: TransportUnderTest) async throws {
    let body = distinctBytes(300_000)
    let origin = try FixtureServer(routes: ["/": FixtureReply.ok(body).chunked(by: 999)])
    let response = try await kind.make().response(
      to: origin.request("/"))
    var received = Data()
    while let piece = try await response.body.next() { received.append(piece) }
    #expect(received == Data(body))
    #expect(response.body.length == nil)
  }

  @Test("A body may end with the connection", arguments: TransportUnderTest.allCases)
  func closeDelimited(kind: TransportUnderTest) async throws {
    let origin = try FixtureServer { _, connection in
      try connection.sendRaw("HTTP/1.1 200 OK\r\n\r\nhello")
      connection.close()
    }
    let response = try await kind.make().response(
      to: origin.request("/"))
    #expect(try await response.body.text() == "hello")
  }

  @Test("The head is delivered before the body is whole", arguments: TransportUnderTest.allCases)
  func headFirst(kind: TransportUnderTest) async throws {
    let held = Gate()
    let origin = try FixtureServer { _, connection in
      try connection.sendRaw("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhello")
      held.wait()
      try connection.sendRaw("world")
    }
    let response = try await kind.make().response(
      to: origin.request("/"))
    #expect(response.status == 200)
    #expect(try await response.body.next() == Data("hello".utf8))
    held.open()
    #expect(try await response.body.text() == "world")
    #expect(try await response.body.next() == nil)
  }

  @Test("A slow reader slows the sender down", arguments: TransportUnderTest.all(but: .noBackPressure))
  func backPressure(kind: TransportUnderTest) async throws {
    let size = 64 << 20
    let piece = [UInt8](repeating: 120, count: 1 << 20)
    let isWhole = Gate()
    let origin = try FixtureServer { _, connection in
      try connection.sendRaw("HTTP/1.1 200 OK\r\nContent-Length: \(size)\r\n\r\n")
      for _ in 0..<64 { try connection.sendRaw(piece) }
      isWhole.open()
    }
    let response = try await kind.make().response(
      to: origin.request("/"))
    var received = 0
    var largest = 0
    var wasWholeEarly = false
    while let piece = try await response.body.next() {
      received += piece.count
      largest = max(largest, piece.count)
      // The rest may be in the kernel's buffers, which hold a few megabytes, but never all of it.
      if received < size / 2, isWhole.isOpen { wasWholeEarly = true }
    }
    #expect(received == size)
    #expect(largest <= 1 << 20)
    #expect(!wasWholeEarly)
  }

  @Test("A 1xx head is not the answer", arguments: TransportUnderTest.allCases)
  func interim(kind: TransportUnderTest) async throws {
    let origin = try FixtureServer { _, connection in
      try connection.sendRaw(
        "HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello")
    }
    let response = try await kind.make().response(
      to: origin.request("/"))
    #expect(response.status == 200 && response.fields["Link"] == nil)
    #expect(try await response.body.text() == "hello")
  }

  @Test("A redirect after a 1xx head is the answer", arguments: TransportUnderTest.allCases)
  func redirectAfterInterim(kind: TransportUnderTest) async throws {
    let origin = try FixtureServer { _, connection in
      try connection.sendRaw(
        "HTTP/1.1 103 Early Hints\r\n\r\nHTTP/1.1 302 Found\r\nLocation: /b\r\nContent-Length: 0\r\n\r\n")
    }
    do throws(DataServiceError) {
      let response = try await kind.make().response(
        to: origin.request("/"))
      #expect(response.status == 302 && response.fields["Location"] == "/b")
    } catch {
      #expect(!TransportUnderTest.all(but: .redirectUnreported).contains(kind))
      #expect(error.kind == .protocol)
    }
  }

  @Test("A 101 that nobody asked for is no answer", arguments: TransportUnderTest.allCases)
  func switching(kind: TransportUnderTest) async throws {
    let origin = try FixtureServer { _, connection in
      try connection.sendRaw("HTTP/1.1 101 Switching Protocols\r\n\r\n")
      connection.close()
    }
    let error = await #expect(throws: DataServiceError.self) {
      _ = try await kind.make().response(to: origin.request("/"))
    }
    #expect(error?.kind == .protocol)
  }

  @Test(
    "Where there is no body its length does not count", arguments: TransportUnderTest.allCases,
    ["204 No Content", "304 Not Modified"])
  func lengthOfNoBody(kind: TransportUnderTest, status: String) async throws {
    let origin = try FixtureServer { _, connection in
      try connection.sendRaw("HTTP/1.1 \(status)\r\nContent-Length: 5\r\n\r\n")
    }
    var request = origin.request("/")
    for limit in [5, 4] as [Int64] {
      request.limits.bodyBytes = limit
      let response = try await kind.make().response(to: request)
      #expect(status.hasPrefix("\(response.status) "), "\(limit)")
      #expect(try await response.body.text() == "", "\(limit)")
    }
  }

  @Test("The limits on heads count all of them together", arguments: TransportUnderTest.allCases)
  func heads(kind: TransportUnderTest) async throws {
    let hint = "HTTP/1.1 103 Early Hints\r\nX-Hint: 1\r\n\r\n"
    let origin = try FixtureServer { request, connection in
      var reply = FixtureReply.ok("hello")
      switch request.path {
      case "/many": reply.fields = (0..<60).map { FixtureField("X-\($0)", "1") }
      case "/long": reply.fields = [FixtureField("X-Long", String(repeating: "a", count: 2_048))]
      default: try connection.sendRaw(String(repeating: hint, count: 60))
      }
      try connection.send(reply)
    }
    let (many, long) = ("there are more than 50 headers", "the headers are larger than 1024 bytes")
    for (path, words) in [("/many", many), ("/hints", many), ("/long", long)] {
      var request = origin.request(path)
      #expect(try await kind.make().response(to: request).status == 200, "\(path)")
      if words == many { request.limits.fieldCount = 50 } else { request.limits.fieldSectionBytes = 1_024 }
      let error = await #expect(throws: DataServiceError.self, "\(path)") {
        _ = try await kind.make().response(to: request)
      }
      #expect(error?.kind == .protocol, "\(path)")
      #expect(
        error?.message == "the headers of the response from 127.0.0.1 are not acceptable: \(words)",
        "\(path)")
    }
  }

  @Test("A refused connection says so", arguments: TransportUnderTest.allCases)
  func refused(kind: TransportUnderTest) async throws {
    let origin = try FixtureServer(routes: ["/": .ok("hello")])
    origin.stop()
    let error = await #expect(throws: DataServiceError.self) {
      _ = try await kind.make().response(to: origin.request("/"))
    }
    #expect(error?.kind == .refused)
  }

  @Test("A kept connection that the server has closed is replaced", arguments: TransportUnderTest.allCases)
  func deadConnection(kind: TransportUnderTest) async throws {
    let origin = try FixtureServer(routes: ["/": .ok("hello")])
    let transport = kind.make()
    for _ in 0..<5 {
      let response = try await transport.response(
        to: origin.request("/"))
      #expect(try await response.body.text() == "hello")
      origin.stop()
      try origin.start()
    }
  }

  @Test("Many at once all come back whole", arguments: TransportUnderTest.allCases)
  func many(kind: TransportUnderTest) async throws {
    let origin = try FixtureServer { request, connection in
      try connection.send(.ok(String(repeating: request.target, count: 500)))
    }
    let transport = kind.make()
    let whole = try await withThrowingTaskGroup(of: Bool.self) { group in
      for number in 0..<200 {
        group.addTask {
          let response = try await transport.response(
            to: origin.request("/\(number)"))
          return try await response.body.text() == String(repeating: "/\(number)", count: 500)
        }
      }
      return try await group.reduce(0) { $0 + ($1 ? 1 : 0) }
    }
    #expect(whole == 200)
  }

  @Test(
    "Exchanges with one origin do not wait for each other's answers", arguments: TransportUnderTest.allCases)
  func sideBySide(kind: TransportUnderTest) async throws {
    let held = Gate()
    let origin = try FixtureServer { _, connection in
      held.wait()
      try connection.send(.ok("late"))
    }
    let transport = kind.make()
    let tasks = (0..<4).map { number in
      Task {
        try await transport.response(to: origin.request("/\(number)"))
          .body.text()
      }
    }
    await origin.waitForRequests(4)
    held.open()
    for task in tasks { #expect(try await task.value == "late") }
  }

  @Test("The body's limit counts decoded bytes", arguments: TransportUnderTest.allCases)
  func limit(kind: TransportUnderTest) async throws {
    let origin = try FixtureServer(routes: [
      "/plain": .ok("hello").chunked(), "/known": .ok("hello"),
      "/coded": .ok(Gzip.hello, ["Content-Encoding": "gzip"]),
    ])
    for path in ["/plain", "/known", "/coded"] {
      var request = origin.request(path)
      request.limits.bodyBytes = 5
      #expect(try await kind.make().response(to: request).body.text() == "hello", "\(path)")
      request.limits.bodyBytes = 4
      let error = await #expect(throws: DataServiceError.self, "\(path)") {
        _ = try await kind.make().response(to: request).body.text()
      }
      #expect(error?.kind == .tooLarge, "\(path)")
    }
  }

  @Test(
    "A request that cannot be one is refused before anything is sent", arguments: TransportUnderTest.allCases)
  func invalid(kind: TransportUnderTest) async throws {
    let origin = try FixtureServer(routes: ["/": .ok("hello")])
    var fields = HTTPFields()
    fields.append("X-A", "b\r\nX-C: d")
    let requests = [
      origin.request("/", fields: fields),
      origin.request("/", method: "G ET"),
      origin.request("/", method: ""),
      origin.request("/", method: .head, body: Data("x".utf8)),
      origin.request("/", fields: ["Content-Length": "7"]),
      TransportRequest(url: try #require(URL(string: "file:///etc/passwd"))),
      TransportRequest(url: try #require(URL(string: "ftp://127.0.0.1/"))),
      TransportRequest(url: try #require(URL(string: "/relative"))),
      TransportRequest(url: try #require(URL(string: "http:a.test"))),
    ]
    for request in requests {
      let error = await #expect(throws: DataServiceError.self, "\(request.method)") {
        _ = try await kind.make().response(to: request)
      }
      #expect(error?.kind == .invalidRequest, "\(request.method)")
    }
    #expect(origin.requests().isEmpty)
  }
}
