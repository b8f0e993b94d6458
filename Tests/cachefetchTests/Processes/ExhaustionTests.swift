import FixtureServer
import PlatformC
import TestSupport
import Testing
import TestTurns

/// With few descriptors every verb answers, or fails with a line that names the cause.
@Suite("Command: with little to live on", .inTurn) struct ExhaustionTests {
  private static let line = "too many open files; raise the limit (ulimit -n)"

  private func run(_ shell: Shell, under limit: String, _ words: [String]) async throws
    -> ChildProcess.Finished
  {
    // `timeout` speaks where the command hangs; its 124 is no status of the command's.
    try await ChildProcess.run(
      "/bin/sh",
      [
        "-c", "ulimit \(limit) || exit 125; exec timeout -s KILL 60 \"$0\" \"$@\"",
        try BuiltProduct.cachefetch(),
      ]
        + words,
      environment: shell.environment, directory: shell.store.folder.path)
  }

  private func check(
    _ run: ChildProcess.Finished, _ statuses: Set<Int32>, _ words: [String], _ limit: Int
  ) {
    #expect(
      statuses.contains(run.status), "\(words) with \(limit): \(run.exit) \(run.outputText) \(run.errorText)")
    let lines = run.errorText.split(separator: "\n")
    #expect(lines.count <= 1, "\(words) with \(limit): \(run.status) \(run.errorText)")
    if run.status != 0 {
      #expect(
        lines.first?.hasSuffix(Self.line) == true, "\(words) with \(limit): \(run.status) \(run.errorText)")
    }
  }

  /// Every second number of descriptors down to those of the standard streams; another verb is tried with the numbers
  /// between.
  private func countDown(
    _ words: [String], _ statuses: Set<Int32>, from first: Int = 26, in shell: Shell
  ) async throws {
    for limit in stride(from: first, through: 4, by: -2) {
      check(try await run(shell, under: "-n \(limit)", words), statuses, words, limit)
    }
  }

  @Test func `get answers, or says that too many files are open`() async throws {
    let shell = try Shell()
    let origin = try ChangingOrigin()
    _ = try await shell.run(origin.url)
    // The store may be beyond reach and the origin not, and the other way round.
    try await countDown(["--print", "last", origin.url], [0, 3, 4], in: shell)
    try await countDown(["--policy", "http", origin.url], [0, 3, 4], from: 25, in: shell)
    try await countDown(["--offline", origin.url], [0, 74], in: shell)
    for first in [26, 25] {
      try await countDown(
        ["--print", "none", origin.server.url + "/other"], [0, 3, 4], from: first, in: shell)
    }
  }

  @Test func `verbs that only need the store answer, or say that too many files are open`() async throws {
    let shell = try Shell()
    let origin = try ChangingOrigin()
    _ = try await shell.run(origin.url)
    try await countDown(["list"], [0, 74], in: shell)
    try await countDown(["show", origin.url], [0, 74], from: 25, in: shell)
    try await countDown(["explain", origin.url], [0, 74], in: shell)
    try await countDown(["stats"], [0, 74], from: 25, in: shell)
  }

  @Test(arguments: [
    ["rm", "--yes", "http://nobody.example/"], ["sign-out", "--yes", "--account", "nobody"],
  ])
  func `verbs that remove answer, or say that too many files are open`(words: [String]) async throws {
    let shell = try Shell()
    let origin = try ChangingOrigin()
    _ = try await shell.run(origin.url)
    try await countDown(words, [0, 4, 74], in: shell)
    #expect(try await shell.run("--offline", origin.url).outputText == "one")
  }

  @Test func `a repair saves every row, or leaves the file where it is`() async throws {
    let shell = try Shell()
    let origin = try ChangingOrigin()
    _ = try await shell.run(origin.url)
    try shell.store.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    // In the second page, which says where pages belong, and in which no look-up reads.
    var damaged = try shell.store.folder.bytes(of: "store.sqlite")
    damaged.replaceSubrange(8195..<8201, with: Array("damage".utf8))
    func damage() throws {
      for name in try shell.store.folder.names()
      where name.hasPrefix("store.sqlite-") || name.hasPrefix("store.sqlite.damaged-") {
        unlink(shell.file(name))
      }
      try shell.store.folder.write(damaged, to: "store.sqlite")
    }
    for limit in stride(from: 26, through: 4, by: -1) {
      try damage()
      let repair = try await run(shell, under: "-n \(limit)", ["doctor", "--repair"])
      #expect((0..<100).contains(repair.status), "\(limit): \(repair.exit) \(repair.errorText)")
      let stored = try await shell.run("--offline", origin.url)
      #expect(stored.outputText == "one", "\(limit): \(repair.outputText)\(repair.errorText)")
    }
    try damage()
    let repair = try await shell.run("doctor", "--repair")
    #expect((repair.outputText + repair.errorText).contains("1 response was carried over"))
    #expect(try await shell.run("--offline", origin.url).outputText == "one")
  }

  @Test func `watch and preload answer, or say what is missing`() async throws {
    let shell = try Shell()
    let origin = try ChangingOrigin()
    for limit in stride(from: 26, through: 4, by: -1) {
      let preloading = try await run(
        shell, under: "-n \(limit)", ["preload", "--quiet", origin.url, origin.server.url + "/other"])
      #expect(
        [0, 3, 4, 74].contains(preloading.status), "\(limit): \(preloading.exit) \(preloading.errorText)")
      let watching = try ChildProcess(
        "/bin/sh",
        [
          "-c", "ulimit -n \(limit); exec \"$0\" watch -v --every 1h \"$1\"", try BuiltProduct.cachefetch(),
          origin.server.url + "/\(limit)",
        ], environment: shell.environment, errors: .asOutput)
      // Says what it does or what is missing, and goes on until it is told to end.
      await watching.output.waits(forBytes: 3)
      watching.send(SIGTERM)
      #expect(await watching.finished().status == 143, "\(limit)")
    }
  }

  @Test func `a soft limit is raised to the hard one`() async throws {
    let shell = try Shell()
    let origin = try ChangingOrigin()
    for limit in [4, 8, 16] {
      let run = try await run(shell, under: "-S -n \(limit)", [origin.url])
      #expect(run.status == 0 && run.errors.isEmpty, "\(limit): \(run.exit) \(run.errorText)")
    }
  }
}
