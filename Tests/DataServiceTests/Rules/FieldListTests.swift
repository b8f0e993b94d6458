import DataService
import Testing
import TestTurns

@Suite("Field lists", .inTurn) struct FieldListTests {
  @Test(
    "A list is split at commas outside quoted strings",
    arguments: [
      ("", []), (",", []), (" , ,", []), ("a", ["a"]), ("a,b", ["a", "b"]), (" a ,\tb ", ["a", "b"]),
      ("a,,b", ["a", "b"]), ("a=\"b,c\",d", ["a=\"b,c\"", "d"]), ("\"a\\\",b\",c", ["\"a\\\",b\"", "c"]),
      ("a b", ["a b"]),
    ] as [(String, [String])])
  func members(value: String, expected: [String]) {
    #expect(FieldList.members(value) == expected)
  }

  @Test(
    "A quotation mark that is never closed hides nothing",
    arguments: ["x=\"a, no-store", "\", no-store", "x=\"\\\", no-store", "x=\"a\\, no-store"])
  func unclosed(value: String) {
    #expect(FieldList.members(value).contains("no-store"))
  }

  @Test("A mark that is never closed costs no more where many are escaped behind it") func manyUnclosed() {
    // Were each of them searched for its end, these would be billions of steps.
    let marks = "\"" + String(repeating: "\\\"", count: 130_000)
    #expect(FieldList.members(marks) == [marks])
    #expect(FieldList.members(marks + ", no-store").last == "no-store")
    #expect(FieldList.members("a=\"b,c\", " + marks) == ["a=\"b,c\"", marks])
    #expect(CacheControl(marks + ",no-store").noStore)
  }

  @Test(
    "A quoted string loses its marks and backslashes",
    arguments: [("\"a\"", "a"), ("\"\"", ""), ("\"a\\\"b\"", "a\"b"), ("\"a\\\\\"", "a\\")])
  func unquoted(text: String, expected: String) {
    #expect(FieldList.unquoted(text) == expected)
  }

  @Test(
    "What is not one quoted string is not unquoted",
    arguments: ["a", "\"", "\"a", "\"a\"b", "\"a\\\"", "", "'a'"])
  func notQuoted(text: String) {
    #expect(FieldList.unquoted(text) == nil)
  }

  @Test("Letters of ASCII alone are in two cases") func lowercased() {
    #expect(FieldList.lowercased("@AMZ[`az{\u{C9}09") == "@amz[`az{\u{C9}09")
  }

  @Test("Blanks and tabs are trimmed at both ends, RFC 9110 section 5.6.3") func trimmed() {
    #expect(FieldList.trimmed(" \t a \tb\t ") == "a \tb" && FieldList.trimmed("\u{A0}a\n") == "\u{A0}a\n")
    #expect(FieldList.trimmed(" \t").isEmpty && FieldList.trimmed("").isEmpty)
  }

  @Test("Quoting and unquoting are inverse", arguments: ["", "a", "a\"b", "\\", "\\\"", "ä, ö"])
  func inverse(text: String) {
    #expect(FieldList.unquoted(FieldList.quoted(text)) == text)
  }
}
