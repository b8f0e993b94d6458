import FixtureServer
import PlatformC
import PlatformFoundation
import TestSupport
import Testing
import TestTurns

@testable import cachefetch

@Suite("Command: what a background refresh is given", .inTurn) struct BackgroundTests {
  @Test(
    "A request that may change something is not left to a process whose outcome nobody learns",
    arguments: [
      ["-X", "POST", "-d", "order=1"], ["-d", "x"], ["-X", "DELETE"], ["-X", "PATCH"], ["-X", "FOO"],
    ])
  func unsafe(words: [String]) async throws {
    let shell = try Shell()
    let origin = try ChangingOrigin()
    let run = try await shell.run(["--background"] + words + [origin.url])
    #expect(run.status == 64 && run.output.isEmpty)
    #expect(run.errorText.contains("--background would send"), "\(run.errorText)")
    let read = try await shell.run(["--background", "--read"] + words + [origin.url])
    #expect(read.status == 4)
    await origin.server.waitForRequests(1)
    try await shell.backgroundEnd()
    #expect(origin.server.requests().count == 1)
  }

  /// Runs a script of bash with the command as `$cachefetch`.
  private func bash(_ shell: Shell, _ script: String, input: String = "") async throws
    -> ChildProcess.Finished
  {
    var environment = shell.environment
    environment["cachefetch"] = try BuiltProduct.cachefetch()
    return try await ChildProcess.run(
      "/bin/bash", ["-c", script], environment: environment, directory: shell.store.folder.path,
      input: Array(input.utf8))
  }

  @Test(
    "Secrets from pipes and standard input reach the origin and the account they make, never the anonymous one",
    arguments: [
      #""$cachefetch" --background -H @<(printf 'Authorization: Bearer s3cret') URL"#,
      #""$cachefetch" --background -u @/dev/stdin URL"#,
      #""$cachefetch" --background -u @- URL"#,
      #""$cachefetch" --background -u @<(printf 'alice:s3cret') URL"#,
      #"printf 'X-Api-Key: \377s3cret\n' > f; "$cachefetch" --background -H @f URL; rm f"#,
    ])
  func piped(script: String) async throws {
    let shell = try Shell()
    let origin = try ChangingOrigin()
    let run = try await bash(shell, script.replacing("URL", with: origin.url), input: "alice:s3cret\n")
    #expect(run.errorText == "" || run.errorText.contains("nothing is stored"), "\(run.errorText)")
    await origin.server.waitForRequests(1)
    let request = try #require(origin.server.requests().first)
    #expect(request["Authorization"] != nil || request["X-Api-Key"] != nil)
    var accounts: [String] = []
    while accounts.isEmpty {
      accounts = try await shell.run("list", "--json").lines.compactMap { line in
        line.split(separator: "\"account\":\"").last.map { String($0.prefix { $0 != "\"" }) }
      }
    }
    #expect(accounts.allSatisfy { $0.hasPrefix("auto:") }, "\(accounts)")
    try await shell.backgroundEnd()
  }

  @Test func `nobody sees a secret in its command line, and no descriptor of the caller's is held by it`()
    async throws
  {
    let shell = try Shell()
    let origin = try ChangingOrigin()
    let gate = origin.hold()
    let script = """
      exec 3>lock 9>>other
      flock -n 3 || exit 1
      "$cachefetch" --background -u alice:s3cret -H 'X-Api-Key: s3cret' --read -d s3cret '\(origin.url)?token=s3cret'
      """
    #expect(try await bash(shell, script).status == 4)
    await origin.server.waitForRequests(1)
    let process = try #require(try shell.backgroundProcesses().first)
    #expect(
      try Data(contentsOf: URL(filePath: "/proc/\(process)/cmdline")) == Data("cachefetch-background\0".utf8))
    let held = try FileManager.default.contentsOfDirectory(atPath: "/proc/\(process)/fd").compactMap {
      try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/\(process)/fd/\($0)")
    }
    #expect(held.contains("/dev/null") && !held.contains { $0.hasSuffix("/lock") || $0.hasSuffix("/other") })
    #expect(!held.contains { $0.contains("memfd") }, "\(held)")
    #expect(try await bash(shell, "exec 7>lock; flock -n 7").status == 0)
    gate.open()
    try await shell.backgroundEnd()
  }

  @Test func `it can be interrupted, whatever the signals of the caller are`() async throws {
    let shell = try Shell()
    let origin = try ChangingOrigin()
    let gate = origin.hold()
    let script = "trap '' INT TERM HUP; \"$cachefetch\" --background '\(origin.url)'"
    #expect(try await bash(shell, script).status == 4)
    await origin.server.waitForRequests(1)
    let process = try #require(try shell.backgroundProcesses().first)
    let status = try String(contentsOf: URL(filePath: "/proc/\(process)/status"), encoding: .utf8)
    let line = try #require(status.split(separator: "\n").first { $0.hasPrefix("SigIgn:") })
    let ignored = try #require(UInt64(line.split(separator: "\t").last ?? "", radix: 16))
    for signal in [SIGINT, SIGTERM, SIGHUP] { #expect(ignored >> (signal - 1) & 1 == 0, "\(line)") }
    gate.open()
    try await shell.backgroundEnd()
  }

  @Test(
    "What --data-urlencode reads of standard input is encoded once, and is the same request with --background or not",
    arguments: [
      (["--data-urlencode", "@-"], "POST /x", "a+b%26c"),
      (["--data-urlencode", "name@-"], "POST /x", "name=a+b%26c"),
      (["-d", "x=1", "--data-urlencode", "name@-"], "POST /x", "x=1&name=a+b%26c"),
      (["-G", "--data-urlencode", "name@-"], "GET /x?name=a+b%26c", ""),
    ])
  func encoded(words: [String], line: String, body: String) async throws {
    let shell = try Shell()
    let origin = try ChangingOrigin()
    let words = ["--read"] + words + [origin.url]
    let run = try await shell.run(words: ["--background"] + words, input: Array("a b&c".utf8))
    #expect(run.status == 4, "\(run.errorText)")
    await origin.server.waitForRequests(1)
    let sent = try #require(origin.server.requests().first)
    // Of another request nothing would ever be found below.
    try #require("\(sent.method) \(sent.target)" == line && sent.bodyText == body)
    // The same request finds what the other process stores, once that has ended.
    var stored = try await shell.run(words: ["--offline"] + words, input: Array("a b&c".utf8))
    while stored.status == 4 {
      stored = try await shell.run(words: ["--offline"] + words, input: Array("a b&c".utf8))
    }
    #expect(stored.outputText == "one")
    try await shell.backgroundEnd()
  }

  @Test(arguments: [[], ["--background"]])
  func `standard input is read for one option, and the second is refused instead of sent empty`(
    extra: [String]
  ) async throws {
    let shell = try Shell()
    let origin = try ChangingOrigin()
    for words in [
      ["-d", "@-", "--data-urlencode", "x@-"], ["-d", "@-", "-d", "@-"], ["-H", "@-", "--read", "-d", "@-"],
      ["-u", "@-", "-H", "@-"],
    ] {
      let run = try await shell.run(
        words: ["--read"] + extra + words.filter { $0 != "--read" } + [origin.url], input: Array("a:b".utf8))
      #expect(run.status == 64 && run.errorText.contains("names standard input"), "\(words) \(run.errorText)")
    }
    #expect(origin.server.requests().isEmpty)
  }

  @Test func `a body longer than any pipe is handed over whole`() async throws {
    let shell = try Shell()
    let origin = try ChangingOrigin()
    let body = [UInt8](repeating: 0x62, count: 3_000_000)
    let run = try await shell.run("--background", "--read", "-d", "@-", origin.url, input: body)
    #expect(run.status == 4)
    await origin.server.waitForRequests(1)
    #expect(origin.server.requests().first?.body.count == body.count)
    try await shell.backgroundEnd()
  }

  @Test func `an order is read as it was written, and what is none is refused`() {
    let order = BackgroundOrder(
      words: ["get", "", "é\n"], files: ["-": [0, 255], "/dev/fd/63": [], "f": Array("x".utf8)])
    #expect(BackgroundOrder(order.bytes) == order)
    for count in 0..<order.bytes.count {
      let part = BackgroundOrder(Array(order.bytes.prefix(count)))
      #expect(part != order)
    }
    #expect(BackgroundOrder([UInt8](repeating: 0xFF, count: 64)) == nil)
  }
}
