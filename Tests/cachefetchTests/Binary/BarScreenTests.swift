import FixtureServer
import PlatformFoundation
import TestSupport
import Testing
import TestTurns

@testable import cachefetch

/// The bar of a transfer in a real terminal: drawn, resized, interrupted, suspended, and gone when something is said.
@Suite("Command: the bar on the screen", .inTurn.serially, .serialized) struct BarScreenTests {
  private static let url = "http://a.example/"

  /// An origin whose body of 2 MB comes by quarters: two at once, the others each when its gate opens.
  private struct Origin {
    var shell: Shell
    let server: FixtureServer
    let gates = [Gate(), Gate()]

    init() throws {
      shell = try Shell()
      let folder = try BuiltProduct.cachefetch().split(separator: "/").dropLast().joined(separator: "/")
      shell.environment["PATH"] = "/\(folder):/usr/bin:/bin"
      let quarter = [UInt8](repeating: 0x61, count: 500_000)
      server = try FixtureServer(unixSocket: shell.file("s")) { [gates] _, connection in
        try connection.sendRaw("HTTP/1.1 200 OK\r\nContent-Length: 2000000\r\n\r\n")
        try connection.sendRaw(quarter + quarter)
        for gate in gates {
          gate.wait()
          try connection.sendRaw(quarter)
        }
      }
    }

    /// Lets the rest come.
    func finish() {
      for gate in gates { gate.open() }
    }
  }

  private static let get = "cachefetch --unix-socket s -o out \(url)"

  /// What differs from run to run taken out: the rate, what is left, and so the cells.
  private static func normalised(_ text: String) -> String {
    text.replacing(#/\[=+> +\]/#, with: "[BAR]").replacing(#/[0-9.]+ [kM]?B\/s/#, with: "RATE")
      .replacing(#/[0-9.]+ [a-z]+( [0-9]+ s)? left/#, with: "TIME left").replacing(
        #/in [0-9.]+ [a-z]+( [0-9]+ s)?/#, with: "in TIME")
  }

  @Test(arguments: [40, 80, 200])
  func `a transfer that takes long has a bar, which is erased before the heading`(width: Int) async throws {
    let origin = try Origin()
    let screen = try await TmuxScreen(
      width: width, shell: origin.shell, line: "\(Self.get); SIGNAL done; cat")
    // The first of them may be too early to know how long it will take; where there is room the next one says it.
    let shown = try await screen.text(showing: width == 40 ? "50%" : " left")
    #expect(shown.count < width)
    let path =
      "/" + #filePath.split(separator: "/").dropLast(2).joined(separator: "/") + "/Screens/bar-\(width).txt"
    let text = Self.normalised(shown) + "\n"
    if Environment.value("CACHEFETCH_KEEP_SCREENS") != nil {
      try Data(text.utf8).write(to: URL(filePath: path))
    }
    #expect(text == (try? String(contentsOf: URL(filePath: path), encoding: .utf8)))
    origin.finish()
    try await screen.wait(for: "done")
    let after = try await screen.text(showing: "fresh")
    // On a busy machine a line before the heading, and one after it, say that the store takes its time.
    #expect(Self.normalised(after).contains("fresh    200 OK · in TIME · 2.0 MB"), "\(after)")
    #expect(!after.contains("%"), "\(after)")
  }

  @Test(arguments: [(200, 80), (80, 40), (40, 200)])
  func `a window of another width has the bar fit, and nothing of the old one stays`(
    width: Int, other: Int
  ) async throws {
    let origin = try Origin()
    let screen = try await TmuxScreen(
      width: width, shell: origin.shell, line: "echo above; \(Self.get); SIGNAL done; cat")
    #expect(try await screen.shows("50%"))
    try await screen.resize(width: other)
    origin.gates[0].open()
    // What stands above may have gone over the upper edge where tmux broke the bar in two.
    let lines = try await screen.text(showing: "75%").split(separator: "\n").filter { $0 != "above" }
    #expect(lines.count == 1 && lines[0].count < other, "\(lines)")
    origin.finish()
    try await screen.wait(for: "done")
    let after = try await screen.text(showing: "fresh").split(separator: "\n")
    // On a busy machine lines before the heading, and one after it, say that the store takes its time.
    #expect(after.count { $0.hasPrefix("fresh ") } == 1, "\(after)")
    #expect(!after.contains { $0.contains("%") || $0.contains("=") }, "\(after)")
    #expect(try await screen.history().hasPrefix("above\n"))
  }

  @Test(arguments: [40, 80, 200]) func `Ctrl-C takes the bar away and ends with 130`(width: Int) async throws
  {
    let origin = try Origin()
    let line = "trap : INT; \(Self.get); echo status $?; SIGNAL done; cat"
    let screen = try await TmuxScreen(width: width, shell: origin.shell, line: line)
    #expect(try await screen.shows("50%"))
    try await screen.type("C-c")
    try await screen.wait(for: "done")
    #expect(try await screen.text(showing: "status") == "status 130")
    origin.finish()
  }

  @Test(arguments: [40, 80, 200])
  func `suspended during the bar it goes on where it was`(width: Int) async throws {
    let origin = try Origin()
    let screen = try await TmuxScreen(width: width, shell: origin.shell, line: "exec bash --norc -i")
    try await screen.type("\(Self.get)", "Enter")
    #expect(try await screen.shows("50%"))
    try await screen.type("C-z")
    #expect(try await screen.shows("Stopped"))
    try await screen.type("clear; fg", "Enter")
    origin.gates[0].open()
    #expect(try await screen.shows("75%"))
    origin.gates[1].open()
    #expect(try await screen.shows("fresh  "))
    #expect(try await !screen.text().contains("75%"))
    origin.finish()
  }

  @Test func `where the body's bytes go to the terminal as they are, no bar is drawn among them`()
    async throws
  {
    var origin = try Origin()
    origin.shell.environment["TERM"] = "xterm"
    let words = ["--unix-socket", "s"]
    func start(_ more: [String]) throws -> ChildProcess {
      try ChildProcess(
        BuiltProduct.cachefetch(), words + more, environment: origin.shell.environment,
        directory: origin.shell.store.folder.path, output: .terminal, errors: .asOutput)
    }
    let child = try start(["-o", "-", Self.url])
    await origin.server.waitForRequests(1)
    // Longer than it takes a bar to appear: another command shows one.
    let witness = try start(["-o", "other", Self.url + "two"])
    #expect(await witness.output.waits(for: "50%"))
    #expect(child.output.bytes.isEmpty, "\(child.output.text.prefix(200).debugDescription)")
    origin.finish()
    let shown = await child.finished().outputText
    #expect(!shown.contains("%") && shown.filter { $0 == "a" }.count >= 2_000_000)
    #expect(await witness.finished().status == 0)
  }

  @Test func `in a pipe, with -q and on a dumb terminal there is no bar`() async throws {
    for (words, type) in [("2>err", "xterm"), ("-q", "xterm"), ("", "dumb")] {
      let origin = try Origin()
      let line = "TERM=\(type) \(Self.get) \(words) & read x; wait; SIGNAL done; cat"
      let screen = try await TmuxScreen(width: 80, shell: origin.shell, line: line)
      await origin.server.waitForRequests(1)
      // Longer than it takes a bar to appear: another command on the same terminal shows one.
      let other = "cachefetch --unix-socket s -o other \(Self.url)two"
      let witness = try await TmuxScreen(width: 80, shell: origin.shell, line: "\(other); cat")
      #expect(try await witness.shows("50%"), "\(words)")
      #expect(try await screen.text() == "", "\(words)")
      origin.finish()
      try await screen.type("Enter")
      try await screen.wait(for: "done")
      #expect(try await !screen.text().contains("%"), "\(words)")
    }
  }
}
