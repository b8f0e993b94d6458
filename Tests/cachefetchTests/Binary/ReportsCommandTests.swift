import CacheStore
import FixtureServer
import PlatformC
import PlatformFoundation
import TestSupport
import Testing
import TestTurns

@Suite("Command: stats and doctor", .inTurn) struct ReportsCommandTests {
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

  @Test func `stats --prometheus is what a parser of the exposition format reads`() async throws {
    let shell = try Shell()
    let origin = try ChangingOrigin()
    for words in [["--key", "a\"b\\c"], [], [], ["--offline"]] {
      _ = try await shell.run(words + [origin.url])
    }
    origin.server.stop()
    #expect(try await shell.run("--retry", "0", origin.url).status == 3)
    let text = try await shell.run("stats", "--prometheus")
    let reader = """
      import sys
      from prometheus_client.parser import text_string_to_metric_families as families
      for family in families(sys.stdin.read()):
          assert family.documentation and family.type in ("counter", "gauge"), family
          for sample in family.samples:
              labels = dict(sample.labels)
              if labels.get("host", "").startswith("127."): labels["host"] = "H"
              print(sample.name, sorted(labels.items()), sample.value if "bytes" not in sample.name else "-")
      """
    let run = try await ChildProcess.run("/usr/bin/python3", ["-c", reader], input: text.output)
    #expect(run.status == 0, "\(run.errorText) \(text.outputText)")
    let none = "('account', '')"
    for line in [
      "cachefetch_entries [\(none), ('host', 'H')] 1.0",
      "cachefetch_deliveries_total [\(none), ('host', 'H'), ('kind', 'stored')] 3.0",
      "cachefetch_deliveries_total [\(none), ('host', 'H'), ('kind', 'failed')] 1.0",
      "cachefetch_failures_total [('kind', 'refused')] 1.0", "cachefetch_evictions_total [] 0.0",
      "cachefetch_file_bytes [] -", "cachefetch_log_bytes [] -", "cachefetch_limit_bytes [] -",
    ] {
      #expect(run.outputText.contains(line), "\(line) is not in \(run.outputText)")
    }
    #expect(run.outputText.contains(#"('host', 'key:a"b\\c')"#), "\(run.outputText)")
    #expect(run.outputText.contains("cachefetch_last_success_timestamp_seconds [\(none), ('host', 'H')] 1"))
    #expect(!run.outputText.contains("tier"))
    #expect(try await shell.run("stats", "--prometheus", "--json").status == 64)
  }

  @Test func `what has a key of its own is counted under it, and its counts go with it`() async throws {
    let shell = try Shell()
    let origin = try ChangingOrigin()
    _ = try await shell.run("--key", "k", origin.url)
    _ = try await shell.run("--key", "k", "--offline", origin.url)
    let lines = try await shell.run("stats", "--json").lines
    #expect(lines.count == 1 && lines[0].contains("\"host\":\"key:k\""), "\(lines)")
    #expect(lines.first?.contains("\"rows\":1,\"bytes\":3,\"stored\":1,\"fresh\":1,") == true, "\(lines)")
    #expect(try await shell.run("rm", "--yes", "key:k").status == 0)
    #expect(try await shell.run("stats", "--json").output.isEmpty)
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
      ("transport", "libcurl "), ("libraries", "SQLite "), ("file", shell.store.path),
      ("mode", "only its owner"),
      ("integrity", "the database structure is intact"), ("schema", "schema 4,"),
      ("checksums", "every stored byte"),
      ("log", "write-ahead log has "), ("clock", "no answer contradicts it"), ("authorities", "/"),
      ("digest-key", ".key"), ("proxy", "proxy.example:3128"),
    ] {
      #expect(
        found.contains { $0.subject == subject && $0.message.contains(message) && $0.severity == "fine" },
        "\(subject) in \(run.outputText)")
    }
    shell.environment["all_proxy"] = "gopher://old.example"
    let ill = try await shell.run("doctor")
    #expect(ill.status == 1 && ill.outputText.contains("gopher://old.example"))
  }

  @Test func `doctor sees authorities that are missing, a wrong clock and a limit larger than the disk`()
    async throws
  {
    var shell = try Shell()
    let origin = try ChangingOrigin(.ok("x", ["Date": "Mon, 01 Jan 2024 00:00:00 GMT"]))
    _ = try await shell.run(origin.url)
    _ = try await shell.run("limits", "--bytes", "8000000000G")
    shell.environment["SSL_CERT_FILE"] = shell.file("none.pem")
    let run = try await shell.run("doctor")
    #expect(run.status == 1, "\(run.outputText)")
    for line in [
      "wrong  clock: by the Date of the last answers it was over ",
      "wrong  authorities: the certificate authorities that the environment names cannot be read: ",
      "fine   limit: the store may take ", "lower the limit with “cachefetch limits --bytes ",
    ] {
      #expect(run.outputText.contains(line), "\(line) in \(run.outputText)")
    }
    // The other way round: what was received is still to come.
    origin.answer(.ok("y"))
    shell.environment["SSL_CERT_FILE"] = .some(nil)
    _ = try await shell.run("limits", "--bytes", "1M")
    _ = try await shell.run("--policy", "fresh-only", origin.url)
    let well = try await shell.run("doctor")
    #expect(well.status == 0 && !well.outputText.contains("limit: "), "\(well.outputText)")
  }

  @Test(
    "the administrator looks at another user's store without a trace, and loads refuse it",
    .enabled(if: geteuid() == 0, "only the administrator may look at another user's store"))
  func foreign() async throws {
    let shell = try Shell()
    let origin = try ChangingOrigin()
    _ = try await shell.run("-u", "a:b", origin.url)
    _ = try await shell.run(origin.url)
    let folder = shell.store.folder
    func state() throws -> [String: [UInt8]] {
      try Dictionary(uniqueKeysWithValues: folder.names().map { ($0, try folder.bytes(of: $0)) })
    }
    for name in try folder.names() { #expect(chown(folder.file(name), 65_534, 65_534) == 0) }
    #expect(chown(folder.path, 65_534, 65_534) == 0)
    // With what a process leaves of its files, while one uses it, and after the last one has removed the log.
    for leftOut in ["nothing", "-shm", "while in use", "-wal", ".lock"] {
      let user = leftOut == "while in use" ? try RawDatabase(shell.store.path) : nil
      #expect(try user?.rows("SELECT count(*) FROM last_request").first?.first?.integer ?? 2 == 2)
      defer { withExtendedLifetime(user) {} }
      unlink(shell.store.path + leftOut)
      let before = try state()
      for words in [["list"], ["stats"], ["show", origin.url], ["explain", origin.url], ["doctor"]] {
        for named in [[], ["--store", shell.store.path]] {
          let run = try await shell.run(words + named)
          #expect(
            run.status == 0 && run.errors.isEmpty,
            "\(words) \(leftOut): \(run.outputText) \(run.errorText)")
          let doctor = "\(shell.store.path) is the store of user 65534, and only looked at"
          if words == ["doctor"] { #expect(run.outputText.contains(doctor), "\(run.outputText)") }
          if words[0] == "show" { #expect(run.outputText == "one") }
        }
      }
      #expect(try state() == before, "\(leftOut)")
    }
    for words in [
      ["--offline", origin.url], ["limits"], ["rm", "--yes", origin.url], ["doctor", "--repair"],
    ] {
      let run = try await shell.run(words)
      let said = run.errorText + run.outputText
      #expect(
        run.status != 0 && said.contains("belongs to another user, which is refused"),
        "\(words): \(run.status) \(said)")
    }
    let load = try await shell.run(origin.url)
    #expect(load.status == 0 && load.errorText.contains("belongs to another user"), "\(load.errorText)")
  }

  @Test func `doctor --repair mends what it found, says so, and is 0 from then on`() async throws {
    let shell = try Shell()
    let origin = try ChangingOrigin()
    _ = try await shell.run(origin.url)
    chmod(shell.store.path, 0o644)
    try shell.store.execute("UPDATE last_request SET status = 201")
    let repaired = try await shell.run("doctor", "--repair")
    #expect(repaired.status == 0, "\(repaired.outputText)")
    #expect(
      ["repaired  mode: ", "repaired  checksums: "].allSatisfy { repaired.outputText.contains($0) },
      "\(repaired.outputText)")
    let well = try await shell.run("doctor")
    #expect(well.status == 0 && !well.outputText.contains("wrong"))
    #expect(try await shell.run("list").output.isEmpty)
  }

  @Test func `a damaged store that the command repaired itself sends nobody to doctor`() async throws {
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
    try Data(damaged).write(to: URL(filePath: shell.file("it's a copy")))
    let copy = try await shell.run("--store", "it's a copy", "--offline", origin.url)
    #expect(
      copy.status == 74
        && copy.errorText.contains(#"run “cachefetch doctor --repair --store 'it'\''s a copy'”"#),
      "\(copy.errorText)")
    let doctor = try await shell.run("doctor", "--store", "it's a copy")
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
