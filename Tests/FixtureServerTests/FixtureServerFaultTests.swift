import FixtureServer
import Testing
import TestTurns

@Suite("Fixture server: faults", .inTurn) struct FixtureServerFaultTests {
  @Test func `a stopped server refuses connections and ends those it has`() throws {
    let server = try FixtureServer(routes: ["/": .ok("x")])
    let client = try RawClient(port: server.port)
    _ = try client.exchange("GET / HTTP/1.1\r\n\r\n")
    server.stop()
    #expect(try client.readToEnd() == "")
    #expect(throws: RawClient.Refused.self) { try RawClient(port: server.port) }
  }

  @Test func `a started server is back on its port with its log`() throws {
    let server = try FixtureServer(routes: ["/": .ok("x")])
    let port = server.port
    for round in 1...20 {
      let client = try RawClient(port: port)
      _ = try client.exchange("GET / HTTP/1.1\r\n\r\n")
      #expect(server.requests().count == round)
      #expect(server.requests().last?.connection == round)
      server.stop()
      try server.start()
    }
    #expect(server.port == port)
  }

  @Test func `another server can take over the port of a stopped one`() throws {
    let first = try FixtureServer(routes: ["/": .ok("first")])
    first.stop()
    let second = try FixtureServer.on(port: first.port) { _, connection in try connection.send(.ok("second"))
    }
    let client = try RawClient(port: second.port)
    #expect(try client.exchange("GET / HTTP/1.1\r\n\r\n").hasSuffix("second"))
  }

  @Test func `a reset reaches the client as an error, a close as the end`() throws {
    let server = try FixtureServer { request, connection in
      try connection.sendRaw("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\npart")
      if request.path == "/reset" { connection.reset() } else { connection.close() }
    }
    let closed = try RawClient(port: server.port)
    try closed.send("GET /close HTTP/1.1\r\n\r\n")
    #expect(try closed.readToEnd().hasSuffix("part"))
    let reset = try RawClient(port: server.port)
    try reset.send("GET /reset HTTP/1.1\r\n\r\n")
    #expect(throws: (any Error).self) {
      while true { if try reset.readToEnd().isEmpty { break } }
    }
  }

  @Test func `an error thrown by the handler ends the connection`() throws {
    struct Broken: Error {}
    let server = try FixtureServer { _, _ in throw Broken() }
    let client = try RawClient(port: server.port)
    try client.send("GET / HTTP/1.1\r\n\r\n")
    #expect(try client.readToEnd() == "")
  }

  @Test func `the handler notices when the client goes away`() async throws {
    let gone = Gate()
    let server = try FixtureServer { _, connection in
      connection.waitForPeerClose()
      gone.open()
    }
    do {
      let client = try RawClient(port: server.port)
      try client.send("GET / HTTP/1.1\r\n\r\n")
      await server.waitForRequests(1)
      client.close()
    }
    await gone.wait()
    #expect(gone.isOpen)
  }

  @Test func `expect 100-continue is answered before the body`() throws {
    let server = try FixtureServer { _, connection in try connection.send(.ok("done").closing()) }
    let client = try RawClient(port: server.port)
    try client.send("PUT / HTTP/1.1\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n")
    #expect(try client.readHead() == "HTTP/1.1 100 Continue\r\n\r\n")
    try client.send("hi")
    #expect(try client.readToEnd().hasSuffix("done"))
    #expect(server.requests().first?.bodyText == "hi")
  }

  @Test func `a gate that is open lets everyone through, and a cancelled task does not wait`() async {
    let gate = Gate()
    let waiting = Task { await gate.wait() }
    waiting.cancel()
    await waiting.value
    #expect(!gate.isOpen)
    gate.open()
    gate.open()
    await gate.wait()
    #expect(gate.isOpen)
  }
}
