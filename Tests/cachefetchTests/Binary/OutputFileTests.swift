import FixtureServer
import PlatformC
import TestSupport
import Testing
import TestTurns

@Suite("Command: -o FILE", .inTurn) struct OutputFileTests {
  @Test func `the file holds the stored body at once and the fresh one when it is whole`() async throws {
    let shell = try Shell()
    let origin = try ChangingOrigin()
    _ = try await shell.run(origin.url)
    let gate = origin.hold()
    origin.answer(.ok("two"))
    let child = try shell.start("-v", "-o", "out", origin.url)
    await origin.server.waitForRequests(2)
    // The exchange has begun, so the stored delivery is out or about to be.
    while !shell.store.folder.contains("out") { await Task.yield() }
    #expect(try shell.store.folder.text(of: "out") == "one")
    gate.open()
    let finished = await child.finished()
    #expect(finished.status == 0 && finished.output.isEmpty)
    #expect(try shell.store.folder.text(of: "out") == "two")
    #expect(try shell.store.folder.names().filter { $0.contains("part") } == [])
  }

  @Test func `a pipe takes the stored body and then the fresh one, as standard output does`() async throws {
    let shell = try Shell()
    let origin = try ChangingOrigin()
    _ = try await shell.run(origin.url)
    let gate = origin.hold()
    origin.answer(.ok("two"))
    let pipe = shell.file("pipe")
    #expect(mkfifo(pipe, 0o600) == 0)
    let reader = try ChildProcess("/bin/cat", [pipe])
    // The limit is for a command that has lost its reader and waits for another one.
    let child = try shell.start("-m", "1m", "-o", "pipe", origin.url)
    await reader.output.waits(forBytes: 3)
    await origin.server.waitForRequests(2)
    gate.open()
    let finished = await child.finished()
    #expect(finished.status == 0 && finished.output.isEmpty, "\(finished.exit) \(finished.errorText)")
    #expect(await reader.finished().outputText == "onetwo")
  }

  @Test(
    "A 304 to a condition of one's own leaves the file",
    arguments: ["If-None-Match: \"1\"", "If-Modified-Since: Thu, 01 Jan 2026 00:00:00 GMT"],
    [[], ["--print", "last"], ["-i"], ["--json"], ["--policy", "fresh-only"], ["--deadline", "1h"]])
  func ownCondition(condition: String, words: [String]) async throws {
    let shell = try Shell()
    let origin = try FixtureServer { request, connection in
      let isAsked = request["If-None-Match"] != nil || request["If-Modified-Since"] != nil
      try connection.send(isAsked ? .notModified(etag: "\"1\"") : .ok("one", ["ETag": "\"1\""]))
    }
    _ = try await shell.run(origin.url)
    try shell.store.folder.write("mine", to: "out")
    let run = try await shell.run(["-H", condition, "-o", "out"] + words + [origin.url])
    #expect(run.status == 0 && run.errors.isEmpty, "\(run.errorText)")
    #expect(try shell.store.folder.text(of: "out") == "mine")
    #expect(try await shell.run(["-H", condition, "-o", "new"] + words + [origin.url]).status == 0)
    #expect(!shell.store.folder.contains("new"))
  }

  @Test func `a fresh 404 leaves the file as the stored answer wrote it`() async throws {
    let shell = try Shell()
    let origin = try ChangingOrigin()
    _ = try await shell.run(origin.url)
    origin.answer(.status(404, "gone"))
    let run = try await shell.run("-o", "out", origin.url)
    #expect(run.status == 3 && run.output.isEmpty)
    #expect(
      run.errorText == "cachefetch: \(origin.url): answered 404 Not Found; “out” has the stored response\n")
    #expect(try shell.store.folder.text(of: "out") == "one")
  }

  @Test func `with nothing stored an error leaves the file, says so and ends with 22`() async throws {
    let shell = try Shell()
    for status in [404, 500] {
      let origin = try ChangingOrigin(.status(status, "an error's page"))
      for words in [[], ["--json"], ["--policy", "http"], ["--policy", "fresh-only"], ["-i"], ["-I"]] {
        try shell.store.folder.write("old", to: "out")
        let run = try await shell.run(
          ["--retry", "0", "--connect-timeout", "1h", "-o", "out"] + words + [origin.url])
        #expect(run.status == 22 && run.errorText.contains("; “out” is left as it is\n"), "\(words)")
        #expect(try shell.store.folder.text(of: "out") == "old", "\(words)")
        // What is in no file is in the line.
        #expect(
          run.outputText.contains("\"body\":\"an error's page\"") == words.contains("--json"),
          "\(status), \(words)")
      }
      let missing = try await shell.run(
        "--retry", "0", "--connect-timeout", "1h", "-o", "missing", origin.url)
      #expect(missing.status == 22 && !shell.store.folder.contains("missing"), "\(status)")
    }
  }

  @Test func `a portal's page leaves the file as the stored answer wrote it`() async throws {
    let shell = try Shell()
    let portal = try FixtureServer { _, connection in try connection.send(.ok("<html>log in</html>")) }
    let origin = try ChangingOrigin()
    _ = try await shell.run(origin.url)
    origin.answer(.redirect(to: "http://localhost:\(portal.port)/login"))
    for words in [[], ["--print", "last"], ["--json"], ["--deadline", "1h"]] {
      try shell.store.folder.write("old", to: "out")
      let run = try await shell.run(["-o", "out"] + words + [origin.url])
      #expect(
        run.status == 3 && run.errorText.contains("as captive portals do"),
        "\(words): \(run.outputText) \(run.errorText)")
      #expect(try shell.store.folder.text(of: "out") == "one", "\(words)")
    }
    try shell.store.folder.write("old", to: "out")
    let alone = try await shell.run("--policy", "fresh-only", "-o", "out", origin.url)
    #expect(alone.status == 4 && alone.output.isEmpty)
    let http = try await shell.run("--policy", "http", "-o", "out", origin.url)
    #expect(http.status == 22 && http.errorText.contains("as captive portals do; “out” is left as it is"))
    #expect(try shell.store.folder.text(of: "out") == "old")
    let json = try await shell.run("--json", origin.url)
    #expect(json.status == 3 && json.outputText.contains("\"error\":{\"kind\":\"portal\""))
  }

  @Test func `an answer of a media type that is not accepted leaves file and row`() async throws {
    let shell = try Shell()
    let origin = try ChangingOrigin(.ok("{}", ["Content-Type": "application/json"]))
    let words = ["--accept", "application/json, text/csv", "-o", "out"]
    #expect(try await shell.run(words + [origin.url]).status == 0)
    origin.answer(.ok("<html>log in</html>", ["Content-Type": "text/html"]))
    let run = try await shell.run(words + [origin.url])
    #expect(run.status == 3 && run.errorText.contains("“text/html”, which is not accepted"))
    #expect(try shell.store.folder.text(of: "out") == "{}")
    #expect(try await shell.run("--offline", origin.url).outputText == "{}")
    #expect(try await shell.run("preload", "--accept", "application/json", origin.url).status == 3)
    #expect(try await shell.run("--accept", "json", origin.url).status == 64)
  }

  @Test func `-i writes head and body to the file, -I the head, as curl does`() async throws {
    let shell = try Shell()
    let origin = try ChangingOrigin(.ok("one", ["X-A": "b"]))
    let head = "HTTP/1.1 200 OK\r\nX-A: b\r\nContent-Length: 3\r\n\r\n"
    for (letter, expected) in [("-i", head + "one"), ("-I", head)] {
      let run = try await shell.run("--policy", "fresh-only", letter, "-o", "out", origin.url)
      #expect(run.status == 0 && run.output.isEmpty && run.errors.isEmpty, "\(letter)")
      #expect(try shell.store.folder.text(of: "out") == expected, "\(letter)")
    }
    let json = try await shell.run("--json", "-I", "-o", "out", origin.url)
    #expect(json.status == 0 && json.lines.count == 2)
    #expect(try shell.store.folder.text(of: "out") == head)
  }

  @Test func `a mode that would give rights away is not carried over`() async throws {
    let shell = try Shell()
    let origin = try ChangingOrigin()
    let path = try shell.store.folder.write("old", to: "out")
    chmod(path, 0o7755)
    #expect(try await shell.run("-o", "out", origin.url).status == 0)
    var status = stat()
    #expect(stat(path, &status) == 0 && status.st_mode & 0o7777 == 0o755)
    // Only where the tests run as root can a file be another's.
    if geteuid() == 0 {
      chmod(path, 0o666)
      #expect(chown(path, 65534, 65534) == 0)
      origin.answer(.ok("two"))
      for file in ["new", "out"] {
        #expect(try await shell.run("-o", file, origin.url).status == 0, "\(file)")
      }
      var new = stat()
      #expect(stat(shell.file("new"), &new) == 0 && stat(path, &status) == 0)
      #expect(status.st_mode == new.st_mode && status.st_uid == 0)
    }
  }

  @Test func `an unchanged answer fills a file that nothing has filled yet`() async throws {
    let shell = try Shell()
    let origin = try ChangingOrigin()
    _ = try await shell.run(origin.url)
    #expect(try await shell.run("--policy", "fresh-only", "-o", "out", origin.url).status == 0)
    #expect(try shell.store.folder.text(of: "out") == "one")
  }

  @Test func `mode and symbolic link are kept`() async throws {
    let shell = try Shell()
    let origin = try ChangingOrigin()
    let path = try shell.store.folder.write("old", to: "real")
    chmod(path, 0o640)
    symlink("real", shell.file("link"))
    #expect(try await shell.run("-o", "link", origin.url).status == 0)
    var status = stat()
    #expect(lstat(shell.file("link"), &status) == 0 && status.st_mode & S_IFMT == S_IFLNK)
    #expect(stat(path, &status) == 0 && status.st_mode & 0o777 == 0o640)
    #expect(try shell.store.folder.text(of: "real") == "one")
  }

  @Test(
    "What another user's link leads to is left alone, by -o and by export",
    .enabled(if: geteuid() == 0, "only the administrator can give links away"), arguments: ["old", "new"])
  func foreignLink(name: String) async throws {
    let (shell, origin) = (try Shell(), try ChangingOrigin())
    let private_ = try TemporaryFolder.outsideOfDevices()
    try private_.write("mine", to: "old")
    _ = try await shell.run(origin.url)
    mkdir(shell.file("shared"), 0o700)
    chmod(shell.file("shared"), 0o1777)
    let link = shell.file("shared/out")
    #expect(symlink(private_.file(name), link) == 0 && lchown(link, 65_534, 65_534) == 0)
    for words in [["-o", "shared/out", origin.url], ["export", "shared/out"]] {
      let run = try await shell.run(words)
      #expect(run.status == 74 && run.output.isEmpty, "\(words) \(run.exit)")
      #expect(run.errorText.contains("another user's symbolic link"), "\(run.errorText)")
    }
    #expect(try private_.names() == ["old"] && private_.text(of: "old") == "mine")
    #expect(origin.server.requests().count == 1)
  }

  /// The kernel's refusal, as `fs.protected_symlinks` and security modules make it.
  @Test(
    "What the kernel refuses to show is an error",
    .enabled(if: access("/usr/bin/strace", X_OK) == 0, "there is no strace"))
  func refused() async throws {
    let (shell, origin) = (try Shell(), try ChangingOrigin())
    try shell.store.folder.write("mine", to: "real")
    #expect(symlink("real", shell.file("link")) == 0)
    _ = try await shell.run(origin.url)
    let calls = "newfstatat,lstat,stat,statx,access,faccessat,faccessat2,openat:error=EACCES"
    for words in [["-o", "link", origin.url], ["export", "link"]] {
      let run = try await ChildProcess.run(
        "/usr/bin/strace",
        [
          "-f", "-qq", "-o", shell.file("calls"), "-P", "link", "-e", "inject=" + calls,
          BuiltProduct.cachefetch(),
        ]
          + words, environment: shell.environment, directory: shell.store.folder.path)
      #expect(run.status == 74 && run.errorText.contains("permission denied"), "\(words) \(run.errorText)")
    }
    #expect(try shell.store.folder.text(of: "real") == "mine")
  }

  @Test func `a file that is a mount point is refused, and how to write it is said`() async throws {
    let (shell, origin) = (try Shell(), try ChangingOrigin())
    try shell.store.folder.write("mine", to: "file")
    let script = #"set -e; touch out; mount --bind file out; exec "$@""#
    let command = [
      "--user", "--map-root-user", "--mount", "sh", "-c", script, "sh", try BuiltProduct.cachefetch(),
    ]
    _ = try await shell.run(origin.url)
    for words in [["-o", "out", origin.url], ["export", "out"]] {
      let run = try await ChildProcess.run(
        "/usr/bin/unshare", command + words, environment: shell.environment,
        directory: shell.store.folder.path)
      #expect(run.status == 74, "\(words) \(run.exit)")
      #expect(
        run.errorText.hasSuffix("a mount point cannot be replaced: write > FILE\n"),
        "\(words) \(run.errorText)")
    }
    #expect(try shell.store.folder.text(of: "file") == "mine")
    #expect(try shell.store.folder.names().filter { $0.hasSuffix(".part") } == [])
  }

  @Test func `a link to a file that is not there yet stays one`() async throws {
    let (shell, elsewhere) = (try Shell(), try TemporaryFolder.outsideOfDevices())
    let origin = try ChangingOrigin()
    #expect(symlink(elsewhere.file("new"), shell.file("second")) == 0)
    #expect(symlink("second", shell.file("link")) == 0)
    #expect(try await shell.run("-o", "link", origin.url).status == 0)
    #expect(try elsewhere.text(of: "new") == "one")
    for name in ["link", "second"] {
      var status = stat()
      #expect(lstat(shell.file(name), &status) == 0 && status.st_mode & S_IFMT == S_IFLNK, "\(name)")
    }
  }

  @Test(arguments: ["/dev/stdout", "/dev/fd/1", "/proc/self/fd/1", "log", "link"], [">", ">>"])
  func `the file of an open descriptor is not replaced`(path: String, redirection: String) async throws {
    let shell = try Shell()
    let origin = try ChangingOrigin()
    try shell.store.folder.write("earlier\n", to: "log")
    #expect(symlink("/dev/stdout", shell.file("link")) == 0)
    let script = #"{ echo before; "$0" -o "$1" "$2"; echo; echo after; } "# + redirection + " log"
    let run = try await ChildProcess.run(
      "/bin/sh", ["-c", script, BuiltProduct.cachefetch(), path, origin.url],
      environment: shell.environment, directory: shell.store.folder.path)
    #expect(run.errors.isEmpty, "\(run.errorText)")
    let earlier = redirection == ">>" ? "earlier\n" : ""
    #expect(try shell.store.folder.text(of: "log") == earlier + "before\none\nafter\n")
    #expect(try shell.store.folder.names().filter { $0.contains("part") } == [])
  }

  @Test func `a file that would become too large is named, and nothing is left beside it`() async throws {
    let shell = try Shell()
    let origin = try ChangingOrigin(
      .ok([UInt8](repeating: 0x6C, count: 700_000), ["Cache-Control": "no-store"]))
    let run = try await ChildProcess.run(
      "/bin/sh", ["-c", #"ulimit -f 400; exec "$0" -o out "$1""#, BuiltProduct.cachefetch(), origin.url],
      environment: shell.environment, directory: shell.store.folder.path)
    #expect(run.status == 74, "\(run.exit)")
    #expect(
      run.errorText.contains("“out” cannot be written: the file would become too large"),
      "\(run.errorText)")
    #expect(try shell.store.folder.names().filter { $0.hasPrefix("out") } == [])
  }

  @Test func `interrupted in the middle of a body, the file stays as it was and nothing is left beside it`()
    async throws
  {
    let shell = try Shell()
    try shell.store.folder.write("before", to: "out")
    let origin = try FixtureServer { _, connection in
      try connection.sendRaw("HTTP/1.1 200 OK\r\nContent-Length: 100\r\nCache-Control: no-store\r\n\r\nhalf")
      connection.waitForPeerClose()
    }
    for (index, (signal, status)) in [(SIGINT, Int32(130)), (SIGTERM, 143)].enumerated() {
      let child = try shell.start("-o", "out", origin.url + "/")
      await origin.waitForRequests(index + 1)
      child.send(signal)
      let finished = await child.finished()
      #expect(finished.status == status, "\(index), \(signal)")
      #expect(try shell.store.folder.text(of: "out") == "before", "\(index), \(signal)")
      #expect(try shell.store.folder.names().filter { $0.contains("part") } == [], "\(index), \(signal)")
    }
  }

  @Test func `where the file cannot be, nothing is fetched and the status is 74`() async throws {
    let shell = try Shell()
    let origin = try ChangingOrigin()
    for path in ["nowhere/out", "."] {
      let run = try await shell.run("-o", path, origin.url)
      #expect(run.status == 74 && run.errorText.split(separator: "\n").count == 1, "\(path)")
    }
    #expect(try await shell.run("-o", "", origin.url).status == 64)
    #expect(origin.server.requests().isEmpty)
  }

  @Test func `a disk that is full is said and comes to 74`() async throws {
    let shell = try Shell()
    let origin = try ChangingOrigin()
    let run = try await shell.run("-o", "/dev/full", origin.url)
    #expect(run.status == 74 && run.errorText.contains("no space left"))
    // What -w has to say does not fit either, where the body did.
    let full = try await ChildProcess.run(
      "/bin/sh",
      [
        "-c", #""$0" -o out -w '%{response_code}' "$1" > /dev/full"#, BuiltProduct.cachefetch(),
        origin.url,
      ],
      environment: shell.environment, directory: shell.store.folder.path)
    #expect(
      full.status == 74 && full.errorText.contains("standard output cannot be written"), "\(full.errorText)")
    #expect(try shell.store.folder.text(of: "out") == "one")
  }

  @Test func `with --json the lines go to standard output and the body to the file`() async throws {
    let shell = try Shell()
    let origin = try ChangingOrigin()
    let run = try await shell.run("--json", "-o", "out", origin.url)
    #expect(run.outputText.contains("\"body_omitted\":true") && !run.outputText.contains("\"body\":"))
    #expect(try shell.store.folder.text(of: "out") == "one")
  }
}
