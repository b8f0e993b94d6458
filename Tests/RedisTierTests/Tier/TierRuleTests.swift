import CacheStore
import DataService
import PlatformFoundation
import TestTurns
import Testing

@testable import RedisTier

@Suite("What the releases of the tier have in common, and its exact borders", .inTurn) struct TierRuleTests {
  private static let second: Int64 = 1_000_000_000

  private func fleetKey(_ byte: UInt8) -> FleetKey {
    FleetKey(bytes: [UInt8](repeating: byte, count: FleetKey.length))
  }

  // MARK: Names and seals

  /// The digests are those that libsodium gives for a key of 32 bytes of 1.
  @Test func `names are those of every release`() {
    let names = TierNames(fleetKey(1))
    let question = TierQuestion(target: "https://a.test/", responder: "https://a.test")
    let target = names.target(of: question)
    #expect(target.row == "cf1:{cJbYPW3_P8Yaw51299T6qw}")
    #expect(target.tombstone == "cf1:{cJbYPW3_P8Yaw51299T6qw}:x")
    #expect(target.chunk(2, of: 7) == "cf1:{cJbYPW3_P8Yaw51299T6qw}:b:7:2")
    #expect(target.chunk(2, of: 7, mark: ".m") == "cf1:{cJbYPW3_P8Yaw51299T6qw}:b:7.m:2")
    #expect(names.mark(of: 1) != names.mark(of: 2) && names.mark(of: 1).hasPrefix("."))
    #expect(names.key(of: "ci") == "cf1:k:QI4OdiTzw__Cm5WMO40rDA")
    #expect(names.pause(of: question) == "cf1:o:itSeC5IH6U-646tombEM3g")
  }

  @Test func `words that are the same letters in a row have different names`() {
    let names = TierNames(fleetKey(1))
    func row(_ account: String, _ target: String) -> String {
      names.target(of: TierQuestion(account: account, target: target)).row
    }
    #expect(row("a:b", "c") != row("a", "b:c"))
    #expect(row("1", "aaaaaaaaa0") != row("10aaaaaaaaa", ""))
  }

  @Test func `the variant of a request of which Vary names nothing depends on all else that it has`() {
    let key = TierKeys.Key(fleetKey(1))
    let questions = [
      TierQuestion(target: "t"), TierQuestion(target: "t", extra: "m"),
      TierQuestion(target: "t", body: Data("q".utf8)), TierQuestion(target: "t", method: "QUERY"),
    ]
    for question in questions {
      #expect(key.plainVariant(of: question) == key.names.variant(of: question, vary: ""))
    }
    #expect(Set(questions.map { key.plainVariant(of: $0) }).count == 4)
  }

  @Test func `a value does not open at a place whose parts are the same letters in a row`() {
    let seal = Seal(fleetKey(1))
    let sealed = seal.sealed([1, 2, 3], at: Seal.Place(key: "ab", field: "c", ticket: 12, number: 3))
    for other in [
      Seal.Place(key: "a", field: "bc", ticket: 12, number: 3),
      Seal.Place(key: "ab", field: "c", ticket: 1, number: 23),
      Seal.Place(key: "ab", field: "c1", ticket: 2, number: 3),
    ] {
      #expect(seal.opened(sealed, at: other) == nil, "\(other)")
    }
    #expect(Seal.Place(key: "k", field: "f") == Seal.Place(key: "k", field: "f", ticket: 0, number: 0))
  }

  @Test func `a head and the pieces of a body have the lengths of every release`() {
    #expect(SealedHead.lengthLimit == 196_608)
    #expect(SealedHead.chunkLength == 262_144)
    // Nothing stands behind the length of no fields.
    var head = SealedHeadTests.head
    (head.length, head.body) = (0, [])
    head.wire = []
    #expect(head.bytes.flatMap { SealedHead($0) } == head)
  }

  // MARK: Replies

  private func reply(_ text: String) throws(RESPReader.Problem) -> RESPValue? {
    var reader = RESPReader()
    reader.append(Array(text.utf8))
    return try reader.next()
  }

  @Test func `a reply is 64 arrays deep, and a string in it 512 KiB long`() throws {
    let nested = { (levels: Int) in String(repeating: "*1\r\n", count: levels) + ":1\r\n" }
    #expect(try reply(nested(64)) != nil)
    #expect(throws: RESPReader.Problem.tooLarge) { try reply(nested(65)) }
    let longest = "$524288\r\n" + String(repeating: "a", count: 524_288) + "\r\n"
    #expect(try reply(longest)?.bytes?.count == 524_288)
    #expect(throws: RESPReader.Problem.tooLarge) { try reply("$524289\r\n") }
  }

  @Test func `a reply is read from where it begins, however much has been read before it`() throws {
    var bytes: [UInt8] = []
    for letter in Array("abc".utf8) {
      bytes += Array("$300000\r\n".utf8) + [UInt8](repeating: letter, count: 300_000) + [0x0D, 0x0A]
    }
    var reader = RESPReader()
    var letters: [UInt8] = []
    for start in stride(from: 0, to: bytes.count, by: 70_000) {
      reader.append(Array(bytes[start...].prefix(70_000)))
      while let reply = try reader.next() { letters += reply.bytes?.prefix(1) ?? [] }
    }
    #expect(letters == Array("abc".utf8))
  }

  @Test func `a time begins with the epoch, and none is beyond counting`() {
    func time(_ seconds: Int64, _ rest: Int64) -> Int64? {
      RESPValue.array([.integer(seconds), .integer(rest)]).microseconds
    }
    #expect(time(0, 0) == 0)
    #expect(time(9_223_372_036_854, 775_807) == .max)
    #expect(time(9_223_372_036_854, 775_808) == nil)
  }

  @Test func `what a server says becomes one line, with an advice where there is one`() {
    let advice = "allow the user to write, or say that the tier is read only"
    #expect(TierServer.remedy(for: "NOPERM User x has no permissions to run the 'set' command") == advice)
    #expect(TierServer.remedy(for: "ERR The user can't run this command or subcommand") == advice)
    #expect(TierServer.remedy(for: "ERR something else") == nil)
    #expect(TierServer.shortened(String(repeating: "a", count: 300)).count == 200)
    #expect(TierServer.shortened("one\r\ntwo\nthree") == "onetwothree")
  }

  @Test func `a piece of a body, which has others before it, has four times the patience`() throws {
    #expect(RedisTier(try RedisAddress("redis://h?key-file=/k")).server.pieceLimit == .milliseconds(380))
  }

  // MARK: Silence and the clock

  @Test func `a failure is recorded while another process finds out, and not within the longest silence`() {
    let now = 100 * Self.second
    var mark = now + 160_000_000
    var process = Silence(patience: 100_000_000)
    process.failed(at: now, mark: &mark)
    #expect(mark == now + 5 * Self.second + 1)

    let longest = (now + Silence.longest) | 1
    mark = longest
    process = Silence(patience: 100_000_000)
    process.failed(at: now, mark: &mark)
    #expect(mark == longest)
    process.failed(at: now - 1, mark: &mark)
    #expect(mark != longest, "a mark of another boot")
  }

  @Test func `the closer of two replies counts for a minute, the first of two alike, none of a set clock`() {
    let start = 10 * Self.second
    for (width, after, ahead, isKept) in [
      (2_000, Self.second, 5_000, true), (1_000, Self.second, 5_000, false),
      (50_000, 60 * Self.second - 1_000, 5_000, true), (50_000, 60 * Self.second, 5_000, false),
      (2_000, Self.second, 10_002_000, true), (2_000, Self.second, 10_003_000, false),
      (2_000, Self.second, -10_002_000, true), (2_000, Self.second, -10_003_000, false),
    ] as [(Int64, Int64, Int64, Bool)] {
      var clock = TierClock()
      clock.learn(tierMicroseconds: 1_000_000_000, sent: start - 2_000, received: start)
      clock.learn(
        tierMicroseconds: 1_000_000_000 + (after + ahead) / 1_000, sent: start + after - width,
        received: start + after)
      let time = 1_000_000_000 + (isKept ? 0 : ahead / 1_000)
      #expect(clock.tierMicroseconds(at: start) == time, "\(width) \(after) \(ahead)")
    }
  }
}
