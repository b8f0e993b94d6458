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

/// What a tier costs that does not answer, or not in time: its patience, and nobody else's time.
@Suite("A tier that does not answer in time", .inTurn) struct PatienceTests {
  @Test func `a tier that refuses is silent for five seconds, for every process on the machine`() async throws
  {
    let folder = try TemporaryFolder()
    chmod(try folder.write(FleetKey.generate(), to: "key"), 0o600)
    let url = "redis+unix://\(folder.file("nobody"))?key-file=\(folder.file("key"))&patience=30s"
    let (clock, mark) = (VirtualClock(), Machine.Mark())
    let (one, other) = (
      try Machine(url, timekeeper: clock, mark: mark), try Machine(url, timekeeper: clock, mark: mark)
    )
    #expect(await one.silence(.page) == "there is no socket \(folder.file("nobody"))")
    #expect(await one.silence(.page)?.hasPrefix("it did not answer, and is asked again in 5000 ms") == true)
    #expect(await other.silence(.page)?.hasPrefix("it did not answer") == true)
    #expect(await other.offer(.page, TierTicket(number: 1, bootNanoseconds: 1), body: Data()) != .stored)
    clock.advance(by: .seconds(5))
    #expect(await other.silence(.page) == "there is no socket \(folder.file("nobody"))")
    #expect(one.warnings.withLock { $0 } == [])
  }

  @Test func `a tier that never answers costs its patience, once for a hundred processes`() async throws {
    let server = try ScriptedRedis { $0.waitForEnd() }
    let fleet = try ScriptedFleet(server)
    let (clock, mark) = (VirtualClock(), Machine.Mark())
    let machines = try (0..<100).map { _ in
      try Machine(fleet.url(patience: "100ms"), timekeeper: clock, mark: mark)
    }
    async let first = machines[0].silence(.page)
    await clock.whenPending()
    for machine in machines.dropFirst() {
      #expect(await machine.silence(.page)?.hasPrefix("it did not answer") == true)
    }
    #expect(await clock.whenPending() == ())
    clock.advance(by: .milliseconds(100))
    #expect(await first == "it did not answer in time")
    for machine in machines { #expect(await machine.silence(.page)?.hasPrefix("it did not answer") == true) }
    #expect(server.count <= 1)
  }

  @Test func `a stopped server costs half of the patience on a connection that is there`() async throws {
    let fleet = try await Fleet()
    let clock = VirtualClock()
    let machine = try Machine(fleet.url(patience: "100ms"), timekeeper: clock)
    #expect(await machine.answer(.page) != nil)
    fleet.server.send(SIGSTOP)
    async let silence = machine.silence(.page)
    await clock.whenPending(for: .milliseconds(50))
    clock.advance(by: .milliseconds(50))
    #expect(await silence == "it did not answer in time")
    fleet.server.send(SIGCONT)
    clock.advance(by: .seconds(5))
    #expect(await machine.answer(.page) != nil)
  }

  @Test func `no question waits behind the pieces of a body`() async throws {
    let pieceIsAskedFor = Gate()
    let server = try ScriptedRedis { connection in
      var hasQuestion = false
      while let command = connection.command() {
        hasQuestion = hasQuestion || command.first == "TIME"
        if command.first == "GET", !hasQuestion {
          pieceIsAskedFor.open()
        } else {
          connection.send(ScriptedRedis.plain(command))
        }
      }
    }
    let fleet = try ScriptedFleet(server)
    let machine = try Machine(fleet.url(), timekeeper: VirtualClock())
    let head = ReceivedHead(
      status: 200, fields: [:], started: StartMark(boot: "b", nanoseconds: 1), requestedAt: 0, receivedAt: 0)
    let row = TierRow(head: head, ticket: 1, length: 100_000, checksum: 1, body: nil)
    async let body = machine.body(of: row, for: .page)
    await pieceIsAskedFor.wait()
    #expect(await machine.answer(.page) != nil)
    machine.tier.close()
    #expect(await body == nil)
  }

  @Test func `an answer that comes too late is nobody's`() async throws {
    let gate = Gate()
    let server = try ScriptedRedis { connection in
      var isFirst = true
      while let command = connection.command() {
        if isFirst, command.first == "TIME" {
          Self.wait(gate)
          isFirst = false
        }
        connection.send(ScriptedRedis.plain(command))
      }
    }
    let fleet = try ScriptedFleet(server)
    let clock = VirtualClock()
    let machine = try Machine(fleet.url(patience: "100ms"), timekeeper: clock)
    async let silence = machine.silence(.page)
    await clock.whenPending()
    clock.advance(by: .milliseconds(100))
    #expect(await silence == "it did not answer in time")
    gate.open()
    clock.advance(by: .seconds(5))
    #expect(await machine.answer(.page) != nil)
    #expect(server.count == 2, "the first connection is gone")
  }

  /// For handlers, which have a thread of their own.
  private static func wait(_ gate: Gate) { gate.wait() }

  @Test func `a cancelled question waits no longer, and the next one has its own answer`() async throws {
    let (gate, asked) = (Gate(), Gate())
    let server = try ScriptedRedis { connection in
      var number = 0
      while let command = connection.command() {
        if command.first == "TIME" { number += 1 }
        asked.open()
        if number == 1 { Self.wait(gate) }
        connection.send(
          command.first == "TIME"
            ? "*2\r\n:17000000\r\n:\(number)\r\n" : ScriptedRedis.plain(command))
      }
    }
    let fleet = try ScriptedFleet(server)
    let machine = try Machine(fleet.url(), wall: 17_000_000_000)
    let tier = machine.tier
    let task = Task(executorPreference: machine.thread) { await tier.ask(.page) }
    await asked.wait()
    task.cancel()
    guard case .silent(let reason) = await task.value else {
      Issue.record("it was answered")
      return
    }
    #expect(reason == "the request was cancelled")
    async let next = machine.answer(.page)
    gate.open()
    #expect(await next?.ticket.number == 17_000_000_000_002)
    #expect(server.count == 1)
  }

  /// A connection that is there has half of the patience, of which half is not slow.
  @Test(arguments: [(25, false), (26, true)])
  func `eight slow answers in a row make the tier silent`(milliseconds: Int, isSlow: Bool) async throws {
    let clock = VirtualClock()
    let server = try ScriptedRedis.answering { command, number in
      if command.first == "TIME", number > 2 { clock.advance(by: .milliseconds(milliseconds)) }
      return ScriptedRedis.plain(command)
    }
    let fleet = try ScriptedFleet(server)
    let machine = try Machine(fleet.url(patience: "100ms"), timekeeper: clock)
    for _ in 0...8 { #expect(await machine.answer(.page) != nil) }
    let silence = await machine.silence(.page)
    #expect((silence?.hasPrefix("it did not answer") == true) == isSlow, "\(silence ?? "it answers")")
  }

  @Test func `a question of a task that is cancelled already waits for nobody`() async throws {
    let fleet = try ScriptedFleet(ScriptedRedis { $0.waitForEnd() })
    // A clock that nobody moves: no patience ends.
    let machine = try Machine(fleet.url(), timekeeper: VirtualClock())
    let tier = machine.tier
    let task = Task(executorPreference: machine.thread) {
      // A gate that nobody opens is passed by who is cancelled.
      await Gate().wait()
      return await tier.ask(.page)
    }
    task.cancel()
    guard case .silent(let reason) = await task.value else {
      Issue.record("it was answered")
      return
    }
    #expect(reason == "the request was cancelled")
  }

  @Test func `however many round trips a question takes, they have one patience together`() async throws {
    let (clock, asked) = (VirtualClock(), Gate())
    let server = try ScriptedRedis { connection in
      while let command = connection.command(), command.first != "TIME" {
        if command.first == "SET" { clock.advance(by: .milliseconds(60)) }
        connection.send(ScriptedRedis.plain(command))
      }
      asked.open()
      connection.waitForEnd()
    }
    let fleet = try ScriptedFleet(server)
    let machine = try Machine(fleet.url(patience: "100ms", "&accounts=ci"), timekeeper: clock)
    async let silence = machine.silence(TierQuestion(account: "ci", target: TierQuestion.page.target))
    await asked.wait()
    await clock.whenPending(for: .milliseconds(40))
    clock.advance(by: .milliseconds(40))
    #expect(await silence == "it did not answer in time")
  }

  // MARK: Long bodies

  /// A fleet whose server has a row with a body of 24 pieces, takes a while for each of them, and gives so many of them.
  private static func fleet(
    _ clock: VirtualClock, each step: Duration, pieces most: Int = 24
  ) throws -> ScriptedFleet {
    let replies = Mutex<[String: [UInt8]]>([:])
    let left = Mutex(most)
    let seconds = ScriptedRedis.seconds
    let fleet = try ScriptedFleet(
      ScriptedRedis { connection in
        while let command = connection.command() {
          guard command.count > 1, let reply = replies.withLock({ $0[command[1]] }) else {
            connection.send(ScriptedRedis.plain(command, at: seconds))
            continue
          }
          if command.first == "GET" {
            let isLeft = left.withLock { left in
              left -= 1
              return left >= 0
            }
            guard isLeft else { return connection.waitForEnd() }
            clock.advance(by: step)
          }
          connection.send(reply)
        }
      })
    let keys = try TierKeys(FleetKey.keys(in: fleet.folder.text(of: "fleet.key")))
    let key = try #require(keys).first
    let target = key.names.target(of: .page)
    let body = Data(distinctBytes(24 * SealedHead.chunkLength))
    var head = SealedHeadTests.head
    // A second before what the server says that it is.
    head.offeredAt = Int64(seconds - 1) * 1_000_000
    head.ticket = head.offeredAt
    (head.length, head.checksum, head.body) = (Int64(body.count), SealedHead.checksum(of: body), nil)
    (head.target, head.variant) = (TierQuestion.page.target, key.plainVariant(of: .page))
    (head.vary, head.url) = ("", "")
    let sealed = key.seal.sealed(
      try #require(head.bytes),
      at: Seal.Place(key: target.row, field: head.variant, ticket: head.ticket))
    let fields: [RESPValue] = [.null, .integer(head.ticket), .string(sealed), .integer(head.ticket)]
    var all = [target.row: RESPValue.array(fields).wire]
    let mark = key.names.mark(of: head.checksum)
    for number in 0..<head.chunks {
      let piece = body.dropFirst(number * SealedHead.chunkLength).prefix(SealedHead.chunkLength)
      let place = Seal.Place.chunk(number, of: head.ticket, mark: mark, target)
      all[target.chunk(number, of: head.ticket, mark: mark)] =
        RESPValue.string(key.seal.sealed(Array(piece), at: place)).wire
    }
    replies.withLock { $0 = all }
    return fleet
  }

  @Test(arguments: [(30, true), (34, false), (50, false)])
  func `a long body has eight times the patience in all, however soon each piece comes`(
    milliseconds: Int, isWhole: Bool
  ) async throws {
    let clock = VirtualClock()
    let fleet = try Self.fleet(clock, each: .milliseconds(milliseconds))
    let machine = try Machine(fleet.url(patience: "95ms"), timekeeper: clock)
    let row = try #require(await machine.answer(.page)?.row)
    #expect(row.body == nil)
    // Its age, and the second since it was offered.
    #expect(clock.wallMilliseconds - row.head.receivedAt == 1_012)
    #expect(row.head.receivedAt - row.head.requestedAt == 3 && row.head.exchangeMilliseconds == 40)
    #expect(row.head.url == nil)
    let body = await machine.body(of: row, for: .page)
    #expect(body.map { Int64($0.count) } == (isWhole ? row.length : nil))
    if isWhole { #expect(machine.tier.server.seen == 25 && machine.tier.server.opened == 25) }
  }

  @Test func `a load of one second has half of it for the origin though the tier is slow with a long body`()
    async throws
  {
    let clock = VirtualClock()
    // The last of them ends the half of the load's time. Were there more, the clock could pass the tier's patience before
    // the load has heard of that.
    let fleet = try Self.fleet(clock, each: .milliseconds(50), pieces: 10)
    let machine = try TieredService(fleet.url(patience: "95ms"), clock: clock) { _, _ in .answer("fresh") }
    let began = clock.bootNanoseconds
    let outline = await machine.fixture.outline(.page) { $0.limits.totalTimeout = .seconds(1) }
    #expect(outline == ["fresh(fresh, new)"])
    #expect(clock.bootNanoseconds - began == 500_000_000, "the pieces were asked for")
    #expect(try #require(machine.origin.requests.first).limits.totalTimeout == .milliseconds(500))
    #expect(!machine.fixture.hasTraced("tier"), "it is not silent for what a load had no time for")
  }
}
