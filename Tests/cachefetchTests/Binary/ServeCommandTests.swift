import FixtureServer
import PlatformC
import PlatformFoundation
import TestSupport
import Testing
import TestTurns

@Suite("Command: serve", .inTurn) struct ServeCommandTests {
  /// A store, an origin and a `serve`; the process has ended with the value.
  private struct World {
    let shell: Shell
    let serve: ChildProcess
    var path: String { shell.store.path + ".serve" }

    init(_ words: String..., shell: Shell? = nil) async throws {
      self.shell = try shell ?? Shell()
      serve = try ChildProcess(
        BuiltProduct.cachefetch(), ["serve", "-v"] + words, environment: self.shell.environment,
        directory: self.shell.store.folder.path)
      try #require(await serve.errors.waits(for: "listening"))
    }

    /// Asks for a URL, with further members of the line.
    func ask(_ url: String, _ members: String = "") async throws -> ServeClient {
      try await ServeClient.of(shell, "{\"url\": \"\(url)\"\(members)}\n")
    }
  }

  /// An origin that answers nobody before the gate is open.
  private func origin(behind gate: Gate, _ reply: FixtureReply = .ok("late")) throws -> FixtureServer {
    try FixtureServer { _, connection in
      gate.wait()
      try connection.send(reply)
    }
  }

  @Test func `a line is answered as --json answers: stored, then fresh; then a failure`() async throws {
    let world = try await World()
    let origin = try ChangingOrigin(.ok("one"))
    var lines = try await world.ask(origin.url).answer()
    #expect(lines.map { $0.member("delivery") } == ["fresh"])
    origin.answer(.ok("two"))
    lines = try await world.ask(origin.url).answer()
    #expect(lines.map { $0.member("body") } == ["one", "two"])
    #expect(lines.last?.member("change") == "changed")
    lines = try await world.ask(origin.url, #", "max_age": "1h""#).answer()
    #expect(lines.map { $0.member("delivery") } == ["stored"])
    lines = try await world.ask(origin.url, #", "body": "store""#).answer()
    #expect(lines.map { $0.member("body_omitted") } == ["true", "true"])
    origin.server.stop()
    lines = try await world.ask(origin.url, #", "limits": {"retry": 0}"#).answer()
    #expect(lines.map { $0.member("delivery") } == ["stored", "failure"])
    let command = try await world.shell.run("--offline", origin.url)
    #expect(command.outputText == "two")
  }

  @Test func `what is handed over is counted once, by the command`() async throws {
    let world = try await World()
    let origin = try ChangingOrigin()
    for _ in 0..<2 { _ = try await world.shell.run(origin.url) }
    origin.server.stop()
    #expect(try await world.shell.run("--retry", "0", origin.url).status == 3)
    world.serve.send(SIGTERM)
    _ = await world.serve.exit()
    let line = try await world.shell.run("stats", "--json").outputText
    #expect(line.contains("\"stored\":2,\"fresh\":1,\"unchanged\":1,\"failed\":1"), "\(line)")
    let metrics = try await world.shell.run("stats", "--prometheus").outputText
    #expect(metrics.contains("cachefetch_failures_total{kind=\"refused\"} 1\n"), "\(metrics)")
  }

  @Test func `SIGTERM ends it, and the socket goes with it`() async throws {
    let world = try await World()
    world.serve.send(SIGTERM)
    #expect(await world.serve.exit() == .status(143))
    #expect(access(world.path, F_OK) != 0)
  }

  @Test func `one process serves a store; a second one says so`() async throws {
    let world = try await World()
    let second = try await world.shell.run("serve")
    #expect(second.status == 74)
    #expect(second.errorText.contains("another process serves"))
    #expect(ServeClient(world.path) != nil)
  }

  @Test func `after a kill the next one takes the path over`() async throws {
    let world = try await World()
    world.serve.send(SIGKILL)
    _ = await world.serve.exit()
    #expect(access(world.path, F_OK) == 0)
    let origin = try ChangingOrigin()
    #expect(try await world.shell.run(origin.url).outputText == "one")
    let next = try await World(shell: world.shell)
    #expect(try await next.ask(origin.url).answer().count == 2)
  }

  @Test func `it ends once nobody has asked for the time of --idle`() async throws {
    let world = try await World("--idle", "10ms")
    #expect(await world.serve.exit() == .status(0))
    #expect(access(world.path, F_OK) != 0)
  }

  @Test func `it ends when the store is gone`() async throws {
    let world = try await World()
    let origin = try ChangingOrigin()
    #expect(try await world.ask(origin.url).answer().count == 1)
    for name in try world.shell.store.folder.names() where !name.hasSuffix(".serve") {
      unlink(world.shell.file(name))
    }
    // Whoever asks next is not answered, and asks by itself.
    #expect(try await world.ask(origin.url).answer() == [])
    #expect(await world.serve.exit() == .status(0))
    #expect(access(world.path, F_OK) != 0)
  }

  @Test func `law 7: one exchange for many clients, commands and the process itself`() async throws {
    let world = try await World()
    let gate = Gate()
    let origin = try origin(behind: gate)
    var clients: [ServeClient] = []
    for _ in 0..<20 { clients.append(try await world.ask(origin.url + "/x")) }
    await origin.waitForRequests(1)
    let handed = try (0..<3).map { _ in try world.shell.start(origin.url + "/x") }
    let alone = try world.shell.start("-v", origin.url + "/x")
    #expect(await alone.errors.waits(for: "waiting for another process"))
    // All but the first client, and the commands that hand over.
    let joined = "joining the same request"
    #expect(await eventually { world.serve.errors.text.ranges(of: joined).count == 19 + handed.count })
    gate.open()
    for client in clients { #expect(await client.answer().map { $0.member("body") } == ["late"]) }
    for command in handed + [alone] { #expect(await command.finished().outputText == "late") }
    #expect(origin.requests().count == 1)
  }

  @Test func `law 11: closing the connection stops the exchange, and nothing is stored`() async throws {
    let world = try await World()
    let (gate, closed) = (Gate(), Gate())
    let origin = try FixtureServer { _, connection in
      gate.wait()
      connection.waitForPeerClose()
      closed.open()
    }
    let client = try await world.ask(origin.url + "/x")
    await origin.waitForRequests(1)
    client.close()
    gate.open()
    await closed.wait()
    #expect(try await world.shell.run("list").outputText == "")
  }

  @Test func `socket activation: the socket is systemd's, and stays`() async throws {
    let shell = try Shell()
    let path = shell.store.path + ".serve"
    let script = """
      import socket, os, sys
      s = socket.socket(socket.AF_UNIX)
      s.bind(sys.argv[1])
      s.listen()
      os.dup2(os.dup(s.fileno()), 3)
      os.environ.update(LISTEN_PID=str(os.getpid()), LISTEN_FDS="1")
      os.execv(sys.argv[2], ["cachefetch", "serve", "--idle", "100ms"])
      """
    let child = try ChildProcess(
      "/usr/bin/python3", ["-c", script, path, BuiltProduct.cachefetch()], environment: shell.environment)
    let origin = try ChangingOrigin()
    let client = try await ServeClient.of(shell, "{\"url\": \"\(origin.url)\"}\n")
    #expect(await client.answer().map { $0.member("body") } == ["one"])
    #expect(await child.exit() == .status(0))
    #expect(access(path, F_OK) == 0)
  }

  // MARK: - The command hands its refresh over

  /// The numbers of the origin's connections, a request each.
  private func connections(_ origin: FixtureServer) -> [Int] { origin.requests().map(\.connection) }

  @Test func `a command's refresh goes over the connection that is open`() async throws {
    let world = try await World()
    let origin = try ChangingOrigin()
    #expect(try await world.shell.run(origin.url).outputText == "one")
    origin.answer(.ok("two"))
    #expect(try await world.shell.run(origin.url).outputText == "onetwo")
    let third = try await world.shell.run("--json", origin.url)
    #expect(third.lines.map { $0.member("delivery") } == ["stored", "fresh"])
    #expect(third.lines.last?.member("change") == "unchanged")
    #expect(connections(origin.server) == [1, 1, 1])
  }

  @Test func `a command tries the socket once, where it is about to ask, and never otherwise`() async throws {
    var shell = try Shell()
    let origin = try ChangingOrigin()
    try shell.store.folder.write(
      Array(
        """
        #define _GNU_SOURCE
        #include <dlfcn.h>
        #include <stdio.h>
        #include <sys/socket.h>
        #include <sys/un.h>
        int connect(int socket, const struct sockaddr *address, socklen_t length) {
          if (address->sa_family == AF_UNIX)
            fprintf(stderr, "%s\\n", ((const struct sockaddr_un *)address)->sun_path);
          return ((int (*)(int, const struct sockaddr *, socklen_t))dlsym(RTLD_NEXT, "connect"))(socket, address, length);
        }
        """.utf8), to: "connects.c")
    let library = shell.file("connects.so")
    let made = try await ChildProcess.run(
      "/usr/bin/cc", ["-shared", "-fPIC", "-o", library, shell.file("connects.c"), "-ldl"])
    try #require(made.status == 0, "\(made.errorText)")
    shell.environment["LD_PRELOAD"] = library
    // A sanitizer's own library has to be the first.
    shell.environment["ASAN_OPTIONS"] = "verify_asan_link_order=0"
    for words in [[], ["--one"], ["--policy", "fresh-only"], ["--max-age", "0"]] {
      let run = try await shell.run(words + [origin.url])
      #expect(run.errorText == shell.store.path + ".serve\n", "\(words)")
    }
    let others = [
      ["--offline"], ["--max-age", "1h"], ["--policy", "http"], ["-i"], ["-d", "x"], ["-X", "DELETE"],
      ["show"],
    ]
    for words in others {
      let run = try await shell.run(words + [origin.url])
      #expect(run.errorText == "", "\(words)")
    }
  }

  @Test(
    "what serve cannot do as the command would, the command does itself",
    arguments: [
      ["-k"], ["--proxy", "http://127.0.0.1:1", "--retry", "0"], ["--resolve", "a.example:1:127.0.0.1"],
      ["--secret-field", "X-A"],
      ["-i"], ["-v"], ["--policy", "http"], ["--http1.1"], ["-d", "x"], ["-X", "DELETE"],
    ])
  func alone(_ words: [String]) async throws {
    let world = try await World()
    let origin = try ChangingOrigin()
    _ = try await world.ask(origin.url).answer()
    _ = try await world.shell.run(words + [origin.url])
    #expect(!connections(origin.server).dropFirst().contains(1))
  }

  @Test func `credentials go with the request, and are written nowhere`() async throws {
    let world = try await World()
    let origin = try ChangingOrigin()
    let run = try await world.shell.run(
      "-u", "ann:secret-word", "--account", "ann", "-H", "X-A: b", "--tag", "t", origin.url)
    #expect(run.outputText == "one")
    let asked = try #require(origin.server.requests().first)
    #expect(
      asked["X-A"] == "b"
        && asked["Authorization"] == "Basic " + Data("ann:secret-word".utf8).base64EncodedString())
    _ = try await world.ask(origin.url).answer()
    #expect(connections(origin.server) == [1, 1])
    #expect(try await world.shell.run("list", "--account", "ann", "--tag", "t").lines.count == 1)
    world.serve.send(SIGTERM)
    let ended = await world.serve.finished()
    #expect(!ended.errorText.contains("secret-word"))
    #expect(try !world.shell.store.filesContain("secret-word"))
  }

  @Test func `a response that may not be stored comes over the socket, after one request`() async throws {
    let world = try await World()
    let origin = try ChangingOrigin(.ok("\u{FFFD}private", ["Cache-Control": "no-store", "X-A": "b"]))
    let run = try await world.shell.run("--json", origin.url)
    #expect(run.lines.map { $0.member("body") } == ["\u{FFFD}private"])
    #expect(run.lines.first?.member("kept_reason") == "noStore")
    #expect(origin.server.requests().count == 1)
    origin.answer(.status(404, "gone"))
    let second = try await world.shell.run("--one", origin.url)
    #expect(second.status == 22 && second.outputText == "")
    #expect(connections(origin.server) == [1, 1])
  }

  @Test func `a failure is the command's, with what is stored in place of it`() async throws {
    let world = try await World()
    let origin = try ChangingOrigin()
    _ = try await world.ask(origin.url).answer()
    origin.answer(.status(503, "busy"))
    let run = try await world.shell.run("--one", "--retry", "0", origin.url)
    #expect(run.status == 3 && run.outputText == "one")
    #expect(run.errorText.contains("503"))
    let cold = try await world.shell.run("--retry", "0", origin.server.url + "/cold")
    #expect(cold.status == 0 && cold.outputText == "busy")
    origin.server.stop()
    let refused = try await world.shell.run("--retry", "0", origin.server.url + "/none")
    #expect(refused.status == 4 && refused.errorText.contains("refused"))
  }

  @Test func `a large body is read from the store`() async throws {
    let world = try await World()
    let body = String(repeating: "0123456789", count: 2_000_000)
    let origin = try ChangingOrigin(.ok(body))
    let run = try await world.shell.run(origin.url)
    #expect(run.outputText == body)
    #expect(connections(origin.server) == [1])
  }

  @Test func `a deadline is the command's own`() async throws {
    let world = try await World()
    let gate = Gate()
    let origin = try origin(behind: gate)
    let run = try await world.shell.run("--deadline", "50ms", origin.url + "/x")
    #expect(run.status == 4)
    gate.open()
  }

  @Test func `where it is killed in the middle, the command asks by itself`() async throws {
    let world = try await World()
    let gate = Gate()
    let origin = try origin(behind: gate)
    let command = try world.shell.start(origin.url + "/x")
    await origin.waitForRequests(1)
    world.serve.send(SIGKILL)
    await origin.waitForRequests(2)
    gate.open()
    let finished = await command.finished()
    #expect(finished.exit == .status(0) && finished.outputText == "late")
  }

  @Test func `where it does not answer, the command asks by itself`() async throws {
    let world = try await World()
    let origin = try ChangingOrigin()
    world.serve.send(SIGSTOP)
    #expect(try await world.shell.run(origin.url).outputText == "one")
    world.serve.send(SIGCONT)
  }
}
