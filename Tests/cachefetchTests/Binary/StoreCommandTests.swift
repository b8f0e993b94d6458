import CacheStore
import FixtureServer
import FoundationEssentials
import TestSupport
import Testing
import TestTurns

#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

@Suite("Command: list, show, rm, sign-out", .inTurn) struct StoreCommandTests {
  /// Three rows: a of alice, b tagged, c long.
  private func filled() async throws -> (shell: Shell, origin: FixtureServer) {
    let shell = try Shell()
    let origin = try FixtureServer { request, connection in
      let body = request.path == "/c" ? String(repeating: "c", count: 5_000) : request.path
      try connection.send(.ok(body, ["Cache-Control": request.path == "/b" ? "max-age=0" : "max-age=360000"]))
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

  /// Makes a row as old as that, as if its response had arrived then.
  private func age(_ store: ResponseStore, _ path: String, by age: Duration) async throws {
    let entry = try #require(try await store.entries().first { $0.key.target.hasSuffix(path) })
    let row = entry.response
    let received = row.receivedAt - age.components.seconds * 1_000
    var head = row.head
    head.requestedAt = received
    head.receivedAt = received
    #expect(try await store.freshen(.init(rowID: entry.rowID, body: row.body, head: head)))
  }

  @Test func `a list in a pipe is plain lines with age, size, state, method, URL and account`() async throws {
    let (shell, origin) = try await filled()
    _ = try await shell.run("--read", "-d", "q=1", origin.url + "/d")
    let store = ResponseStore(configuration: StoreConfiguration(path: shell.store.path))
    let hour = 3_600
    for (path, seconds) in [("/a", 48 * hour), ("/b", 3 * hour), ("/c", 5 * hour), ("/d", 90 * 24 * hour)] {
      try await age(store, path, by: .seconds(seconds))
    }
    await store.close()
    let run = try await shell.run("list")
    let lines = run.lines
    let cells = lines.map { line in
      line.split(separator: "  ").map { $0.drop { $0 == " " } }.filter { !$0.isEmpty }.map(String.init)
    }
    #expect(lines.count == 4 && run.errorText.isEmpty)
    #expect(cells[0] == ["2 days ago", "2 B", "fresh", "\(origin.url)/a", "[alice]"])
    #expect(cells[1] == ["3 hours ago", "2 B", "stale", "\(origin.url)/b", "#news"])
    #expect(cells[2] == ["5 hours ago", "5.0 kB", "fresh pinned", "\(origin.url)/c"])
    #expect(cells[3].prefix(4) == ["3 months ago", "2 B", "stale", "POST \(origin.url)/d"])
    // The columns are aligned.
    #expect(Set(lines.map { $0.firstRange(of: " ago")?.upperBound }).count == 1)
    _ = try await shell.run("-u", "a:b", origin.url + "/c")
    // What is shown of an account in a pipe is what --account takes.
    let last = try #require(try await shell.run("list", "--prefix", origin.url + "/c").lines.last)
    let account = try #require(last.split(separator: "[").last).dropLast()
    #expect(account.hasPrefix("auto:"))
    #expect(try await listed(shell, "--account", String(account)) == ["/c"])
  }

  @Test func `list can be limited, reversed, and selected by status and media type`() async throws {
    let shell = try Shell()
    let origin = try FixtureServer { request, connection in
      let type = request.path == "/a" ? "image/png" : "text/html; charset=utf-8"
      try connection.send(
        FixtureReply(
          status: request.path == "/c" ? 203 : 200, fields: ["Content-Type": type], body: Array("x".utf8)))
    }
    for path in ["/a", "/b", "/c"] { _ = try await shell.run(origin.url + path) }
    #expect(try await listed(shell, "--reverse") == ["/c", "/b", "/a"])
    #expect(try await listed(shell, "--limit", "2") == ["/a", "/b"])
    #expect(try await listed(shell, "--reverse", "--limit", "1") == ["/c"])
    #expect(try await listed(shell, "--status", "203") == ["/c"])
    #expect(try await listed(shell, "--status", "2xx").count == 3)
    #expect(try await listed(shell, "--status", "201-299") == ["/c"])
    #expect(try await listed(shell, "--status", "404") == [])
    #expect(try await listed(shell, "--type", "image/*") == ["/a"])
    #expect(try await listed(shell, "--type", "Text/HTML") == ["/b", "/c"])
    #expect(try await listed(shell, "--type", "text/plain") == [])
    for words in [["--status", "20"], ["--status", "299-200"], ["--type", "html"], ["--limit", "0"]] {
      #expect(try await shell.run(["list"] + words).status == 64, "\(words)")
    }
    #expect(try await shell.run("rm", "--yes", "--type", "text/html").errorText == "removed 2 entries\n")
    #expect(try await listed(shell) == ["/a"])
  }

  @Test func `rows of one URL are told apart, and rm says which it removes and can be narrowed`() async throws
  {
    let (shell, origin) = try await filled()
    let url = origin.url + "/b"
    _ = try await shell.run("-q", "-k", url)
    _ = try await shell.run("--account", "alice", url)
    _ = try await shell.run("-q", "--resolve", "localhost:1:127.0.0.1", url)
    let lines = try await shell.run("list", "--prefix", url).lines
    #expect(Set(lines).count == 4 && lines.contains { $0.hasSuffix("/b  -k") })
    #expect(lines.contains { $0.hasSuffix("/b  --resolve localhost:1:127.0.0.1") })
    let refused = try await shell.run("rm", url)
    #expect(
      refused.status == 64
        && refused.errorText.contains(
          "Remove 4 entries (1 of no account, 1 of no account with -k, 1 of no account with --resolve localhost:1:127.0.0.1, 1 of alice)?"
        ) && refused.errorText.contains("narrow it with --account, -k, --resolve or --exact"),
      "\(refused.errorText)"
    )
    let missed = try await shell.run("show", "--account", "bob", url)
    #expect(
      missed.status == 4 && missed.errorText.contains("with -k")
        && missed.errorText.contains("--account alice"),
      "\(missed.errorText)")
    #expect(try await shell.run("rm", "-k", url).errorText == "removed 1 entry\n")
    #expect(try await shell.run("rm", "--resolve", "localhost:1:127.0.0.1", url).status == 0)
    #expect(try await shell.run("rm", "--account", "alice", url).status == 0)
    #expect(try await listed(shell, "--prefix", url) == ["/b"])
  }

  @Test func `an age is shown as it was set`() async throws {
    let shell = try Shell()
    for (given, shown) in [
      ("90d", "90 days"), ("36h", "36 hours"), ("1d", "1 day"), ("3600", "1 hour"), ("90s", "90 seconds"),
      ("400d", "400 days"), ("1500ms", "1500 ms"),
    ] {
      let run = try await shell.run("limits", "--older-than", given)
      #expect(run.lines[2] == "age      at most \(shown), set in the store; nothing is stored", "\(given)")
    }
  }

  @Test func `a key of the caller's own is shown and removed by its name, as --key or as list shows it`()
    async throws
  {
    let shell = try Shell()
    let origin = try ChangingOrigin()
    for key in ["one", "a@b", "two"] { _ = try await shell.run("--key", key, origin.url) }
    for words in [["--key", "one"], ["key:one"], ["key:a@b"], ["--key", "one", "http://other.example/"]] {
      #expect(try await shell.run(["show"] + words).outputText == "one", "\(words)")
    }
    let json = try await shell.run("show", "--json", "key:a@b")
    #expect(json.outputText.contains("\"url\":\"key:a@b\"") && json.outputText.contains("\"body\":\"one\""))
    let missing = try await shell.run("show", "key:none")
    #expect(missing.status == 4 && missing.errorText.contains("under the key none"), "\(missing.errorText)")
    #expect(try await shell.run("show").status == 64)
    #expect(try await shell.run("rm", "key:one").errorText == "removed 1 entry\n")
    #expect(try await shell.run("rm", "--key", "a@b").errorText == "removed 1 entry\n")
    #expect(try await shell.run("list").lines.count == 1)
  }

  @Test func `a store that was named and is not there is said, and is 74`() async throws {
    let shell = try Shell()
    let origin = try ChangingOrigin()
    let verbs = [
      ["list"], ["stats"], ["limits"], ["show", origin.url], ["rm", origin.url],
      ["sign-out", "--account", "x"],
    ]
    for words in verbs {
      // By the variable, and by the option.
      for (extra, name) in [([], shell.store.path), (["--store", "typo.sqlite"], "typo.sqlite")] {
        let run = try await shell.run(words + extra)
        #expect(run.status == 74 && run.output.isEmpty, "\(words)")
        #expect(run.errorText.contains("there is no store at \(name)"), "\(run.errorText)")
      }
    }
    let doctor = try await shell.run("doctor", "--store", "typo.sqlite")
    #expect(doctor.status == 1 && doctor.outputText.contains("there is no store at typo.sqlite"))
    #expect(try shell.store.folder.names().isEmpty)
    // The default place may have none yet.
    var other = shell
    other.environment["CACHEFETCH_STORE"] = String?.none
    other.environment["XDG_CACHE_HOME"] = shell.file("cache")
    let list = try await other.run("list")
    #expect(list.status == 0 && list.errorText == "cachefetch: nothing is stored\n")
    for words in [["stats"], ["limits"], ["rm", "--stale"], ["doctor"], ["sign-out", "--account", "x"]] {
      #expect(try await other.run(words).status == 0, "\(words)")
    }
  }

  #if os(Linux)
    @Test func `what a process in another time namespace stored can be replaced and removed`() async throws {
      let shell = try Shell()
      let origin = try ChangingOrigin()
      func ahead() async throws {
        let words = ["--user", "--map-root-user", "--time", "--boottime", "7200", "--fork"]
        let run = try await ChildProcess.run(
          "/usr/bin/unshare", words + [try BuiltProduct.cachefetch(), "-q", "--print", "none", origin.url],
          environment: shell.environment)
        #expect(run.status == 0, "\(run.errorText)")
      }
      try await ahead()
      origin.answer(.ok("two", ["ETag": "\"2\""]))
      let replaced = try await shell.run("--json", "--print", "fresh", origin.url)
      #expect(replaced.outputText.contains("\"kept\":true"), "\(replaced.outputText)")
      #expect(try await shell.run("--offline", origin.url).outputText == "two")
      for words in [["rm", origin.url], ["rm", "--older-than", "0s"]] {
        try await ahead()
        #expect(try await shell.run(words).errorText == "removed 1 entry\n", "\(words)")
        #expect(try await listed(shell) == [])
      }
    }
  #endif

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
    #expect(one.status == 0 && one.errorText == "removed 1 entry\n" && one.output.isEmpty)
    #expect(try await listed(shell) == ["/a", "/c"])
    let unasked = try await shell.run("rm", "--prefix", origin.url)
    #expect(unasked.status == 64 && unasked.errorText.contains("--yes"))
    #expect(try await shell.run("rm", "--yes", "--prefix", origin.url).status == 0)
    let empty = try await shell.run("list")
    #expect(empty.status == 0 && empty.output.isEmpty)
    #expect(try await shell.run("rm", origin.url + "/b").status == 0)
  }

  /// The command on a terminal, up to its question.
  private func asked(_ shell: Shell, _ words: String) async throws -> ChildProcess {
    let line = "'\(try BuiltProduct.cachefetch())' \(words)"
    // script(1) gives the command a terminal to ask on.
    let child = try ChildProcess(
      "/usr/bin/script", ["-qec", line, "/dev/null"], environment: shell.environment, input: nil)
    #expect(await child.output.waits(for: "[y/N] "))
    return child
  }

  @Test(arguments: [
    ("y\n", 0), ("Yes\n", 0), ("n\n", 1), ("\n", 1), ("yesterday\n", 1), ("\u{4}", 1), ("\u{3}", 130),
  ])
  func `on a terminal rm and sign-out ask alike: yes is 0, no is 1, Ctrl-C is 130`(
    answer: String, status: Int32
  )
    async throws
  {
    let (shell, origin) = try await filled()
    _ = try await shell.run("--account", "alice", origin.url + "/b")
    for words in ["sign-out --account alice", "rm --prefix \(origin.url)", "rm -q --prefix \(origin.url)"] {
      let before = try await listed(shell)
      if before.count < 2 { continue }
      let child = try await asked(shell, words)
      child.write(Array(answer.utf8))
      let finished = await child.finished()
      #expect(finished.status == status, "\(words): \(finished.outputText)")
      #expect(
        finished.outputText.contains("Remove \(words.hasPrefix("s") ? 2 : status == 0 ? 2 : 4) entries"))
      #expect(try await (listed(shell) != before) == (status == 0), "\(words)")
    }
  }

  @Test func `where nobody can be asked, more than one entry needs --yes, for rm and for sign-out`()
    async throws
  {
    let (shell, origin) = try await filled()
    let one = try await shell.run("sign-out", "--account", "alice")
    #expect(one.status == 0)
    for path in ["/a", "/b"] { _ = try await shell.run("--account", "alice", origin.url + path) }
    for words in [["sign-out", "--account", "alice"], ["rm", "-q", "--account", "alice"]] {
      let run = try await shell.run(words)
      #expect(run.status == 64 && run.errorText.contains("write --yes"), "\(run.errorText)")
    }
    #expect(try await listed(shell, "--account", "alice").count == 2)
    let gone = try await shell.run("sign-out", "--yes", "--account", "alice")
    #expect(gone.status == 0 && gone.errorText == "signed out alice: removed 2 entries\n")
  }

  @Test func `sign-out removes an account's rows and leaves the others`() async throws {
    let (shell, _) = try await filled()
    let run = try await shell.run("sign-out", "--account", "alice")
    #expect(run.status == 0 && run.errorText == "signed out alice: removed 1 entry\n")
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
    #expect(
      run.errorText.contains("> GET /x?access_token=~ HTTP/1.1\n") && run.errorText.contains("< HTTP/1.1 200")
    )
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

@Suite("Command: stats and doctor", .inTurn) struct ReportTests {
  @Test func `stats counts what was delivered, by account and host`() async throws {
    let shell = try Shell()
    let origin = try ChangingOrigin()
    _ = try await shell.run(origin.url)
    _ = try await shell.run(origin.url)
    _ = try await shell.run("--offline", origin.url)
    let text = try await shell.run("stats")
    #expect(text.status == 0 && text.lines[0].hasPrefix("entries  1, 3 B of bodies, 0 pinned"))
    #expect(text.lines[1].contains(" of at most 2.1 GB, and "))
    #expect(
      text.outputText.contains(
        ": 1 entry · delivered 2 from the store, 1 fresh, 1 confirmed by 304, 0 failures"))
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
      ("integrity", "the database structure is intact"), ("schema", "schema 1"),
      ("checksums", "every stored byte"),
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

  @Test func `a damaged store that the command mended itself sends nobody to doctor`() async throws {
    let shell = try Shell()
    let origin = try ChangingOrigin(.ok(String(repeating: "x", count: 30_000)))
    for number in 1...9 { _ = try await shell.run(origin.url + "?\(number)") }
    try shell.store.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    var bytes = try shell.store.folder.bytes(of: "store.sqlite")
    for page in 2..<12 {
      bytes.replaceSubrange(page * 8192..<page * 8192 + 4000, with: repeatElement(255, count: 4000))
    }
    let damaged = bytes
    try Data(damaged).write(to: URL(filePath: shell.store.path))
    let run = try await shell.run("--print", "fresh", origin.url)
    #expect(run.status == 0 && run.errorText.contains("was damaged and is kept as "), "\(run.errorText)")
    #expect(!run.errorText.contains("doctor"), "\(run.errorText)")
    #expect(try await shell.run("doctor").status == 0)
    // Where nothing may be written it is still the remedy, and what was found is a line each.
    try Data(damaged).write(to: URL(filePath: shell.file("copy.sqlite")))
    let copy = try await shell.run("--store", "copy.sqlite", "--offline", origin.url)
    #expect(copy.status == 74 && copy.errorText.contains("cachefetch doctor --repair"), "\(copy.errorText)")
    let doctor = try await shell.run("doctor", "--store", "copy.sqlite")
    #expect(doctor.status == 1 && !doctor.outputText.contains("***") && !doctor.outputText.contains("^J"))
  }

  @Test func `doctor is 0 where all is well and 1 where a row is damaged`() async throws {
    let shell = try Shell()
    let origin = try ChangingOrigin()
    _ = try await shell.run(origin.url)
    _ = try await shell.run(origin.server.url + "/sound")
    let well = try await shell.run("doctor")
    #expect(well.status == 0, "\(well.outputText)")
    try shell.store.execute("UPDATE last_request SET status = 201 WHERE target NOT LIKE '%/sound'")
    let ill = try await shell.run("doctor")
    #expect(ill.status == 1 && ill.outputText.contains("wrong"), "\(ill.outputText)")
    let json = try await shell.run("doctor", "--json")
    #expect(json.status == 1 && json.outputText.contains("\"severity\":\"wrong\""))
    for line in try await shell.run("list", "--json").lines {
      let isSound = line.contains("/sound\"")
      #expect(line.contains("\"damaged\":\(!isSound)"), "\(line)")
    }
  }
}

@Suite("Command: limits", .inTurn) struct LimitsCommandTests {
  @Test func `limits shows and sets what every process on the store obeys`() async throws {
    let shell = try Shell()
    let origin = try FixtureServer { request, connection in try connection.send(.ok(request.path)) }
    for number in 1...5 { _ = try await shell.run("\(origin.url)/\(number)") }
    let shown = try await shell.run("limits")
    #expect(shown.status == 0 && shown.lines.count == 3 && shown.errorText.isEmpty)
    #expect(shown.lines[0].hasPrefix("size     at most 2.1 GB, the default; the file has "))
    #expect(shown.lines[1] == "entries  no limit; 5 stored, 0 of them pinned")
    #expect(shown.lines[2].hasPrefix("age      no limit; the oldest was received "))
    let set = try await shell.run("limits", "--rows", "3", "--older-than", "30d", "--bytes", "10M")
    #expect(set.status == 0 && set.lines.last == "removed  2 entries", "\(set.outputText)")
    #expect(set.lines[1] == "entries  at most 3, set in the store; 3 stored, 0 of them pinned")
    #expect(set.lines[2].hasPrefix("age      at most 30 days, set in the store; "))
    _ = try await shell.run(origin.url + "/6")
    #expect(try await shell.run("list").lines.count == 3)
    // What is not named stays as it is.
    let json = try await shell.run("limits", "--json", "--rows", "none")
    #expect(json.lines.count == 1)
    #expect(
      json.outputText.contains("\"max_bytes\":10485760,\"max_bytes_set\":true,\"max_rows_set\":false,"),
      "\(json.outputText)")
    #expect(json.outputText.contains("\"max_age_ms\":2592000000,\"max_age_set\":true"))
    _ = try await shell.run(origin.url + "/7")
    #expect(try await shell.run("list").lines.count == 4)
    let none = try await shell.run("limits", "--bytes", "none", "--older-than", "none", "--json")
    #expect(none.outputText.contains("\"max_bytes\":2147483648,\"max_bytes_set\":false"))
  }

  @Test func `a watch that runs obeys a limit set meanwhile`() async throws {
    let shell = try Shell()
    let origin = try ChangingOrigin()
    _ = try await shell.run(origin.url + "?1")
    _ = try await shell.run(origin.url + "?2")
    let child = try shell.start("watch", "--every", "20ms", origin.url + "?3")
    await origin.server.waitForRequests(3)
    // The answer is stored before the next is asked for.
    await origin.server.waitForRequests(4)
    #expect(try await shell.run("list").lines.count == 3)
    #expect(try await shell.run("limits", "--rows", "1").lines.last == "removed  2 entries")
    child.send(2)
    _ = await child.finished()
    let other = try await shell.run("preload", origin.url + "?4", origin.url + "?5")
    #expect(other.status == 0, "\(other.errorText)")
    #expect(try await shell.run("list").lines.count == 1)
  }

  @Test func `a limit that keeps nothing is refused, and a store can be given limits before it has anything`()
    async throws
  {
    let shell = try Shell()
    for words in [
      ["--bytes", "3k"], ["--rows", "0"], ["--older-than", "0s"], ["--rows", "many"], ["--bytes", "None"],
    ] {
      let run = try await shell.run(["limits"] + words)
      #expect(run.status == 64 && run.errorText.contains(words[0]), "\(run.errorText)")
    }
    #expect(try await shell.run("list", "--older-than", "none").status == 64)
    #expect(try shell.store.folder.names().isEmpty)
    #expect(try await shell.run("limits", "--rows", "2").status == 0)
    #expect(
      try await shell.run("limits").lines[1]
        == "entries  at most 2, set in the store; 0 stored, 0 of them pinned")
  }
}
