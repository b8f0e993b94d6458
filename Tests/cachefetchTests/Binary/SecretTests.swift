import CacheStore
import DataService
import FixtureServer
import PlatformC
import PlatformFoundation
import TestSupport
import Testing
import TestTurns

/// Law 12 through the built command: whatever is asked, and however it ends, no secret of a request is said or written.
@Suite("Law 12: no request secret anywhere", .inTurn) struct SecretTests {
  /// What every secret in these tests has in it, in each form it could be written in.
  private static let forms: [String] = {
    let plain = [
      "user-s3cret", "basic-s3cret", "bearer-s3cret", "cookie-s3cret", "field-s3cret", "query-s3cret",
    ]
    let credentials = ["alice:basic-s3cret", "alice:user-s3cret", "bob:proxy-s3cret"]
    return plain + ["s3cret", "s3%63ret"] + credentials.map { Data($0.utf8).base64EncodedString() }
  }()

  /// The options that carry a secret in a field.
  private static let fields: [[String]] = [
    ["-u", "alice:basic-s3cret"], ["-H", "Authorization: Bearer bearer-s3cret"],
    ["-H", "Cookie: id=cookie-s3cret"],
    ["-H", "Proxy-Authorization: Basic Ym9iOnByb3h5LXMzY3JldA=="], ["-H", "X-Api-Key: field-s3cret"],
    ["-H", "x-auth-token:field-s3cret"], ["-H", "@fields"],
  ]

  /// The queries that carry one.
  private static let queries = [
    "?access_token=query-s3cret", "?page=1&api_key=query-s3cret&x=y", "?SIG=query-s3cret",
    "?p%61ssword=query-s3cret",
    "?token=query-s3%63ret", "#access_token=query-s3cret",
  ]

  private func check(_ run: ChildProcess.Finished, _ words: [String]) {
    for form in Self.forms {
      #expect(!run.outputText.contains(form), "\(form) on standard output of \(words): \(run.outputText)")
      #expect(!run.errorText.contains(form), "\(form) on standard error of \(words): \(run.errorText)")
    }
  }

  /// Runs the command, looks through what it says, and gives its end.
  @discardableResult private func run(_ shell: Shell, _ words: [String]) async throws -> ChildProcess.Finished
  {
    let run = try await shell.run(words)
    check(run, words)
    return run
  }

  private func checkFiles(_ shell: Shell) throws {
    for form in Self.forms {
      let found = try shell.store.folder.names().filter { $0 != "fields" && $0 != "plan.json" }
        .filter { String(decoding: try shell.store.folder.bytes(of: $0), as: UTF8.self).contains(form) }
      #expect(found.isEmpty, "\(form) in \(found)")
    }
  }

  /// A shell whose folder has the files that the options name, and an origin that never repeats what it is sent.
  private func prepared() throws -> (Shell, ChangingOrigin) {
    let shell = try Shell()
    try shell.store.folder.write("Private-Token: field-s3cret\nCookie: a=cookie-s3cret\n", to: "fields")
    return (shell, try ChangingOrigin(.ok("one", ["ETag": "\"1\"", "Vary": "X-Api-Key, Cookie, Accept"])))
  }

  private func withUser(_ url: String) -> String {
    url.replacing("http://", with: "http://alice:user-s3cret@")
  }

  @Test func `requests that work say, list, show, count, explain, export and store no secret`() async throws {
    let (shell, origin) = try prepared()
    let urls =
      [withUser(origin.url)] + Self.queries.map { origin.url + $0 } + [withUser(origin.url) + Self.queries[1]]
    for (index, url) in urls.enumerated() {
      let options = Self.fields[index % Self.fields.count]
      #expect(try await run(shell, ["-v"] + options + [url]).status == 0, "\(index), \(url)")
      #expect(try await run(shell, ["-v", "--json"] + options + [url]).status == 0, "\(index), \(url)")
      #expect(try await run(shell, ["-i", "--offline"] + options + [url]).status == 0, "\(index), \(url)")
      #expect(try await run(shell, ["show", "-i"] + options + [url]).status == 0, "\(index), \(url)")
      for more in [[], ["--json"]] {
        #expect(
          try await run(shell, ["explain"] + more + options + [url]).status == 0, "\(index), \(url), \(more)")
      }
      #expect(
        [0, 1].contains(try await run(shell, ["diff", "-v"] + options + [url]).status), "\(index), \(url)")
    }
    for options in Self.fields {
      #expect(try await run(shell, ["-v"] + options + [origin.url]).status == 0, "\(options)")
    }
    #expect(
      try await run(shell, ["--read", "-d", "password=query-s3cret", "-v", origin.url]).status == 0)

    let plan = urls.map { "{\"url\":\"\($0)\"}" }.joined(separator: ",")
    try shell.store.folder.write("{\"steps\":[\(plan)]}", to: "plan.json")
    for more in [[], ["--json"]] {
      #expect(try await run(shell, ["preload", "-v"] + more + ["plan.json"]).status == 0, "\(more)")
      #expect(try await run(shell, ["preload", "-v"] + more + urls).status == 0, "\(more)")
      for verb in ["list", "stats", "doctor"] {
        #expect(try await run(shell, [verb] + more).status == 0, "\(more), \(verb)")
      }
    }
    let listed = try await run(shell, ["list", "--json"])
    #expect(listed.lines.count > urls.count && listed.outputText.contains("access_token=~"))
    for account in Set(try shell.store.rows("SELECT name FROM account").compactMap { $0.first?.text }) {
      let words = ["export", "copy-\(account.suffix(6))"] + (account.isEmpty ? [] : ["--account", account])
      // Where no other store finds what the account has, nothing is exported.
      #expect([0, 4].contains(try await run(shell, words).status), "\(account)")
    }
    try checkFiles(shell)
    #expect(try await run(shell, ["rm", "--yes", "-v", urls[1]]).status == 0)
    try checkFiles(shell)
  }

  @Test func `requests that fail say and store no secret`() async throws {
    let (shell, origin) = try prepared()
    let moved = try FixtureServer { request, connection in
      switch request.path {
      case "/to-file": try connection.send(.redirect(to: "file:///etc/passwd"))
      case "/round": try connection.send(.redirect(to: "/round?access_token=query-s3cret"))
      case "/cut":
        try connection.sendRaw("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf")
        connection.close()
      case "/bad": try connection.sendRaw("HTTP/1.1 two hundred\r\n\r\n")
      default: try connection.send(.status(503, "busy").adding("Retry-After", "100"))
      }
    }
    let proxy = "http://bob:proxy-s3cret@127.0.0.1:\(moved.port)"
    let failing = ["/to-file", "/round", "/cut", "/bad", "/busy", "/busy"].map { moved.url + $0 }
    for url in failing.map({ withUser($0) + Self.queries[0] }) {
      for more in [["-v"], ["--json"], ["-v", "-i"]] {
        try await run(shell, more + ["--retry", "0", "-u", "alice:basic-s3cret", url])
      }
    }
    try await run(shell, ["-v", "--retry", "0", "-x", proxy, withUser(origin.url)])
    origin.server.stop()
    moved.stop()
    for url in Self.queries.map({ withUser(origin.url) + $0 }) {
      for more in [["-v"], ["--json"], ["--offline"], ["--json", "--offline"], ["-o", "out"]] {
        let failed = try await run(shell, more + ["--retry", "0", "-H", "X-Api-Key: field-s3cret", url])
        #expect(failed.status == 4, "\(url), \(more)")
      }
      #expect(try await run(shell, ["diff", "--retry", "0", url]).status == 4, "\(url)")
      #expect(try await run(shell, ["preload", "-v", "--retry", "0", url]).status != 0, "\(url)")
      try await run(shell, ["-v", "--retry", "0", "-x", proxy, url])
    }
    // A store that cannot be used is named together with the URL.
    try shell.store.folder.write(String(repeating: "no database ", count: 100), to: "other")
    try await run(shell, ["--store", "other", "--offline", withUser(origin.url) + Self.queries[0]])
    try await run(shell, ["explain", "--store", "other", withUser(origin.url) + Self.queries[0]])
    try checkFiles(shell)
  }

  @Test func `bad input that has a secret in it is refused without saying it`() async throws {
    let (shell, _) = try prepared()
    let texts = [
      "alice:user-s3cret@example.com/x", "//alice:user-s3cret@example.com/", "http://alice:user-s3cret@/x",
      "http://alice:user-s3cret@a b/", "http://alice:user-s3cret@a:x/", "http://alice:us/er-s3cret@a/",
      "http://alice:user-s3cret/x@a/", "http://alice:user-s3cret@-bücher.example/",
      "ftp://alice:user-s3cret@a/",
      "example.com?access_token=query-s3cret", "http://a /?token=query-s3cret",
      "http://a\n/?sig=query-s3cret",
    ]
    for text in texts {
      for verb in [[], ["explain"], ["show"], ["watch"], ["diff"], ["rm"], ["preload"]] {
        let refused = try await run(shell, verb + [text])
        #expect([64, 65].contains(refused.status), "\(verb) \(text): \(refused.status)")
      }
      let listed = try await shell.run("preload", "-", input: Array((text + "\n").utf8))
      check(listed, ["preload", "-", text])
      #expect(listed.status != 0, "\(text)")
      try shell.store.folder.write(
        "{\"steps\":[{\"url\":\"\(text)\"},{\"url\":\"\(text)\"}]}", to: "plan.json")
      #expect(try await run(shell, ["preload", "plan.json"]).status == 65, "\(text)")
    }
    for words in [
      ["-u", "basic-s3cret"], ["-H", "X-Api-Key field-s3cret"], ["-H", "X-Api-Key: field-s3cret\nx: y"],
      ["-H", "Bad Name: field-s3cret"],
      ["-u", "a:basic-s3cret", "-H", "Authorization: bearer-s3cret"],
      ["-x", "nonsense://bob:proxy-s3cret@h"],
    ] {
      let refused = try await run(shell, words + ["http://127.0.0.1:1/"])
      #expect(refused.status == 64 || words[0] == "-x", "\(words): \(refused.status)")
    }
    for verb in ["stats", "list", "doctor", "sign-out"] {
      #expect(
        try await run(shell, [verb, "http://alice:user-s3cret@a/?token=query-s3cret"]).status == 64, "\(verb)"
      )
    }
    #expect(try await run(shell, ["--token=query-s3cret", "http://a/"]).status == 64)
    try checkFiles(shell)
  }

  @Test(arguments: [SIGSEGV, SIGABRT, SIGTERM])
  func `a process that is ended in the middle ends at once, without a backtrace`(signal: Int32) async throws {
    let (shell, origin) = try prepared()
    let gate = origin.hold()
    let words = [
      "-v", "-u", "alice:basic-s3cret", "-H", "X-Api-Key: field-s3cret", origin.url + Self.queries[1],
    ]
    let environment = shell.environment.merging(["SWIFT_BACKTRACE": "enable=yes,color=no"]) { $1 }
    // No core file: it would be the process's memory.
    let child = try ChildProcess(
      "/bin/sh", ["-c", "ulimit -c 0; exec \"$0\" \"$@\"", BuiltProduct.cachefetch()] + words,
      environment: environment, directory: shell.store.folder.path)
    await origin.server.waitForRequests(1)
    child.send(signal)
    let ended = await child.finished()
    check(ended, words)
    #expect([.signal(signal), .status(128 + signal)].contains(ended.exit), "\(ended.exit)")
    #expect(!ended.errorText.contains("Crash"), "\(ended.errorText)")
    gate.open()
    try checkFiles(shell)
  }

  @Test func `a response's fields are shown as received`() async throws {
    let shell = try Shell()
    let origin = try ChangingOrigin(.ok("one", ["X-Api-Key": "theirs", "Set-Cookie": "id=theirs"]))
    let fresh = try await shell.run("-i", origin.url)
    #expect(
      fresh.outputText.contains("X-Api-Key: theirs\r\n")
        && fresh.outputText.contains("Set-Cookie: id=theirs\r\n"))
    #expect(try !shell.store.filesContain("theirs"), "delivered, not stored")
  }

  @Test func `the same password has another name in another store, and a lost key is explained`() async throws
  {
    var names: [String] = []
    for _ in 1...2 {
      let shell = try Shell()
      let origin = try ChangingOrigin()
      _ = try await shell.run("-u", "alice:basic-s3cret", origin.url)
      let account = try shell.store.value("SELECT name FROM account WHERE name LIKE 'auto:%'").text ?? ""
      #expect(account.count == 37)
      names.append(account)
      #expect(try await shell.run("-u", "alice:basic-s3cret", "--offline", origin.url).status == 0)
      // Without the key nobody can name the account, nor guess at the password: what was stored is a miss.
      #expect(unlink(shell.store.path + ".key") == 0)
      #expect(try await shell.run("-u", "alice:basic-s3cret", "--offline", origin.url).status == 4)
      let doctor = try await shell.run("doctor")
      #expect(doctor.status == 1 && doctor.outputText.contains("digest key"), "\(doctor.outputText)")
      #expect(doctor.outputText.contains("cannot be found any more"), "\(doctor.outputText)")
    }
    #expect(Set(names).count == 2)
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
      #expect(!failed.errorText.contains("geheim"), "\(words)")
    }
  }
}
