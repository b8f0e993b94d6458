import FixtureServer
import PlatformC
import PlatformFoundation
import TestSupport
import Testing
import TestTurns

/// What the command is started with and in: streams, signals, arguments, files that are none.
@Suite("Command: its surroundings", .inTurn) struct SurroundingsTests {
  /// Runs a line of the shell in which `$0` is the command.
  private func sh(_ shell: Shell, _ line: String, _ words: String..., through program: String = "/bin/sh")
    async throws -> ChildProcess.Finished
  {
    try await ChildProcess.run(
      program, ["-c", line, try BuiltProduct.cachefetch()] + words,
      environment: shell.environment, directory: shell.store.folder.path)
  }

  // MARK: Streams

  @Test(arguments: [10, 70_000])
  func `a closed standard output cannot be written, and nothing else gets what was meant for it`(size: Int)
    async throws
  {
    let shell = try Shell()
    let body = [UInt8](repeating: 0x61, count: size)
    let origin = try FixtureServer { _, connection in try connection.send(.ok(body)) }
    let url = origin.url + "/"
    for streams in [">&-", "<&- >&-"] {
      let passing = try await sh(shell, "exec \"$0\" -d x \"$1\" \(streams)", url)
      #expect(passing.status == 74, "\(streams) \(passing.exit)")
      #expect(
        passing.errorText == "cachefetch: standard output cannot be written: it is closed\n",
        "\(streams) \(passing.errorText)")
      let stored = try await sh(shell, "exec \"$0\" \"$1\" \(streams)", url)
      #expect(stored.status == 74, "\(streams) \(stored.exit)")
    }
    let silent = try await sh(shell, "exec \"$0\" -q --print none \"$1\" <&- >&- 2>&-", url)
    #expect(silent.status == 0)
    #expect(try await shell.run("--offline", url).output == body)
  }

  @Test func `with standard error closed nothing is said, and the body is whole`() async throws {
    let shell = try Shell()
    let origin = try ChangingOrigin()
    let run = try await sh(shell, "exec \"$0\" -v \"$1\" 2>&-", origin.url)
    #expect(run.status == 0 && run.outputText == "one")
  }

  @Test func `a closed standard input cannot be read`() async throws {
    let shell = try Shell()
    let run = try await sh(shell, "exec \"$0\" -d @- http://127.0.0.1:1/ <&-")
    #expect(run.status == 64)
    #expect(run.errorText.hasPrefix("cachefetch: -d “-” cannot be read: it is closed; "), "\(run.errorText)")
  }

  // MARK: Signals

  @Test(arguments: ["INT", "TERM"])
  func `a signal that was ignored at the start stays ignored`(name: String) async throws {
    let shell = try Shell()
    let origin = try ChangingOrigin()
    let gate = origin.hold()
    let child = try ChildProcess(
      "/bin/sh", ["-c", "trap '' \(name); exec \"$0\" \"$1\"", try BuiltProduct.cachefetch(), origin.url],
      environment: shell.environment)
    await origin.server.waitForRequests(1)
    child.send(name == "INT" ? SIGINT : SIGTERM)
    gate.open()
    let finished = await child.finished()
    #expect(finished.status == 0 && finished.outputText == "one", "\(finished.exit)")
  }

  // MARK: Arguments

  @Test(.enabled(if: geteuid() == 0, "only the administrator can take /proc away"))
  func `without /proc the command has its arguments, and works`() async throws {
    let shell = try Shell()
    let origin = try ChangingOrigin()
    let line = "mount -t tmpfs none /proc && exec \"$0\" \"$@\""
    let version = try await ChildProcess.run(
      "/usr/bin/unshare",
      [
        "-m", "sh", "-c", "mount -t tmpfs none /proc && exec \"$0\" --version", try BuiltProduct.cachefetch(),
      ],
      environment: shell.environment)
    #expect(version.status == 0 && version.outputText.hasPrefix("cachefetch "), "\(version.errorText)")
    for words in [[origin.url], ["--offline", origin.url], ["list"], ["preload", origin.url]] {
      let run = try await ChildProcess.run(
        "/usr/bin/unshare", ["-m", "sh", "-c", line, try BuiltProduct.cachefetch()] + words,
        environment: shell.environment)
      #expect(run.status == 0, "\(words) \(run.exit) \(run.errorText)")
    }
  }

  @Test(.enabled(if: geteuid() == 0, "only the administrator can take /proc away"))
  func `a background refresh that cannot be started is a failure, and what is stored is printed`()
    async throws
  {
    let shell = try Shell()
    let origin = try ChangingOrigin()
    _ = try await shell.run(origin.url)
    let line = "mount -t tmpfs none /proc && exec \"$0\" \"$@\""
    for words in [["--background"], ["-q", "--background"]] {
      let run = try await ChildProcess.run(
        "/usr/bin/unshare", ["-m", "sh", "-c", line, try BuiltProduct.cachefetch()] + words + [origin.url],
        environment: shell.environment)
      #expect(run.status == 74 && run.outputText == "one", "\(words) \(run.exit) \(run.outputText)")
      let said = "cachefetch: the refresh could not be started: “/proc/self/exe”: no such file or folder\n"
      #expect(
        words.contains("-q") ? run.errors.isEmpty : run.errorText.contains(said), "\(words) \(run.errorText)")
    }
    // What is stored comes before anything of the process that refreshes.
    let joined = try await ChildProcess.run(
      "/usr/bin/unshare",
      [
        "-m", "sh", "-c", "mount -t tmpfs none /proc && exec \"$0\" \"$@\" 2>&1",
        try BuiltProduct.cachefetch(),
        "--background", origin.url,
      ], environment: shell.environment)
    #expect(joined.outputText.hasPrefix("onecachefetch: the refresh could not"), "\(joined.outputText)")
    // Where nothing is stored either, it is the more serious of the two.
    let other = try await ChildProcess.run(
      "/usr/bin/unshare",
      ["-m", "sh", "-c", line, try BuiltProduct.cachefetch(), "-q", "--background", origin.url + "2"],
      environment: shell.environment)
    #expect(other.status == 74 && other.output.isEmpty, "\(other.exit)")
    #expect(origin.server.requests().count == 1)
  }

  @Test(.enabled(if: access("/usr/bin/cc", X_OK) == 0, "there is no C compiler"))
  func `a preloaded library that changes the environment costs no argument`() async throws {
    let shell = try Shell()
    try shell.store.folder.write(
      Array(
        """
        #include <stdlib.h>
        __attribute__((constructor)) static void begin(void) {
          for (int i = 0; i < 100; i++) { char name[8] = {'V', 'A' + i / 26, 'A' + i % 26}; setenv(name, "x", 1); }
        }
        """.utf8), to: "changes.c")
    let library = shell.file("changes.so")
    let made = try await ChildProcess.run(
      "/usr/bin/cc", ["-shared", "-fPIC", "-o", library, shell.file("changes.c")])
    try #require(made.status == 0, "\(made.errorText)")
    var changed = shell
    changed.environment["LD_PRELOAD"] = library
    // A sanitizer's own library has to be the first.
    changed.environment["ASAN_OPTIONS"] = "verify_asan_link_order=0"
    let run = try await changed.run("--offline", "http://a.example/x")
    #expect(run.errorText == "cachefetch: nothing is stored for http://a.example/x\n")
  }

  // MARK: Clock

  @Test(
    .enabled(if: access("/usr/bin/cc", X_OK) == 0, "there is no C compiler"),
    arguments: [16_725_225_600, 253_402_300_800, -11_676_096_000, -9_223_372_037])
  func `a wall clock beyond the years of 64-bit nanoseconds ends nothing`(seconds: Int) async throws {
    let shell = try Shell()
    let origin = try ChangingOrigin()
    try shell.store.folder.write(
      Array(
        """
        #define _GNU_SOURCE
        #include <sys/syscall.h>
        #include <time.h>
        #include <unistd.h>
        int clock_gettime(clockid_t clock, struct timespec *time) {
          int result = syscall(SYS_clock_gettime, clock, time);
          if (clock == CLOCK_REALTIME) time->tv_sec = \(seconds)L;
          return result;
        }
        """.utf8), to: "clock.c")
    let library = shell.file("clock.so")
    let made = try await ChildProcess.run(
      "/usr/bin/cc", ["-shared", "-fPIC", "-o", library, shell.file("clock.c")])
    try #require(made.status == 0, "\(made.errorText)")
    var changed = shell
    changed.environment["LD_PRELOAD"] = library
    changed.environment["ASAN_OPTIONS"] = "verify_asan_link_order=0"
    #expect(try await changed.run("--print", "last", origin.url).outputText == "one")
    for words in [["list"], ["stats"], ["explain", origin.url], ["--offline", origin.url], ["doctor"]] {
      let run = try await changed.run(words)
      #expect(run.status == 0, "\(words) \(run.exit) \(run.errorText) \(run.outputText)")
    }
  }

  // MARK: Files that are none

  @Test(arguments: [
    ["-H", "@FIFO"], ["-d", "@FIFO"], ["-u", "@FIFO"], ["--cacert", "FIFO"], ["-o", "FIFO"],
  ])
  func `a pipe that nobody uses holds nothing up: -m ends it, and so does a signal`(words: [String])
    async throws
  {
    let shell = try Shell()
    let origin = try ChangingOrigin()
    let fifo = shell.file("fifo")
    #expect(mkfifo(fifo, 0o600) == 0)
    let named = words.map { $0.hasSuffix("FIFO") ? $0.dropLast(4) + fifo : $0 }
    // Over http no certificate is asked for.
    let url = words[0] == "--cacert" ? origin.url.replacing("http:", with: "https:") : origin.url
    let timed = try await shell.run(["-m", "300ms"] + named + [url])
    #expect([4, 74].contains(timed.status), "\(words) \(timed.exit) \(timed.errorText)")
    #expect(timed.errorText.split(separator: "\n").count == 1, "\(words) \(timed.errorText)")
    let child = try ChildProcess(
      BuiltProduct.cachefetch(), ["-v"] + named + [url], environment: shell.environment)
    try await Self.waitUntilItCatchesSignals(child.pid)
    child.send(SIGTERM)
    #expect(await child.finished().status == 143, "\(words)")
  }

  @Test func `what a pipe brings is read whole, and its own file stays open to others`() async throws {
    let shell = try Shell()
    let origin = try FixtureServer { request, connection in
      try connection.send(.ok(request["X-Answer"] ?? "none"))
    }
    let run = try await sh(
      shell, "printf 'X-Answer: yes' | \"$0\" --policy fresh-only -H @/dev/stdin \"$1\"", origin.url + "/")
    #expect(run.outputText == "yes", "\(run.errorText)")
  }

  /// Until the process has a handler of its own for SIGTERM.
  private static func waitUntilItCatchesSignals(_ process: Int32) async throws {
    while true {
      let status = try String(contentsOfFile: "/proc/\(process)/status", encoding: .utf8)
      let line = try #require(status.split(separator: "\n").first { $0.hasPrefix("SigCgt:") })
      let caught = try #require(UInt64(line.dropFirst(7).trimmingPrefix { $0 == "\t" }, radix: 16))
      if caught & 1 << (SIGTERM - 1) != 0 { return }
      await Task.yield()
    }
  }

  // MARK: Trust

  @Test func `the environment says whom to trust, as for curl`() async throws {
    let shell = try Shell()
    let site = try await SelfSignedSite(in: shell.store.folder)
    func status(_ variables: [String: String], _ words: String...) async throws -> Int32 {
      var changed = shell
      for (name, value) in variables { changed.environment[name] = value }
      return try await changed.run(
        ["-q", "--retry", "0", "--connect-timeout", "1h", "--policy", "fresh-only"] + words + [site.url]
      ).status
    }
    #expect(try await status([:]) == 4)
    #expect(try await status(["CURL_CA_BUNDLE": site.certificate]) == 0)
    #expect(try await status(["SSL_CERT_FILE": site.certificate]) == 0)
    #expect(try await status(["SSL_CERT_DIR": site.folder]) == 0)
    // The first that is set counts, and the command line comes before all.
    let elsewhere = "/etc/ssl/certs/ca-certificates.crt"
    #expect(try await status(["CURL_CA_BUNDLE": elsewhere, "SSL_CERT_FILE": site.certificate]) == 4)
    #expect(try await status(["CURL_CA_BUNDLE": "/nonexistent"], "--cacert", site.certificate) == 0)
    #expect(try await status(["CURL_CA_BUNDLE": "/nonexistent"], "--insecure") == 0)
    #expect(try await status(["CURL_CA_BUNDLE": "/nonexistent"]) == 4)
    #expect(try await status(["SSL_CERT_FILE": "/nonexistent"]) == 4)
    #expect(try await status(["SSL_CERT_DIR": "/nonexistent"]) == 4)
    #expect(try await status(["SSL_CERT_DIR": "/nonexistent", "SSL_CERT_FILE": site.certificate]) == 0)
  }

  @Test(
    "what the environment trusts moves no entry, and is not read where nobody's certificate is judged",
    arguments: ["CURL_CA_BUNDLE", "SSL_CERT_FILE", "SSL_CERT_DIR"])
  func trustedStored(name: String) async throws {
    let shell = try Shell()
    let site = try await SelfSignedSite(in: shell.store.folder)
    let origin = try FixtureServer(routes: ["/": .ok("plain")])
    func run(_ value: String?, _ words: String...) async throws -> ChildProcess.Finished {
      var changed = shell
      changed.environment[name] = value
      return try await changed.run(["-q", "--retry", "0", "--connect-timeout", "1h"] + words)
    }
    let copy = shell.file("copy.pem")
    try shell.store.folder.write(try Data(contentsOf: URL(filePath: site.certificate)), to: "copy.pem")
    let trusted = name == "SSL_CERT_DIR" ? site.folder : copy
    for url in [site.url, origin.url + "/"] { #expect(try await run(trusted, url).status == 0, "\(url)") }
    try shell.store.folder.write("an update", to: "copy.pem")
    // Whoever opens it waits for a writer.
    try #require(mkfifo(shell.file("fifo"), 0o600) == 0)
    let system = name == "SSL_CERT_DIR" ? "/etc/ssl/certs" : "/etc/ssl/certs/ca-certificates.crt"
    for value in [trusted, nil, system, "/nonexistent", shell.file("fifo")] {
      for (url, body) in [(site.url, "site"), (origin.url + "/", "plain")] {
        let offline = try await run(value, "--offline", url)
        #expect(offline.status == 0 && offline.outputText == body, "\(value ?? "-") \(url)")
      }
      let plain = try await run(value, "--policy", "fresh-only", origin.url + "/")
      #expect(plain.status == 0 && plain.outputText == "plain", "\(value ?? "-")")
    }
    // What cannot be read takes no stored response away.
    let missing = try await run("/nonexistent", site.url)
    #expect(missing.status == 3 && missing.outputText == "site")
    #expect(try await shell.run("list").lines.count == 2)
  }

  @Test func `of --cacert it counts over https that it is given, and over http nothing does`() async throws {
    let shell = try Shell()
    let site = try await SelfSignedSite(in: shell.store.folder)
    let origin = try FixtureServer(routes: ["/": .ok("plain")])
    try shell.store.folder.write("none", to: "other.pem")
    #expect(try await shell.run("-q", "--cacert", site.certificate, site.url).status == 0)
    #expect(try await shell.run("-q", "-k", origin.url).status == 0)
    for (words, status) in [
      (["--cacert", "other.pem", site.url], 0), ([site.url], 4), (["-k", site.url], 4),
      (["--cacert", "other.pem", origin.url], 0), ([origin.url], 0),
      (["--cert", "other.pem", origin.url], 0),
    ] as [([String], Int32)] {
      #expect(try await shell.run(["-q", "--offline"] + words).status == status, "\(words)")
    }
    #expect(try await shell.run("list").outputText.contains("\(site.url)\t--cacert\t\n"))
    #expect(try await shell.run("rm", "--cacert", "other.pem", site.url).errorText == "removed 1 entry\n")
  }

  @Test func `a key with a pass phrase is refused at once, on a terminal too`() async throws {
    let shell = try Shell()
    let site = try await SelfSignedSite(in: shell.store.folder)
    let key = shell.file("protected.pem")
    let made = try await ChildProcess.run(
      "/usr/bin/openssl",
      ["pkey", "-in", site.key, "-aes128", "-passout", "pass:secret", "-out", key])
    try #require(made.status == 0, "\(made.errorText)")
    let child = try ChildProcess(
      BuiltProduct.cachefetch(),
      ["-k", "--retry", "0", "--cert", site.certificate, "--key-file", key, site.url],
      environment: shell.environment, typesInput: true, output: .terminal, errors: .asOutput)
    let run = await child.finished()
    #expect(run.status == 4, "\(run.exit)")
    #expect(run.outputText.contains("a pass phrase protects"), "\(run.outputText)")
    #expect(!run.outputText.contains("Enter"), "\(run.outputText)")
  }
}
