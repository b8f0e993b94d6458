import FixtureServer
import PlatformFoundation
import TestSupport
import Testing
import TestTurns

/// The command with a second tier on a real server; each shell is a machine with a store of its own.
@Suite("Command: a second tier", .inTurn) struct TierCommandTests {
  @Test func `what one machine has fetched another one prints without the origin, and stats count it`()
    async throws
  {
    let fleet = try await TierFleet()
    let origin = try ChangingOrigin()
    let (first, second) = (try fleet.machine(), try fleet.machine())
    let fetched = try await first.run("--json", origin.url)
    #expect(fetched.status == 0 && fetched.outputText.contains("\"shared\":true"), "\(fetched.outputText)")
    let taken = try await second.run("--json", "--max-age", "1h", origin.url)
    #expect(taken.lines.count == 1 && taken.status == 0, "\(taken.outputText) \(taken.errorText)")
    #expect(taken.outputText.contains("\"source\":\"tier\"") && taken.outputText.contains("\"body\":\"one\""))
    #expect(origin.server.requests().count == 1)
    #expect(try await second.run("--offline", origin.url).outputText == "one")
    #expect(
      try await first.run("stats").outputText.contains(
        "tier     asked for 1 exchange, 0 stored, 1 offered, silent for 0\n"))
    let last = try #require(try await second.run("stats", "--json").lines.last)
    #expect(last == #"{"tier_asked":1,"tier_stored":1,"tier_offered":0,"tier_silent":0}"#)
  }

  @Test func `a proxy of the environment is not asked for the tier`() async throws {
    let certificates = try TestCertificates()
    try await certificates.makeAuthority()
    try await certificates.make("server", host: "localhost")
    let fleet = try await TierFleet(certificates: certificates)
    let origin = try ChangingOrigin()
    _ = try await fleet.machine().run(origin.url)
    var second = try fleet.machine()
    second.environment["https_proxy"] = "http://127.0.0.1:1"
    let taken = try await second.run("--json", "--max-age", "1h", origin.url)
    #expect(taken.outputText.contains("\"source\":\"tier\""), "\(taken.outputText) \(taken.errorText)")
  }

  @Test func `preload and diff use it too, and --no-tier does not`() async throws {
    let fleet = try await TierFleet()
    let origin = try ChangingOrigin()
    _ = try await fleet.machine().run("preload", origin.url)
    let second = try fleet.machine()
    #expect(
      try await second.run("--no-tier", "--json", origin.url).outputText.contains("\"shared\"") == false)
    let third = try fleet.machine()
    let verbose = try await third.run("diff", "-v", origin.url)
    #expect(verbose.errorText.contains("the tier has a response"), "\(verbose.errorText)")
  }

  @Test func `an account that is shared by name is signed out for the fleet, which says where it was not`()
    async throws
  {
    let fleet = try await TierFleet("&accounts=ci")
    let origin = try ChangingOrigin(.ok("one", ["Cache-Control": "public"]))
    let machines = try (0..<4).map { _ in try fleet.machine() }
    for account in ["ci", "alice"] {
      _ = try await machines[0].run("--account", account, "-H", "Authorization: Bearer secret", origin.url)
    }
    func source(_ machine: Shell, _ account: String) async throws -> Bool {
      try await machine.run("--json", "--max-age", "1h", "--account", account, origin.url)
        .outputText.contains("\"source\":\"tier\"")
    }
    #expect(try await source(machines[1], "ci"))
    #expect(try await !source(machines[1], "alice"))
    let done = try await machines[0].run("sign-out", "--account", "ci")
    #expect(done.status == 0 && done.outputText == "", "\(done.errorText)")
    #expect(try await !source(machines[2], "ci"))
    await fleet.server.stop()
    let alone = try await machines[1].run("sign-out", "--no-tier", "--json", "--account", "ci")
    #expect(alone.status == 0 && alone.outputText == "{\"account\":\"ci\",\"removed\":1}\n")
    let unsure = try await machines[2].run("sign-out", "--json", "--account", "ci")
    #expect(unsure.outputText == "{\"account\":\"ci\",\"removed\":1,\"unconfirmed\":1}\n")
    #expect(
      unsure.status == 74 && unsure.errorText.contains("has not confirmed that it has nothing of ci"),
      "\(unsure.errorText)")
    #expect(try await machines[2].run("list").outputText == "")
  }

  @Test func `where the variable is no URL of a tier, no removal from the fleet counts as confirmed`()
    async throws
  {
    var machine = try Shell()
    machine.environment["CACHEFETCH_TIER"] = "http://nobody.example/"
    let origin = try ChangingOrigin()
    #expect(try await machine.run("--account", "ci", origin.url).status == 0)
    let signedOut = try await machine.run("sign-out", "--json", "--account", "ci")
    #expect(signedOut.outputText == "{\"account\":\"ci\",\"removed\":1,\"unconfirmed\":1}\n")
    #expect(
      signedOut.status == 74 && signedOut.errorText.contains("$CACHEFETCH_TIER"), "\(signedOut.errorText)")
    let removed = try await machine.run("rm", "--fleet", "--account", "ci", origin.url)
    #expect(removed.status == 74, "\(removed.errorText)")
    #expect(try await machine.run("sign-out", "--no-tier", "--account", "ci").status == 0)
  }

  @Test func `an origin that asks one machine to wait is left alone by the others`() async throws {
    let fleet = try await TierFleet()
    let origin = try FixtureServer { request, connection in
      let isBusy = request.path == "/busy"
      try connection.send(isBusy ? .status(429, "no", ["Retry-After": "600"]) : .ok("yes"))
    }
    let (first, second) = (try fleet.machine(), try fleet.machine())
    _ = try await first.run(origin.url + "/busy")
    let told = try await second.run(origin.url + "/other")
    #expect(told.status != 0 && told.errorText.contains("paused until"), "\(told.errorText)")
    #expect(origin.requests().count == 1)
    #expect(try await second.run("explain", origin.url + "/other").outputText.contains("paused until"))
    let here = try await second.run("rm", origin.url + "/other")
    #expect(here.errorText.contains("a pause is over here; one that the fleet knows of ends with --fleet"))
    #expect(try await second.run(origin.url + "/other").status == 4)
    _ = try await second.run("rm", "--fleet", origin.url + "/other")
    #expect(try await second.run(origin.url + "/other").outputText == "yes")
  }

  @Test func `rm --fleet removes it from the server, and says where that was not confirmed`() async throws {
    let fleet = try await TierFleet()
    let origin = try ChangingOrigin()
    let (first, second) = (try fleet.machine(), try fleet.machine())
    _ = try await first.run(origin.url)
    let removed = try await first.run("rm", "--fleet", "--json", origin.url)
    #expect(
      removed.outputText == "{\"removed\":1,\"unconfirmed\":0}\n" && removed.status == 0,
      "\(removed.errorText)")
    let missed = try await second.run("--json", "--max-age", "1h", origin.url)
    #expect(!missed.outputText.contains("\"source\""))
    await fleet.server.stop()
    let unsure = try await second.run("rm", "--fleet", origin.url)
    #expect(
      unsure.status == 74 && unsure.errorText.contains("has not confirmed 1 removal"), "\(unsure.errorText)")
    var alone = try Shell()
    alone.environment["CACHEFETCH_TIER"] = String?.none
    #expect(try await alone.run("rm", "--fleet", origin.url).status == 64)
  }

  @Test func `doctor looks at it, and explain says what is shared`() async throws {
    let fleet = try await TierFleet()
    let origin = try ChangingOrigin()
    let machine = try fleet.machine()
    let fine = try await machine.run("doctor")
    #expect(fine.outputText.contains("fine   tier: keys: 1 in "), "\(fine.outputText)")
    _ = try await machine.run(origin.url)
    #expect(try await machine.run("explain", origin.url).outputText.contains("the fleet\n  shared: "))
    let secret = try await machine.run("explain", "-u", "a:b", origin.url)
    #expect(secret.outputText.contains("not shared: its account is not shared"), "\(secret.outputText)")
    #expect(
      try await machine.run("explain", "--no-tier", origin.url).outputText.contains("the fleet") == false)
    await fleet.server.stop()
    let wrong = try await machine.run("doctor", "--json")
    #expect(
      wrong.status == 1 && wrong.outputText.contains("\"subject\":\"tier\",\"severity\":\"wrong\""),
      "\(wrong.outputText)")
  }

  @Test func `a server that is away costs nobody an answer, and no failure names it`() async throws {
    let fleet = try await TierFleet()
    let origin = try ChangingOrigin()
    await fleet.server.stop()
    let machine = try fleet.machine()
    let run = try await machine.run(origin.url)
    #expect(run.outputText == "one" && run.status == 0 && !run.errorText.contains("tier"), "\(run.errorText)")
  }

  @Test func `a server whose name nobody knows costs nobody an answer, and doctor says so`() async throws {
    let origin = try ChangingOrigin()
    var shell = try Shell()
    // Too long a label is refused by the resolver of every system, without asking anybody.
    let host = String(repeating: "x", count: 64) + ".test"
    shell.environment["CACHEFETCH_TIER"] =
      "redis://\(host)/?key-file=\(try await TierFleet.key(for: shell))"
      + "&plain-http=yes&patience=60s"
    for _ in 0..<2 {
      let run = try await shell.run(origin.url)
      #expect(run.outputText.hasSuffix("one") && run.status == 0 && run.errorText.isEmpty, "\(run.errorText)")
    }
    origin.answer(.ok("two"))
    let verbose = try await shell.run("-v", origin.url)
    #expect(verbose.status == 0 && verbose.errorText.contains("the tier is silent: "), "\(verbose.errorText)")
    let doctor = try await shell.run("doctor")
    #expect(doctor.status == 1 && doctor.outputText.contains(host), "\(doctor.outputText)")
    origin.server.stop()
    let failed = try await shell.run("--policy", "fresh-else-stored", origin.url)
    #expect(!failed.errorText.contains("tier"), "\(failed.errorText)")
  }

  @Test func `a bad option is a usage error that names the part, a bad variable a warning`() async throws {
    let origin = try ChangingOrigin()
    var shell = try Shell()
    let bad = try await shell.run("--tier", "redis://host/0", origin.url)
    #expect(bad.status == 64 && bad.errorText.contains("key-file"), "\(bad.errorText)")
    #expect(try await shell.run("--tier", "http://host/", origin.url).status == 64)
    shell.environment["CACHEFETCH_TIER"] = "redis://host/0"
    let warned = try await shell.run(origin.url)
    #expect(warned.outputText == "one" && warned.status == 0)
    #expect(warned.errorText.contains("$CACHEFETCH_TIER"), "\(warned.errorText)")
    // What the store answers does not look at it.
    let stored = try await shell.run("--offline", origin.url)
    #expect(stored.outputText == "one" && stored.errorText.isEmpty, "\(stored.errorText)")
    #expect(try await shell.run("doctor").status == 1)
  }

  @Test func `a key for a fleet is 32 bytes in base64, and another each time`() async throws {
    let shell = try Shell()
    let (first, second) = (
      try await shell.run("doctor", "--new-fleet-key"), try await shell.run("doctor", "--new-fleet-key")
    )
    #expect(Data(base64Encoded: first.lines.first ?? "")?.count == 32 && first.lines != second.lines)
  }
}
