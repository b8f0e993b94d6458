import Testing
import TestTurns

@testable import CacheStore

@Suite("Fields, RFC 9110 section 5", .inTurn) struct HTTPFieldsTests {
  private func fields(_ pairs: (String, String)...) -> HTTPFields {
    var fields = HTTPFields()
    for (name, value) in pairs { fields.append(name, value) }
    return fields
  }

  private func text(_ fields: HTTPFields) -> String { String(decoding: fields.wire, as: UTF8.self) }

  @Test("No two values share their exact text, and each goes back as the bytes that it was") func exact()
    throws
  {
    let values: [[UInt8]] = [
      [], Array("a".utf8), [0xE9], Array("é".utf8), Array("e\u{301}".utf8), Array("Ã©".utf8), [0xC3],
      [0xC3, 0xA9, 0xE9],
      [0xF4, 0x8F, 0xBF, 0xA9], Array("\u{10FFE9}".utf8), Array("\u{10FF7F}".utf8), Array("é\u{10FFE9}".utf8),
      [0xC3, 0xA9, 0xF4, 0x8F, 0xBF], [0xFF], [0x80], Array("ü\u{7F}".utf8),
    ]
    var texts: [[UInt8]: [UInt8]] = [:]
    for value in Set(values) {
      var fields = HTTPFields()
      fields.append(name: Array("A".utf8), value: value)
      let text = try #require(fields.exact["a"])
      #expect(fields.exact.values(of: "A") == [text] && fields.exact.all.map(\.value) == [text], "\(value)")
      #expect(texts.updateValue(value, forKey: Array(text.utf8)) == nil, "\(value)")
      #expect(HTTPFields.Exact.bytes(text) == value)
      var again = HTTPFields()
      again.append("A", exact: text)
      #expect(again == fields, "\(value)")
    }
    #expect(HTTPFields().exact["A"] == nil)
    // Where it is UTF-8 it is read as that.
    #expect((["A": "é"] as HTTPFields).exact["A"] == "é")
  }

  static let appended: [(name: String, value: String, wire: String)] = [
    ("A", "1", "A: 1\r\n"), ("a", "", "a: \r\n"), ("A", " \t1 2\t ", "A: 1 2\r\n"), ("A", " \t ", "A: \r\n"),
    ("A", "ü", "A: ü\r\n"), ("A", "\u{1}\u{7F}", "A: \u{1}\u{7F}\r\n"), ("A", "1:2", "A: 1:2\r\n"),
    ("!#$%&'*+-.^_`|~09AZaz", "1", "!#$%&'*+-.^_`|~09AZaz: 1\r\n"),
  ]

  @Test("A field is kept as it came, without the white space around its value, section 5.5") func append() {
    for (name, value, wire) in Self.appended {
      let result = fields((name, value))
      #expect(text(result) == wire && result.refused == nil, "\(name): \(value)")
      var bytes = HTTPFields()
      bytes.append(name: Array(name.utf8), value: Array(value.utf8))
      #expect(bytes == result, "\(name): \(value)")
    }
  }

  @Test("What would be another field on the wire is refused, and the first such is named") func refused() {
    for byte in UInt8.min...UInt8.max where !byte.isTokenByte {
      var result = HTTPFields()
      result.append(name: [0x41, byte], value: [])
      #expect(result.isEmpty && result.refused?.contains("is not a token") == true, "\(byte)")
    }
    for (value, says) in [("a\rb", true), ("a\nb", true), ("a\0b", true), ("\r", true), ("a\u{B}b", false)] {
      let result = fields(("A", value))
      #expect(result.isEmpty == says, "\(value)")
      #expect((result.refused?.contains("“A” has a line break or NUL") == true) == says, "\(value)")
    }
    #expect(fields(("", "1")).refused == "header name “” is not a token")
    let several = fields(("A B", "1"), ("C D", "2"), ("E", "3\r"), ("F", "4"))
    #expect(several.refused == "header name “A B” is not a token" && text(several) == "F: 4\r\n")
    let values = fields(("E", "3\r"), ("A B", "1"), ("G", "\n1"))
    #expect(values.refused == "the value of header “E” has a line break or NUL in it")
  }

  @Test("Of bytes those of a token are tchar, section 5.6.2") func token() {
    let expected = Set("!#$%&'*+-.^_`|~0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz".utf8)
    for byte in UInt8.min...UInt8.max { #expect(byte.isTokenByte == expected.contains(byte), "\(byte)") }
    for byte in UInt8.min...UInt8.max {
      let lower = (0x41...0x5A).contains(byte) ? byte + 0x20 : byte
      #expect(byte.asciiLowercased == lower, "\(byte)")
    }
  }

  @Test("Names are compared without case, values are read in order") func read() {
    let all = fields(("A", "1"), ("b", "2"), ("a", "3"), ("AB", "4"), ("A", ""))
    #expect(all["a"] == "1" && all["B"] == "2" && all["ab"] == "4" && all["c"] == nil && all[""] == nil)
    #expect(all.values(of: "A") == ["1", "3", ""] && all.values(of: "c").isEmpty)
    #expect(all.combined("a") == "1, 3, " && all.combined("b") == "2" && all.combined("c") == nil)
    #expect(all.contains("B") && !all.contains("c") && !all.contains("") && !HTTPFields().contains("A"))
    #expect(
      all.all.map(\.name) == ["A", "b", "a", "AB", "A"] && all.all.map(\.value) == ["1", "2", "3", "4", ""])
    #expect(!all.isEmpty && HTTPFields().isEmpty && HTTPFields()["A"] == nil)
    #expect(fields(("[", "1"))["{"] == nil && fields(("@", "1")).isEmpty)
    #expect(fields(("^", "1"))["~"] == nil, "only letters have a case")
  }

  @Test("A value is UTF-8 where it is valid, ISO 8859-1 otherwise") func encoding() {
    for (bytes, value) in [
      ([0x61], "a"), ([0xC3, 0xBC], "ü"), ([0xFC], "ü"), ([0x7F, 0x80], "\u{7F}\u{80}"), ([], ""),
    ]
      as [([UInt8], String)]
    {
      var result = HTTPFields()
      result.append(name: [0x41], value: bytes)
      #expect(result["A"] == value, "\(bytes)")
    }
  }

  @Test("Setting replaces every field of the name; removing leaves the rest as it was") func remove() {
    let all = fields(("A", "1"), ("b", "2"), ("a", "3"), ("AB", "4"))
    var changed = all
    changed["a"] = "5"
    #expect(text(changed) == "b: 2\r\nAB: 4\r\na: 5\r\n")
    changed["A"] = nil
    #expect(text(changed) == "b: 2\r\nAB: 4\r\n")
    changed.remove("c")
    #expect(text(changed) == "b: 2\r\nAB: 4\r\n")
    changed = all
    changed.removeAll { $0 == "a" || $0 == "AB" }
    #expect(text(changed) == "A: 1\r\nb: 2\r\n")
    changed = all
    changed.removeAll(in: ["a"], or: ["ab"])
    #expect(text(changed) == "b: 2\r\n")
    changed = all
    changed.removeAll(in: ["B"])
    #expect(text(changed) == "A: 1\r\na: 3\r\nAB: 4\r\n")
  }

  @Test("Appending a section keeps what was refused first") func appendSection() {
    var one = fields(("A", "1"))
    one.append(contentsOf: fields(("A", "2"), ("B C", "3")))
    #expect(text(one) == "A: 1\r\nA: 2\r\n" && one.refused?.contains("B C") == true)
    one.append(contentsOf: fields(("D E", "3")))
    #expect(one.refused?.contains("B C") == true)
  }

  static let mentions: [(value: String, letters: StaticString, isMentioned: Bool)] = [
    ("no-store", "no-store", true), ("max-age=1, NO-Store", "no-store", true), ("no-stor", "no-store", false),
    ("xno-storex", "no-store", true), ("", "no-store", false), ("no-no-store", "no-store", true),
    ("a", "a", true),
    ("no_store", "no-store", false),
  ]

  @Test("Letters are found anywhere in a value, in any case") func mentioning() {
    for (value, letters, isMentioned) in Self.mentions {
      #expect(fields(("A", value)).contains("a", mentioning: letters) == isMentioned, "\(value)")
      #expect(
        fields(("A", "x"), ("a", value)).contains("A", mentioning: letters) == isMentioned, "\(value), second"
      )
      #expect(!fields(("B", value)).contains("A", mentioning: letters), "\(value), another field")
    }
  }

  @Test("Stored bytes that are no line are passed over") func wire() {
    for (wire, values) in [
      ("A: 1\r\n", ["1"]), ("A:1\n", ["1"]), ("A: 1", ["1"]), ("junk\r\nA: 1\r\n", ["1"]),
      ("\r\n\r\nA: 1\r\n", ["1"]),
      ("A:\r\nA: \r\n", ["", ""]), ("A: 1 \t\r\r\n", ["1"]), ("A: 1: 2\r\n", ["1: 2"]), ("A", []), ("", []),
      ("A:", [""]), ("A: ", [""]),
    ] {
      #expect(HTTPFields(wire: Array(wire.utf8)).values(of: "a") == values, "\(wire.debugDescription)")
    }
  }

  @Test("A set of names is asked without regard to case") func names() {
    let names: FieldNames = ["Ab", "cD", "e", "abc", "f"]
    for (name, isOne) in [
      ("ab", true), ("CD", true), ("E", true), ("F", true), ("ABC", true), ("ac", false), ("bc", false),
      ("a", false),
      ("", false), ("abcd", false), ("abd", false), ("cb", false),
    ] {
      #expect(names.contains(name) == isOne, "\(name)")
    }
    let empty: FieldNames = []
    #expect(!empty.contains("a") && !empty.contains("") && !FieldNames([""]).contains(""))
  }

  @Test func `positions are in the order of the fields`() {
    let fields: HTTPFields = ["A": "1", "B": "2"]
    let (first, second) = (fields.startIndex, fields.index(after: fields.startIndex))
    #expect(first < second && second < fields.endIndex && !(second < first))
    #expect(!(first < first), "a position does not precede itself")
  }

  @Test func `fields are gone through in their order, past what is none`() {
    for wire in ["A: 1\r\nB: 2\r\n", "A: 1\r\nB: 2", "junk\r\nA: 1\r\n\r\nB: 2\njunk"] {
      let fields = HTTPFields(wire: Array(wire.utf8))
      #expect(Array(fields) == fields.all, "\(wire.debugDescription)")
      #expect(fields.all.map(\.value) == ["1", "2"], "\(wire.debugDescription)")
    }
  }
}
