import FixtureServer
import FoundationEssentials
import TestSupport
import Testing

#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

@Suite("Command: list, show, rm, sign-out", .timeLimit(.minutes(1))) struct StoreCommandTests {
  /// Three rows: a of alice, b tagged, c long.
  private func filled() async throws -> (shell: Shell, origin: FixtureServer) {
    let shell = try Shell()
    let origin = try FixtureServer { request, connection in
      let body = request.path == "/c" ? String(repeating: "c", count: 5_000) : request.path
      try connection.send(.ok(body, ["Cache-Control": request.path == "/b" ? "max-age=0" : "max-age=3600"]))
    }
    _ = try await shell.run("--account", "alice", origin.url + "/a")
    _ = try await shell.run("--tag", "news", origin.url + "/b")
    _ = try await shell.run("--pin", origin.url + "/c")
    return (shell, origin)
  }

  private func listed(_ shell: Shell, _ words: String...) async throws -> [String] {
    struct Row: Decodable { var url: String }
    let run = try await ChildProcess.run(
      BuiltProduct.cachefetch(), ["list", "--json"] + words, environment: shell.environment)
    #expect(run.status == 0 && run.errors.isEmpty)
    return try run.lines.map { try JSONDecoder().decode(Row.self, from: Data($0.utf8)).url.suffix(2) }.map(
      String.init)
  }

  @Test func `each filter selects its rows`() async throws {
    let (shell, origin) = try await filled()
    #expect(try await listed(shell) == ["/a", "/b", "/c"])
    #expect(try await listed(shell, "--account", "alice") == ["/a"])
    #expect(try await listed(shell, "--tag", "news") == ["/b"])
    #expect(try await listed(shell, "--stale") == ["/b"])
    #expect(try await listed(shell, "--larger-than", "4k") == ["/c"])
    #expect(try await listed(shell, "--prefix", origin.url + "/b") == ["/b"])
    #expect(try await listed(shell, "--host", "127.0.0.1:\(origin.port)") == ["/a", "/b", "/c"])
    #expect(try await listed(shell, "--host", "example.com") == [])
    #expect(try await listed(shell, "--older-than", "1h") == [])
    #expect(try await listed(shell, "--sort", "size").last == "/c")
    #expect(try await listed(shell, "--sort", "age").first == "/c")
  }

  @Test func `a list in a pipe is plain lines with age, size, state, method, URL and account`() async throws {
    let (shell, origin) = try await filled()
    let lines = try await shell.run("list").lines
    #expect(lines.count == 3 && lines[0].hasSuffix("\(origin.url)/a  [alice]"))
    #expect(lines[2].contains("5.0 kB") && lines[2].contains("fresh pinned"))
  }

  @Test func `show writes the stored bytes, with the head under -i, and 4 where nothing is stored`()
    async throws
  {
    let (shell, origin) = try await filled()
    origin.stop()
    #expect(try await shell.run("show", origin.url + "/b").outputText == "/b")
    #expect(try await shell.run("show", "-i", origin.url + "/b").outputText.hasPrefix("HTTP/1.1 200 OK\r\n"))
    #expect(try await shell.run("show", origin.url + "/a").status == 4)
    #expect(try await shell.run("show", "--account", "alice", origin.url + "/a").outputText == "/a")
  }

  @Test func `a host without a port means all its ports`() async throws {
    let (shell, origin) = try await filled()
    let port = try #require(origin.url.split(separator: ":").last)
    #expect(try await shell.run("list", "--host", "127.0.0.1").lines.count == 3)
    #expect(try await shell.run("list", "--host", "127.0.0.1:\(port)").lines.count == 3)
    for other in ["127.0.0.1:\(port)0", "127.0.0", "127.0.0.1:80"] {
      #expect(try await shell.run("list", "--host", other).output.isEmpty)
    }
  }

  @Test func `rm removes what it is told, and asks somebody where more than one row goes`() async throws {
    let (shell, origin) = try await filled()
    let one = try await shell.run("rm", origin.url + "/b")
    #expect(one.status == 0 && one.errorText == "removed 1 stored answer\n")
    #expect(try await listed(shell) == ["/a", "/c"])
    let unasked = try await shell.run("rm", "--prefix", origin.url)
    #expect(unasked.status == 64 && unasked.errorText.contains("--yes"))
    #expect(try await shell.run("rm", "--yes", "--prefix", origin.url).status == 0)
    let empty = try await shell.run("list")
    #expect(empty.status == 0 && empty.output.isEmpty)
    #expect(try await shell.run("rm", origin.url + "/b").status == 0)
  }

  @Test(arguments: [("y\n", true), ("n\n", false), ("\n", false)])
  func `on a terminal rm asks and takes only yes for yes`(answer: String, isRemoved: Bool) async throws {
    let (shell, origin) = try await filled()
    let line = "'\(try BuiltProduct.cachefetch())' rm --prefix \(origin.url)"
    // script(1) gives the command a terminal to ask on.
    let child = try ChildProcess(
      "/usr/bin/script", ["-qec", line, "/dev/null"], environment: shell.environment, input: nil)
    #expect(await child.output.waits(for: "[y/N] "))
    child.write(Array(answer.utf8))
    let finished = await child.finished()
    #expect(finished.outputText.contains("Remove 3 stored answers?"))
    #expect(try await shell.run("list").output.isEmpty == isRemoved)
  }

  @Test func `sign-out removes an account's rows and leaves the others`() async throws {
    let (shell, _) = try await filled()
    let run = try await shell.run("sign-out", "--account", "alice")
    #expect(run.status == 0 && run.errorText == "signed out alice: 1 stored answer gone\n")
    #expect(try await listed(shell) == ["/b", "/c"])
    #expect(try await shell.run("sign-out").status == 64)
  }

  @Test func `what another process asked for before the sign-out is neither delivered nor stored after it`()
    async throws
  {
    let shell = try Shell()
    let origin = try ChangingOrigin()
    let words = ["--account", "alice", origin.url]
    _ = try await shell.run(words)
    let gate = origin.hold()
    origin.answer(.ok("two", ["ETag": "\"2\""]))
    let child = try shell.start("--account", "alice", origin.url)
    await child.output.waits(forBytes: 3)
    await origin.server.waitForRequests(2)
    #expect(try await shell.run("sign-out", "--account", "alice").status == 0)
    gate.open()
    let late = await child.finished()
    #expect(
      late.outputText == "one" && late.errorText.contains("signed out"), "\(late.outputText)\(late.errorText)"
    )
    #expect(late.status == 3 || late.status == 4)
    #expect(try await shell.run(["--offline"] + words).status == 4)
    #expect(try await listed(shell) == [])
  }

  @Test func `no password and no secret parameter is listed or traced`() async throws {
    let shell = try Shell()
    let origin = try ChangingOrigin()
    let words = ["-v", "-u", "alice:geheim", "-H", "X-Api-Key: geheim", origin.url + "?access_token=geheim"]
    let run = try await ChildProcess.run(BuiltProduct.cachefetch(), words, environment: shell.environment)
    #expect(run.status == 0 && !run.errorText.contains("geheim"))
    #expect(run.errorText.contains("> GET /x?access_token=~\n") && run.errorText.contains("< HTTP/1.1 200"))
    #expect(run.errorText.contains("> X-Api-Key: (not shown)\n"))
    for list in [try await shell.run("list"), try await shell.run("list", "--json")] {
      #expect(list.status == 0 && !list.output.isEmpty && !list.outputText.contains("geheim"))
    }
    #expect(try shell.store.filesContain("geheim") == false)
    // Nor where something fails.
    origin.server.stop()
    for words in [["--retry", "0"], ["--offline"], ["preload", "--retry", "0"], ["diff", "--retry", "0"]] {
      let failed = try await shell.run(words + [origin.url + "?page=1&access_token=geheim"])
      #expect(failed.status == 4 && failed.errorText.contains("access_token=~"), "\(failed.errorText)")
      #expect(!failed.errorText.contains("geheim"))
    }
  }
}

@Suite("Command: stats and doctor", .timeLimit(.minutes(1))) struct ReportTests {
  @Test func `stats counts what was delivered, by account and host`() async throws {
    let shell = try Shell()
    let origin = try ChangingOrigin()
    _ = try await shell.run(origin.url)
    _ = try await shell.run(origin.url)
    _ = try await shell.run("--offline", origin.url)
    let text = try await shell.run("stats")
    #expect(text.status == 0 && text.lines[0].hasPrefix("stored   1 answer, 3 B"))
    let json = try await shell.run("stats", "--json")
    #expect(json.lines.count == 1)
    #expect(
      json.outputText.contains(
        "\"rows\":1,\"bytes\":3,\"stored\":2,\"fresh\":1,\"unchanged\":1,\"failed\":0"),
      "\(json.outputText)")
    #expect(try await shell.run("stats", "--json", "--account", "nobody").output.isEmpty)
  }

  @Test func `stats counts the first answer of an account, of a host, and one that fails`() async throws {
    let shell = try Shell()
    let origin = try ChangingOrigin()
    _ = try await shell.run("--account", "alice", origin.url)
    _ = try await shell.run("-u", "bob:word", origin.url)
    origin.server.stop()
    #expect(try await shell.run("--retry", "0", "--account", "carol", origin.url).status == 4)
    #expect(try await shell.run("--retry", "0", "--account", "alice", origin.url).status == 3)
    let lines = try await shell.run("stats", "--json").lines
    #expect(lines.count == 3, "\(lines)")
    let alice = lines.first { $0.contains("\"alice\"") }
    #expect(alice?.contains("\"stored\":1,\"fresh\":1,\"unchanged\":0,\"failed\":1") == true, "\(lines)")
    let bob = lines.first { $0.contains("\"auto:") }
    #expect(bob?.contains("\"stored\":0,\"fresh\":1,\"unchanged\":0,\"failed\":0") == true, "\(lines)")
    let carol = lines.first { $0.contains("\"carol\"") }
    #expect(carol?.contains("\"stored\":0,\"fresh\":0,\"unchanged\":0,\"failed\":1") == true, "\(lines)")
  }

  @Test func `doctor looks at everything there is, and hides a proxy's password`() async throws {
    struct Finding: Decodable {
      var subject: String
      var severity: String
      var message: String
    }
    var shell = try Shell()
    let origin = try ChangingOrigin()
    _ = try await shell.run("-u", "a:b", origin.url)
    shell.environment["https_proxy"] = "http://me:geheim@proxy.example:3128"
    let run = try await shell.run("doctor", "--json")
    #expect(run.status == 0 && !run.outputText.contains("geheim"), "\(run.outputText)")
    let found = try run.lines.map { try JSONDecoder().decode(Finding.self, from: Data($0.utf8)) }
    for (subject, message) in [
      ("transport", "libcurl "), ("libraries", "SQLite "), ("file", shell.store.path), ("mode", "only you"),
      ("integrity", "hangs together"), ("schema", "schema 1"), ("checksums", "every stored byte"),
      ("log", "write-ahead log has "), ("digest-key", ".key"), ("proxy", "proxy.example:3128"),
    ] {
      #expect(
        found.contains { $0.subject == subject && $0.message.contains(message) && $0.severity == "fine" },
        "\(subject) in \(run.outputText)")
    }
    shell.environment["all_proxy"] = "gopher://old.example"
    let ill = try await shell.run("doctor")
    #expect(ill.status == 1 && ill.outputText.contains("gopher://old.example"))
  }

  @Test func `doctor --repair mends what it found, says so, and is 0 from then on`() async throws {
    let shell = try Shell()
    let origin = try ChangingOrigin()
    _ = try await shell.run(origin.url)
    chmod(shell.store.path, 0o644)
    try shell.store.execute("UPDATE last_request SET status = 201")
    let mended = try await shell.run("doctor", "--repair")
    #expect(mended.status == 0, "\(mended.outputText)")
    #expect(
      ["mended  mode: ", "mended  checksums: "].allSatisfy { mended.outputText.contains($0) },
      "\(mended.outputText)")
    let well = try await shell.run("doctor")
    #expect(well.status == 0 && !well.outputText.contains("wrong"))
    #expect(try await shell.run("list").output.isEmpty)
  }

  @Test func `doctor is 0 where all is well and 1 where a row is damaged`() async throws {
    let shell = try Shell()
    let origin = try ChangingOrigin()
    _ = try await shell.run(origin.url)
    let well = try await shell.run("doctor")
    #expect(well.status == 0, "\(well.outputText)")
    try shell.store.execute("UPDATE last_request SET status = 201")
    let ill = try await shell.run("doctor")
    #expect(ill.status == 1 && ill.outputText.contains("wrong"), "\(ill.outputText)")
    let json = try await shell.run("doctor", "--json")
    #expect(json.status == 1 && json.outputText.contains("\"severity\":\"wrong\""))
  }
}
