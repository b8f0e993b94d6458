import CacheStore
import TestSupport
import TestTurns
import Testing

@testable import RedisTier

@Suite("The head of a row in the tier", .inTurn) struct SealedHeadTests {
  static let head = SealedHead(
    ticket: 7, offeredAt: 1_700_000_000_000_000, age: 12, delay: 3, exchange: 40, status: 200, length: 5,
    checksum: -9, version: "2", reason: "OK", account: "", target: "https://a.test/", variant: "V",
    vary: "accept", url: "https://a.test/b", wire: HTTPFields(dictionaryLiteral: ("A", "1"), ("B", "ü")).wire,
    body: Array("hello".utf8)[...])

  @Test func `what is written is what is read, with a body and without`() throws {
    #expect(SealedHead(try #require(Self.head.bytes)) == Self.head)
    var long = Self.head
    (long.length, long.body) = (Int64(SealedHead.inlineLimit) + 1, nil)
    #expect(SealedHead(try #require(long.bytes)) == long)
    #expect(long.chunks == 1)
    long.length = Int64(SealedHead.chunkLength) + 1
    #expect(long.chunks == 2)
    var empty = Self.head
    (empty.length, empty.body) = (0, [])
    #expect(SealedHead(try #require(empty.bytes)) == empty)
    #expect(empty.chunks == 0)
  }

  @Test func `a head of another format, cut short or with more behind it is none`() throws {
    let bytes = try #require(Self.head.bytes)
    for count in 0..<bytes.count { #expect(SealedHead(Array(bytes[..<count])) == nil) }
    #expect(SealedHead(bytes + [0]) == nil)
    for format in [0, 2, 255] as [UInt8] { #expect(SealedHead([format] + bytes.dropFirst()) == nil) }
  }

  @Test func `a part that no exchange can have brought makes it none`() throws {
    func isRead(_ change: (inout SealedHead) -> Void) throws -> Bool {
      var head = Self.head
      change(&head)
      return SealedHead(try #require(head.bytes)) != nil
    }
    #expect(try isRead { $0.status = 599 })
    #expect(try !isRead { $0.status = 99 })
    #expect(try !isRead { $0.status = 600 })
    #expect(try !isRead { $0.age = -1 })
    #expect(try !isRead { $0.age = .max })
    #expect(try !isRead { $0.delay = -1 })
    #expect(try !isRead { $0.exchange = -1 })
    #expect(try !isRead { $0.ticket = 0 })
    #expect(try !isRead { $0.length = 4 })
    #expect(try !isRead { $0.length = -1 })
    #expect(try !isRead { $0.version = "9" })
    #expect(try !isRead { $0.reason = "a\nb" })
    for wire in ["A: 1", "A: 1\n", ": 1\r\n", "A 1\r\n", "A: \r1\r\n", "A\0: 1\r\n", "A: \u{0}\r\n"] {
      #expect(try !isRead { $0.wire = Array(wire.utf8) }, "\(wire)")
    }
    #expect(try isRead { $0.wire = [] })
    var long = Self.head
    long.wire = [UInt8](repeating: 0x41, count: SealedHead.lengthLimit)
    #expect(long.bytes == nil)
  }

  @Test func `no bytes trap`() throws {
    var generator = SeededGenerator(seed: 11)
    let bytes = try #require(Self.head.bytes)
    for _ in 0..<20_000 {
      var changed = bytes
      for _ in 0..<Int.random(in: 1...4, using: &generator) {
        changed[Int.random(in: 1..<changed.count, using: &generator)] = .random(
          in: .min ... .max, using: &generator)
      }
      _ = SealedHead(changed)
    }
  }
}
