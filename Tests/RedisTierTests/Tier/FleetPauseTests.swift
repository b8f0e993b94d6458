import CacheStore
import PlatformC
import PlatformFoundation
import TestSupport
import TestTurns
import Synchronization
import Testing

@testable import DataService
@testable import RedisTier

/// `Retry-After` of one machine, on the server for all.
@Suite("Pauses of a fleet", .inTurn) struct FleetPauseTests {
  private let page = TierQuestion(target: "https://origin.test/page", responder: "https://origin.test")

  private func left(_ machine: Machine, _ question: TierQuestion) async -> Int64? {
    guard case .answered(_, _, let pause) = await machine.ask(question) else { return nil }
    return pause
  }

  @Test func `a pause reaches the others, for every target of the responder, and ends`() async throws {
    let fleet = try await Fleet()
    let (one, other) = (try Machine(fleet.url()), try Machine(fleet.url()))
    #expect(await left(one, page) == nil)
    // By the server's own clock: long enough that neither is over before it is looked at.
    await one.run { [page] in await $0.pause(3_000_000, page) }
    let pause = try #require(await left(other, page))
    #expect(pause > 0 && pause <= 3_000_000)
    var target = page
    target.target = "https://origin.test/other"
    #expect(await left(other, target) != nil)
    for change in [\TierQuestion.responder, \TierQuestion.account] {
      var question = page
      question[keyPath: change] = "another"
      #expect(await left(other, question) == nil)
    }
    let (_, row) = try #require(await other.answer(page))
    #expect(row == nil)
    // Another one takes the place of the first.
    await other.run { [page] in await $0.pause(300_000, page) }
    let second = try #require(await left(one, page))
    #expect(second <= 300_000)
    let life = try await fleet.client().run("PTTL", one.name(of: page)).number
    #expect(try #require(life) <= 300_000)
    #expect(await one.invalidate(page))
    #expect(await left(other, page) == nil)
  }

  @Test func `nobody is silenced for more than an hour, and nothing is said of no pause`() async throws {
    let fleet = try await Fleet()
    let machine = try Machine(fleet.url())
    #expect(await machine.answer(page) != nil)
    await machine.run { [page] in await $0.pause(1 << 60, page) }
    let pause = try #require(await left(machine, page))
    #expect(pause > 3_000_000 && pause <= Pause.longestMilliseconds)
    let client = try fleet.client()
    try await client.run("UNLINK", machine.name(of: page))
    for length in [0, -1] as [Int64] { await machine.run { [page] in await $0.pause(length, page) } }
    #expect(await left(machine, page) == nil)
    #expect(machine.warnings.withLock { $0 } == [])
    let reader = try Machine(fleet.url("&read-only=yes"))
    #expect(await reader.answer(page) != nil)
    await reader.run { [page] in await $0.pause(60_000, page) }
    #expect(await left(machine, page) == nil)
  }

  @Test(
    "A server whose time is far from the machine's makes no pause longer: it is not believed",
    arguments: [(-200_000, true), (-400_000, false), (200_000, true), (400_000, false), (-86_400_000, false)]
      as [(Int64, Bool)])
  func far(milliseconds: Int64, isBelieved: Bool) async throws {
    let fleet = try await Fleet()
    let now = Int64(time(nil)) * 1_000
    let one = try Machine(fleet.url(), wall: now)
    #expect(await one.answer(page) != nil)
    await one.run { [page] in await $0.pause(120_000, page) }
    // Its own clock is right, and the server's says another time.
    let other = try Machine(fleet.url(), wall: now - milliseconds)
    #expect(await (left(other, page) != nil) == isBelieved)
    let findings = await other.run { await $0.examine() }
    #expect(findings.contains { $0.subject == "time" && $0.severity == .wrong } == !isBelieved, "\(findings)")
    guard !isBelieved else { return }
    #expect(await other.silence(page)?.contains("asked again in") == true)
    let warnings = other.warnings.withLock { $0 }
    #expect(
      warnings.count == 1 && warnings[0].message.hasSuffix("is more than five minutes from this machine's"))
  }

  @Test func `a pause that was changed, or stands in another's place, is none`() async throws {
    let fleet = try await Fleet()
    let machine = try Machine(fleet.url())
    #expect(await machine.answer(page) != nil)
    await machine.run { [page] in await $0.pause(60_000, page) }
    var other = page
    other.responder = "https://victim.test"
    let client = try fleet.client()
    let value = try #require(try await client.run("GET", machine.name(of: page)).bytes)
    try await client.run([Array("SET".utf8), Array(machine.name(of: other).utf8), value])
    #expect(await left(machine, other) == nil)
    try await client.run("SET", machine.name(of: page), "99999999999999999")
    #expect(await left(machine, page) == nil)
    #expect(machine.tier.server.seen == machine.tier.server.opened + 2)
  }
}

extension Machine {
  /// The name of a pause under the first of the fleet's keys.
  fileprivate func name(of question: TierQuestion) async throws -> String {
    try #require(await run { try? $0.server.prepare().0.keys.first.names.pause(of: question) })
  }
}
