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

/// What becomes of a tier in trouble: each row of the design's table of failures that concerns the engine.
@Suite("A tier in trouble", .inTurn) struct TroubleTests {
  @Test func `the first write has the greeting and the question`() async throws {
    let first = Mutex<[UInt8]>([])
    let server = try ScriptedRedis { connection in
      while let command = connection.command() {
        first.withLock { if $0.isEmpty { $0 = connection.firstPiece } }
        connection.send(ScriptedRedis.plain(command))
      }
    }
    let fleet = try ScriptedFleet(server)
    let machine = try Machine(
      fleet.url(user: "me@", "&password-file=\(fleet.folder.file("password"))&db=3"))
    _ = await machine.silence(.page)
    let text = String(decoding: first.withLock { $0 }, as: UTF8.self)
    let words = ["HELLO", "AUTH", "me", "a password", "SELECT", "TIME", "GET", "HMGET"]
    var place = text.startIndex
    for word in words {
      let found = try #require(text[place...].firstRange(of: word), "\(word) in \(text)")
      place = found.upperBound
    }
  }

  @Test func `a server of the older protocol is greeted in it, with the question again`() async throws {
    let passed = Mutex(false)
    let selected = Mutex<[[String]]>([])
    let server = try ScriptedRedis.answering { command, _ in
      switch command.first {
      case "HELLO": return "-ERR unknown command `HELLO`, with args beginning with: `3`\r\n"
      case "AUTH":
        passed.withLock { $0 = command == ["AUTH", "me", "a password"] }
        return "+OK\r\n"
      case "SELECT" where passed.withLock({ $0 }):
        selected.withLock { $0.append(command) }
        return "+OK\r\n"
      case "HMGET" where passed.withLock({ $0 }): return "*4\r\n$-1\r\n$-1\r\n$-1\r\n$-1\r\n"
      default:
        return passed.withLock { $0 } ? ScriptedRedis.plain(command) : "-NOAUTH Authentication required.\r\n"
      }
    }
    let fleet = try ScriptedFleet(server)
    let machine = try Machine(
      fleet.url(user: "me@", "&password-file=\(fleet.folder.file("password"))&db=3"))
    #expect(await machine.answer(.page) != nil, "\(machine.traces.withLock { $0 })")
    #expect(server.count == 1)
    #expect(selected.withLock { $0 } == [["SELECT", "3"]])
  }

  @Test(arguments: [
    "$99999999999\r\n", "*99999999\r\n", String(repeating: "*1\r\n", count: 70), "hello\r\n", "*2\r\n$1\r\n",
    String(repeating: "+more\r\n", count: 10_000),
  ]) func `a server that floods or babbles makes the tier silent`(reply: String) async throws {
    let server = try ScriptedRedis.answering { command, _ in
      command.first == "HELLO" ? "+OK\r\n" : reply + String(repeating: "x", count: 9)
    }
    let fleet = try ScriptedFleet(server)
    // On a clock that stands still the silence lasts, however long the machine takes.
    let machine = try Machine(fleet.url(), timekeeper: VirtualClock())
    let reason = try #require(await machine.silence(.page))
    #expect(reason.hasPrefix("it does not speak") || reason.hasPrefix("it gives no ticket"))
    #expect(await machine.silence(.page)?.hasPrefix("it did not answer") == true)
  }

  @Test func `a ticket is newer than the clock, the rows and the removal, and there is none beyond counting`()
    async throws
  {
    let time = "*2\r\n$4\r\n1000\r\n$1\r\n7\r\n"
    let cases: [(time: String, removal: String, newest: String, ticket: Int64?)] = [
      (time, "_", "_", 1_000_000_007), (time, "+1000000006", "+1000000006", 1_000_000_007),
      (time, "+1000000007", "_", 1_000_000_008), (time, "_", "+2000000000", 2_000_000_001),
      (time, "+3000000000", "+2000000000", 3_000_000_001), (time, "+nonsense", "+-5", 1_000_000_007),
      ("*2\r\n:0\r\n:1\r\n", "_", "_", 1),
      (time, "_", "+9007199254740991", 9_007_199_254_740_992), (time, "_", "+9007199254740992", nil),
      (time, "+9223372036854775807", "_", nil), (time, "-ERR no", "_", nil),
      ("*2\r\n:9223372036854775807\r\n:1\r\n", "_", "_", nil), ("*2\r\n:0\r\n:0\r\n", "_", "_", nil),
      ("-NOPERM no\r\n", "_", "_", nil), ("*1\r\n:1\r\n", "_", "_", nil),
      ("*2\r\n:9007199254\r\n:740991\r\n", "_", "_", 9_007_199_254_740_991),
      ("*2\r\n:9007199254\r\n:740992\r\n", "_", "_", nil),
      ("*2\r\n:9223372036\r\n:854775\r\n", "_", "_", nil),
    ]
    // What each of those times is in milliseconds, where it is not the usual one: no other reason makes the tier silent.
    let walls: [String: Int64] = [
      "*2\r\n:0\r\n:1\r\n": 0, "*2\r\n:0\r\n:0\r\n": 0,
      "*2\r\n:9007199254\r\n:740991\r\n": 9_007_199_254_740,
      "*2\r\n:9007199254\r\n:740992\r\n": 9_007_199_254_740,
      "*2\r\n:9223372036\r\n:854775\r\n": 9_223_372_036_854,
    ]
    for (time, removal, newest, ticket) in cases {
      let server = try ScriptedRedis.answering { command, _ in
        switch command.first {
        case "TIME": time
        case "GET": removal + "\r\n"
        case "HMGET": "*4\r\n_\r\n\(newest)\r\n_\r\n_\r\n"
        default: "+OK\r\n"
        }
      }
      let fleet = try ScriptedFleet(server)
      let machine = try Machine(fleet.url(), wall: walls[time, default: 1_000_000])
      #expect(await machine.answer(.page)?.ticket.number == ticket, "\(time) \(removal) \(newest)")
    }
  }

  @Test func `a time beyond counting in the reply to an offer is no answer, and no clock goes by it`()
    async throws
  {
    let server = try ScriptedRedis.answering { command, _ in
      command.first == "EVALSHA"
        ? "*2\r\n$16\r\n9223372036854775\r\n$1\r\n1\r\n" : ScriptedRedis.plain(command)
    }
    let fleet = try ScriptedFleet(server)
    let machine = try Machine(fleet.url())
    for _ in 0..<2 {
      #expect(await machine.share(.page, "x") == .refused(because: "it says: it gives no answer"))
    }
  }

  @Test func `a server that is loading, or one of a cluster, is silent, and what passes is no warning`()
    async throws
  {
    for (error, warnings) in [
      ("-LOADING Redis is loading the dataset in memory\r\n", 0), ("-MOVED 3999 127.0.0.1:6381\r\n", 1),
    ] {
      let server = try ScriptedRedis.answering { command, _ in command.first == "HELLO" ? "+OK\r\n" : error }
      let fleet = try ScriptedFleet(server)
      let machine = try Machine(fleet.url())
      #expect(await machine.silence(.page)?.hasPrefix("it says: ") == true, "\(error)")
      #expect(machine.warnings.withLock { $0.count } == warnings, "\(error)")
    }
  }

  @Test func `a node of a cluster is warned of once, whatever key it sends elsewhere`() async throws {
    let slot = Mutex(0)
    let server = try ScriptedRedis.answering { command, _ in
      command.first == "HELLO"
        ? "+OK\r\n" : "-MOVED \(slot.withLock { $0 += 1; return $0 }) 127.0.0.1:6381\r\n"
    }
    let clock = VirtualClock()
    let fleet = try ScriptedFleet(server)
    let machine = try Machine(fleet.url(), timekeeper: clock)
    for _ in 0..<3 {
      #expect(await machine.silence(.page)?.hasPrefix("it says: MOVED") == true)
      clock.advance(by: .seconds(60))
    }
    #expect(machine.warnings.withLock { $0.count } == 1)
  }

  @Test func `a full server takes no offer and goes on answering, with one warning`() async throws {
    let fleet = try await Fleet()
    let machine = try Machine(fleet.url())
    #expect(await machine.share(.page, "kept") == .stored)
    try fleet.client().run("CONFIG", "SET", "maxmemory", "1")
    for text in ["again", String(repeating: "long", count: 30_000)] {
      guard case .refused(let reason) = try #require(await machine.share(.page, text)) else {
        Issue.record("it was stored")
        return
      }
      #expect(reason.contains("OOM"), "\(text)")
    }
    #expect(await machine.answer(.page)?.row?.body == Data("kept".utf8))
    #expect(machine.warnings.withLock { $0.count } <= 2)
    #expect(machine.warnings.withLock { $0.first?.hint?.contains("allkeys-lfu") } == true)
  }

  @Test func `a user that may not write asks, and a tier that is read only never tries to write`()
    async throws
  {
    let fleet = try await Fleet()
    let writer = try Machine(fleet.url())
    #expect(await writer.share(.page, "shared") == .stored)
    let reader = try Machine(fleet.url(user: RedisServer.reader))
    #expect(await reader.answer(.page)?.row?.body == Data("shared".utf8))
    for _ in 0..<2 {
      guard case .refused(let reason) = try #require(await reader.share(.page, "mine")) else {
        Issue.record("it was stored")
        return
      }
      #expect(reason.contains("NOPERM") || reason.contains("can't run this command"), "\(reason)")
    }
    #expect(
      reader.warnings.withLock { $0.map(\.hint) } == [
        "allow the user to write, or say that the tier is read only"
      ])
    #expect(await !reader.invalidate(.page))
    #expect(await reader.answer(.page)?.row?.body == Data("shared".utf8))
    let readOnly = try Machine(fleet.url("&read-only=yes"))
    #expect(await readOnly.share(.page, "mine") == .refused(because: "it is read only"))
    #expect(await !readOnly.invalidate(.page))
    #expect(await readOnly.answer(.page)?.row?.body == Data("shared".utf8))
    #expect(readOnly.warnings.withLock { $0 } == [])
  }

  @Test func `what was evicted is a miss: a row, or a piece of a body`() async throws {
    let fleet = try await Fleet()
    let machine = try Machine(fleet.url())
    let client = try fleet.client()
    let long = String(repeating: "x", count: 600 << 10)
    #expect(await machine.share(.page, long) == .stored)
    let row = try #require(await machine.answer(.page)?.row)
    let chunks = try client.keys().filter { $0.contains(":b:") }
    #expect(chunks.count == 3)
    try client.run("DEL", chunks[2])
    #expect(await machine.body(of: row, for: .page) == nil)
    try client.run("DEL", chunks[0])
    try client.run("CONFIG", "RESETSTAT")
    #expect(await machine.body(of: row, for: .page) == nil)
    let calls = String(decoding: try client.run("INFO", "commandstats").bytes ?? [], as: UTF8.self)
    #expect(
      calls.contains("cmdstat_get:calls=1,"), "where the first piece is gone, so are the others: \(calls)")
    try client.run("DEL", try #require(client.keys().first { !$0.contains(":b:") }))
    #expect(await machine.answer(.page).map { $0.row == nil } == true)
    #expect(machine.warnings.withLock { $0 } == [])
  }

  @Test func `an offer whose confirmation was lost is sent again, and stands with the pieces of its body`()
    async throws
  {
    let fleet = try await Fleet()
    let offers = Mutex(0)
    // It passes everything on, and hangs up in place of confirming the second offer.
    let server = try ScriptedRedis { connection in
      guard let client = try? fleet.client() else { return }
      while let command = connection.words() {
        guard command.first != Array("HELLO".utf8) else {
          connection.send("+OK\r\n")
          continue
        }
        guard let reply = try? client.run(command) else { return }
        if command.dropFirst().first == Scripts.commit.digest, reply.elements != nil {
          let number = offers.withLock { count in
            count += 1
            return count
          }
          if number == 2 { return }
        }
        connection.send(reply.wire)
      }
    }
    let relayed = try ScriptedFleet(server)
    let machine = try Machine(relayed.url())
    #expect(await machine.share(.page, "short") == .stored)
    let long = String(repeating: "long", count: 80_000)
    #expect(await machine.share(.page, long) == .stored)
    let count = offers.withLock { $0 }
    #expect(count == 3)
    let row = try #require(await machine.answer(.page)?.row)
    #expect(await machine.body(of: row, for: .page) == Data(long.utf8))
    #expect(server.count == 3, "the second in place of the first, and one for pieces")
  }

  @Test func `a value that was changed, moved or mixed does not open and is a miss`() async throws {
    let fleet = try await Fleet()
    let machine = try Machine(fleet.url())
    let client = try fleet.client()
    let other = TierQuestion(target: "https://origin.test/other")
    #expect(await machine.share(other, "other") == .stored)
    let stranger = try #require(client.keys().first)
    #expect(await machine.share(.page, "page") == .stored)
    let key = try #require(client.keys().first { $0 != stranger })
    let (fields, strangers) = (try client.hash(key), try client.hash(stranger))
    let variant = try #require(fields.keys.first { fields["\($0).t"] != nil })
    let value = try #require(fields[variant])
    func isMiss(_ field: String, _ bytes: [UInt8]) async throws -> Bool {
      try client.run([Array("HSET".utf8), Array(key.utf8), Array(field.utf8), bytes])
      defer {
        _ = try? client.run([Array("HSET".utf8), Array(key.utf8), Array(field.utf8), fields[field] ?? []])
      }
      return await machine.answer(.page).map { $0.row == nil } == true
    }
    for index in [0, 30, value.count - 1] {
      var changed = value
      changed[index] ^= 0x40
      #expect(try await isMiss(variant, changed), "\(index)")
    }
    #expect(try await isMiss(variant, Array(value.dropLast())))
    #expect(try await isMiss(variant, [1, 2, 3]))
    #expect(try await isMiss(variant, try #require(strangers[variant])))
    #expect(try await isMiss("\(variant).t", try #require(strangers["\(variant).t"])))
    #expect(try await isMiss("\(variant).t", Array("x".utf8)))
    #expect(await machine.answer(.page)?.row?.body == Data("page".utf8))
  }

  @Test func `ten values that do not open make the tier silent, with a warning`() async throws {
    let fleet = try await Fleet()
    let machine = try Machine(fleet.url())
    let client = try fleet.client()
    #expect(await machine.share(.page, "page") == .stored)
    let key = try #require(client.keys().first)
    let fields = try client.hash(key)
    let variant = try #require(fields.keys.first { fields["\($0).t"] != nil })
    try client.run("HSET", key, variant, String(repeating: "x", count: 100))
    for _ in 1...10 { #expect(await machine.answer(.page).map { $0.row == nil } == true) }
    #expect(await machine.silence(.page) != nil)
    #expect(
      machine.warnings.withLock { $0.map(\.hint) } == ["the machines of a fleet need the same key file"])
    let findings = await machine.run { await $0.examine() }
    #expect(findings.last?.message == "0 of 10 opened: another fleet key?")
  }

  @Test func `an old value played again is an older answer, with its own ticket and age`() async throws {
    let fleet = try await Fleet()
    let machine = try Machine(fleet.url())
    let client = try fleet.client()
    #expect(await machine.share(.page, "old") == .stored)
    let key = try #require(client.keys().first)
    let old = try client.hash(key)
    let first = try #require(await machine.answer(.page)?.row)
    #expect(await machine.share(.page, "new") == .stored)
    for (field, value) in old {
      try client.run([Array("HSET".utf8), Array(key.utf8), Array(field.utf8), value])
    }
    let row = try #require(await machine.answer(.page)?.row)
    #expect(row.body == Data("old".utf8))
    #expect(row.ticket == first.ticket)
  }

  @Test func `a server that restarts empty is asked again, and has nothing`() async throws {
    let fleet = try await Fleet()
    let machine = try Machine(fleet.url())
    #expect(await machine.share(.page, "before") == .stored)
    let before = try #require(await machine.answer(.page)).ticket
    await fleet.server.stop()
    try await fleet.server.start()
    let (ticket, row) = try #require(await machine.answer(.page))
    #expect(row == nil)
    #expect(ticket.number > before.number)
    #expect(await machine.share(.page, "after") == .stored)
    #expect(await machine.answer(.page)?.row?.body == Data("after".utf8))
  }

  @Test func `a row in a format of another release is a miss, and no warning`() async throws {
    let fleet = try await Fleet()
    let machine = try Machine(fleet.url())
    #expect(await machine.share(.page, "page") == .stored)
    let client = try fleet.client()
    let key = try #require(client.keys().first)
    let fields = try client.hash(key)
    let variant = try #require(fields.keys.first { fields["\($0).t"] != nil })
    let ticket = try #require(Int64(String(decoding: fields["\(variant).t"] ?? [], as: UTF8.self)))
    let keys = try TierKeys(FleetKey.keys(in: fleet.folder.text(of: "fleet.key")))
    let seal = try #require(keys?.first.seal)
    let place = Seal.Place(key: key, field: variant, ticket: ticket)
    let head = try #require(seal.opened(fields[variant] ?? [], at: place))
    let other = seal.sealed([SealedHead.format + 1] + head.dropFirst(), at: place)
    try client.run([Array("HSET".utf8), Array(key.utf8), Array(variant.utf8), other])
    for _ in 0..<12 { #expect(await machine.answer(.page).map { $0.row == nil } == true) }
    #expect(machine.warnings.withLock { $0 } == [])
  }

  @Test func `a password that the server refuses makes the tier silent, with one warning`() async throws {
    let fleet = try await Fleet()
    chmod(try fleet.folder.write("wrong", to: "wrong"), 0o600)
    let clock = VirtualClock()
    let machine = try Machine(
      "redis+unix://\(RedisServer.user)@\(fleet.server.socket)?key-file=\(fleet.folder.file("fleet.key"))"
        + "&password-file=\(fleet.folder.file("wrong"))", timekeeper: clock)
    for _ in 0..<3 {
      #expect(await machine.silence(.page)?.contains("WRONGPASS") == true)
      clock.advance(by: .seconds(60))
    }
    #expect(machine.warnings.withLock { $0.count } == 1)
  }

  @Test func `a key file that is missing, open to others or wrong makes the tier silent, with one warning`()
    async throws
  {
    let fleet = try await Fleet()
    try fleet.folder.write(FleetKey.generate(), to: "open")
    chmod(fleet.folder.file("open"), 0o644)
    try fleet.writeKeys(["AAAA"], named: "short")
    for name in ["none", "open", "short"] {
      let clock = VirtualClock()
      let machine = try Machine(fleet.url(key: name), timekeeper: clock)
      for _ in 0..<3 {
        #expect(await machine.silence(.page)?.contains(fleet.folder.file(name)) == true, "\(name)")
      }
      #expect(machine.warnings.withLock { $0.count } == 1, "\(name)")
      try fleet.writeKeys([FleetKey.generate()], named: name)
      clock.advance(by: .seconds(5))
      #expect(await machine.answer(.page) != nil, "it is read again")
    }
  }

  @Test func `a tier that was closed is silent`() async throws {
    let fleet = try await Fleet()
    let machine = try Machine(fleet.url())
    #expect(await machine.answer(.page) != nil)
    machine.tier.close()
    #expect(await machine.silence(.page) == "it was closed")
    #expect(await !machine.invalidate(.page))
  }

  @Test func `a service's thread has a part in no connection of the tier`() async throws {
    let fleet = try await Fleet()
    let machine = try Machine(fleet.url())
    let (thread, tier) = (NetworkThread(), machine.tier)
    let (reply, isBack) = await Task(executorPreference: thread) {
      let reply = await tier.ask(.page)
      return (reply, thread.isCurrent)
    }.value
    guard case .answered = reply else {
      Issue.record("\(reply)")
      return
    }
    #expect(isBack)
    await thread.stop()
    #expect(await machine.answer(.page) != nil)
  }
}
