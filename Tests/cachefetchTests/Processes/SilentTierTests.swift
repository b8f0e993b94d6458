import FixtureServer
import TestSupport
import Testing
import TestTurns

/// What a second tier that never answers costs a machine with many processes.
@Suite("A hundred processes, and a tier that never answers", .inTurn.serially, .serialized)
struct SilentTierTests {
  private static let count = 100

  @Test func `one waits for it, and the others do without it meanwhile`() async throws {
    // There is no longer patience than a minute. Where the machine is too busy for all of them to end in it,
    // the one that asks has given up before the test releases it, and there are fewer.
    for count in [Self.count, Self.count / 2, Self.count / 5] {
      if try await othersDoWithout(count, isLast: count == Self.count / 5) { return }
    }
  }

  /// - Returns: `false` where the one that asks did not wait for so many, and there is another attempt.
  private func othersDoWithout(_ count: Int, isLast: Bool) async throws -> Bool {
    let tier = try SilentTier()
    let origin = try FixtureServer { _, connection in try connection.send(.ok("the answer")) }
    var shell = try Shell()
    shell.environment["CACHEFETCH_TIER"] =
      "redis://127.0.0.1:\(tier.port)/?key-file=\(try await TierFleet.key(for: shell))&plain-http=yes&patience=60s"
    // Each has a key of its own: for the same one, they would wait for one of them and not for the tier.
    let first = try shell.start("-v", "--timeout", "1h", "--connect-timeout", "1h", origin.url + "/0")
    await tier.hasConnection.wait()
    let others = try (1..<count).map { number in
      try shell.start("-v", "--timeout", "1h", "--connect-timeout", "1h", origin.url + "/\(number)")
    }
    var ends: [ChildProcess.Finished] = []
    for child in others { ends.append(await child.finished()) }
    if !first.output.bytes.isEmpty, !isLast {
      _ = await first.finished()
      return false
    }
    for finished in ends {
      #expect(finished.status == 0 && finished.outputText == "the answer", "\(finished.errorText)")
      #expect(
        finished.errorText.contains("the tier is silent: it did not answer, and is asked again in"),
        "\(finished.errorText)")
    }
    #expect(tier.count == 1, "nobody else has tried")
    #expect(first.output.bytes.isEmpty, "it still waits")
    tier.hangUp()
    let finished = await first.finished()
    #expect(finished.status == 0 && finished.outputText == "the answer", "\(finished.errorText)")
    #expect(finished.errorText.contains("the tier is silent: "), "\(finished.errorText)")
    #expect(!finished.errorText.contains("is asked again in"), "\(finished.errorText)")
    #expect(tier.count == 1, "it does not try again")
    #expect(origin.requests().count == count)
    let stats = try await shell.run("stats", "--json").lines.last
    #expect(
      stats
        == "{\"tier_asked\":\(count),\"tier_stored\":0,\"tier_offered\":0,\"tier_silent\":\(count)}"
    )
    return true
  }

  @Test func `where no connection is ever made, the answer comes without the tier`() async throws {
    let tier = try FullListener()
    let origin = try FixtureServer { _, connection in try connection.send(.ok("the answer")) }
    var shell = try Shell()
    shell.environment["CACHEFETCH_TIER"] =
      "redis://127.0.0.1:\(tier.port)/?key-file=\(try await TierFleet.key(for: shell))&plain-http=yes&patience=50ms"
    for number in 0..<3 {
      let words = ["-v", "--timeout", "1h", "--connect-timeout", "1h"]
      let finished = try await shell.run(words + [origin.url + "/\(number)"])
      #expect(finished.status == 0 && finished.outputText == "the answer", "\(finished.errorText)")
      #expect(finished.errorText.contains("the tier is silent: "), "\(finished.errorText)")
    }
    withExtendedLifetime(tier) {}
  }
}
