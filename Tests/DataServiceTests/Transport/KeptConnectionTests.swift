import CacheStore
import DataService
import FixtureServer
import Foundation
import TestSupport
import Testing
import TestTurns

/// Nothing that an origin sends unasked is an answer (RFC 9112 section 9.2).
@Suite("libcurl transport: kept connections", .inTurn) struct KeptConnectionTests {
  /// An origin that answers `/first`, and sends more on the same connection once it is told to.
  private struct Origin {
    let server: FixtureServer
    private let mayGoOn = Gate()
    private let hasGoneOn = Gate()

    init(first: String, more: String) throws {
      server = try FixtureServer { [mayGoOn, hasGoneOn] request, connection in
        guard request.path == "/first" else { return try connection.send(.ok("own \(request.path)")) }
        try connection.sendRaw(first)
        mayGoOn.wait()
        try connection.sendRaw(more)
        hasGoneOn.open()
      }
    }

    func sendMore() async {
      mayGoOn.open()
      await hasGoneOn.wait()
    }
  }

  private static let answer = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nfirst"

  struct Case: Sendable, CustomTestStringConvertible {
    let testDescription: String
    var first = KeptConnectionTests.answer
    let more: String
  }

  @Test(
    "A connection on which input waits carries no further request",
    arguments: [
      Case(testDescription: "another answer", more: "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil"),
      Case(
        testDescription: "the body of a 304", first: "HTTP/1.1 304 Not Modified\r\nETag: \"1\"\r\n\r\n",
        more: "hello"),
      Case(testDescription: "the body of a 204", first: "HTTP/1.1 204 No Content\r\n\r\n", more: "hello"),
      Case(testDescription: "an empty line", more: "\r\n"),
      Case(testDescription: "one byte", more: "x"),
    ])
  func inputWaits(_ it: Case) async throws {
    let origin = try Origin(first: it.first, more: it.more)
    let transport = CurlTransport()
    let first = try await transport.response(to: origin.server.request("/first"))
    #expect(try await first.body.text() == (first.status == 200 ? "first" : ""))
    await origin.sendMore()
    for path in ["/a", "/b"] {
      let next = try await transport.response(to: origin.server.request(path))
      #expect(try await next.body.text() == "own \(path)")
    }
    // Nothing went out on the first connection, and the second is kept.
    #expect(origin.server.requests().map(\.connection) == [1, 2, 2])
  }

  @Test func `a connection on which nothing waits is used again`() async throws {
    let origin = try FixtureServer { request, connection in try connection.send(.ok(request.path)) }
    let transport = CurlTransport()
    for path in ["/a", "/b", "/c"] {
      #expect(try await transport.response(to: origin.request(path)).body.text() == path)
    }
    #expect(origin.acceptedConnections == 1)
  }

  @Test func `what comes unasked is delivered to no other account`() async throws {
    let origin = try Origin(
      first: Self.answer, more: "HTTP/1.1 200 OK\r\nContent-Length: 15\r\n\r\nprivate of alice")
    let fixture = try ServiceFixture()
    func load(_ path: String, _ account: String, _ policy: FetchPolicy) async -> [String] {
      await fixture.outline(origin.server.url(path), policy: policy) { $0.account = .named(account) }
    }
    #expect(await load("/first", "alice", .freshOnly) == ["fresh(first, new)"])
    await origin.sendMore()
    #expect(await load("/b", "bob", .freshOnly) == ["fresh(own /b, new)"])
    #expect(await load("/b", "bob", .storedOnly) == ["stored(own /b)"])
    await fixture.service.close()
  }

  @Test func `over TLS a connection is used again, whatever tickets the server has sent`() async throws {
    let certificates = try TestCertificates()
    try await certificates.makeAuthority()
    try await certificates.make("good", host: "good.test")
    let nginx = try NginxServer(
      server: """
        \(certificates.directives("good")) server_name good.test; ssl_session_tickets on;
        add_header X-Connection $connection; location /tls { return 200 hello; }
        """,
      listen: "ssl")
    let transport = CurlTransport()
    var request = TransportRequest(
      url: try #require(URL(string: "https://good.test:\(nginx.port)/tls")), limits: .unhurried)
    request.connection.certificateAuthorityFile = certificates.authority
    request.connection.resolutions = [.init(host: "good.test", port: Int(nginx.port), address: "127.0.0.1")]
    var connections: Set<String?> = []
    for _ in 0..<5 {
      let response = try await transport.response(to: request)
      #expect(try await response.body.text() == "hello" && response.version == "1.1")
      connections.insert(response.fields["X-Connection"])
    }
    #expect(connections.count == 1)
  }

  @Test func `a connection over a unix socket carries one exchange`() async throws {
    let folder = try TemporaryFolder()
    let origin = try FixtureServer(unixSocket: folder.file("s")) { request, connection in
      try connection.send(.ok(request.path))
    }
    let transport = CurlTransport()
    var connection = ConnectionOptions()
    connection.unixSocket = folder.file("s")
    for path in ["/a", "/b"] {
      #expect(
        try await transport.response(to: origin.request(path, connection: connection)).body.text() == path)
    }
    #expect(origin.acceptedConnections == 2)
  }
}
