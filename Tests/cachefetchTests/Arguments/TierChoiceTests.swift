import Testing
import TestTurns

@testable import cachefetch

@Suite("Command line: which tier", .inTurn) struct TierChoiceTests {
  private func url(_ words: [String], _ variable: String?) throws -> String? {
    let arguments = try ArgumentParser.parse(words + ["http://a/"])
    return arguments.server { name in name == "CACHEFETCH_TIER" ? variable : nil }
  }

  private func files(_ url: String) throws -> [String] {
    try ArgumentParser.parse(["http://a/"]).serverFiles { $0 == "CACHEFETCH_TIER" ? url : nil }
  }

  @Test func `the variable names it, unless it is empty or no tier is wanted`() throws {
    #expect(try url([], "redis://h/") == "redis://h/")
    #expect(try url([], "") == nil)
    #expect(try url([], nil) == nil)
    #expect(try url(["--no-tier"], "redis://h/") == nil)
  }

  @Test func `the files that it names are those of its options, and its socket`() throws {
    #expect(try files("redis+unix:///r/s?key-file=/f/key&patience=1s") == ["/f/key", "/r/s"])
    #expect(try files("rediss://h:1/0?key-file=/k&ca-file=/c") == ["/k", "/c"])
  }
}
