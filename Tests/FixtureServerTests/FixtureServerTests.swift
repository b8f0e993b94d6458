import FixtureServer
import Testing
import TestTurns

@Suite("Fixture server", .inTurn) struct FixtureServerTests {
  @Test func `a route is answered and the request is logged`() throws {
    let server = try FixtureServer(routes: ["/a": .ok("hello", ["ETag": "\"1\""])])
    let client = try RawClient(port: server.port)
    let answer = try client.exchange("GET /a?x=1 HTTP/1.1\r\nHost: h\r\nX-Odd:  \t v \r\nx-odd: w\r\n\r\n")
    #expect(answer == "HTTP/1.1 200 OK\r\nETag: \"1\"\r\nContent-Length: 5\r\n\r\nhello")
    let request = try #require(server.requests(to: "/a").first)
    #expect(request.target == "/a?x=1")
    #expect(request.values(of: "X-ODD") == ["v", "w"])
    #expect(request.connection == 1)
  }

  @Test func `a connection is kept for the next request`() throws {
    let server = try FixtureServer(routes: ["/a": .ok("1"), "/b": .ok("2")])
    let client = try RawClient(port: server.port)
    #expect(try client.exchange("GET /a HTTP/1.1\r\n\r\n").hasSuffix("1"))
    #expect(try client.exchange("GET /b HTTP/1.1\r\n\r\n").hasSuffix("2"))
    #expect(server.acceptedConnections == 1)
    #expect(server.requests().map(\.path) == ["/a", "/b"])
  }

  @Test func `a reply that does not keep the connection is followed by its end`() throws {
    let server = try FixtureServer { _, connection in try connection.send(.ok("bye").closing()) }
    let client = try RawClient(port: server.port)
    try client.send("GET / HTTP/1.1\r\n\r\n")
    #expect(try client.readToEnd().contains("Connection: close"))
  }

  @Test func `a body arrives whole, by length or chunked`() throws {
    let server = try FixtureServer { _, connection in try connection.send(.status(204)) }
    let client = try RawClient(port: server.port)
    _ = try client.exchange("POST /l HTTP/1.1\r\nContent-Length: 5\r\n\r\n12345")
    _ = try client.exchange(
      "POST /c HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2;x\r\nde\r\n0\r\n\r\n")
    #expect(server.requests().map(\.bodyText) == ["12345", "abcde"])
  }

  @Test func `a chunked reply carries the body in chunks`() throws {
    let server = try FixtureServer { _, connection in
      try connection.send(.ok("abcde").chunked(by: 3).closing())
    }
    let client = try RawClient(port: server.port)
    try client.send("GET / HTTP/1.1\r\n\r\n")
    #expect(try client.readToEnd().hasSuffix("\r\n\r\n3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n"))
  }

  @Test func `HEAD is answered with the fields of GET and no body`() throws {
    let server = try FixtureServer { _, connection in try connection.send(.ok("abcde").closing()) }
    let client = try RawClient(port: server.port)
    try client.send("HEAD / HTTP/1.1\r\n\r\n")
    #expect(try client.readToEnd() == "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nConnection: close\r\n\r\n")
  }

  @Test(
    "A matching validator gives 304",
    arguments: [
      ("If-None-Match: \"1\"", 304), ("If-None-Match: \"0\", W/\"1\"", 304), ("If-None-Match: *", 304),
      ("If-None-Match: \"2\"", 200), ("If-Modified-Since: Sat, 21 Nov 2026 00:00:00 GMT", 304),
      ("If-None-Match: \"2\"\r\nIf-Modified-Since: Sat, 21 Nov 2026 00:00:00 GMT", 200), ("X: y", 200),
    ])
  func validators(field: String, status: Int) throws {
    let server = try FixtureServer { request, connection in
      try connection.send(
        .validated("b", etag: "\"1\"", lastModified: "Sat, 21 Nov 2026 00:00:00 GMT", for: request))
    }
    let client = try RawClient(port: server.port)
    #expect(try client.exchange("GET / HTTP/1.1\r\n\(field)\r\n\r\n").hasPrefix("HTTP/1.1 \(status) "))
  }

  @Test func `bytes that are no request get 400`() throws {
    let server = try FixtureServer(routes: ["/": .ok("")])
    let client = try RawClient(port: server.port)
    try client.send("nonsense\r\n\r\n")
    #expect(try client.readToEnd().hasPrefix("HTTP/1.1 400 "))
  }

  @Test func `requests are waited for as an event`() async throws {
    let server = try FixtureServer(routes: ["/a": .ok(""), "/b": .ok("")])
    async let arrived: Void = server.waitForRequests(2, to: "/a")
    let client = try RawClient(port: server.port)
    for path in ["/a", "/b", "/a"] { _ = try client.exchange("GET \(path) HTTP/1.1\r\n\r\n") }
    await arrived
    #expect(server.requests(to: "/a").count == 2)
  }

  @Test func `a handler waits at a gate without holding other connections up`() async throws {
    let gate = Gate()
    let server = try FixtureServer { request, connection in
      if request.path == "/slow" { gate.wait() }
      try connection.send(.ok(request.path))
    }
    let slow = try RawClient(port: server.port)
    try slow.send("GET /slow HTTP/1.1\r\n\r\n")
    await server.waitForRequests(1, to: "/slow")
    let quick = try RawClient(port: server.port)
    #expect(try quick.exchange("GET /quick HTTP/1.1\r\n\r\n").hasSuffix("/quick"))
    gate.open()
    #expect(try slow.readMessage().hasSuffix("/slow"))
  }
}
