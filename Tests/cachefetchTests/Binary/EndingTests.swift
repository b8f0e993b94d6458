import FixtureServer
import PlatformC
import PlatformFoundation
import TestSupport
import Testing
import TestTurns

@Suite("Command: how it ends", .inTurn) struct EndingTests {
  @Test(arguments: [(SIGINT, 130), (SIGTERM, 143)] as [(Int32, Int32)])
  func `a signal ends it cleanly, and the row is as it was`(signal: Int32, status: Int32) async throws {
    let shell = try Shell()
    let origin = try ChangingOrigin()
    _ = try await shell.run(origin.url)
    let gate = origin.hold()
    let child = try shell.start(origin.url)
    await child.output.waits(forBytes: 3)
    await origin.server.waitForRequests(2)
    child.send(signal)
    let finished = await child.finished()
    #expect(finished.status == status && finished.outputText == "one")
    gate.open()
    #expect(try await shell.run("--offline", origin.url).outputText == "one")
  }

  @Test(arguments: [(SIGINT, 130), (SIGTERM, 143)] as [(Int32, Int32)])
  func `a signal ends a write that nobody takes, and no temporary file is left`(
    signal: Int32, status: Int32
  ) async throws {
    var shell = try Shell()
    let temporary = shell.file("tmp")
    #expect(mkdir(temporary, 0o700) == 0)
    shell.environment["TMPDIR"] = temporary
    let body = [UInt8](repeating: 0x61, count: 1_000_000)
    let origin = try FixtureServer { _, connection in try connection.send(.ok(body)) }
    _ = try await shell.run(origin.url + "/")
    var ends: [Int32] = [-1, -1]
    try #require(pipe(&ends) == 0)
    defer { for end in ends { close(end) } }
    let child = try shell.start("export", "-", output: .descriptor(ends[1]))
    // One write has put in what there is room for, and waits to put in the rest.
    let isFull = await eventually {
      var polled = pollfd(fd: ends[1], events: Int16(POLLOUT), revents: 0)
      return poll(&polled, 1, 0) == 0
    }
    try #require(isFull)
    child.send(signal)
    let finished = await child.finished()
    #expect(finished.status == status && finished.errors.isEmpty, "\(finished.exit) \(finished.errorText)")
    #expect(try FileManager.default.contentsOfDirectory(atPath: temporary).isEmpty)
  }

  @Test func `a reader that goes away ends it as a closed pipe does`() async throws {
    let shell = try Shell()
    let body = [UInt8](repeating: 0x61, count: 1_000_000)
    let origin = try FixtureServer { _, connection in try connection.send(.ok(body)) }
    _ = try await shell.run(origin.url + "/")
    var ends: [Int32] = [0, 0]
    #expect(pipe(&ends) == 0)
    let child = try shell.start("--offline", origin.url + "/", output: .descriptor(ends[1]))
    close(ends[1])
    var first: UInt8 = 0
    #expect(read(ends[0], &first, 1) == 1)
    close(ends[0])
    let finished = await child.finished()
    #expect(finished.exit == .signal(SIGPIPE) && finished.errors.isEmpty)
  }

  @Test func `a reader of the messages that goes away ends nothing`() async throws {
    let shell = try Shell()
    let origin = try ChangingOrigin()
    var ends: [Int32] = [0, 0]
    #expect(pipe(&ends) == 0)
    close(ends[0])
    let child = try shell.start("-v", origin.url, errors: .descriptor(ends[1]))
    close(ends[1])
    let finished = await child.finished()
    #expect(finished.exit == .status(0) && finished.outputText == "one")
    #expect(try await shell.run("--offline", origin.url).outputText == "one")
  }

  @Test func `in the background the stored answer is printed and another process refreshes`() async throws {
    let shell = try Shell()
    let origin = try ChangingOrigin()
    _ = try await shell.run(origin.url)
    let gate = origin.hold()
    origin.answer(.ok("two"))
    let run = try await shell.run("--background", origin.url)
    #expect(run.outputText == "one" && run.status == 0 && run.errors.isEmpty)
    await origin.server.waitForRequests(2)
    gate.open()
    var stored = "one"
    while stored == "one" { stored = try await shell.run("--offline", origin.url).outputText }
    #expect(stored == "two")
    try await shell.backgroundEnd()
  }

  @Test func `in the background with nothing stored nothing is printed, and the refresh runs all the same`()
    async throws
  {
    let shell = try Shell()
    let origin = try ChangingOrigin()
    let run = try await shell.run("--background", origin.url)
    #expect(run.output.isEmpty && run.status == 4)
    var stored = ""
    while stored.isEmpty { stored = try await shell.run("-q", "--offline", origin.url).outputText }
    #expect(stored == "one")
    try await shell.backgroundEnd()
  }

  @Test
  func `a background refresh is silent, joined by the next get, and left alone by other background ones`()
    async throws
  {
    let shell = try Shell()
    let origin = try ChangingOrigin()
    _ = try await shell.run(origin.url)
    let gate = origin.hold()
    origin.answer(.ok("two"))
    // Returns although the refresh hangs: it holds neither of the two streams.
    let first = try await shell.run("--timeout", "1h", "--background", origin.url)
    #expect(first.outputText == "one" && first.errors.isEmpty && first.status == 0)
    await origin.server.waitForRequests(2)
    let processes = try shell.backgroundProcesses()
    #expect(processes.count == 1)
    for _ in 0..<3 {
      let run = try await shell.run(
        "--timeout", "1h", "--background", "--print", "none", origin.url)
      #expect(run.output.isEmpty && run.errors.isEmpty && run.status == 0)
    }
    // They end by themselves while the first one still waits for the origin.
    while try !shell.backgroundProcesses().isSubset(of: processes) { await Task.yield() }
    let child = try shell.start("-v", "--timeout", "1h", origin.url)
    #expect(await child.errors.waits(for: "* waiting for another process"))
    gate.open()
    let finished = await child.finished()
    #expect(finished.outputText == "onetwo" && finished.status == 0)
    #expect(origin.server.requests().count == 2)
    try await shell.backgroundEnd()
  }

  @Test func `a background refresh is bounded in time: it ends although the origin never answers`()
    async throws
  {
    let shell = try Shell()
    let ended = Gate()
    let origin = try FixtureServer { _, connection in
      connection.waitForPeerClose()
      ended.open()
    }
    // On a busy machine the time may be over before the origin is asked: then it is for the next one to ask.
    repeat {
      let run = try await shell.run(
        "--background", "--print", "none", "--retry", "0", "--timeout", "300ms", origin.url + "/")
      #expect(run.output.isEmpty && run.status == 4)
      try await shell.backgroundEnd()
    } while origin.requests().isEmpty
    await ended.wait()
  }

  @Test func `a background refresh survives its terminal`() async throws {
    let shell = try Shell()
    let origin = try ChangingOrigin()
    _ = try await shell.run(origin.url)
    let gate = origin.hold()
    origin.answer(.ok("two"))
    // Everything in the terminal is hung up on, and then the terminal is gone.
    let child = try ChildProcess(
      "/usr/bin/script",
      [
        "-qec", "\(try BuiltProduct.cachefetch()) --timeout 1h --background \(origin.url); kill -HUP 0",
        "/dev/null",
      ],
      environment: shell.environment.merging(["SHELL": "/bin/sh"]) { $1 })
    let finished = await child.finished()
    #expect(finished.outputText.contains("one"))
    await origin.server.waitForRequests(2)
    gate.open()
    var stored = "one"
    while stored == "one" { stored = try await shell.run("--offline", origin.url).outputText }
    #expect(stored == "two")
    try await shell.backgroundEnd()
  }

  @Test(
    "A store that cannot be used never stops a fresh delivery",
    arguments: ["folder", "text", "below a file", "empty"])
  func unusable(kind: String) async throws {
    var shell = try Shell()
    let origin = try ChangingOrigin()
    let path = shell.file("bad")
    switch kind {
    case "folder": mkdir(path, 0o700)
    case "text":
      try shell.store.folder.write("this is not a database, and long enough to be sure of it", to: "bad")
    case "empty": try shell.store.folder.write("", to: "bad")
    default: try shell.store.folder.write("x", to: "bad")
    }
    shell.environment["CACHEFETCH_STORE"] = kind == "below a file" ? path + "/store" : path
    let run = try await shell.run(origin.url)
    #expect(run.outputText == "one" && run.status == 0)
    if kind == "empty" {
      // An empty file is what a crash at the first start leaves, and becomes the store.
      #expect(run.errors.isEmpty)
      return
    }
    #expect(run.errorText.split(separator: "\n").count == 1, "\(run.errorText)")
    let offline = try await shell.run("--offline", origin.url)
    #expect(
      offline.status == 74 && offline.errorText.split(separator: "\n").count == 1, "\(offline.errorText)")
    // One remedy, said once.
    #expect(offline.errorText.split(separator: "; ").count <= 3, "\(offline.errorText)")
    let list = try await shell.run("list")
    #expect(list.status == 74 && list.errorText.split(separator: "\n").count == 1, "\(list.errorText)")
  }

  @Test func `without verification a line says so, once a run and of https alone`() async throws {
    let shell = try Shell()
    let origin = try ChangingOrigin()
    let site = try await SelfSignedSite(in: shell.store.folder)
    let warning = "cachefetch: --insecure: certificates are not verified, and anybody may have answered\n"
    for words in [["-k"], ["preload", "--insecure", "--json"], ["diff", "-k"], ["-k", site.url + "2"]] {
      let said = try await shell.run(words + [site.url]).errorText
      #expect(said.components(separatedBy: warning).count == 2, "\(words): \(said)")
    }
    for words in [["-kq"], ["-k", "--offline"], ["-k", "--policy", "stored-only"], ["show", "-k"]] {
      #expect(try await shell.run(words + [site.url]).errors.isEmpty, "\(words)")
    }
    #expect(try await shell.run("-k", origin.url).errors.isEmpty)
    origin.answer(.redirect(to: site.url))
    #expect(try await shell.run("-k", "--policy", "fresh-only", origin.url).errorText == warning)
  }

  @Test func `where --store names no store, what is said of an empty answer says so`() async throws {
    let shell = try Shell()
    let hint = "there is no store at typo.sqlite: name one that is there with --store"
    for policy in [["--offline"], ["--policy", "stored-only"]] {
      let words = policy + ["--store", "typo.sqlite", "http://a.example/x"]
      let run = try await shell.run(words)
      #expect(run.status == 4 && run.output.isEmpty, "\(words)")
      #expect(run.errorText == "cachefetch: nothing is stored for http://a.example/x; \(hint)\n", "\(words)")
      let json = try await shell.run(["-q", "--json"] + words)
      #expect(json.status == 4 && json.outputText.contains("\"hint\":\"\(hint)\""), "\(json.outputText)")
    }
    #expect(try shell.store.folder.names().isEmpty)
  }

  @Test func `what is not stored is named once`() async throws {
    let run = try await Shell().run("--offline", "http://a.example/x")
    #expect(run.status == 4 && run.errorText == "cachefetch: nothing is stored for http://a.example/x\n")
  }
}
