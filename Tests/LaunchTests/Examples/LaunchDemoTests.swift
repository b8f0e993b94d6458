import FixtureServer
import Synchronization
import TestSupport
import Testing
import TestTurns

@Suite("Launch demo, driven through a terminal", .inTurn) struct LaunchDemoTests {
  /// An origin as the demo wants it; the test changes the news and takes the feed away.
  private final class Origin: Sendable {
    let server: FixtureServer
    private final class State: Sendable {
      let value = Mutex<(news: String, isFeedDown: Bool)>(("Ice gone", false))
    }
    private let shared: State

    init() throws {
      let shared = State()
      self.shared = shared
      server = try FixtureServer(routes: [
        "/settings": { _ in .ok(#"{"minimum": 1}"#) },
        "/login": { request in .ok(#"{"token": "\#(request.bodyText)-token"}"#) },
        "/feed": { request in
          let (news, isDown) = shared.value.withLock { $0 }
          if isDown { return .status(503) }
          guard request["Authorization"]?.hasSuffix("-token") == true else { return .status(401) }
          return .ok(#"{"items": ["\#(news)"]}"#)
        },
      ])
    }

    func publish(_ news: String) { shared.value.withLock { $0.news = news } }
    func setFeedDown(_ isDown: Bool) { shared.value.withLock { $0.isFeedDown = isDown } }
  }

  private func start(_ origin: Origin, in folder: TemporaryFolder) throws -> ChildProcess {
    try ChildProcess(
      BuiltProduct.path("LaunchDemo"), [origin.server.url, folder.path],
      environment: ["http_proxy": nil, "all_proxy": nil], input: nil, typesInput: true, output: .terminal,
      errors: .asOutput)
  }

  private func type(_ line: String, into child: ChildProcess) { child.write(Array((line + "\n").utf8)) }

  /// Waits until the text is on the screen, and has the demo try again whenever it asks meanwhile: on a busy
  /// machine its three seconds may be over too soon, or a network that is down fail before the store is open.
  private func shows(_ text: String, on child: ChildProcess) async -> Bool {
    while true {
      let bytes = child.output.bytes
      let screen = String(decoding: bytes, as: UTF8.self)
      if screen.contains(text) { return true }
      if screen.hasSuffix("[q]uit? ") { type("r", into: child) }
      // After an answer its echo comes, so that no question is answered twice.
      await child.output.waits(forBytes: bytes.count + 1)
      guard child.output.bytes.count > bytes.count else { return false }
    }
  }

  @Test func `login, the list in place, a launch offline, and sign-out`() async throws {
    let origin = try Origin()
    let folder = try TemporaryFolder()
    let first = try start(origin, in: folder)
    #expect(await first.output.waits(for: "Name: "))
    type("alice", into: first)
    #expect(await shows("News for alice\r\n  * Ice gone", on: first))
    origin.publish("Harbour frozen")
    type("r", into: first)
    // Over the old list: the title, the item, the commands, and the line that was typed.
    #expect(await first.output.waits(for: "\u{1B}[4A\u{1B}[JNews for alice\r\n  * Harbour frozen"))
    type("q", into: first)
    #expect(await first.exit() == .status(0))

    origin.server.stop()
    let second = try start(origin, in: folder)
    #expect(await shows("News for alice\r\n  * Harbour frozen", on: second))
    #expect(!second.output.text.contains("Name: "))
    type("o", into: second)
    #expect(await second.output.waits(for: "Signed out.\r\nName: "))
    second.write([0x04])
    #expect(await second.exit() == .status(0))

    let third = try start(origin, in: folder)
    #expect(await third.output.waits(for: "Name: "))
    type("alice", into: third)
    #expect(await third.output.waits(for: "Signing in failed: "))
    third.write([0x04])
    #expect(await third.exit() == .status(0))
    #expect(!third.output.text.contains("Harbour"))
  }

  @Test func `a launch that fails asks, and goes on as answered`() async throws {
    let origin = try Origin()
    origin.setFeedDown(true)
    let folder = try TemporaryFolder()
    let child = try start(origin, in: folder)
    #expect(await child.output.waits(for: "Name: "))
    type("bob", into: child)
    // Not the question after three seconds, which may come before it.
    #expect(await shows("Not everything could be loaded\r\nThere is nothing for “feed”", on: child))
    #expect(await child.output.waits(for: "[r]etry  [q]uit? "))
    origin.setFeedDown(false)
    // Answers the question.
    #expect(await shows("News for bob\r\n  * Ice gone", on: child))
    type("q", into: child)
    #expect(await child.exit() == .status(0))
  }
}
