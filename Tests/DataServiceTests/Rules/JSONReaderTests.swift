import DataService
import PlatformFoundation
import Testing
import TestTurns

@Suite("JSON is read in one pass, and as far as a stack goes", .inTurn) struct JSONReaderTests {
  /// Documents of about that size, of shapes that cost a reader most that tries one thing after another.
  static func hostile(_ size: Int) -> [String] {
    let deep = String(repeating: "[", count: 500) + String(repeating: "]", count: 500)
    let members = String(repeating: "{\"a\":", count: 500) + "0" + String(repeating: "}", count: 500)
    return [
      "[" + Array(repeating: deep, count: size / 1_000).joined(separator: ",") + "]",
      "[" + Array(repeating: members, count: size / 3_000).joined(separator: ",") + "]",
      String(repeating: "[", count: size), String(repeating: "{\"\":", count: size / 4),
      "[" + String(repeating: " ", count: size), String(repeating: "[1,", count: size / 3),
      "\"" + String(repeating: "\\u00e9", count: size / 6) + "\"", String(repeating: "9", count: size),
      "[" + Array(repeating: "-1.5e-7", count: size / 8).joined(separator: ",") + "]",
    ]
  }

  @Test("White space is of four kinds, RFC 8259 section 2", arguments: [0x20, 0x09, 0x0A, 0x0D] as [UInt8])
  func whiteSpace(byte: UInt8) {
    let between = ["[", "1", ",", "{", "\"a\"", ":", "2", "}", "]"].flatMap { [byte] + $0.utf8 } + [byte]
    #expect(JSONValue(Data(between)) == JSONValue(Data("[1,{\"a\":2}]".utf8)))
    #expect(JSONValue(Data(between)) != nil)
    #expect(JSONValue(Data([0x0B] + between)) == nil && JSONValue(Data([0x0C] + between)) == nil)
  }

  @Test(arguments: [10_000, 300_000]) func `no document takes more steps than it has bytes`(size: Int) {
    for document in Self.hostile(size) {
      let data = Data(document.utf8)
      #expect(JSONReader.read(data).steps <= data.count, "\(document.prefix(20))")
    }
  }

  @Test func `brackets are read as deep as the limit and no deeper`() {
    for (depth, isRead) in [(JSONReader.depth, true), (JSONReader.depth + 1, false)] {
      let array = String(repeating: "[", count: depth) + String(repeating: "]", count: depth)
      #expect((JSONValue(Data(array.utf8)) != nil) == isRead, "\(depth)")
    }
  }

  @Test func `what has been closed does not count as depth`() {
    func nested(_ depth: Int) -> String {
      String(repeating: "[", count: depth) + String(repeating: "]", count: depth)
    }
    for (depth, isRead) in [(JSONReader.depth - 1, true), (JSONReader.depth, false)] {
      let array = "[[],[],\(nested(depth)),[]]"
      #expect((JSONValue(Data(array.utf8)) != nil) == isRead, "\(depth)")
    }
  }

  @Test func `the limits are those of the documentation`() {
    // docs/command.md
    #expect(JSONReader.depth == 512 && JSONReader.limit == 4 * 1_048_576)
  }

  @Test func `a byte-order mark before the document is passed over, RFC 8259 section 8.1`() {
    let mark: [UInt8] = [0xEF, 0xBB, 0xBF]
    for text in ["[1]", "2", " {}"] {
      let marked = JSONValue(Data(mark + Array(text.utf8)))
      #expect(marked == JSONValue(Data(text.utf8)) && marked != nil, "\(text)")
    }
    #expect(JSONValue(Data(mark + mark + [0x32])) == nil)
  }

  @Test func `a space is a character of a string, a control character is none`() {
    for (text, value) in [(#""a b""#, "a b"), (#""\t b""#, "\t b"), (#""\"a b\"""#, "\"a b\"")] {
      #expect(JSONValue(Data(text.utf8)) == .string(value), "\(text)")
    }
    for text in ["\"a\u{1F}b\"", "\"\\t\u{1F}b\""] {
      #expect(JSONValue(Data(text.utf8)) == nil, "\(text)")
    }
  }

  @Test func `as many values as the limit are read and no more`() {
    let document = Data(#"[1,{"a":[]},null]"#.utf8)
    #expect(JSONReader.read(document, limit: 5).value != nil)
    #expect(JSONReader.read(document, limit: 4).value == nil)
  }

  @Test(
    "What is no JSON is none",
    arguments: [
      "", " ", "nul", "nulls", "tru", "[1,]", "[,1]", "{\"a\"}", "{\"a\":}", "{a:1}", "{\"a\":1,}", "01", "-",
      "+1", ".5", "1.",
      "1e", "0x1", "NaN", "Infinity", "'a'", "\"a", "\"\n\"", "\"\\x\"", "\"\\u12\"", "\"\\ud800\"",
      "\"\\udc00\"",
      "\"\\ud800\\u0041\"", "\"\\ud800\\udbff\"", "\"\\ud800\\ue000\"", "\"\\ud800x\"", "\"\\ud800\\n\"",
      "-01", "1e+", "1.e1", "--1", "[1] 2", "[1}", "//\n1", "1 1", "\u{FEFF}",
    ])
  func refused(text: String) {
    #expect(JSONValue(Data(text.utf8)) == nil)
  }

  @Test func `bytes that are no UTF-8 are no JSON`() {
    for bytes in [[0x22, 0xFF, 0x22], [0x22, 0xC3, 0x22], [0x22, 0x5C, 0x6E, 0xED, 0xA0, 0x80, 0x22]]
      as [[UInt8]]
    {
      #expect(JSONValue(Data(bytes)) == nil, "\(bytes)")
    }
  }

  @Test func `strings and names are what their escapes say`() {
    let text = #" {"\u00e9\/\"\\":"\ud83d\ude42\b\f\n\r\tz", "a":[null,true,false,"\u0000"]} "#
    #expect(
      JSONValue(Data(text.utf8))
        == .object([
          "é/\"\\": .string("🙂\u{8}\u{C}\n\r\tz"),
          "a": .array([.null, .boolean(true), .boolean(false), .string("\0")]),
        ]))
  }

  @Test(
    "A pair of surrogates is one character, and what is beside their range is none of them",
    arguments: [
      (#""\ud800\udc00""#, "\u{10000}"), (#""\udbff\udfff""#, "\u{10FFFF}"), (#""\ud83d\uDE42""#, "🙂"),
      (#""\ud7ff""#, "\u{D7FF}"), (#""\ue000""#, "\u{E000}"), (#""\uFFFF""#, "\u{FFFF}"),
    ])
  func surrogates(text: String, value: String) {
    #expect(JSONValue(Data(text.utf8)) == .string(value))
  }

  @Test(
    "Numbers are the same where their values are",
    arguments: [
      ("0", "-0.00e9", true), ("1", "10e-1", true), ("-1.50", "-15E-1", true), ("1", "-1", false),
      ("1e400", "1e401", false),
      ("1e400", "10e399", true), ("0.1", "0.10000000000000000000000000000000000000001", false),
      ("100", "1e+2", true),
      ("1e99999999999999999999", "1e9", false),
      // An exponent of eighteen digits is still exact.
      ("1e100000000000000000", "1e100000000000000001", false),
      ("1e100000000000000001", "10e100000000000000000", true),
    ])
  func numbers(one: String, other: String, isSame: Bool) {
    #expect((JSONValue(Data(one.utf8)) == JSONValue(Data(other.utf8))) == isSame)
  }
}
