import PlatformFoundation
import Testing
import TestTurns

@testable import cachefetch

@Suite("Output: differences of JSON documents", .inTurn) struct JSONDifferenceTests {
  private func difference(_ old: String, _ new: String) throws -> JSONDifference {
    try #require(JSONDifference(from: Data(old.utf8), to: Data(new.utf8), ignoring: []))
  }

  @Test func `many deep brackets are compared, each place once`() throws {
    func document(_ inner: String) -> String {
      let one = String(repeating: "[", count: 500) + inner + String(repeating: "]", count: 500)
      return "[" + Array(repeating: one, count: 100).joined(separator: ",") + "]"
    }
    #expect(try difference(document("1"), document("1.0")).changes.isEmpty)
    let found = try difference(document("1"), document("2"))
    #expect(found.changes.count == 100 && found.omitted == 0)
    #expect(found.changes.last?.path == "/99" + String(repeating: "/0", count: 500))
    let whole = try difference(document("1"), "0")
    #expect(whole.changes.count == 1 && whole.lines.first?.utf8.count == document("1").utf8.count + 4)
  }

  @Test func `more differences than anybody reads are counted`() throws {
    func numbers(_ add: Int) -> String {
      "[" + (0..<12_000).map { "\($0 + add)" }.joined(separator: ",") + "]"
    }
    let found = try difference(numbers(0), numbers(1))
    #expect(found.changes.count == JSONDifference.limit && found.omitted == 2_000)
    #expect(found.lines.last == "… and 2000 more differences")
  }

  @Test func `numbers are shown as they were written, values on a line, names sorted`() throws {
    let found = try difference(#"{"b":{"z":1.50,"a":[true,null]}}"#, #"{"b":1e400}"#)
    #expect(found.lines == [#"- /b: {"a":[true,null],"z":1.50}"#, "+ /b: 1e400"])
  }

  @Test(
    "Each place that differs has a line for each document that has it",
    arguments: [
      ("1", "1", []), ("1", "2", ["- : 1", "+ : 2"]), ("[1]", "[1,2]", ["+ /1: 2"]),
      ("[1,2,3]", "[1]", ["- /1: 2", "- /2: 3"]), ("[]", "{}", ["- : []", "+ : {}"]),
      (#"{"a":1,"c":3}"#, #"{"b":2,"c":3}"#, ["- /a: 1", "+ /b: 2"]),
      (#"{"a":{"b":[1]}}"#, #"{"a":{"b":[2]}}"#, ["- /a/b/0: 1", "+ /a/b/0: 2"]),
      (#"{"~/":1}"#, #"{"~/":2}"#, ["- /~0~1: 1", "+ /~0~1: 2"]),
      (#"{"a":null}"#, "{}", ["- /a: null"]),
      ("false", #""a\"b""#, ["- : false", #"+ : "a\"b""#]),
      ("1", "[[],{},[1,2]]", ["- : 1", "+ : [[],{},[1,2]]"]),
    ] as [(String, String, [String])])
  func places(old: String, new: String, lines: [String]) throws {
    #expect(try difference(old, new).lines == lines)
  }

  @Test func `what is to be ignored is, on both sides`() throws {
    let found = try #require(
      JSONDifference(
        from: Data(#"{"a":1,"b":1,"c":1}"#.utf8), to: Data(#"{"a":2,"c":2,"d":2}"#.utf8),
        ignoring: ["/a", "/b", "/d", "no pointer"]))
    #expect(found.lines == ["- /c: 1", "+ /c: 2"])
  }

  @Test func `what is not JSON cannot be compared so`() {
    #expect(JSONDifference(from: Data("x".utf8), to: Data("1".utf8), ignoring: []) == nil)
    #expect(JSONDifference(from: Data("1".utf8), to: Data("x".utf8), ignoring: []) == nil)
  }

  @Test func `one more is not said as several`() throws {
    func numbers(_ add: Int) -> String {
      "[" + (0...JSONDifference.limit).map { "\($0 + add)" }.joined(separator: ",") + "]"
    }
    let found = try difference(numbers(0), numbers(1))
    #expect(found.omitted == 1 && found.lines.last == "… and 1 more difference")
    #expect(found.lines.count == 2 * 10_000 + 1)
  }
}
