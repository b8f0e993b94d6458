import CacheStore
import DataServiceTesting
import FixtureServer
import PlatformFoundation
import Synchronization
import TestSupport
import TestTurns
import Testing

@testable import DataService
@testable import RedisTier

/// What goes between a machine and a server, command by command, and what becomes of their connection.
@Suite("What is said between a machine and the tier", .inTurn) struct TierExchangeTests {
  private static let account = TierQuestion(account: "ci", target: "https://origin.test/page")
  private static let paused = TierQuestion(
    target: "https://origin.test/page", responder: "https://origin.test")

  /// Counts, on whatever threads handlers have.
  private final class Count: Sendable {
    private let state = Mutex(0)
    /// One more than the last time; 1 at first.
    func next() -> Int {
      state.withLock { count in
        count += 1
        return count
      }
    }
  }

  // MARK: Questions

  @Test(arguments: [
    ("TIME", "-WRONG no\r\n", "it says: WRONG no"), ("TIME", "*1\r\n:1\r\n", "it gives no ticket"),
    ("HMGET", "*1\r\n_\r\n", "it gives no ticket"),
  ])
  func `a server that gives no ticket is silent, in its own words where it has any, with one warning`(
    name: String, reply: String, words: String
  ) async throws {
    let fleet = try ScriptedFleet(
      ScriptedRedis.answering { command, _ in
        command.first == name ? reply : ScriptedRedis.plain(command)
      })
    let machine = try Machine(fleet.url())
    #expect(await machine.silence(.page) == words)
    #expect(
      machine.warnings.withLock { $0.map(\.hint) } == [
        "check the tier's user, its password and its rights"
      ])
  }

  @Test func `names in Vary that do not open are counted`() async throws {
    let fleet = try ScriptedFleet(
      ScriptedRedis.answering { command, _ in
        command.first == "HMGET" ? "*4\r\n$1\r\nx\r\n_\r\n_\r\n_\r\n" : ScriptedRedis.plain(command)
      })
    let machine = try Machine(fleet.url())
    #expect(await machine.answer(.page).map { $0.row == nil } == true)
    #expect(machine.tier.server.seen == 1)
    #expect(machine.tier.server.opened == 0)
  }

  @Test func `a key of an account that cannot be written, or does not open, is warned of and counted`()
    async throws
  {
    let fleet = try ScriptedFleet(
      ScriptedRedis.answering { command, _ in
        switch command.first {
        case "SET": "-NOPERM no SET\r\n"
        case "GET": "$6\r\nno key\r\n"
        default: ScriptedRedis.plain(command)
        }
      })
    let machine = try Machine(fleet.url("&accounts=ci"))
    #expect(await machine.answer(Self.account).map { $0.row == nil } == true)
    #expect(
      machine.warnings.withLock { $0.map(\.hint) } == [
        "allow the user to write, or say that the tier is read only"
      ])
    #expect(machine.tier.server.seen == 1)
    #expect(machine.tier.server.opened == 0)
  }

  @Test func `a question whose account has another key each time is put three times`() async throws {
    let times = Mutex(0)
    let server = try ScriptedRedis.answering { command, number in
      switch command.first {
      case "TIME": times.withLock { $0 += 1 }
      case "GET": return "+\(number)\r\n"
      default: break
      }
      return ScriptedRedis.plain(command)
    }
    let fleet = try ScriptedFleet(server)
    let machine = try Machine(fleet.url("&accounts=ci"))
    #expect(await machine.silence(Self.account) == "the account's key changes again and again")
    #expect(times.withLock { $0 } == 3)
  }

  @Test func `a look says how long a server takes to answer, and how long at first`() async throws {
    let (clock, pings) = (VirtualClock(), Count())
    let server = try ScriptedRedis.answering { command, _ in
      guard command.first == "PING" else { return ScriptedRedis.plain(command) }
      clock.advance(by: pings.next() == 1 ? .microseconds(12_050) : .microseconds(500))
      return "+PONG\r\n"
    }
    let fleet = try ScriptedFleet(server)
    let machine = try Machine(fleet.url(), timekeeper: clock)
    let findings = await machine.run { await $0.examine() }
    let found = try #require(findings.first { $0.subject == "connection" }, "\(findings)")
    #expect(found.message.hasSuffix(" answers in 0.50 ms, the first time in 12.05 ms"), "\(found.message)")
  }

  // MARK: Offers

  @Test func `a response without an age is offered with none, and the time of the reply is learned`()
    async throws
  {
    let offered = Mutex<[[UInt8]]>([])
    let seconds = ScriptedRedis.seconds
    let server = try ScriptedRedis { connection in
      while let words = connection.words() {
        guard words.first == Array("EVALSHA".utf8) else {
          connection.send(ScriptedRedis.plain(words.map { String(decoding: $0, as: UTF8.self) }))
          continue
        }
        offered.withLock { $0 = words }
        // Three minutes later than before: the server's clock was set.
        connection.send("*2\r\n$16\r\n\(seconds + 180)000000\r\n$1\r\n1\r\n")
      }
    }
    let fleet = try ScriptedFleet(server)
    let clock = VirtualClock()
    let machine = try Machine(fleet.url(), timekeeper: clock)
    let ticket = try #require(await machine.answer(.page)).ticket
    #expect(ticket.accountKeys == 0, "it is of no account")
    let head = ReceivedHead(
      status: 200, fields: ["Content-Type": "text/plain"],
      started: StartMark(boot: clock.bootID, nanoseconds: ticket.bootNanoseconds),
      receivedAt: clock.wallMilliseconds)
    let offer = TierOffer(
      question: .page, ticket: ticket, head: head, vary: "", age: 0, body: Data("x".utf8))
    #expect(await machine.run { await $0.offer(offer) } == .stored)

    let words = offered.withLock { $0 }
    try #require(words.count == 13)
    let keys = try TierKeys(FleetKey.keys(in: fleet.folder.text(of: "fleet.key")))
    let seal = try #require(keys).first.seal
    let place = Seal.Place(
      key: String(decoding: words[3], as: UTF8.self), field: String(decoding: words[5], as: UTF8.self),
      ticket: ticket.number)
    let sealed = try #require(seal.opened(words[8], at: place).flatMap { SealedHead($0) })
    #expect(sealed.age == 0 && sealed.delay == 0 && sealed.exchange == 0)
    #expect(words[7] == Array("86400000".utf8), "a day")
    #expect(words[11] == Array("16".utf8) && words[12] == Array("600000".utf8))
    let time = await machine.run { tier in tier.server.host.flatMap { tier.server.tierTime($0) } }
    #expect(time == Int64(seconds + 180) * 1_000_000)
  }

  @Test func `an offer without pieces that comes too late leaves nothing to be removed`() async throws {
    let names = Mutex<[String]>([])
    let server = try ScriptedRedis.answering { command, _ in
      names.withLock { $0.append(command.first ?? "") }
      return command.first == "EVALSHA"
        ? "*2\r\n$16\r\n\(ScriptedRedis.seconds)000000\r\n$1\r\n0\r\n" : ScriptedRedis.plain(command)
    }
    let fleet = try ScriptedFleet(server)
    let machine = try Machine(fleet.url())
    #expect(await machine.share(.page, "short") == .superseded)
    #expect(names.withLock { $0.last } == "EVALSHA")
  }

  @Test func `what a full server has taken of a body already is removed again`() async throws {
    let commands = Mutex<[[String]]>([])
    let server = try ScriptedRedis.answering { command, _ in
      let earlier = commands.withLock { all in
        defer { all.append(command) }
        return all.filter { $0.first == "SET" }
      }
      guard command.first == "SET" else { return ScriptedRedis.plain(command) }
      return earlier.isEmpty ? "+OK\r\n" : "-OOM command not allowed\r\n"
    }
    let fleet = try ScriptedFleet(server)
    let machine = try Machine(fleet.url())
    let long = String(repeating: "long", count: 100_000)
    #expect(await machine.share(.page, long) == .refused(because: "it says: OOM command not allowed"))
    let all = commands.withLock { $0 }
    let names = all.filter { $0.first == "SET" }.map { $0[1] }
    #expect(names.count == 2 && all.last == ["UNLINK"] + names)
  }

  // MARK: Pauses

  @Test func `what is left of a pause is rounded up, and at its end there is none`() async throws {
    let fleet = try ScriptedFleet(ScriptedRedis { $0.waitForEnd() })
    let machine = try Machine(fleet.url())
    let question = Self.paused
    let left = await machine.run { tier -> [Int64?] in
      guard let (link, host) = try? tier.server.prepare() else { return [] }
      let key = link.keys.first
      let name = key.names.pause(of: question)
      let now: Int64 = 1_700_000_000_000_000
      return [0, 1, 1_000, 1_001].map { (more: Int64) -> Int64? in
        let until = key.seal.sealed(
          Array("\(now + more)".utf8), at: Seal.Place(key: name, field: "until"))
        return tier.remaining(.string(until), named: name, key, at: now, host)
      }
    }
    #expect(left == [nil, 1, 1, 2])
  }

  @Test func `a pause that the server does not take, or is not told of, is said`() async throws {
    let fleet = try ScriptedFleet(
      ScriptedRedis.answering { command, _ in ScriptedRedis.plain(command) })
    let machine = try Machine(fleet.url())
    let question = Self.paused
    #expect(await machine.answer(question) != nil)
    await machine.run { await $0.pause(1_000, question) }
    let messages = machine.warnings.withLock { $0.map(\.message) }
    #expect(messages.count == 1 && messages.allSatisfy { $0.hasSuffix("ERR unknown command") }, "\(messages)")
    machine.tier.close()
    await machine.run { await $0.pause(1_000, question) }
    let traces = machine.traces.withLock { $0 }
    #expect(traces.contains("the fleet was not told of the pause: it was closed"), "\(traces)")
  }

  // MARK: Connections

  @Test func `a server that wants a password after all is left, and asked again on another connection`()
    async throws
  {
    let ended = Gate()
    let server = try ScriptedRedis { connection in
      while let command = connection.command() {
        connection.send(command.first == "HELLO" ? "+OK\r\n" : "-NOAUTH Authentication required.\r\n")
      }
      ended.open()
    }
    let fleet = try ScriptedFleet(server)
    let clock = VirtualClock()
    let machine = try Machine(fleet.url(), timekeeper: clock)
    let words = "it says: NOAUTH Authentication required."
    #expect(await machine.silence(.page) == words)
    let traces = machine.traces.withLock { $0 }
    #expect(traces.contains { $0.hasSuffix(": silent, \(words)") }, "\(traces)")
    clock.advance(by: .seconds(5))
    #expect(await machine.silence(.page) == words)
    #expect(server.count == 2)
    // The first is closed, not only forgotten.
    await ended.wait()
  }

  @Test func `a connection with a late answer is closed, and the next question has the whole patience`()
    async throws
  {
    let (ended, questions) = (Gate(), Count())
    let server = try ScriptedRedis { connection in
      while let command = connection.command() {
        if command.first == "TIME", questions.next() > 1 { break }
        connection.send(ScriptedRedis.plain(command))
      }
      connection.waitForEnd()
      ended.open()
    }
    let fleet = try ScriptedFleet(server)
    let clock = VirtualClock()
    let machine = try Machine(fleet.url(patience: "100ms"), timekeeper: clock)
    #expect(await machine.answer(.page) != nil)
    #expect(clock.pendingDelays.isEmpty, "nobody waits any more")
    async let second = machine.silence(.page)
    await clock.whenPending(for: .milliseconds(50))
    clock.advance(by: .milliseconds(50))
    #expect(await second == "it did not answer in time")
    await ended.wait()
    clock.advance(by: .seconds(5))
    async let third = machine.silence(.page)
    await clock.whenPending(for: .milliseconds(100))
    clock.advance(by: .milliseconds(100))
    #expect(await third == "it did not answer in time")
  }

  @Test func `a question of which a part is answered is not put again on another connection`() async throws {
    let questions = Count()
    let server = try ScriptedRedis { connection in
      while let command = connection.command() {
        connection.send(ScriptedRedis.plain(command))
        if command.first == "TIME", questions.next() > 1 { return }
      }
    }
    let fleet = try ScriptedFleet(server)
    let machine = try Machine(fleet.url())
    #expect(await machine.answer(.page) != nil)
    #expect(await machine.silence(.page) != nil)
    #expect(server.count == 1)
  }

  @Test func `a question that is under way when the tier is closed ends at once`() async throws {
    let (asked, ended) = (Gate(), Gate())
    let server = try ScriptedRedis { connection in
      while let command = connection.command(), command.first != "TIME" {
        connection.send(ScriptedRedis.plain(command))
      }
      asked.open()
      connection.waitForEnd()
      ended.open()
    }
    let fleet = try ScriptedFleet(server)
    let machine = try Machine(fleet.url(), timekeeper: VirtualClock())
    async let silence = machine.silence(.page)
    await asked.wait()
    machine.tier.close()
    #expect(await silence == "it was closed")
    await ended.wait()
  }

  @Test func `a connection that was closed for good takes no question`() async throws {
    let fleet = try ScriptedFleet(
      ScriptedRedis.answering { command, _ in ScriptedRedis.plain(command) })
    let machine = try Machine(fleet.url())
    #expect(await machine.answer(.page) != nil)
    await machine.run { tier -> Void in
      guard let (link, _) = try? tier.server.prepare() else { return }
      link.connection.close()
    }
    #expect(await machine.silence(.page) == "it was closed")
    #expect(fleet.server.count == 1)
  }

  @Test func `a tier that nobody holds any more closes its connection`() async throws {
    let ended = Gate()
    let server = try ScriptedRedis { connection in
      while let command = connection.command() { connection.send(ScriptedRedis.plain(command)) }
      ended.open()
    }
    let fleet = try ScriptedFleet(server)
    let thread = NetworkThread()
    let timekeeper = SystemTimekeeper(thread: thread)
    func ask() async throws -> TierReply {
      let tier = RedisTier(try RedisAddress(fleet.url()))
      tier.attach(
        to: TierHost(
          timekeeper: timekeeper, silence: Machine.Mark(), trace: { _ in }, warn: { _ in }))
      return await Task(executorPreference: thread) { await tier.ask(.page) }.value
    }
    let reply = try await ask()
    guard case .answered = reply else {
      Issue.record("\(reply)")
      return
    }
    await ended.wait()
  }
}
