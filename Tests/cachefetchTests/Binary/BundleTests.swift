import CacheStore
import FixtureServer
import PlatformC
import PlatformFoundation
import TestSupport
import Testing
import TestTurns

@Suite("Command: export and import", .inTurn) struct BundleTests {
  /// Two rows without credentials, one long, one of alice, one with a password.
  private func filled() async throws -> (shell: Shell, origin: FixtureServer) {
    let shell = try Shell()
    let origin = try FixtureServer { request, connection in
      let long = [UInt8](repeating: 0x6C, count: 700_000)
      try connection.send(request.path == "/long" ? .ok(long) : .ok(request.path))
    }
    _ = try await shell.run("--tag", "demo", origin.url + "/a", origin.url + "/long")
    _ = try await shell.run("--account", "alice", origin.url + "/alice")
    _ = try await shell.run("-u", "bob:geheim", origin.url + "/bob")
    return (shell, origin)
  }

  @Test func `what is exported is read in another place, without a network`() async throws {
    let (shell, origin) = try await filled()
    let run = try await shell.run("export", "demo.cfx")
    #expect(
      run.status == 0
        && run.errorText
          == "exported 2 stored responses; left out: 1 of requests with credentials, 1 of the account alice (--account NAME takes those of one account)\n"
    )
    origin.stop()
    #expect(try shell.store.folder.names().filter { $0.hasPrefix("demo") } == ["demo.cfx"])
    let opened = try await shell.run("--store", shell.file("demo.cfx"), "--offline", origin.url + "/a")
    #expect(opened.outputText == "/a" && opened.status == 0)
    #expect(try shell.store.folder.names().filter { $0.hasPrefix("demo") } == ["demo.cfx"])

    let other = try Shell()
    let taken = try await other.run("import", shell.file("demo.cfx"))
    #expect(taken.status == 0 && taken.errorText == "imported 2 stored responses\n")
    #expect(try await other.run("--offline", origin.url + "/long").output.count == 700_000)
    #expect(try await other.run("list", "--tag", "demo").lines.count == 2)
  }

  @Test func `a copy that was cut off is reported, and stays as it is`() async throws {
    let (shell, origin) = try await filled()
    #expect(try await shell.run("export", "demo.cfx").status == 0)
    let whole = try shell.store.folder.bytes(of: "demo.cfx")
    let cut = Array(whole.prefix(whole.count / 2))
    try shell.store.folder.write(cut, to: "cut.cfx")
    let names = try shell.store.folder.names()
    for words in [
      ["list"], ["list", "--json"], ["stats"], ["explain", origin.url + "/a"], ["export", "again.cfx"],
      ["--policy", "stored-only", origin.url + "/a"],
    ] {
      let run = try await shell.run(words + ["--store", "cut.cfx"])
      #expect(run.status == 74 && run.output.isEmpty, "\(words): \(run.outputText)")
      #expect(run.errorText.contains("the store cut.cfx is damaged"), "\(words): \(run.errorText)")
      #expect(try shell.store.folder.names() == names, "\(words)")
    }
    #expect(try shell.store.folder.bytes(of: "cut.cfx") == cut)
    // Nor is anything put beside one that is whole.
    let list = try await shell.run("list", "--store", "demo.cfx")
    #expect(list.status == 0 && list.lines.count == 2, "\(list.errorText)")
    #expect(try await shell.run("stats", "--store", "demo.cfx").status == 0)
    #expect(try await shell.run("explain", "--store", "demo.cfx", origin.url + "/a").status == 0)
    #expect(try shell.store.folder.names() == names)
  }

  @Test func `rows with credentials are left out unless the account is named`() async throws {
    let (shell, _) = try await filled()
    _ = try await shell.run("export", "all.cfx")
    let bytes = String(decoding: try shell.store.folder.bytes(of: "all.cfx"), as: UTF8.self)
    #expect(!bytes.contains("alice") && !bytes.contains("/bob") && !bytes.contains("geheim"))
    let named = try await shell.run("export", "--account", "alice", "alice.cfx")
    #expect(named.errorText == "exported 1 stored response\n")
  }

  @Test(
    "An export of nothing ends with 4, and what was exported before stays",
    arguments: [
      (["--tag", "dmeo"], ""), (["--account", "bob"], ""),
      (
        ["--tag", "private"],
        "; left out: 1 of the account alice (--account NAME takes those of one account)"
      ),
    ])
  func exportOfNothing(words: [String], leftOut: String) async throws {
    let (shell, origin) = try await filled()
    _ = try await shell.run("--account", "alice", "--tag", "private", origin.url + "/alice")
    _ = try await shell.run("export", "copy.cfx")
    let before = try shell.store.folder.bytes(of: "copy.cfx")
    let run = try await shell.run(["export"] + words + ["copy.cfx"])
    #expect(
      run.status == 4
        && run.errorText == "cachefetch: nothing is exported: no stored response matches\(leftOut)\n",
      "\(run.errorText)")
    #expect(try shell.store.folder.bytes(of: "copy.cfx") == before)
    let piped = try await shell.run(["export"] + words + ["-"])
    #expect(piped.status == 4 && piped.output.isEmpty)
    let json = try await shell.run(["export", "--json"] + words + ["new.cfx"])
    #expect(json.status == 4 && json.outputText.contains(#""responses":0"#), "\(json.outputText)")
    #expect(try shell.store.folder.names().filter { $0.hasPrefix("new") }.isEmpty)
  }

  @Test func `an older answer does not replace a newer one`() async throws {
    let shell = try Shell()
    let origin = try ChangingOrigin(.ok("one"))
    _ = try await shell.run(origin.url)
    _ = try await shell.run("export", "old.cfx")
    origin.answer(.ok("two"))
    _ = try await shell.run(origin.url)
    let run = try await shell.run("import", "old.cfx")
    #expect(run.errorText == "imported 0 stored responses; left out: 1 no newer than what is stored\n")
    #expect(try await shell.run("--offline", origin.url).outputText == "two")
    // What was removed comes back.
    _ = try await shell.run("rm", origin.url)
    _ = try await shell.run("import", "old.cfx")
    #expect(try await shell.run("--offline", origin.url).outputText == "one")
  }

  @Test func `a damaged, a foreign and a missing file are refused whole with 65`() async throws {
    let (shell, _) = try await filled()
    _ = try await shell.run("export", "good.cfx")
    var bytes = try shell.store.folder.bytes(of: "good.cfx")
    // In the middle of the long body.
    let place = try #require(bytes.indices.dropFirst(bytes.count / 2).first { bytes[$0] == 0x6C })
    bytes[place] = 0x6D
    try shell.store.folder.write(bytes, to: "damaged.cfx")
    try shell.store.folder.write(
      "this is no database, and is long enough to see that it is none", to: "foreign.cfx")
    let other = try Shell()
    try shell.store.folder.write("no database, and long enough to see that it is none", to: "e")
    let short = try await shell.run("import", "e")
    #expect(
      short.errorText
        == "cachefetch: nothing was imported from “e”: it is not an exported file; name one that “cachefetch export” wrote\n"
    )
    for name in ["damaged.cfx", "foreign.cfx", "missing.cfx"] {
      let run = try await other.run("import", shell.file(name))
      #expect(
        run.status == 65 && run.errorText.split(separator: "\n").count == 1, "\(name): \(run.errorText)")
      // The remedy is for the file, not for the user's own store.
      #expect(!run.errorText.contains("--repair") && !run.errorText.contains("--store"), "\(run.errorText)")
    }
    #expect(try await other.run("list").output.isEmpty)
  }

  // MARK: What an export must not replace

  @Test(
    "The store that is exported, by whatever name, is refused and stays as it is",
    arguments: [
      "store.sqlite", "./store.sqlite", "link", "hard", "store.sqlite.lock", "sub/../store.sqlite",
      "store.sqlite.tier", "store.sqlite.reserve", "store.sqlite.repaired",
    ])
  func itself(name: String) async throws {
    let (shell, _) = try await filled()
    for part in [".tier", ".reserve", ".repaired"] {
      try shell.store.folder.write("x", to: "store.sqlite" + part)
    }
    #expect(symlink("store.sqlite", shell.file("link")) == 0)
    #expect(link(shell.store.path, shell.file("hard")) == 0)
    #expect(mkdir(shell.file("sub"), 0o700) == 0)
    let run = try await shell.run("export", name)
    #expect(run.status == 64 && run.errorText.contains("is the store itself"), "\(run.errorText)")
    #expect(try await shell.run("list").lines.count == 4)
    #expect(try await shell.run("export", shell.store.path).status == 64)
  }

  @Test func `another store is refused, an exported file and any other file are replaced`() async throws {
    let (shell, origin) = try await filled()
    let other = try Shell()
    _ = try await other.run("--account", "carol", origin.url + "/other")
    let refused = try await shell.run("export", other.store.path)
    #expect(refused.status == 64 && refused.errorText.contains("is a database and no exported file"))
    #expect(try await other.run("list", "--account", "carol").lines.count == 1)
    try shell.store.folder.write("something else", to: "demo.cfx")
    for _ in 1...2 { #expect(try await shell.run("export", "demo.cfx").status == 0) }
    #expect(try await other.run("import", shell.file("demo.cfx")).status == 0)
    for (name, words) in [
      ("sub", "is a folder"), ("/dev/full", "is not a regular file"), ("no/such", "cannot be written"),
    ] {
      _ = mkdir(shell.file("sub"), 0o700)
      let run = try await shell.run("export", name)
      #expect(
        run.status == 74 && run.errorText.contains(words) && !run.errorText.contains("-o"), "\(run.errorText)"
      )
    }
    let missing = try Shell()
    let none = try await missing.run("export", "x.cfx")
    #expect(none.status == 74 && none.errorText.contains("there is no store"))
  }

  @Test func `with no room left the file is named, not the one that is made beside it`() async throws {
    let (shell, _) = try await filled()
    try shell.store.folder.write("an earlier one", to: "copy.cfx")
    var environment = shell.environment
    environment["cachefetch"] = try BuiltProduct.cachefetch()
    let run = try await ChildProcess.run(
      "/bin/sh", ["-c", "ulimit -f 200; trap '' XFSZ; exec \"$cachefetch\" export copy.cfx"],
      environment: environment,
      directory: shell.store.folder.path)
    #expect(run.status == 74, "\(run.errorText)")
    #expect(run.errorText.hasPrefix("cachefetch: there is no room for “"), "\(run.errorText)")
    #expect(run.errorText.contains("copy.cfx”; free some disk space") && !run.errorText.contains(".part"))
    #expect(try shell.store.folder.bytes(of: "copy.cfx") == Array("an earlier one".utf8))
    #expect(try shell.store.folder.names().filter { $0.contains(".part") }.isEmpty)
  }

  @Test func `a link to a file that is not there yet stays one`() async throws {
    let (shell, _) = try await filled()
    #expect(symlink("copy.cfx", shell.file("link")) == 0)
    #expect(try await shell.run("export", "link").status == 0)
    var status = stat()
    #expect(lstat(shell.file("link"), &status) == 0 && status.st_mode & S_IFMT == S_IFLNK)
    #expect(try shell.store.folder.bytes(of: "copy.cfx").starts(with: Array("SQLite format 3\0".utf8)))
    #expect(symlink("round", shell.file("round")) == 0)
    let round = try await shell.run("export", "round")
    #expect(round.status == 74 && round.errorText.contains("too many symbolic links"), "\(round.errorText)")
  }

  // MARK: Streams

  @Test(
    "The file of an open descriptor is not replaced",
    arguments: ["/dev/stdout", "/dev/fd/1", "/proc/self/fd/1", "log"])
  func openDescriptor(path: String) async throws {
    let (shell, _) = try await filled()
    let script = #"{ echo before; "$0" export "$1"; echo after; } > log"#
    let run = try await ChildProcess.run(
      "/bin/sh", ["-c", script, BuiltProduct.cachefetch(), path], environment: shell.environment,
      directory: shell.store.folder.path)
    #expect(run.errorText.hasPrefix("exported 2 stored responses"), "\(run.errorText)")
    let log = try shell.store.folder.bytes(of: "log")
    #expect(log.starts(with: Array("before\nSQLite format 3\0".utf8)))
    #expect(log.suffix(6).elementsEqual("after\n".utf8))
    let json = try await ChildProcess.run(
      "/bin/sh", ["-c", #""$0" export --json "$1" > log"#, BuiltProduct.cachefetch(), path],
      environment: shell.environment, directory: shell.store.folder.path)
    #expect(
      json.status == 64 && json.errorText.contains("both go to standard output"), "\(json.errorText)")
  }

  @Test func `a descriptor that takes nothing is named as it was given`() async throws {
    let (shell, _) = try await filled()
    for (redirection, words) in [("> /dev/full", "no space left"), (">&-", "it is closed")] {
      let run = try await ChildProcess.run(
        "/bin/sh", ["-c", #""$0" export /dev/stdout "# + redirection, BuiltProduct.cachefetch()],
        environment: shell.environment, directory: shell.store.folder.path)
      #expect(run.status == 74, "\(redirection): \(run.exit)")
      #expect(
        run.errorText.contains("“/dev/stdout” cannot be written: \(words)"),
        "\(redirection): \(run.errorText)")
    }
  }

  @Test(
    "A reader that goes away ends it as a closed pipe does, and no temporary file is left",
    arguments: [["export", "-"], ["export", "--json", "copy.cfx"], ["import", "--json", "-"]])
  func readerGone(words: [String]) async throws {
    var shell = try await filled().shell
    let bytes = try await shell.run("export", "-").output
    let temporary = shell.file("tmp")
    #expect(mkdir(temporary, 0o700) == 0)
    shell.environment["TMPDIR"] = temporary
    var ends: [Int32] = [-1, -1]
    try #require(pipe(&ends) == 0)
    close(ends[0])
    let child = try ChildProcess(
      BuiltProduct.cachefetch(), words, environment: shell.environment, directory: shell.store.folder.path,
      input: words.contains("import") ? bytes : [], output: .descriptor(ends[1]))
    close(ends[1])
    let finished = await child.finished()
    #expect(finished.exit == .signal(SIGPIPE), "\(finished.exit) \(finished.errorText)")
    #expect(try FileManager.default.contentsOfDirectory(atPath: temporary).isEmpty)
    let copies = try shell.store.folder.names().filter { $0.hasPrefix("copy") }
    #expect(copies == (words.contains("copy.cfx") ? ["copy.cfx"] : []))
  }

  @Test func `- is standard output of export and standard input of import`() async throws {
    let (shell, origin) = try await filled()
    let temporary = shell.file("tmp")
    #expect(mkdir(temporary, 0o700) == 0)
    var other = try Shell()
    other.environment["TMPDIR"] = temporary
    var shell2 = shell
    shell2.environment["TMPDIR"] = temporary
    let exported = try await shell2.run("export", "-")
    #expect(exported.status == 0 && exported.errorText.hasPrefix("exported 2 stored responses; left out"))
    #expect(exported.output.starts(with: Array("SQLite format 3\0".utf8)))
    let taken = try await other.run("import", "-", input: exported.output)
    #expect(taken.status == 0 && taken.errorText == "imported 2 stored responses\n")
    #expect(try await other.run("--offline", origin.url + "/long").output.count == 700_000)
    for (input, words) in [("", "is empty"), ("no database at all", "is no exported file")] {
      let run = try await other.run("import", "-", input: Array(input.utf8))
      #expect(run.status == 65 && run.errorText.contains("standard input \(words)"), "\(run.errorText)")
    }
    let cut = try await other.run("import", "-", input: Array(exported.output.prefix(50_000)))
    #expect(cut.status == 65 && cut.errorText.contains("standard input"), "\(cut.errorText)")
    #expect(try FileManager.default.contentsOfDirectory(atPath: temporary).isEmpty)
    #expect(try !shell.store.folder.names().contains("-") && !other.store.folder.names().contains("-"))
  }

  @Test func `standard input that another program has made non-blocking is waited for`() async throws {
    let (shell, _) = try await filled()
    let bytes = try await shell.run("export", "-").output
    var other = try Shell()
    let temporary = other.file("tmp")
    #expect(mkdir(temporary, 0o700) == 0)
    other.environment["TMPDIR"] = temporary
    var ends: [Int32] = [-1, -1]
    try #require(pipe(&ends) == 0)
    defer { for end in ends { close(end) } }
    #expect(fcntl(ends[0], F_SETFL, O_NONBLOCK) == 0)
    let child = try ChildProcess(
      "/bin/sh", ["-c", "exec \"$0\" import - <&3", BuiltProduct.cachefetch()],
      environment: other.environment, directory: other.store.folder.path, passing: ends[0])
    // It has made the file that takes its input, and sleeps: nothing has come yet.
    let isWaiting = await eventually {
      guard let folder = try? FileManager.default.contentsOfDirectory(atPath: temporary).first,
        FileManager.default.fileExists(atPath: "\(temporary)/\(folder)/bundle"),
        let status = try? String(contentsOfFile: "/proc/\(child.pid)/stat", encoding: .utf8)
      else { return false }
      return status.split(separator: ")").last?.hasPrefix(" S") == true
    }
    try #require(isWaiting)
    _ = bytes.withUnsafeBytes { write(ends[1], $0.baseAddress, 40_000) }
    let isRead = await eventually {
      var polled = pollfd(fd: ends[0], events: Int16(POLLIN), revents: 0)
      return poll(&polled, 1, 0) == 0
    }
    try #require(isRead)
    _ = bytes[40_000...].withUnsafeBytes { write(ends[1], $0.baseAddress, $0.count) }
    close(ends[1])
    ends[1] = -1
    let taken = await child.finished()
    #expect(taken.status == 0 && taken.errorText == "imported 2 stored responses\n", "\(taken.errorText)")
  }

  @Test func `a bundle does not go to a terminal, nor come from one`() async throws {
    let (shell, _) = try await filled()
    for verb in ["export", "import"] {
      let child = try ChildProcess(
        BuiltProduct.cachefetch(), [verb, "-"], environment: shell.environment,
        directory: shell.store.folder.path, input: nil, typesInput: true, output: .terminal, errors: .asOutput
      )
      let finished = await child.finished()
      #expect(finished.status == 64 && finished.outputText.contains("terminal"), "\(finished.outputText)")
    }
  }

  // MARK: Whose, and what of it

  @Test func `accounts are imported by name only, and the counts say what was left out`() async throws {
    let (shell, origin) = try await filled()
    // All accounts in one file, as somebody else might send it.
    _ = try await shell.run("rm", "--yes", "--prefix", origin.url + "/long")
    let bytes = try shell.store.folder.bytes(of: "store.sqlite")
    #expect(!bytes.isEmpty)
    try shell.store.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    try shell.store.folder.write(try shell.store.folder.bytes(of: "store.sqlite"), to: "all.cfx")
    let other = try Shell()
    let run = try await other.run("import", "--json", shell.file("all.cfx"))
    #expect(run.status == 0, "\(run.errorText)")
    #expect(
      run.errorText
        == "imported 1 stored response; left out: 1 of requests with credentials, 1 of the account alice (--account NAME takes those of one account)\n"
    )
    #expect(
      run.outputText.contains(
        #""responses":1,"left_out":[{"reason":"credentials","responses":1},{"reason":"account","account":"alice","responses":1}]}"#
      ))
    #expect(try await other.run("--offline", "--account", "alice", origin.url + "/alice").status == 4)
    let bob = try await other.run("import", "--account", "bob", shell.file("all.cfx"))
    #expect(bob.status == 4 && bob.errorText.contains("all.cfx” has no response of the account bob\n"))
    let alice = try await other.run("import", "--account", "alice", shell.file("all.cfx"))
    #expect(alice.errorText == "imported 1 stored response\n")
    #expect(
      try await other.run("--offline", "--account", "alice", origin.url + "/alice").outputText == "/alice")
  }

  @Test func `what is imported is found, and what only its own store finds is left out and said`()
    async throws
  {
    let shell = try Shell()
    let origin = try FixtureServer { request, connection in
      try connection.send(.ok(request.path, request.path == "/tenant" ? ["Vary": "X-Tenant"] : [:]))
    }
    try shell.store.folder.write("authorities", to: "ca.pem")
    let trusting = ["--cacert", shell.file("ca.pem"), origin.url + "/trusted"]
    let found = [trusting, [origin.url + "/plain"], ["-H", "Accept: text/html", origin.url + "/tenant"]]
    let bound = [
      [origin.url + "/secret?token=geheim"], ["--read", "-d", "q", origin.url + "/asked"],
      ["-H", "X-Tenant: alice", origin.url + "/tenant"],
    ]
    for words in found + bound {
      #expect(try await shell.run(words: words, input: []).status == 0, "\(words)")
    }
    let run = try await shell.run("export", "part.cfx")
    #expect(
      run.errorText
        == "exported 3 stored responses; left out: 3 that no other store finds (their keys have a digest of a secret or a body)\n",
      "\(run.errorText)")
    #expect(
      !String(decoding: try shell.store.folder.bytes(of: "part.cfx"), as: UTF8.self).contains("/secret"))
    // A file of somebody who did not leave them out.
    try shell.store.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    try shell.store.folder.write(try shell.store.folder.bytes(of: "store.sqlite"), to: "all.cfx")
    for (file, left) in [
      ("part.cfx", ""),
      ("all.cfx", "; left out: 3 that no other store finds (their keys have a digest of a secret or a body)"),
    ] {
      let other = try Shell()
      let taken = try await other.run("import", shell.file(file))
      #expect(taken.errorText == "imported 3 stored responses\(left)\n", "\(file)")
      for words in found {
        let again = try await other.run(words: ["--offline"] + words, input: [])
        #expect(again.status == 0 && again.outputText.hasPrefix("/"), "\(words): \(again.errorText)")
      }
      for words in bound {
        #expect(try await other.run(words: ["--offline"] + words, input: []).status == 4, "\(words)")
      }
    }
  }

  @Test func `what was imported is confirmed by no 304; pins and cookies are not imported`() async throws {
    let shell = try Shell()
    let origin = try ChangingOrigin(
      .ok("true", ["ETag": "\"1\"", "Last-Modified": "Mon, 01 Jan 2024 00:00:00 GMT"]))
    _ = try await shell.run("--pin", origin.url)
    // Somebody else's bytes beside the true validator.
    let store = ResponseStore(configuration: .unhurried(path: shell.store.path))
    let entry = try #require(try await store.entries().first)
    var write = ResponseStore.Write(
      accountID: try await store.accountID(named: ""), key: entry.key, started: entry.response.started,
      status: 200,
      fields: entry.response.fields, receivedAt: .max, body: .bytes(Data("poison".utf8)))
    write.head.started.nanoseconds += 1
    write.head.fields.append("Set-Cookie", "id=theirs")
    write.marks.isPinned = true
    _ = try await store.overwrite(write)
    await store.close()
    #expect(try await shell.run("export", "poison.cfx").status == 0)

    for policy in [
      [], ["--policy", "fresh-only"], ["--policy", "http"],
      ["--policy", "http", "-H", "Cache-Control: no-cache"],
    ] {
      let other = try Shell()
      #expect(try await other.run("import", shell.file("poison.cfx")).status == 0, "\(policy)")
      #expect(try !other.store.filesContain("theirs"), "\(policy)")
      #expect(try other.store.value("SELECT sum(pinned) FROM last_request") == 0, "\(policy)")
      #expect(try await other.run("--offline", origin.url).outputText == "poison", "\(policy)")
      #expect(try await other.run("explain", origin.url).outputText.contains("it was imported"), "\(policy)")
      origin.server.forgetRequests()
      if policy.isEmpty || policy.contains("fresh-only") {
        let fresh = try await other.run(words: policy + ["--print", "last", origin.url], input: [])
        #expect(fresh.outputText == "true", "\(policy)")
      } else {
        // A HEAD that says the same must not confirm it either.
        _ = try await other.run(words: policy + ["-I", origin.url], input: [])
        #expect(
          try await other.run(
            words: ["--policy", "http", "-H", "Cache-Control: no-cache", origin.url], input: []
          ).outputText == "true", "\(policy)")
      }
      #expect(origin.server.requests().allSatisfy { !$0.isConditional }, "\(policy)")
      // From then on it is the origin's own, and conditional as ever.
      _ = try await other.run(origin.url)
      #expect(origin.server.requests().last?.isConditional == true, "\(policy)")
    }
  }

  @Test func `what the store's limit has no room for is counted as left out`() async throws {
    let (shell, origin) = try await Shell.filled()
    for path in ["/d", "/e", "/f"] { _ = try await shell.run("-q", origin.url + path) }
    #expect(try await shell.run("export", "all.cfx").status == 0)
    #expect(try await shell.run("rm", "--yes", "--older-than", "0s").status == 0)
    #expect(try await shell.run("limits", "--rows", "2").status == 0)
    let run = try await shell.run("import", "--json", "all.cfx")
    let rows = try await shell.run("list").lines.count
    #expect(run.status == 0 && rows == 2)
    #expect(run.outputText.contains("\"responses\":2,"), "\(run.outputText)")
    #expect(run.outputText.contains("{\"reason\":\"limit\",\"responses\":3}"), "\(run.outputText)")
    #expect(run.errorText.contains("3 that the store's limit has no room for"), "\(run.errorText)")
  }
}
