import CacheStore
import DataService
import FixtureServer
import Foundation
import TestSupport
import Testing
import TestTurns
import URLSessionTransport

/// The transports that have to keep the contract, by name.
enum TransportUnderTest: String, CaseIterable, CustomTestStringConvertible {
  #if os(Linux) && !PORTABLE
    case curl
  #endif
  case urlSession

  var testDescription: String { rawValue }

  func make() -> any Transport {
    switch self {
    #if os(Linux) && !PORTABLE
      case .curl: CurlTransport()
    #endif
    case .urlSession: SessionTransport()
    }
  }

  /// What URLSession on Linux does otherwise (swift-corelibs-foundation of Swift 6.3), as measured here. Each excuses
  /// it from one test; on Apple's systems there are none.
  enum LinuxFault {
    /// A body is received as fast as it comes, whoever reads: 230 MB of memory for one of 100 MB.
    case noBackPressure
    /// A request without a body states a length of 0, whatever its method.
    case lengthOfNothing
    /// A connection that the origin closes without an answer is waited on until the limit for the first byte.
    case closingUnnoticed
  }

  static func all(but fault: LinuxFault) -> [TransportUnderTest] {
    #if canImport(Darwin)
      allCases
    #else
      allCases.filter { $0 != .urlSession }
    #endif
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

  @Test("A body that ends with the connection", arguments: TransportUnderTest.allCases)
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
