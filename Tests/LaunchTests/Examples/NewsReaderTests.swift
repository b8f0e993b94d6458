import FixtureServer
import TestSupport
import Testing
import TestTurns

/// The models have tests of their own, in the example; here is what a person sees.
@Suite("News reader, driven through a terminal", .inTurn) struct NewsReaderTests {
  /// An origin that answers no request for headlines while the one gate is open and the other is not.
  private func origin(silentFrom beginning: Gate, to end: Gate) throws -> FixtureServer {
    try FixtureServer(routes: [
      "/sign-in": { request in .ok(#"{"token": "\#(request.bodyText)-token"}"#) },
      "/headlines": { _ in
        if beginning.isOpen { end.wait() }
        return .ok(#"[{"id": 7, "title": "Ice gone"}]"#)
      },
      "/stories/7": { _ in .ok(#"{"title": "Ice gone", "text": "It thawed."}"#) },
    ])
  }

  private func start(_ server: FixtureServer, in folder: TemporaryFolder) throws -> ChildProcess {
    try ChildProcess(
      BuiltProduct.path("NewsReader"), [server.url, folder.path],
      environment: ["http_proxy": nil, "all_proxy": nil], input: nil, typesInput: true, output: .terminal,
      errors: .asOutput)
  }

  private func type(_ line: String, into child: ChildProcess) { child.write(Array((line + "\n").utf8)) }

  @Test func `login, list, story and sign-out, and a launch offline`() async throws {
    let (isSilent, isGone) = (Gate(), Gate())
    let server = try origin(silentFrom: isSilent, to: isGone)
    let folder = try TemporaryFolder()
    let first = try start(server, in: folder)
    #expect(await first.output.waits(for: "Name: "))
    type("ada", into: first)
    #expect(await first.output.waits(for: "News for ada\r\n  7  Ice gone\r\n"))
    type("7", into: first)
    type("", into: first)
    #expect(await first.output.waits(for: "Ice gone\r\n  It thawed.\r\n"))
    type("q", into: first)
    #expect(await first.exit() == .status(0))

    // The origin goes once the stored list is seen: did it fail at once, the screen might show the end alone.
    isSilent.open()
    let second = try start(server, in: folder)
    #expect(await second.output.waits(for: "News for ada (stored, looking for newer)\r\n  7  Ice gone\r\n"))
    #expect(!second.output.text.contains("Name: "))
    server.stop()
    isGone.open()
    #expect(await second.output.waits(for: "News for ada (stored)\r\n  7  Ice gone\r\n"))
    type("o", into: second)
    #expect(await second.output.waits(for: "Signed out.\r\nName: "))
    second.write([0x04])
    #expect(await second.exit() == .status(0))
  }
}
