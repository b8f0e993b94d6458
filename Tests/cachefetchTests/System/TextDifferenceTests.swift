import TestSupport
import Testing
import TestTurns

@testable import cachefetch

@Suite("System: texts compared by diff", .inTurn) struct TextDifferenceTests {
  @Test func `texts have a unified difference, whatever its size`() throws {
    let found = try TextDifference.unified(
      [Array("a\nb\n".utf8), Array("a\nc\n".utf8)], labels: ["old", "new"])
    #expect(
      found.map { String(decoding: $0, as: UTF8.self) } == "--- old\n+++ new\n@@ -1,2 +1,2 @@\n a\n-b\n+c\n")
    #expect(try TextDifference.unified([[0x61], [0x61]], labels: ["a", "b"]) == [])
    let long = Array(repeating: Array("line\n".utf8), count: 100_000).flatMap { $0 }
    let all = try TextDifference.unified([long, []], labels: ["a", "b"])
    #expect(all?.split(separator: 0x0A).count == 100_003)
  }
}
