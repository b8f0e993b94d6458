import Testing
import TestTurns

@testable import cachefetch

@Suite("Output: JSON documents made legible", .inTurn) struct JSONTextTests {
  @Test(
    "a document has a line for each value, and its numbers and strings as they came",
    arguments: [
      (
        #"{"b":1.50,"a":[true,null,{}],"c":[]}"#,
        "{\n  \"b\": 1.50,\n  \"a\": [\n    true,\n    null,\n    {}\n  ],\n  \"c\": []\n}\n"
      ),
      (" \n\r\t[ ] \n\r\t", "[]\n"), ("[ 1 , 2 ]", "[\n  1,\n  2\n]\n"), ("false", "false\n"),
      (#"{ "a" : 1 }"#, "{\n  \"a\": 1\n}\n"), (#"{"a":{"b":[]}}"#, "{\n  \"a\": {\n    \"b\": []\n  }\n}\n"),
      (#""\u001b""#, "\"\\u001b\"\n"), ("\"\u{9B}\"", "\"<U+009B>\"\n"), (#""a\"b\\""#, #""a\"b\\""# + "\n"),
      ("-1.5e+3", "-1.5e+3\n"), ("0", "0\n"), ("9E-1", "9E-1\n"),
    ])
  func document(text: String, shown: String) {
    let pretty = JSONText.pretty(Array(text.utf8), hasColour: false)
    #expect(pretty.map { String(decoding: $0, as: UTF8.self) } == shown, "\(text)")
  }

  @Test(
    "what is no document is not made legible",
    arguments: [
      "[1,2] x", "{\"a\" 1}", "{a:1}", "{1:1}", "[1,]", "[1", "[1}", "{\"a\":1]", "[1 2]", "\"a", "\"\\",
      "\"a\nb\"", "\"\u{1F}\"", "", "-", "[", "{", "{\"a\"", "{\"a\":", "tru", "nul", "1.2.3", "[,]", "{,}",
    ])
  func none(text: String) {
    #expect(JSONText.pretty(Array(text.utf8), hasColour: false) == nil, "\(text)")
  }

  @Test func `bytes that are not UTF-8 are no document`() {
    #expect(JSONText.pretty([0x22, 0xFF, 0x22], hasColour: false) == nil)
    #expect(JSONText.pretty([0x22, 0x20, 0x22], hasColour: false) == [0x22, 0x20, 0x22, 0x0A])
  }

  @Test func `each kind has its colour`() {
    let shown = JSONText.pretty(Array(#"{"a":["b",1,null]}"#.utf8), hasColour: true)
    func coloured(_ colour: Int, _ text: String) -> String { "\u{1B}[\(colour)m\(text)\u{1B}[0m" }
    #expect(
      shown.map { String(decoding: $0, as: UTF8.self) }
        == "{\n  " + coloured(34, "\"a\"") + ": [\n    " + coloured(32, "\"b\"") + ",\n    "
        + coloured(36, "1")
        + ",\n    " + coloured(35, "null") + "\n  ]\n}\n")
  }

  @Test(arguments: [(200, true), (201, false), (100_000, false)])
  func `a document nested too deep is shown as text`(depth: Int, isPretty: Bool) {
    let text = String(repeating: "[", count: depth) + "1" + String(repeating: "]", count: depth)
    #expect((JSONText.pretty(Array(text.utf8), hasColour: true) != nil) == isPretty)
  }

  @Test func `how deep a place is counts, not how many were there before`() {
    let text = "[" + Array(repeating: "[1]", count: 300).joined(separator: ",") + "]"
    #expect(JSONText.pretty(Array(text.utf8), hasColour: false) != nil)
  }
}
