import CacheStore
import DataServiceTesting
import FixtureServer
import PlatformC
import PlatformFoundation
import Synchronization
import TestSupport
import TestTurns
import Testing

@testable import DataService
@testable import RedisTier

/// What a user sees while one server takes over from another at the same address.
@Suite("A tier that fails over", .inTurn) struct FailoverTests {
  /// A server that fails, and one that takes its place. A connection stays with the server that it was made to.
  private final class Pair: Sendable {
    private enum Phase { case first, failing, second }
    private struct State {
      var phase = Phase.first
      var offers = 0
    }

    private let state = Mutex(State())
    private let words: String
    private let failsReads: Bool

    init(failingWith words: String, failsReads: Bool) {
      self.words = words
      self.failsReads = failsReads
    }

    /// How many offers have been taken.
    var offers: Int { state.withLock(\.offers) }
    func fail() { state.withLock { $0.phase = .failing } }
    func takeOver() { state.withLock { $0.phase = .second } }

    func serve(_ connection: ScriptedRedis.Connection) {
      let isSecond = state.withLock { $0.phase == .second }
      while let command = connection.command() { connection.send(reply(to: command, isSecond)) }
    }

    private func reply(to command: [String], _ isSecond: Bool) -> String {
      let isOffer = command.dropFirst().first == String(decoding: Scripts.commit.digest, as: UTF8.self)
      return state.withLock { state in
        if command.first != "HELLO", state.phase != .first, !isSecond, failsReads || isOffer {
          return "-\(words)\r\n"
        }
        guard isOffer else { return ScriptedRedis.plain(command) }
        state.offers += 1
        return "*2\r\n$16\r\n\(ScriptedRedis.seconds)000000\r\n$1\r\n1\r\n"
      }
    }
  }

  /// What servers say, and what a person is told to do about it; nothing where it passes by itself.
  private static let answers = [
    ("READONLY You can't write against a read only replica.", "may be written"),
    ("LOADING Redis is loading the dataset in memory", nil),
    ("MOVED 3999 127.0.0.1:6381", "outside of it"),
    ("CLUSTERDOWN The cluster is down", nil),
    ("MASTERDOWN Link with MASTER is down and replica-serve-stale-data is set to 'no'.", nil),
  ]

  @Test(arguments: answers, [true, false])
  func `a fail-over costs nobody an answer, and whoever takes over is found`(
    answer: (words: String, advice: String?), failsReads: Bool
  ) async throws {
    let pair = Pair(failingWith: answer.words, failsReads: failsReads)
    let server = try ScriptedRedis { pair.serve($0) }
    let fleet = try ScriptedFleet(server)
    let clock = VirtualClock()
    let machine = try TieredService(fleet.url(), clock: clock) { _, number in .answer("\(number)") }
    #expect(await machine.outline() == ["fresh(1, new)"])
    #expect(pair.offers == 1)

    pair.fail()
    let offline = try TieredService.offline(fleet.url(), clock: clock)
    let failure = try #require(await offline.deliveries().last?.error)
    #expect(failure.kind == .offline && !failure.description.contains("tier"))
    for number in 2...4 {
      clock.advance(by: .seconds(60))
      #expect(
        await machine.outline() == ["stored(\(number - 1))", "fresh(\(number), changed)"])
    }
    #expect(pair.offers == 1)

    pair.takeOver()
    clock.advance(by: .seconds(60))
    #expect(await machine.outline() == ["stored(4)", "fresh(5, changed)"])
    #expect(pair.offers == 2, "the connection to the first was left")
    let hints = machine.fixture.warnings.map { $0.hint ?? "" }
    #expect(hints.count == (answer.advice == nil ? 0 : 1), "\(machine.fixture.warnings)")
    #expect(hints.allSatisfy { $0.contains(answer.advice ?? "") }, "\(hints)")
  }

  @Test(arguments: ["OOM command not allowed", "READONLY You can't write against a read only replica."])
  func `that a server is full or read only, one process of all on a store says, once a minute`(text: String)
    async throws
  {
    let server = try ScriptedRedis.answering { command, _ in
      command.first == "EVALSHA" ? "-\(text)\r\n" : ScriptedRedis.plain(command)
    }
    let fleet = try ScriptedFleet(server)
    let (store, clock) = (try TemporaryStore(), VirtualClock())
    func hints(_ store: TemporaryStore) async throws -> [String?] {
      let process = try TieredService(fleet.url(), store: store, clock: clock) { _, number in
        .answer("\(number)")
      }
      _ = await process.outline()
      return process.fixture.warnings.map(\.hint)
    }
    let remedy = try #require(TierServer.remedy(for: text))
    #expect(try await hints(store) == [remedy])
    for _ in 0..<2 { #expect(try await hints(store) == []) }
    #expect(try await hints(TemporaryStore()) == [remedy], "another store has its own minute")
    clock.advance(by: .seconds(59))
    #expect(try await hints(store) == [])
    clock.advance(by: .seconds(1))
    #expect(try await hints(store) == [remedy])
  }

  @Test
  func `a real server that becomes a replica is asked and takes nothing, until it is the primary again`()
    async throws
  {
    let fleet = try await Fleet()
    let machine = try Machine(fleet.url())
    let client = try fleet.client()
    #expect(await machine.share(.page, "one") == .stored)
    // Nobody is at that port to be a replica of, so that it keeps what it has.
    try client.run("REPLICAOF", "127.0.0.1", "1")
    for _ in 0..<2 {
      guard case .refused(let reason) = try #require(await machine.share(.page, "two")) else {
        Issue.record("it was stored")
        return
      }
      #expect(reason.contains("READONLY"))
      #expect(await !machine.invalidate(.page))
      #expect(await machine.answer(.page)?.row?.body == Data("one".utf8))
    }
    let long = String(repeating: "long", count: 20_000)
    guard case .refused = try #require(await machine.share(.page, long)) else {
      Issue.record("it was stored")
      return
    }
    #expect(machine.warnings.withLock { $0.allSatisfy { $0.hint?.contains("may be written") == true } })
    try client.run("REPLICAOF", "NO", "ONE")
    #expect(await machine.share(.page, "three") == .stored)
    #expect(await machine.answer(.page)?.row?.body == Data("three".utf8))
  }

  @Test func `the losing side of a split brain shows nothing older than what a machine has`() async throws {
    let (losing, winning) = (try await Fleet(), try await Fleet())
    // One address, which leads to the one and then to the other.
    let folder = try TemporaryFolder()
    let address = folder.file("redis.socket")
    func lead(to fleet: Fleet) throws {
      try? FileManager.default.removeItem(atPath: address)
      try FileManager.default.createSymbolicLink(
        atPath: address, withDestinationPath: fleet.server.socket)
    }
    let url =
      "redis+unix://\(RedisServer.user)@\(address)?key-file=\(losing.folder.file("fleet.key"))"
      + "&password-file=\(losing.server.folder.file("password"))&patience=60s"
    func answering(_ body: String, _ tag: String, store: TemporaryStore) throws -> TieredService {
      try TieredService(url, store: store) { request, _ in
        request.fields["If-None-Match"] == tag
          ? .answer("", status: 304, ["ETag": tag]) : .answer(body, ["ETag": tag])
      }
    }
    let (mine, taken) = (try TemporaryStore(), try TemporaryStore())

    try lead(to: losing)
    let old = try answering("old", "\"1\"", store: TemporaryStore())
    #expect(await old.outline() == ["fresh(old, new)"])
    try lead(to: winning)
    let new = try answering("new", "\"2\"", store: mine)
    #expect(await new.outline() == ["fresh(new, new)"])
    #expect(
      try await TieredService.offline(url, store: taken).outline() == [
        "tier(new)", "failure(offline, last new)",
      ])

    // The other side is back, with its older ticket.
    try lead(to: losing)
    for store in [mine, taken] {
      let offline = try TieredService.offline(url, store: store)
      #expect(await offline.outline() == ["stored(new)", "failure(offline, last new)"])
      #expect(offline.fixture.hasTraced("the tier's response is of no use here"))
      #expect(await offline.outline(.page, .storedOnly) == ["stored(new)"])
    }
    let empty = try TieredService.offline(url)
    #expect(await empty.outline() == ["tier(old)", "failure(offline, last old)"], "its best knowledge")

    // The origin is asked about the newer one, and what it says replaces the older one.
    let asking = try answering("new", "\"2\"", store: mine)
    #expect(await asking.outline() == ["stored(new)", "fresh(new, unchanged)"])
    #expect(asking.origin.requests.map { $0.fields["If-None-Match"] } == ["\"2\""])
    #expect(
      try await TieredService.offline(url).outline() == ["tier(new)", "failure(offline, last new)"])
    for machine in [old, new, empty, asking] { #expect(machine.fixture.warnings.isEmpty) }
  }

  @Test func `a name that nobody knows is silence, and no warning`() async throws {
    // Too long a label is refused by the resolver of every system, without asking anybody.
    let host = String(repeating: "x", count: 64) + ".test"
    let folder = try TemporaryFolder()
    chmod(try folder.write(FleetKey.generate(), to: "key"), 0o600)
    let url = "redis://\(host):6379/0?key-file=\(folder.file("key"))&patience=30s"
    let clock = VirtualClock()
    let machine = try TieredService(url, clock: clock) { _, number in .answer("\(number)") }
    #expect(await machine.outline() == ["fresh(1, new)"])
    #expect(machine.fixture.hasTraced("the tier is silent: "))
    #expect(!machine.fixture.hasTraced("the tier is silent: it did not answer in time"))
    #expect(await machine.outline() == ["stored(1)", "fresh(2, changed)"])
    #expect(machine.fixture.hasTraced("the tier is silent: it did not answer, and is asked again in"))
    #expect(machine.fixture.warnings.isEmpty)
    let failure = try #require(
      await TieredService.offline(url, clock: clock).deliveries().last?.error)
    #expect(failure.kind == .offline && !failure.description.contains("tier"))
    let findings = try await Machine(url, timekeeper: clock).run { await $0.examine() }
    #expect(findings.filter { $0.severity == .wrong }.map(\.subject) == ["connection"], "\(findings)")
    #expect(findings.contains { $0.message.contains(host) }, "\(findings)")
  }
}
