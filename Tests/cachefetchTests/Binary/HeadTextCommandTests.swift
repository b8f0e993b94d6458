import FixtureServer
import PlatformFoundation
import Synchronization
import TestSupport
import Testing
import TestTurns

@Suite("Command: heads", .inTurn) struct HeadTextCommandTests {
  @Test func `-i prints the head as received, a stored one with Age and Cache-Status`() async throws {
    let shell = try Shell()
    let origin = try ChangingOrigin(.ok("one", ["X-A": "é", "ETag": "\"1\""]))
    let fresh = try await shell.run("-i", origin.url)
    #expect(fresh.outputText == "HTTP/1.1 200 OK\r\nX-A: é\r\nETag: \"1\"\r\nContent-Length: 3\r\n\r\none")
    let stored = try await shell.run("-i", "--offline", origin.url)
    #expect(stored.outputText.hasPrefix("HTTP/1.1 200 OK\r\nX-A: é\r\n"))
    #expect(
      stored.outputText.contains("\r\nAge: ")
        && stored.outputText.contains("\r\nCache-Status: cachefetch; hit"))
    #expect(stored.outputText.hasSuffix("\r\n\r\none"))
    // `show` adds those two to what is stored, and nothing else.
    let shown = try await shell.run("show", "-i", origin.url)
    let names = shown.outputText.split(separator: "\r\n").dropFirst().dropLast().map {
      $0.prefix { $0 != ":" }
    }
    #expect(
      Set(names) == ["X-A", "ETag", "Content-Length", "Date", "Age", "Cache-Status"] && names.count == 6,
      "\(names)")
  }

  @Test func `1xx heads come first under -i`() async throws {
    let shell = try Shell()
    let origin = try FixtureServer { _, connection in
      try connection.sendRaw("HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n")
      try connection.send(.ok("x"))
    }
    let run = try await shell.run("-i", origin.url + "/")
    #expect(
      run.outputText == "HTTP/1.1 103 \r\nLink: </a>\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nx")
  }

  @Test func `-I asks with HEAD and prints the head alone`() async throws {
    let shell = try Shell()
    let origin = try ChangingOrigin(.ok("one", ["X-A": "b"]))
    let run = try await shell.run("-I", origin.url)
    #expect(run.outputText == "HTTP/1.1 200 OK\r\nX-A: b\r\nContent-Length: 3\r\n\r\n")
    #expect(origin.server.requests().map(\.method) == ["HEAD"])
    // Another status is a change, although the length that stands for the body is the same.
    _ = try await shell.run(origin.url)
    origin.answer(.status(404, "two"))
    let gone = try await shell.run("-I", "--json", origin.url)
    #expect(gone.lines.last?.contains("\"status\":404") == true, "\(gone.outputText)")
    #expect(gone.lines.last?.contains("\"change\":\"changed\"") == true, "\(gone.outputText)")
  }
}
