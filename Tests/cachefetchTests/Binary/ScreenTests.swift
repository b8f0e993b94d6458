import FixtureServer
import PlatformFoundation
import TestSupport
import Testing
import TestTurns

@testable import cachefetch

/// What a person sees, compared with kept text. `CACHEFETCH_KEEP_SCREENS=1` writes it anew, for a look at the difference.
@Suite("Command: screens", .inTurn.serially, .serialized) struct ScreenTests {
  private static let url =
    "http://news.example/articles/2026/a-long-title-that-no-narrow-window-can-show-as-a-whole.json"

  /// A folder with an origin behind a socket, so that every URL on the screen is the same in every run.
  private func origin(_ reply: FixtureReply) throws -> (shell: Shell, server: FixtureServer) {
    var shell = try Shell()
    let folder = try BuiltProduct.cachefetch().split(separator: "/").dropLast().joined(separator: "/")
    shell.environment["PATH"] = "/\(folder):/usr/bin:/bin"
    let server = try FixtureServer(unixSocket: shell.file("s")) { _, connection in try connection.send(reply)
    }
    return (shell, server)
  }

  private static let json = FixtureReply.ok(
    #"{"title":"News","items":[1,2],"read":false}"#, ["Content-Type": "application/json", "ETag": "\"1\""])

  private static var folder: String {
    "/" + #filePath.split(separator: "/").dropLast(2).joined(separator: "/") + "/Screens"
  }

  /// Times taken differ from run to run; everything else must not.
  private static func normalised(_ text: String) -> String {
    text.replacing(#/in [0-9.]+ (ms|s)\b/#, with: "in TIME")
  }

  /// Compares what `line` leaves on the screen. A machine so busy that what was just stored is a second old by then
  /// gets another try: ages are part of what is kept.
  private func compare(
    _ name: String, width: Int, height: Int = 24, line: String,
    prepare: () async throws -> (shell: Shell, server: FixtureServer)
  ) async throws {
    var shown = ""
    repeat {
      let (shell, server) = try await prepare()
      let screen = try await TmuxScreen(
        width: width, height: height, shell: shell, line: line + "; SIGNAL done; cat")
      try await screen.wait(for: "done")
      shown = Self.normalised(try await screen.text()) + "\n"
      server.stop()
    } while shown.contains(#/[0-9] seconds? ago/#)
    let path = "\(Self.folder)/\(name)-\(width).txt"
    if Environment.value("CACHEFETCH_KEEP_SCREENS") != nil {
      try Data(shown.utf8).write(to: URL(filePath: path))
    }
    let kept = try? String(contentsOf: URL(filePath: path), encoding: .utf8)
    #expect(shown == kept, "\(name)")
  }

  @Test(arguments: [40, 80, 200]) func `a first and a second get`(width: Int) async throws {
    let get = "cachefetch --unix-socket s \(Self.url)"
    try await compare("get", width: width, line: "\(get); \(get)") {
      try origin(Self.json)
    }
  }

  @Test(arguments: [40, 80, 200])
  func `where the origin is gone the stored body is shown, and why no fresh one is`(width: Int) async throws {
    try await compare("gone", width: width, line: "cachefetch --retry 0 --unix-socket s \(Self.url)") {
      let (shell, server) = try origin(Self.json)
      _ = try await shell.run("--unix-socket", "s", Self.url)
      server.stop()
      return (shell, server)
    }
  }

  @Test(arguments: [40, 80, 200]) func `a list fits the window, whatever its width`(width: Int) async throws {
    try await compare("list", width: width, line: "cachefetch list") {
      var shell = try Shell()
      let folder = try BuiltProduct.cachefetch().split(separator: "/").dropLast().joined(separator: "/")
      // Through a proxy, which is part of no key.
      let server = try FixtureServer { _, connection in try connection.send(Self.json) }
      shell.environment["PATH"] = "/\(folder):/usr/bin:/bin"
      shell.environment["http_proxy"] = server.url
      _ = try await shell.run(Self.url, "http://a.example/")
      _ = try await shell.run("--account", "alice", "--pin", "--tag", "news", "http://a.example/")
      _ = try await shell.run("-q", "--no-location", "http://a.example/")
      server.stop()
      return (shell, server)
    }
  }

  @Test(arguments: [40, 80, 200])
  func `diff shows each JSON difference with its path, whatever the width`(width: Int) async throws {
    let diff = "cachefetch diff --unix-socket s \(Self.url)"
    try await compare("diff", width: width, line: "\(diff); echo status $?; \(diff); echo status $?") {
      let (shell, server) = try origin(Self.json)
      _ = try await shell.run("--unix-socket", "s", Self.url)
      server.stop()
      let changed = FixtureReply.ok(
        #"{"title":"News of a night in which more happened than fits","items":[1],"read":false}"#,
        ["Content-Type": "application/json"])
      return (
        shell,
        try FixtureServer(unixSocket: shell.file("s")) { _, connection in try connection.send(changed) }
      )
    }
  }

  @Test(arguments: [40, 80, 200]) func `the help of a verb fits the window, whatever its width`(width: Int)
    async throws
  {
    try await compare("help", width: width, height: 60, line: "cachefetch help stats") {
      try origin(Self.json)
    }
  }

  @Test(arguments: [40, 80, 200])
  func `Ctrl-C ends a watch with 130, and the terminal is as it was`(width: Int) async throws {
    let (shell, server) = try origin(Self.json)
    let line =
      "trap : INT; cachefetch watch --every 50ms --unix-socket s \(Self.url); echo status $?; SIGNAL done; cat"
    let screen = try await TmuxScreen(width: width, shell: shell, line: line)
    await server.waitForRequests(2)
    try await screen.type("C-c")
    try await screen.wait(for: "done")
    let text = try await screen.text()
    #expect(text.hasSuffix("^Cstatus 130") && text.hasPrefix("watching "), "\(text)")
    server.stop()
  }

  @Test(arguments: [40, 80, 200]) func `a suspended watch goes on where it was`(width: Int) async throws {
    let (shell, server) = try origin(Self.json)
    let screen = try await TmuxScreen(width: width, shell: shell, line: "exec bash --norc -i")
    try await screen.type("cachefetch watch --every 50ms --unix-socket s \(Self.url); echo over", "Enter")
    await server.waitForRequests(2)
    try await screen.type("C-z")
    #expect(try await screen.shows("Stopped"))
    let seen = server.requests().count
    try await screen.type("fg", "Enter")
    await server.waitForRequests(seen + 2)
    try await screen.type("C-c")
    #expect(try await screen.shows("^C"))
    server.stop()
  }

  @Test func `a window made narrower is heeded by the next line`() async throws {
    let (shell, server) = try origin(Self.json)
    let line = "read x; cachefetch --unix-socket s http://a.example/ \(Self.url); SIGNAL done; cat"
    let screen = try await TmuxScreen(width: 120, shell: shell, line: line)
    try await screen.resize(width: 50)
    try await screen.type("Enter")
    try await screen.wait(for: "done")
    let lines = try await screen.text().split(separator: "\n")
    #expect(lines.contains { $0.hasPrefix("         …") && $0.hasSuffix(".json") && $0.count == 50 })
    server.stop()
  }

  @Test(arguments: [40, 80, 200]) func `a closed pipe ends it without a word`(width: Int) async throws {
    let (shell, server) = try origin(.ok(String(repeating: "line\n", count: 200_000)))
    let line = "cachefetch -q --unix-socket s http://a.example/ | head -n 1; SIGNAL done; cat"
    let screen = try await TmuxScreen(width: width, shell: shell, line: line)
    try await screen.wait(for: "done")
    #expect(try await screen.text() == "line")
    server.stop()
  }
}
