import FixtureServer
import PlatformC
import TestSupport
import Testing
import TestTurns

/// What goes on after a command has printed: a refresh in the background, and a watch. Each shell is a machine with a store of
/// its own.
@Suite("Command: a second tier, in the background and under watch", .inTurn) struct TierLongRunTests {
  /// What a machine that has nothing is told, in the one line that it prints where it need not ask the origin.
  private func taken(by machine: Shell, _ origin: ChangingOrigin) async throws -> String {
    let run = try await machine.run("--json", "--max-age", "1h", origin.url)
    #expect(run.lines.count == 1 && run.status == 0, "\(run.outputText) \(run.errorText)")
    #expect(
      run.outputText.contains("\"delivery\":\"stored\"") && run.outputText.contains("\"source\":\"tier\""))
    return run.outputText
  }

  @Test
  func `what a refresh in the background brings is offered, and stored is what another machine says of it`()
    async throws
  {
    let fleet = try await TierFleet()
    let origin = try ChangingOrigin()
    let (first, second) = (try fleet.machine(), try fleet.machine())
    #expect(try await first.run("--background", origin.url).status == 4)
    #expect(try await hasOffered(1, first))
    #expect(try await taken(by: second, origin).contains("\"body\":\"one\""))
    #expect(origin.server.requests().count == 1)

    // Once something is stored, it is printed at once, and what the refresh finds reaches the fleet all the same.
    origin.answer(.ok("two", ["ETag": "\"2\""]))
    let printed = try await first.run("--background", origin.url)
    #expect(printed.outputText == "one" && printed.status == 0, "\(printed.errorText)")
    #expect(try await hasOffered(2, first))
    #expect(try await taken(by: fleet.machine(), origin).contains("\"body\":\"two\""))
  }

  @Test func `every change that a watch prints is offered, and another machine has it without the origin`()
    async throws
  {
    let fleet = try await TierFleet()
    let origin = try ChangingOrigin(.ok("one\n", ["ETag": "\"1\""]))
    let watching = try fleet.machine()
    let child = try watching.start("watch", "-v", "--every", "20ms", origin.url)
    #expect(await child.errors.waits(for: "offered to the tier"))
    #expect(try await taken(by: fleet.machine(), origin).contains("\"body\":\"one\\n\""))
    origin.answer(.ok("two\n", ["ETag": "\"2\""]))
    #expect(await child.output.lines(1) == ["two"])
    // The one under way at the change may still have been of the old answer; of two more, one is not.
    let before = offers(of: child)
    #expect(await eventually { offers(of: child) >= before + 2 })
    #expect(try await taken(by: fleet.machine(), origin).contains("\"body\":\"two\\n\""))
    child.send(SIGINT)
    let finished = await child.finished()
    #expect(finished.status == 130 && finished.outputText == "two\n")
  }

  /// Whether the processes that refresh in the background have offered that much, once they have ended: they
  /// count then.
  private func hasOffered(_ count: Int, _ machine: Shell) async throws -> Bool {
    try await machine.backgroundEnd()
    return try await machine.run("stats", "--json").outputText.contains("\"tier_offered\":\(count),")
  }

  private func offers(of child: ChildProcess) -> Int {
    child.errors.text.ranges(of: "offered to the tier").count
  }
}
