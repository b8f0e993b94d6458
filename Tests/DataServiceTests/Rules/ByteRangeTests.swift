import CacheStore
import DataService
import Testing
import TestTurns

@Suite("Byte ranges, RFC 9110 section 14", .inTurn) struct ByteRangeTests {
  @Test(
    "One range of bytes is cut to the body",
    arguments: [
      ("bytes=0-1", .part(0..<2)), ("bytes=0-0", .part(0..<1)), ("bytes=1-", .part(1..<11)),
      ("bytes=-1", .part(10..<11)),
      ("bytes=-99", .part(0..<11)), ("bytes=5-99", .part(5..<11)), ("bytes=10-10", .part(10..<11)),
      ("BYTES=0-1", .part(0..<2)), ("bytes= 0-1 ", .part(0..<2)),
      ("bytes=0-99999999999999999999", .part(0..<11)),
      ("bytes=11-", .unsatisfiable), ("bytes=11-12", .unsatisfiable), ("bytes=-0", .unsatisfiable),
      ("bytes=99999999999999999999-", .unsatisfiable),
      ("bytes=", .whole), ("bytes", .whole), ("", .whole), ("bytes=a-b", .whole), ("bytes=2-1", .whole),
      ("bytes=-", .whole), ("bytes=1", .whole), ("bytes=0-1,3-4", .whole), ("items=0-1", .whole),
      ("bytes=0--1", .whole),
      ("bytes=-10", .part(1..<11)), ("bytes=-11", .part(0..<11)), ("bytes=-12", .part(0..<11)),
      ("bytes=-99999999999999999999", .part(0..<11)), ("bytes=10-", .part(10..<11)),
      ("bytes=0-9", .part(0..<10)), ("bytes=0-10", .part(0..<11)), ("bytes=0-11", .part(0..<11)),
      ("bytes=5-5", .part(5..<6)), ("bytes=5-4", .whole), ("bytes=10-99", .part(10..<11)),
      ("bytes=12-", .unsatisfiable), ("bytes=,9-9", .part(9..<10)), ("bytes=/-", .whole),
      ("bytes=:-", .whole),
      ("bytes=1-:", .whole), ("bytes=-a", .whole),
      ("bytes=+1-2", .whole), ("bytes=0 - 1", .whole), ("bytes=1-2-3", .whole),
    ] as [(String, ByteRange.Answer)])
  func answer(value: String, expected: ByteRange.Answer) {
    #expect(ByteRange.answer(to: value, length: 11) == expected)
  }

  @Test("No byte of an empty body can be had", arguments: ["bytes=0-", "bytes=0-0", "bytes=-1"])
  func empty(value: String) {
    #expect(ByteRange.answer(to: value, length: 0) == .unsatisfiable)
  }

  @Test("The one byte of a body can", arguments: ["bytes=0-", "bytes=0-0", "bytes=-1"])
  func one(value: String) {
    #expect(ByteRange.answer(to: value, length: 1) == .part(0..<1))
  }

  @Test("The longest body there can be is counted without overflow") func longest() {
    #expect(ByteRange.answer(to: "bytes=0-9223372036854775807", length: .max) == .part(0..<Int64.max))
    #expect(ByteRange.answer(to: "bytes=-9223372036854775807", length: .max) == .part(0..<Int64.max))
    #expect(ByteRange.answer(to: "bytes=9223372036854775807-", length: .max) == .unsatisfiable)
  }

  @Test("Content-Range names the first byte, the last and the length") func contentRange() {
    #expect(ByteRange.contentRange(2..<5, length: 11) == "bytes 2-4/11")
    #expect(ByteRange.contentRange(0..<1, length: 1) == "bytes 0-0/1")
  }
}
