import CacheStore
import PlatformC
import PlatformFoundation
import Synchronization
import TestSupport
import TestTurns
import Testing

@testable import DataService
@testable import RedisTier

/// Accounts that a fleet shares by name: rows under a key that the tier has, until somebody signs the account out.
@Suite("Accounts that a fleet shares", .inTurn) struct SharedAccountTests {
  private let page = TierQuestion(account: "ci", target: "https://origin.test/page")

  @Test func `a row of a shared account reaches the machines, and no other account`() async throws {
    let fleet = try await Fleet()
    let (one, other) = (try Machine(fleet.url("&accounts=ci,cd")), try Machine(fleet.url("&accounts=ci,cd")))
    #expect(await one.share(page, "of ci") == .stored)
    #expect(await other.answer(page)?.row?.body == Data("of ci".utf8))
    for account in ["cd", ""] {
      var question = page
      question.account = account
      let (_, row) = try #require(await other.answer(question), "\(account)")
      #expect(row == nil, "\(account)")
    }
    #expect(one.warnings.withLock { $0 } == [] && other.warnings.withLock { $0 } == [])
  }

  @Test func `a long body of a shared account comes back whole`() async throws {
    let fleet = try await Fleet()
    let (one, other) = (try Machine(fleet.url("&accounts=ci")), try Machine(fleet.url("&accounts=ci")))
    let body = Data(distinctBytes(600_000))
    let ticket = try #require(await one.answer(page)).ticket
    #expect(await one.offer(page, ticket, body: body) == .stored)
    let row = try #require(await other.answer(page)?.row)
    #expect(row.body == nil)
    #expect(await other.body(of: row, for: page) == body)
  }

  @Test func `after a sign-out no machine finds a row of the account, and what comes later is shared again`()
    async throws
  {
    let fleet = try await Fleet()
    let (one, other) = (try Machine(fleet.url("&accounts=ci")), try Machine(fleet.url("&accounts=ci")))
    #expect(await one.share(page, "before") == .stored)
    #expect(await other.answer(page)?.row != nil)
    #expect(await one.run { await $0.signOut("ci") })
    for (name, machine) in [("one", one), ("other", other)] {
      let (_, row) = try #require(await machine.answer(page), "\(name)")
      #expect(row == nil, "\(name)")
    }
    #expect(await other.share(page, "after") == .stored)
    #expect(await one.answer(page)?.row?.body == Data("after".utf8))
  }

  @Test(
    "what was asked for before a sign-out is not found after it", arguments: [true, false], [true, false])
  func late(isSameMachine: Bool, hasAskedAgain: Bool) async throws {
    let fleet = try await Fleet()
    let (one, other) = (try Machine(fleet.url("&accounts=ci")), try Machine(fleet.url("&accounts=ci")))
    let ticket = try #require(await one.answer(page)).ticket
    #expect(await (isSameMachine ? one : other).run { await $0.signOut("ci") })
    // The account goes on on both.
    let between = try #require(await other.answer(page))
    #expect(between.row == nil)
    if hasAskedAgain { #expect(await one.answer(page) != nil) }
    if isSameMachine || hasAskedAgain {
      #expect(
        await one.offer(page, ticket, body: Data("late".utf8))
          == .refused(because: "its account has another key by now, or none"))
    } else {
      // This machine has not heard of it. It writes under the key that is gone.
      #expect(await one.offer(page, ticket, body: Data("late".utf8)) == .stored)
    }
    for machine in [one, other] {
      let (_, row) = try #require(await machine.answer(page))
      #expect(row == nil)
    }
  }

  @Test func `the key of an account is in the tier sealed, and lives as long as its rows`() async throws {
    let fleet = try await Fleet()
    let machine = try Machine(fleet.url("&accounts=ci&keep=1h"))
    #expect(await machine.answer(page) != nil)
    let client = try fleet.client()
    let names = try await machine.names()
    let name = names.key(of: "ci")
    let sealed = try #require(client.run("GET", name).bytes)
    #expect(sealed.count == FleetKey.length + Seal.overhead)
    try client.run("PEXPIRE", name, "60000")
    #expect(await machine.share(page, "body") == .stored)
    let left = try #require(client.run("PTTL", name).number)
    #expect(left > 60_000 && left <= 3_600_000)
    #expect(try client.run("GET", name).bytes == sealed)
  }

  @Test func `a key that was evicted, changed or made by strangers costs misses`() async throws {
    let fleet = try await Fleet()
    let client = try fleet.client()
    let name = try await Machine(fleet.url()).names().key(of: "ci")
    for change in [
      ["UNLINK", name], ["SET", name, "no key"], ["SET", name, String(repeating: "x", count: 72)],
    ] {
      try client.run("UNLINK", name)
      let (one, other) = (try Machine(fleet.url("&accounts=ci")), try Machine(fleet.url("&accounts=ci")))
      #expect(await one.share(page, "row") == .stored, "\(change)")
      try client.run(change.map { Array($0.utf8) })
      let (_, row) = try #require(await other.answer(page), "\(change)")
      #expect(row == nil, "\(change)")
      let isShared = await other.share(page, "again") == .stored
      #expect(isShared == (change[0] == "UNLINK"), "\(change)")
    }
  }

  @Test func `a machine with a new key in its file reads what the others have shared`() async throws {
    let fleet = try await Fleet()
    let old = try Machine(fleet.url("&accounts=ci"))
    #expect(await old.share(page, "old") == .stored)
    let key = try String(contentsOfFile: fleet.folder.file("fleet.key"), encoding: .utf8)
    try fleet.writeKeys([FleetKey.generate(), key], named: "both.key")
    let new = try Machine(fleet.url(key: "both.key", "&accounts=ci"))
    #expect(await new.answer(page)?.row?.body == Data("old".utf8))
    #expect(await new.share(page, "new") == .stored)
    #expect(await new.answer(page)?.row?.body == Data("new".utf8))
    #expect(await old.answer(page)?.row?.body == Data("old".utf8))
    // A removal reaches both.
    #expect(await new.invalidate(page))
    for machine in [old, new] {
      let (_, row) = try #require(await machine.answer(page))
      #expect(row == nil)
    }
  }

  @Test func `a machine that only asks finds rows and makes no key`() async throws {
    let fleet = try await Fleet()
    let reader = try Machine(fleet.url("&accounts=ci&read-only=yes"))
    let (ticket, row) = try #require(await reader.answer(page))
    #expect(row == nil && ticket.accountKeys > 0)
    #expect(try await fleet.client().run("EXISTS", reader.names().key(of: "ci")) == .integer(0))
    let writer = try Machine(fleet.url("&accounts=ci"))
    #expect(await writer.share(page, "row") == .stored)
    #expect(await reader.answer(page)?.row?.body == Data("row".utf8))
    #expect(await reader.run { await $0.signOut("ci") } == false)
    #expect(await writer.answer(page)?.row?.body == Data("row".utf8))
  }

  @Test func `a sign-out that the server does not confirm says so`() async throws {
    let fleet = try await Fleet()
    let machine = try Machine(fleet.url("&accounts=ci"))
    #expect(await machine.share(page, "row") == .stored)
    try fleet.client().run("ACL", "SETUSER", RedisServer.user, "-unlink")
    #expect(await machine.run { await $0.signOut("ci") } == false)
    #expect(machine.warnings.withLock { $0.count } == 1)
    await fleet.server.stop()
    #expect(await machine.run { await $0.signOut("ci") } == false)
  }

  @Test func `doctor says of each shared account whether its key opens`() async throws {
    let fleet = try await Fleet()
    let machine = try Machine(fleet.url("&accounts=ci,cd"))
    func findings() async -> [StoreFinding] {
      await machine.run { await $0.examine() }.filter { $0.subject == "account" }
    }
    #expect(
      await findings() == [
        StoreFinding("account", .fine, "cd is shared, and nothing of it is in the tier"),
        StoreFinding("account", .fine, "ci is shared, and nothing of it is in the tier"),
      ])
    #expect(await machine.share(page, "row") == .stored)
    #expect(await findings().last?.message == "ci is shared, and its key opens")
    try await fleet.client().run("SET", machine.names().key(of: "cd"), "no key")
    let found = try #require(await findings().first)
    #expect(found.severity == .wrong && found.message == "the key of cd does not open")
  }
}

extension Machine {
  /// The names that the first of the fleet's keys gives.
  fileprivate func names() async throws -> TierNames {
    try #require(await run { try? $0.server.prepare().0.keys.first.names })
  }
}
