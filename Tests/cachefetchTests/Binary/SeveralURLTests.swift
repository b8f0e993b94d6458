import FixtureServer
import PlatformFoundation
import Synchronization
import TestSupport
import Testing
import TestTurns

@Suite("Command: several URLs", .inTurn) struct SeveralURLTests {
  @Test func `several URLs come to the worst of their statuses, stored bodies in the order of the arguments`()
    async throws
  {
    let shell = try Shell()
    let up = try ChangingOrigin(.ok("up\n"))
    let down = try ChangingOrigin(.ok("down\n"))
    _ = try await shell.run(down.url, up.url)
    let gate = up.hold()
    let dead = try ChangingOrigin()
    dead.server.stop()
    down.server.stop()
    let child = try shell.start("--retry", "0", "--connect-timeout", "1h", down.url, up.url, dead.url)
    await child.output.waits(forBytes: 8)
    #expect(child.output.text == "down\nup\n")
    gate.open()
    let finished = await child.finished()
    #expect(finished.outputText == "down\nup\n" && finished.status == 4)
    #expect(try await shell.run("--retry", "0", down.url, up.url).status == 3)
  }

  @Test(arguments: [1, 2, 3])
  func `--parallel limits how many loads are under way`(limit: Int) async throws {
    let shell = try Shell()
    let paths = (0..<5).map { "/\($0)" }
    let gates = Dictionary(uniqueKeysWithValues: paths.map { ($0, Gate()) })
    let origin = try FixtureServer { request, connection in
      gates[request.path]?.wait()
      try connection.send(.ok(request.path + "\n"))
    }
    let child = try ChildProcess(
      BuiltProduct.cachefetch(), ["--parallel", "\(limit)"] + paths.map { origin.url + $0 },
      environment: shell.environment)
    let (witness, other) = (try Shell(), try ChangingOrigin(.ok("witness")))
    for (answered, path) in paths.enumerated() {
      await origin.waitForRequests(min(limit + answered, paths.count))
      // Whatever else is under way has time to be asked for while another command does all it does.
      #expect(
        try await witness.run("--policy", "fresh-only", other.url).outputText == "witness",
        "\(answered), \(path)")
      #expect(
        Set(origin.requests().map(\.path)) == Set(paths.prefix(limit + answered)),
        "\(answered) of them are answered")
      gates[path]?.open()
      await child.output.waits(for: path + "\n")
    }
    let finished = await child.finished()
    #expect(finished.outputText == paths.map { $0 + "\n" }.joined() && finished.status == 0)
  }

  @Test func `without --parallel all are under way at once, as many as one host is asked for`() async throws {
    let shell = try Shell()
    let allAreHere = Gate()
    let asked = Mutex(0)
    let origin = try FixtureServer { request, connection in
      let number = asked.withLock { count in
        count += 1
        return count
      }
      if number == 6 { allAreHere.open() }
      allAreHere.wait()
      try connection.send(.ok(request.path + "\n"))
    }
    let run = try await shell.run((0..<6).map { origin.url + "/\($0)" })
    #expect(Set(run.lines) == Set((0..<6).map { "/\($0)" }) && run.status == 0)
  }
}
