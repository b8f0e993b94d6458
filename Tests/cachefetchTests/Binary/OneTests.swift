import FixtureServer
import PlatformC
import PlatformFoundation
import TestSupport
import Testing
import TestTurns

@Suite("Command: --one, --stale-ok, --max-stale", .inTurn) struct OneTests {
  /// A store that has `one`, and an origin that answers as it is told.
  private func filled() async throws -> (Shell, ChangingOrigin) {
    let (shell, origin) = (try Shell(), try ChangingOrigin())
    _ = try await shell.run(origin.url)
    return (shell, origin)
  }

  private static let patient = ["--retry", "0", "--connect-timeout", "1h"]

  @Test(
    "--one prints one body, the best there is, and nothing that is an error",
    arguments: [
      (.ok("two"), "two", 0, 0), (.ok("one"), "one", 0, 0), (.status(404, "gone"), "one", 3, 3),
      (.status(401, "who?"), "one", 3, 3), (.status(429, "later"), "one", 3, 0),
      (.status(503, "busy"), "one", 3, 0), (.status(500, "oh"), "one", 3, 0), (nil, "one", 3, 0),
    ] as [(FixtureReply?, String, Int32, Int32)])
  func best(reply: FixtureReply?, body: String, status: Int32, staleStatus: Int32) async throws {
    for (isStaleFine, expected) in [(false, status), (true, staleStatus)] {
      for policy in [
        [], ["--deadline", "1h"], ["--max-age", "0s"], ["--max-age", "0s", "--deadline", "1h"],
      ] {
        let (shell, origin) = try await filled()
        if let reply { origin.answer(reply) } else { origin.server.stop() }
        let words = Self.patient + policy + (isStaleFine ? ["--stale-ok"] : [])
        let run = try await shell.run(["-1"] + words + [origin.url])
        #expect(run.outputText == body && run.status == expected, "\(words) \(run.exit) \(run.errorText)")
      }
    }
  }

  @Test(
    "--one prints nothing where there is nothing but an error, or nothing at all",
    arguments: [(.status(404, "gone"), 22), (.status(503, "busy"), 22), (nil, 4)] as [(FixtureReply?, Int32)])
  func nothing(reply: FixtureReply?, status: Int32) async throws {
    let origin = try ChangingOrigin()
    if let reply { origin.answer(reply) } else { origin.server.stop() }
    for policy in [[], ["--policy", "fresh-only"], ["--deadline", "1h"], ["--policy", "http"], ["-i"]] {
      let run = try await Shell().run(["-1", "--stale-ok"] + Self.patient + policy + [origin.url])
      #expect(run.output.isEmpty && run.status == status && !run.errors.isEmpty, "\(policy) \(run.exit)")
    }
  }

  @Test func `-w says which body was printed, and what the server said`() async throws {
    let (shell, origin) = try await filled()
    func said(_ words: String...) async throws -> String {
      let run = try await shell.run(
        words + Self.patient + ["-w", "%{stderr}%{http_code} %{printed} %{exitcode}\n", origin.url])
      return run.errorText.split(separator: "\n").last.map(String.init) ?? ""
    }
    origin.answer(.ok("two"))
    #expect(try await said() == "200 both 0")
    #expect(try await said("-1") == "200 fresh 0")
    #expect(try await said("--offline") == "200 stored 0")
    origin.answer(.status(404, "gone"))
    #expect(try await said("-1") == "404 stored 3")
    #expect(try await said("-f", "--print", "fresh") == "404 none 3")
    origin.answer(.status(503, "busy"))
    #expect(try await said("-1") == "503 stored 3")
    origin.server.stop()
    #expect(try await said("-1") == "000 stored 3")
    #expect(try await said("-1", "--max-stale", "0s") == "000 none 4")
  }

  @Test func `beside --print it is no error that is printed either`() async throws {
    let (shell, origin) = try await filled()
    origin.answer(.status(404, "gone"))
    for (mode, text) in [("both", "one"), ("stored", "one"), ("fresh", ""), ("changed", ""), ("last", "one")]
    {
      let run = try await shell.run("-1", "--print", mode, origin.url)
      #expect(run.outputText == text && run.status == 3, "\(mode) \(run.exit)")
    }
    origin.answer(.ok("two"))
    #expect(
      try await shell.run("-1", "--print", "both", origin.url, origin.url + "/2").outputText == "onetwotwo")
  }

  @Test func `a line says what stands in, in a pipe too`() async throws {
    let (shell, origin) = try await filled()
    origin.answer(.status(503, "busy"))
    let printed = try await shell.run(["-1"] + Self.patient + [origin.url])
    #expect(printed.errorText.hasSuffix("; the stored response is printed instead\n"), "\(printed.errorText)")
    let turns = try await shell.run(["-1"] + Self.patient + [origin.url + "/new", origin.url])
    #expect(turns.errorText.contains("; the stored response is printed instead\n"), "\(turns.errorText)")
    let words = ["-1", "--stale-ok", "-o", "out", "-w", "%{printed} %{http_code}"] + Self.patient
    let file = try await shell.run(words + [origin.url])
    #expect(file.errorText.hasSuffix("; “out” has the stored response\n") && file.status == 0)
    #expect(file.outputText == "stored 503")
    origin.answer(.ok("one", ["ETag": "\"1\""]))
    #expect(try await shell.run(words + [origin.url]).outputText == "fresh 200")
    origin.answer(.status(404, "gone"))
    let nothing = try await shell.run("-o", "none", origin.url + "/new")
    #expect(nothing.errorText.hasSuffix("answered 404 Not Found; “none” is not written\n"))
    let old = try await shell.run("-1", "--max-stale", "0s", origin.url)
    #expect(old.status == 22 && old.errorText.contains("older than --max-stale allows"), "\(old.errorText)")
  }

  @Test func `with several URLs the bodies come in the order of the arguments`() async throws {
    let shell = try Shell()
    let last = Gate()
    let server = try FixtureServer { request, connection in
      // The first answers when the others have.
      if request.path == "/1" { last.wait() }
      try connection.send(request.path == "/4" ? .status(404, "gone") : .ok("body of \(request.path)\n"))
      if request.path == "/3" { last.open() }
    }
    let urls = (1...5).map { "\(server.url)/\($0)" }
    let run = try await shell.run(["-1", "-w", "%{urlnum}\n"] + urls)
    #expect(
      run.outputText
        == "body of /1\n0\nbody of /2\n1\nbody of /3\n2\n3\nbody of /5\n4\n")
    #expect(run.status == 22)
  }

  @Test func `half of a body that is not stored is never printed`() async throws {
    let (shell, origin) = try await filled()
    let half = try FixtureServer { _, connection in
      try connection.sendRaw(
        "HTTP/1.1 200 OK\r\nCache-Control: no-store\r\nContent-Length: 20000000\r\n\r\n")
      for _ in 0..<12 { try connection.sendRaw(String(repeating: "x", count: 1 << 20)) }
      connection.close()
    }
    let run = try await shell.run(["-1"] + Self.patient + [half.url])
    #expect(run.output.isEmpty && run.status == 4, "\(run.output.count) \(run.exit)")
    let whole = try FixtureServer { _, connection in
      try connection.send(.ok(String(repeating: "y", count: 9 << 20), ["Cache-Control": "no-store"]))
    }
    let both = try await shell.run(["-1"] + Self.patient + [whole.url, origin.url])
    #expect(both.output.count == 9 << 20 + 3 && both.outputText.hasSuffix("yone"), "\(both.output.count)")
    #expect(both.status == 0)
  }

  @Test func `what is older than --max-stale stands in for nothing`() async throws {
    let (shell, origin) = try await filled()
    let row = origin.url + "/old"
    origin.answer(.ok("old", ["Age": "7200"]))
    _ = try await shell.run(row)
    origin.server.stop()
    func run(_ words: String...) async throws -> (String, Int32) {
      let run = try await shell.run(words + Self.patient + [row])
      return (run.outputText, run.status)
    }
    for words in [[], ["-1"], ["--max-age", "9h"], ["--offline"], ["--deadline", "1h"]] as [[String]] {
      let kept = try await shell.run(words + Self.patient + ["--max-stale", "3h", row])
      #expect(kept.outputText == "old", "\(words)")
      let old = try await shell.run(words + Self.patient + ["--max-stale", "1h", row])
      #expect(old.output.isEmpty && old.status == 4, "\(words) \(old.exit)")
    }
    let offline = try await shell.run("--offline", "--max-stale", "1h", row)
    #expect(offline.errorText.contains("is older than the request allows"), "\(offline.errorText)")
  }

  @Test func `--background with --max-age refreshes only what is older`() async throws {
    let (shell, origin) = try await filled()
    origin.answer(.ok("two"))
    let young = try await shell.run("--background", "--max-age", "1h", origin.url)
    #expect(young.outputText == "one" && young.status == 0)
    try await shell.backgroundEnd()
    #expect(origin.server.requests().count == 1)
    let old = try await shell.run("--background", "--max-age", "0s", origin.url)
    #expect(old.outputText == "one" && old.status == 0)
    try await shell.backgroundEnd()
    #expect(origin.server.requests().count == 2)
    #expect(try await shell.run("--offline", origin.url).outputText == "two")
    let nothing = try await shell.run("-1", "--background", "--max-age", "1h", origin.url + "/new")
    #expect(nothing.output.isEmpty && nothing.status == 4)
    try await shell.backgroundEnd()
    #expect(try await shell.run("--offline", origin.url + "/new").outputText == "two")
  }

  @Test func `a file that holds the bytes already is left alone`() async throws {
    let (shell, origin) = try await filled()
    func identity() throws -> [Int] {
      var status = stat()
      #expect(stat(shell.file("out"), &status) == 0)
      return [Int(status.st_ino), status.st_mtim.tv_sec, status.st_mtim.tv_nsec]
    }
    #expect(try await shell.run("-o", "out", origin.url).status == 0)
    let first = try identity()
    for words in [[], ["-1"], ["--offline"], ["--print", "last"], ["--policy", "fresh-only"]] as [[String]] {
      #expect(try await shell.run(words + ["-o", "out", origin.url]).status == 0)
      #expect(try identity() == first, "\(words)")
    }
    // Longer, shorter, or other at the end, in one piece and in many.
    let long = String(repeating: "0123456789abcdef", count: 200_000)
    var known = first
    for body in ["one more", "on", "onf", long, long + "!", String(long.dropLast()) + "x", long] {
      origin.answer(.ok(body))
      #expect(try await shell.run("-o", "out", "--policy", "fresh-only", origin.url).status == 0)
      #expect(try shell.store.folder.text(of: "out") == body)
      #expect(try identity() != known)
      known = try identity()
      #expect(try await shell.run("-o", "out", origin.url).status == 0)
      #expect(try identity() == known, "\(body.count)")
    }
    #expect(try shell.store.folder.names().filter { $0.contains("part") } == [])
  }

  @Test func `--print changed prints a fresh body that differs, and nothing else`() async throws {
    let (shell, origin) = try await filled()
    func run(_ words: String...) async throws -> (String, Int32) {
      let run = try await shell.run(words + Self.patient + ["--print", "changed", origin.url])
      return (run.outputText, run.status)
    }
    #expect(try await run() == ("", 0))
    origin.answer(.ok("two"))
    #expect(try await run() == ("two", 0))
    #expect(try await run() == ("", 0))
    origin.answer(.status(503, "busy"))
    #expect(try await run() == ("", 3))
  }

  @Test func `--accept asks for the type, and moves no variant`() async throws {
    let shell = try Shell()
    let server = try FixtureServer { request, connection in
      let accept = request["Accept"] ?? ""
      let type = accept.contains("json") ? "application/json" : "text/plain"
      try connection.send(.ok(accept, ["Content-Type": type, "Vary": "Accept"]))
    }
    #expect(try await shell.run("--accept", "application/json", server.url).outputText == "application/json")
    let several = try await shell.run("-1", "--accept", "text/*,application/json", server.url)
    #expect(several.outputText == "text/*, application/json", "\(several.outputText)")
    let own = try await shell.run(
      "-1", "--accept", "text/plain", "-H", "Accept: text/plain;q=1", server.url)
    #expect(own.outputText == "text/plain;q=1")
    server.stop()
    #expect(try await shell.run("--offline", server.url).outputText == "text/*, application/json")
  }

  @Test func `preload -sS is silent when all is well, and says what is not`() async throws {
    let (shell, origin) = try await filled()
    let well = try await shell.run("preload", "-sS", origin.url)
    #expect(well.output.isEmpty && well.errors.isEmpty && well.status == 0)
    origin.server.stop()
    let words = ["preload"] + Self.patient
    let failed = try await shell.run(words + ["-sS", origin.url])
    #expect(failed.errorText.contains("refused the connection") && failed.status == 3, "\(failed.errorText)")
    #expect(failed.lines.isEmpty)
    #expect(try await shell.run(words + ["-s", origin.url]).errors.isEmpty)
    #expect(try await shell.run(words + ["-sS", "--stale-ok", origin.url]).status == 0)
    #expect(try await shell.run(words + ["-sS", "--stale-ok", origin.url + "/new"]).status == 4)
  }

  @Test func `a deadline that passes over a refused connection says that it was refused`() async throws {
    let (shell, origin) = try await filled()
    origin.server.stop()
    let run = try await shell.run("--deadline", "150ms", "--retry", "9", origin.url + "/new")
    #expect(
      run.errorText.contains("no fresh response within the deadline: 127.0.0.1 refused the connection"),
      "\(run.errorText)")
    #expect(run.status == 4)
  }

  @Test func `a preload that a removal has overtaken says so, and is no success`() async throws {
    let (shell, origin) = try await filled()
    let gate = origin.hold()
    let child = try shell.start("preload", origin.url)
    await origin.server.waitForRequests(2)
    #expect(try await shell.run("rm", origin.url).status == 0)
    gate.open()
    let run = await child.finished()
    #expect(run.status == 4 && run.errorText.contains("it was removed meanwhile"), "\(run.errorText)")
    #expect(try await shell.run("--offline", origin.url).status == 4)
  }

  @Test func `preload asks its origin, and ends by its deadline, beside a store that another holds`()
    async throws
  {
    let shell = try Shell().underLimits
    let origin = try ChangingOrigin()
    _ = try await shell.run(origin.url)
    let holder = try await StoreHolder(.exclusive, shell.store.path)
    let run = try await shell.run(
      "preload", "--deadline", "2s", "--connect-timeout", "1h", origin.url + "/new")
    #expect(origin.server.requests().count == 2, "\(run.errorText)")
    #expect(run.status != 0)
    await holder.end()
  }

  @Test func `a file of authorities that is gone hides nothing that needs no certificate`() async throws {
    let (shell, origin) = try await filled()
    for words in [["--offline"], ["show"], [], ["-1"]] as [[String]] {
      let run = try await shell.run(words + ["--cacert", "/nowhere/ca.pem", origin.url])
      #expect(run.outputText == "one" && run.status == 0, "\(words) \(run.errorText)")
    }
    #expect(try await shell.run("--cacert", "/nowhere/ca.pem", "https://127.0.0.1:1/").status == 64)
    #expect(
      try await shell.run("--offline", "--cacert", "/nowhere/ca.pem", "https://127.0.0.1:1/").status == 4)
  }
}
