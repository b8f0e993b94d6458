import CacheStore
import FixtureServer
import PlatformFoundation
import TestSupport
import Testing
import TestTurns

@Suite("Command: rm and sign-out", .inTurn) struct RemovalCommandTests {
  @Test func `rows of one URL are told apart, and rm says which it removes and can be narrowed`() async throws
  {
    let (shell, origin) = try await Shell.filled()
    let url = origin.url + "/b"
    _ = try await shell.run("-q", "--no-location", url)
    _ = try await shell.run("--account", "alice", url)
    _ = try await shell.run("-q", "--resolve", "localhost:1:127.0.0.1", url)
    let lines = try await shell.run("list", "--prefix", url).lines
    #expect(Set(lines).count == 4 && lines.contains { $0.hasSuffix("/b\t--no-location\t") })
    #expect(lines.contains { $0.hasSuffix("/b\t--resolve localhost:1:127.0.0.1\t") })
    let refused = try await shell.run("rm", url)
    #expect(
      refused.status == 64
        && refused.errorText.contains(
          "Remove 4 entries (1 of no account, 1 of no account with --no-location, 1 of no account with --resolve localhost:1:127.0.0.1, 1 of alice)?"
        ) && refused.errorText.contains("narrow it with --account, --no-location, --resolve or --exact"),
      "\(refused.errorText)"
    )
    let missed = try await shell.run("show", "--account", "bob", url)
    #expect(
      missed.status == 4 && missed.errorText.contains("with --no-location")
        && missed.errorText.contains("--account alice"),
      "\(missed.errorText)")
    #expect(try await shell.run("rm", "--no-location", url).errorText == "removed 1 entry\n")
    #expect(try await shell.run("rm", "--resolve", "localhost:1:127.0.0.1", url).status == 0)
    #expect(try await shell.run("rm", "--account", "alice", url).status == 0)
    #expect(try await shell.listed("--prefix", url) == ["/b"])
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
      #expect(try await shell.listed() == [], "\(words)")
    }
  }

  @Test func `rm removes what it is told, and asks somebody where more than one row goes`() async throws {
    let (shell, origin) = try await Shell.filled()
    let one = try await shell.run("rm", origin.url + "/b")
    #expect(one.status == 0 && one.errorText == "removed 1 entry\n" && one.output.isEmpty)
    #expect(try await shell.listed() == ["/a", "/c"])
    let unasked = try await shell.run("rm", "--prefix", origin.url)
    #expect(unasked.status == 64 && unasked.errorText.contains("--yes"))
    #expect(try await shell.run("rm", "--yes", "--prefix", origin.url).status == 0)
    let empty = try await shell.run("list")
    #expect(empty.status == 0 && empty.output.isEmpty)
    #expect(try await shell.run("rm", origin.url + "/b").status == 0)
    #expect(try await shell.run("rm", "--json", origin.url + "/b").outputText == "{\"removed\":0}\n")
  }

  @Test func `of the variants of a URL rm --exact -H removes the one for these headers`() async throws {
    let shell = try Shell()
    let origin = try ChangingOrigin(.ok("x", ["Vary": "Accept-Language"]))
    for language in ["de", "fr"] {
      _ = try await shell.run("-q", "-H", "Accept-Language: \(language)", origin.url)
    }
    let none = try await shell.run("rm", "--exact", "-H", "Accept-Language: it", origin.url)
    #expect(none.status == 0 && none.errorText == "cachefetch: no stored entry matches\n")
    let one = try await shell.run("rm", "--exact", "-H", "Accept-Language: de", origin.url)
    #expect(one.status == 0 && one.errorText == "removed 1 entry\n")
    #expect(try await shell.run("list").lines.map { $0.hasSuffix("\t(accept-language: fr)\t") } == [true])
    let loose = try await shell.run("rm", "-H", "Accept-Language: fr", origin.url)
    #expect(loose.status == 64 && loose.errorText.contains("add --exact"))
  }

  @Test func `a pause is told with its length, and rm --pause ends it and removes nothing`() async throws {
    let shell = try Shell()
    let busy = FixtureReply(
      status: 429, reason: "Too Many Requests", fields: ["Retry-After": "3600"], body: Array("busy".utf8))
    let origin = try ChangingOrigin(.ok("x"))
    _ = try await shell.run("-q", origin.url)
    origin.answer(busy)
    let host = "127.0.0.1:\(origin.server.port)"
    let made = try await shell.run("--retry", "0", "--print", "none", origin.url + "/busy")
    #expect(
      made.errorText
        == "cachefetch: \(host) answered 429 and is not asked again for 1 hour (Retry-After); "
        + "“cachefetch rm --pause '\(host)'” ends that\n", "\(made.errorText)")
    #expect(try await shell.run("doctor").outputText.contains("run “cachefetch rm --pause '\(host)'”"))
    #expect(try await shell.run("rm", "--pause", host, "--host", "a").status == 64)
    let other = try await shell.run("rm", "--pause", "a.example")
    #expect(other.status == 0 && other.errorText == "cachefetch: no pause of a.example is in force\n")
    let ended = try await shell.run("rm", "--pause", host, "--json")
    #expect(ended.outputText == "{\"removed\":0,\"pauses_ended\":1}\n")
    #expect(ended.errorText == "cachefetch: a pause is over: it asks again\n")
    _ = try await shell.run("--retry", "0", "--print", "none", origin.url + "/busy")
    let byURL = try await shell.run("rm", "--pause", origin.url, "--json")
    #expect(byURL.outputText == "{\"removed\":0,\"pauses_ended\":1}\n")
    #expect(try await shell.run("list").lines.count == 1)
  }

  /// Stores the first half of a download, as a process leaves it that was cut off.
  private func cutOff(_ url: String, _ shell: Shell) async throws {
    let store = ResponseStore(configuration: .unhurried(path: shell.store.path))
    let partial = UnfinishedBody.Partial(
      key: RequestKey(target: url), url: url, strongETag: "\"1\"", wholeLength: nil)
    let account = try await store.accountID(named: "")
    let body = try await store.beginBody(accountID: account, partial: partial)
    try await body.append(Data("half".utf8))
    body.end()
    await store.close()
  }

  @Test(
    "rm reaches a download that was cut off, where nothing else is stored",
    arguments: [
      (["https://example.org/big"], true), (["--host", "example.org"], true),
      (["--prefix", "https://example.org/"], true), (["--older-than", "0s"], true),
      (["https://example.org/other"], false), (["-k", "https://example.org/big"], false),
      (["--account", "alice"], false), (["--tag", "big"], false), (["--status", "200"], false),
    ])
  func cutOff(words: [String], goes: Bool) async throws {
    let shell = try Shell()
    try await cutOff("https://example.org/big", shell)
    let run = try await shell.run(["rm"] + words)
    #expect(
      run.errorText == (goes ? "removed 1 cut-off download\n" : "cachefetch: no stored entry matches\n"))
    #expect(run.status == 0)
    #expect(try shell.store.value("SELECT count(*) FROM partial").integer == (goes ? 0 : 1))
  }

  @Test func `a download that was cut off goes with the entry of its URL`() async throws {
    let shell = try Shell()
    let origin = try ChangingOrigin()
    _ = try await shell.run(origin.url)
    try await cutOff(origin.url, shell)
    #expect(try await shell.run("rm", origin.url).errorText == "removed 1 entry\n")
    for table in ["last_request", "body", "chunk", "partial"] {
      #expect(try shell.store.value("SELECT count(*) FROM \(table)").integer == 0, "\(table)")
    }
  }

  @Test func `entries of several accounts that are removed are told apart`() async throws {
    let (shell, origin) = try await Shell.filled()
    let run = try await shell.run("rm", "--yes", "--prefix", origin.url)
    #expect(run.errorText == "removed 3 entries: 2 of no account, 1 of alice\n")
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
    ("y\u{4}\u{4}", 0),
  ])
  func `on a terminal rm and sign-out ask alike: yes is 0, no is 1, Ctrl-C is 130`(
    answer: String, status: Int32
  )
    async throws
  {
    let (shell, origin) = try await Shell.filled()
    _ = try await shell.run("--account", "alice", origin.url + "/b")
    for words in ["sign-out --account alice", "rm --prefix \(origin.url)", "rm -q --prefix \(origin.url)"] {
      let before = try await shell.listed()
      if before.count < 2 { continue }
      let child = try await asked(shell, words)
      child.write(Array(answer.utf8))
      let finished = await child.finished()
      #expect(finished.status == status, "\(words): \(finished.outputText)")
      #expect(
        finished.outputText.contains("Remove \(words.hasPrefix("s") ? 2 : status == 0 ? 2 : 4) entries"),
        "\(words)")
      #expect(try await (shell.listed() != before) == (status == 0), "\(words)")
      let isSaid = status == 1 && !words.contains("-q")
      #expect(finished.outputText.contains("nothing was removed") == isSaid, "\(words)")
      // What comes after the interrupt begins a line.
      if status == 130 { #expect(finished.output.last == 0x0A, "\(words)") }
    }
  }

  @Test func `where nobody can be asked, more than one entry needs --yes, for rm and for sign-out`()
    async throws
  {
    let (shell, origin) = try await Shell.filled()
    let one = try await shell.run("sign-out", "--account", "alice")
    #expect(one.status == 0)
    for path in ["/a", "/b"] { _ = try await shell.run("--account", "alice", origin.url + path) }
    for words in [["sign-out", "--account", "alice"], ["rm", "-q", "--account", "alice"]] {
      let run = try await shell.run(words)
      #expect(run.status == 64 && run.errorText.contains("write --yes"), "\(run.errorText)")
    }
    #expect(try await shell.listed("--account", "alice").count == 2)
    let gone = try await shell.run("sign-out", "--yes", "--account", "alice")
    #expect(gone.status == 0 && gone.errorText == "signed out alice: removed 2 entries\n")
  }

  @Test func `sign-out removes an account's rows and leaves the others`() async throws {
    let (shell, _) = try await Shell.filled()
    let run = try await shell.run("sign-out", "--account", "alice")
    #expect(run.status == 0 && run.errorText == "signed out alice: removed 1 entry\n")
    #expect(try await shell.listed() == ["/b", "/c"])
    #expect(try await shell.run("sign-out").status == 64)
    let again = try await shell.run("sign-out", "--account", "alice")
    let note = "no entry is stored for it; “cachefetch list” shows whose there are"
    #expect(again.status == 0 && again.errorText == "signed out alice: \(note)\n", "\(again.errorText)")
  }

  @Test func `sign-out from a store that is not there says that no other server was asked`() async throws {
    var shell = try Shell()
    let words = ["sign-out", "--account", "alice"]
    let note = "nothing is signed out: the server that machines share was not asked either"
    shell.environment["CACHEFETCH_TIER"] = "redis://127.0.0.1:1/0"
    let run = try await shell.run(words)
    #expect(run.status == 74 && run.errorText.contains("there is no store at "), "\(run.errorText)")
    #expect(run.errorText.contains(note), "\(run.errorText)")
    let alone = try await shell.run(words + ["--no-tier"])
    #expect(alone.status == 74 && !alone.errorText.contains(note), "\(alone.errorText)")
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
    #expect(try await shell.listed() == [])
  }

  @Test(
    "law 8: rm of what is being fetched for the first time keeps it from being stored",
    arguments: [["URL"], ["--host", "127.0.0.1"], ["--tag", "news"], ["--older-than", "0s"]])
  func meanwhile(words: [String]) async throws {
    let shell = try Shell()
    let origin = try ChangingOrigin()
    // So that there is a store.
    _ = try await shell.run("--key", "other", origin.url)
    _ = try await shell.run("rm", "key:other")
    let mayAnswer = origin.hold()
    let child = try shell.start("--json", "--tag", "news", origin.url)
    await origin.server.waitForRequests(2)
    let removed = try await shell.run(["rm"] + words.map { $0 == "URL" ? origin.url : $0 })
    #expect(removed.errorText.contains("no stored entry matches"), "\(removed.errorText)")
    mayAnswer.open()
    let finished = await child.finished()
    #expect(finished.status == 0, "\(finished.errorText)")
    #expect(
      finished.outputText.contains("\"kept\":false,\"kept_reason\":\"superseded\""), "\(finished.outputText)")
    #expect(try await shell.run("--offline", origin.url).status == 4)
  }
}
