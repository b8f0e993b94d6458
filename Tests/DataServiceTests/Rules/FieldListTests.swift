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

  @Test("Quoting and unquoting are inverse", arguments: ["", "a", "a\"b", "\\", "\\\"", "ä, ö"])
  func inverse(text: String) {
    #expect(FieldList.unquoted(FieldList.quoted(text)) == text)
  }
}

@Suite("Delta seconds", .inTurn) struct DeltaSecondsTests {
  @Test(
    "Digits are seconds, whatever follows or precedes makes them none",
    arguments: [
      ("0", 0), ("10", 10), ("003600", 3600), ("", nil), ("-1", nil), ("+1", nil), ("1.0", nil), ("1a", nil),
      ("a1", nil), (" 1", nil), ("'1'", nil), ("١", nil),
    ] as [(String, Int64?)])
  func parse(text: String, expected: Int64?) {
    #expect(DeltaSeconds.parse(text) == expected)
  }

  @Test(
    "What overflows counts as 2^31",
    arguments: [
      "2147483647", "2147483648", "2147483649", "9223372036854775808", String(repeating: "9", count: 400),
    ])
  func overflow(text: String) {
    #expect(DeltaSeconds.parse(text) == (text == "2147483647" ? 2_147_483_647 : 2_147_483_648))
  }
}
