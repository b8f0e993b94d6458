import Testing
import TestTurns

@testable import cachefetch

@Suite("Output: JSON as it is written", .inTurn) struct JSONWriterTests {
  @Test func `members keep their order, each kind as it is`() {
    var json = JSONWriter()
    json.member("z", "a")
    json.member("a", 1)
    json.member("i", Int64.max)
    json.member("b", true)
    json.member("f", false)
    json.member("c", pairs: [("n", "v"), ("m", "w")])
    json.member("d", ["x", "y"])
    json.member("e", json: Array("null".utf8))
    json.member("o", objects: [Array("{}".utf8), Array("[]".utf8)])
    #expect(
      String(decoding: json.line(), as: UTF8.self)
        == #"{"z":"a","a":1,"i":9223372036854775807,"b":true,"f":false,"c":[["n","v"],["m","w"]],"d":["x","y"],"#
        + #""e":null,"o":[{},[]]}"# + "\n")
  }

  @Test func `what is empty is an empty object or array`() {
    #expect(JSONWriter().line() == Array("{}\n".utf8) && JSONWriter().object() == Array("{}".utf8))
    var json = JSONWriter()
    json.member("a", pairs: [])
    json.member("b", [])
    json.member("c", objects: [])
    #expect(json.object() == Array(#"{"a":[],"b":[],"c":[]}"#.utf8))
  }

  @Test func `a string is escaped as far as JSON and a terminal need it`() {
    var bytes: [UInt8] = []
    JSONWriter.append("a\"\\\n\r\t\u{1}é\u{9B}\u{202E}\u{7F}🙂/", to: &bytes)
    #expect(
      String(decoding: bytes, as: UTF8.self) == #""a\"\\\n\r\t\u0001é\u009b\u202e\u007f🙂/""#)
    #expect(JSONWriter.harmless("{\"a\":\"\u{9B}é\"}") == Array("{\"a\":\"\\u009bé\"}".utf8))
  }
}
