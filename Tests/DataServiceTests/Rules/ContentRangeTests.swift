import Testing
import TestTurns

@testable import DataService

@Suite("Content-Range (RFC 9110 section 14.4)", .inTurn) struct ContentRangeTests {
  @Test func `first, last and whole are what it says, and how many bytes they are`() throws {
    let middle = try #require(ContentRange("bytes 10-19/50"))
    #expect(middle.first == 10 && middle.last == 19 && middle.whole == 50)
    #expect(middle.count == 10 && !middle.isWholeRest)
    let rest = try #require(ContentRange("bytes 10-49/50"))
    #expect(rest.count == 40 && rest.isWholeRest)
    let byte = try #require(ContentRange("bytes 49-49/50"))
    #expect(byte.count == 1 && byte.isWholeRest)
    let all = try #require(ContentRange("bytes 0-0/1"))
    #expect(all.count == 1 && all.isWholeRest)
  }

  @Test(
    "what is no range within a whole of known length is none",
    arguments: [
      "", "bytes", "bytes ", "bytes 0-0/0", "bytes 0-50/50", "bytes 20-10/50", "bytes 10-19/*", "bytes */50",
      "bytes 10-19", "bytes 10/50", "bytes 10-19-20/50", "bytes 10-19/50/60", "bytes -19/50", "bytes 10-/50",
      "bytes +10-19/50", "items 10-19/50", "Bytes 10-19/50", "bytes 10-99999999999999999999/50",
    ])
  func malformed(value: String) { #expect(ContentRange(value) == nil) }

  @Test func `a field that is not there is no range`() { #expect(ContentRange(nil) == nil) }
}
