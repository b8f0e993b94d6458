import DataService
import FixtureServer
import TestSupport
import Testing
import TestTurns

/// No network at all, in a network namespace of its own: not a refused port.
@Suite("Offline, in a network namespace", .inTurn) struct OfflineTests {
  /// The command waits for its store, however busy the machine is.
  private static let environment: [String: String?] = ["CACHEFETCH_TEST_TIMEOUTS": "1"]

  /// Runs the command where `lo` is down, or up but without any route.
  private func run(_ script: String, _ arguments: [String]) async throws -> ChildProcess.Finished {
    let program = try BuiltProduct.cachefetch()
    return try await ChildProcess.run(
      "/usr/bin/unshare", ["-rn", "/bin/sh", "-c", "\(script) exec \"$0\" \"$@\"", program] + arguments,
      environment: Self.environment)
  }

  @Test(
    "The stored answer is printed, the failure is offline",
    arguments: [
      ("", "http://127.0.0.1:PORT/item"), ("ip link set lo up;", "http://203.0.113.9/item"),
      ("ip link set lo up;", "http://origin.test/item"), ("", "http://origin.test/item"),
    ]) func offline(script: String, template: String) async throws
  {
    let origin = try FixtureServer(routes: ["/item": .ok("hello")])
    let store = try TemporaryFolder()
    let url = template.split(separator: "PORT", omittingEmptySubsequences: false).joined(
      separator: "\(origin.port)")
    let base = [
      "--store", store.file("s"), "--retry", "0", "--connect-timeout", "1h", "--key", "item", "--json",
    ]
    let online = try await ChildProcess.run(
      try BuiltProduct.cachefetch(), base + [origin.url + "/item"], environment: Self.environment)
    #expect(online.exit == .status(0))
    let offline = try await run(script, base + [url])
    #expect(offline.exit == .status(3), "\(offline.errorText)")
    let lines = offline.outputText.split(separator: "\n")
    #expect(lines.first?.contains("\"stored\"") == true && lines.first?.contains("hello") == true)
    #expect(lines.last?.contains("\"offline\"") == true, "\(offline.outputText)")
  }

  @Test func `a load that waits to be online completes when the network comes`() async throws {
    let origin = try FixtureServer(routes: ["/item": .ok("hello")])
    let store = try TemporaryFolder()
    origin.stop()
    let child = try ChildProcess(
      try BuiltProduct.cachefetch(),
      ["--store", store.file("s"), "--retry", "0", "--wait-online", "60s", "-v", origin.url + "/item"],
      environment: Self.environment)
    await child.errors.waits(for: "retrying in")
    try origin.start()
    let finished = await child.finished()
    #expect(finished.exit == .status(0))
    #expect(finished.outputText == "hello")
    let pause = try #require(finished.errorText.firstMatch(of: /retrying in (\d+) ms/))
    #expect((125...250).contains(try #require(Int(pause.1))))
  }
}
