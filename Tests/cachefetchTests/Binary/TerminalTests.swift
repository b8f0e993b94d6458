import FixtureServer
import PlatformC
import Synchronization
import TestSupport
import Testing
import TestTurns

@Suite("Command: on a terminal", .inTurn) struct TerminalTests {
  /// What a terminal shows of a run: both streams, carriage returns left out.
  private func screen(
    _ shell: Shell, _ words: [String], colours: Bool = false, type: String = "xterm"
  ) async throws -> String {
    var environment = shell.environment
    environment["TERM"] = type
    environment["NO_COLOR"] = colours ? .some(nil) : "1"
    let child = try ChildProcess(
      BuiltProduct.cachefetch(), words, environment: environment, directory: shell.store.folder.path,
      output: .terminal, errors: .asOutput)
    return (await child.finished()).outputText.replacing("\r\n", with: "\n")
  }

  @Test func `each delivery is introduced by one line, an unchanged body is not shown twice`() async throws {
    let shell = try Shell()
    let origin = try ChangingOrigin(.ok("one\n", ["ETag": "\"1\""]))
    let first = try await screen(shell, [origin.url])
    #expect(
      first.hasPrefix("fresh    200 OK · in ") && first.contains(" · 4 B · new") && first.hasSuffix("\none\n")
    )
    let second = try await screen(shell, [origin.url]).split(separator: "\n").map(String.init)
    #expect(second.count == 3)
    #expect(second[0].hasPrefix("stored   200 OK · ") && second[1] == "one")
    #expect(second[2].hasPrefix("fresh    200 OK · in ") && second[2].hasSuffix(" · unchanged"))
  }

  @Test func `preload names what was not kept, and a bar stands for the rest`() async throws {
    let shell = try Shell()
    let origin = try FixtureServer { request, connection in
      try connection.send(.ok("x", request.path == "/left" ? ["Cache-Control": "no-store"] : [:]))
    }
    let screen = try await screen(shell, ["preload", origin.url + "/kept", origin.url + "/left"])
    #expect(screen.contains("not kept (no-store): \(origin.url)/left"), "\(screen)")
    #expect(!screen.contains("/kept"), "\(screen)")
  }

  @Test func `text in an encoding that it declares is legible`() async throws {
    let shell = try Shell()
    let latin = Array("caf".utf8) + [0xE9, 0x20, 0x80, 0x0A]
    let origin = try ChangingOrigin(.ok(latin, ["Content-Type": "text/plain; charset=iso-8859-1"]))
    #expect(try await screen(shell, [origin.url]).hasSuffix("\ncafé €\n"))
    #expect(try await shell.run("--offline", origin.url).output == latin)
    // A long one too, piece by piece: one of more than 4 MiB.
    let long = Array(repeating: latin, count: 600_000).flatMap { $0 }
    origin.answer(.ok(long, ["Content-Type": "text/plain; charset=windows-1252"]))
    let shown = try await screen(shell, ["-q", "--print", "fresh", origin.url])
    #expect(shown == String(repeating: "café €\n", count: 600_000))
    // What says so and is UTF-8 all the same stays what it is.
    origin.answer(.ok("café\n", ["Content-Type": "text/plain; charset=iso-8859-1"]))
    #expect(try await screen(shell, ["-q", "--print", "fresh", origin.url]) == "café\n")
  }

  @Test func `a terminal that is gone when the body comes is said, and is no success`() async throws {
    let shell = try Shell()
    let origin = try ChangingOrigin(.ok("one\n"))
    let gate = origin.hold()
    let (child, parent) = try ChildStream.terminal()
    let process = try shell.start("-q", origin.url, output: .descriptor(child))
    await origin.server.waitForRequests(1)
    close(parent)
    gate.open()
    let run = await process.finished()
    close(child)
    #expect(run.status == 74)
  }

  @Test func `a body without a line feed at its end does not swallow what follows`() async throws {
    let shell = try Shell()
    let origin = try ChangingOrigin(.ok(String(repeating: "x", count: 4_200_000)))
    #expect(try await screen(shell, ["-q", origin.url]).hasSuffix("x\n"))
  }

  @Test func `nothing an origin sends acts on the terminal, and in a pipe the bytes are exact`() async throws
  {
    let shell = try Shell()
    let evil = "a\u{1B}]0;title\u{7}\u{1B}[2Jb\u{9B}31m\u{202E}c\r\n"
    let origin = try ChangingOrigin(
      FixtureReply(reason: "O\u{1B}[31mK", fields: ["X-Evil": "v\u{9B}2J"], body: Array(evil.utf8)))
    let shown = try await screen(shell, ["-i", origin.url])
    #expect(!shown.contains("\u{1B}") && !shown.contains("\u{9B}") && !shown.contains("\u{7}"))
    #expect(!shown.contains("\u{202E}"))
    #expect(shown.contains("a^[]0;title^G^[[2Jb<U+009B>31m<U+202E>c\n"))
    #expect(try await shell.run("--offline", origin.url).outputText == evil)
    let listed = try await screen(shell, ["list"])
    #expect(!listed.contains("\u{1B}"))
  }

  @Test func `nothing that a name, a URL or a field says acts on the terminal`() async throws {
    let shell = try Shell()
    let evil = "\u{1B}]0;t\u{7}\u{9B}2J\u{202E}"
    let count = Mutex(0)
    let origin = try FixtureServer { _, connection in
      let number = count.withLock { count in
        count += 1
        return count
      }
      // Another one each time, so that every verb has a difference to show.
      try connection.send(
        .ok(
          "\(number) \(evil)\n",
          [
            "X-Evil": evil, "Vary": "X-Evil", "Cache-Control": "max-age=\(evil)",
            "Content-Type": "text/\(evil)",
          ]))
    }
    let url = origin.url + "/x"
    let field = ["-H", "X-Evil: a\u{9B}2J\u{202E}"]
    let request: [String] = ["--account", "alice", "--tag", "t"] + field + [url]
    let tagged = request + [origin.url + "/tagged"]
    #expect(try await shell.run(tagged).status == 0)
    // Names that an earlier release took.
    try shell.store.execute("UPDATE account SET name = '\(evil)' WHERE name = 'alice'")
    try shell.store.execute("UPDATE tag SET name = '\(evil)'")
    let asked: [String] = ["--account", "alice"] + field + [url]
    var lines: [[String]] = [["-v"] + request, ["list"], ["stats"], ["doctor"], ["diff"] + request]
    lines += [
      ["--json"] + request, ["list", "--json"], ["stats", "--json"], ["explain", "--json"] + asked,
    ]
    lines += [["watch", "--until-changed", "--every", "10ms"] + request, ["preload"] + request]
    lines += [["show", "-i"] + asked, ["explain"] + asked, ["explain", url + "?" + evil]]
    let format = "%header{X-Evil}%{content_type}\n"
    lines += [["-w", format] + request, ["--json", "-w", format] + request]
    // Entries of several accounts, which are named one by one.
    let other: [String] = ["--account", "b"] + field + [url]
    lines += [other, ["rm", "--yes", url], request]
    lines += [["rm", "--yes", "--tag", evil], ["sign-out", "--account", evil]]
    lines += [["sign-out", "--account", evil], ["show", "--account", evil, url]]
    lines += [["--account", evil, url], ["--tag", evil, url]]
    lines += [["http://a\(evil)/"], [evil], ["--\(evil)", "http://a/"], ["--policy", evil, "http://a/"]]
    lines += [["--store", "no\(evil)/\(evil)", "list"], ["--key", evil, "--offline", "http://a.example/"]]
    lines += [["-H", "@\(evil)", "http://a/"], ["-X", evil, "http://a/"], ["preload", evil + ".json"]]
    lines += [["import", evil]]
    for words in lines {
      // One on which the command draws nothing over itself: whatever acts is not its own.
      let shown = try await screen(shell, words, type: "dumb")
      let unsafe = shown.unicodeScalars.filter(actsOnTerminal)
      #expect(unsafe.isEmpty, "\(words) shows \(shown.debugDescription)")
    }
  }

  private func actsOnTerminal(_ scalar: Unicode.Scalar) -> Bool {
    if scalar == "\n" { return false }
    return scalar.value < 0x20 || (0x7F...0x9F).contains(scalar.value) || scalar.value == 0x202E
  }

  @Test func `JSON is indented and, where colours are wanted, coloured`() async throws {
    let shell = try Shell()
    let origin = try ChangingOrigin(.ok("{\"a\":[1,true]}", ["Content-Type": "application/json"]))
    let plain = try await screen(shell, [origin.url])
    #expect(plain.hasSuffix("{\n  \"a\": [\n    1,\n    true\n  ]\n}\n"))
    let coloured = try await screen(shell, ["--offline", origin.url], colours: true)
    #expect(coloured.contains("\u{1B}[34m\"a\"\u{1B}[0m"))
    // A terminal of no type has no colours.
    let untyped = try await screen(shell, ["--offline", origin.url], colours: true, type: "")
    #expect(!untyped.contains("\u{1B}"))
    #expect(try await shell.run("--offline", origin.url).outputText == "{\"a\":[1,true]}")
  }

  @Test func `a binary body is not written to a terminal unless one insists`() async throws {
    let shell = try Shell()
    let origin = try ChangingOrigin(.ok([0x89, 0x50, 0x00, 0x01]))
    let refused = try await screen(shell, [origin.url])
    #expect(refused.contains("a binary body of 4 B is not written to a terminal"))
    let insisted = try await screen(shell, ["--offline", "-o", "-", origin.url])
    #expect(insisted.contains("P\u{0}\u{1}"))
  }

  @Test func `lines of list are cut to the window`() async throws {
    let shell = try Shell()
    let origin = try FixtureServer { _, connection in try connection.send(.ok("x")) }
    _ = try await shell.run(origin.url + "/" + String(repeating: "a", count: 200))
    let listed = try await screen(shell, ["list"])
    #expect(listed.split(separator: "\n").allSatisfy { $0.count <= 110 } && listed.contains("…"), "\(listed)")
    #expect(try await shell.run("list").lines.allSatisfy { $0.count > 200 })
  }
}
