import CacheStore
import DataService
import Testing
import TestTurns

@Suite("Entity tags, RFC 9110 section 8.8.3", .inTurn) struct EntityTagTests {
  @Test(
    "A tag is quoted and may be weak",
    arguments: [
      ("\"a\"", false, "a"), ("W/\"a\"", true, "a"), ("\"\"", false, ""), ("\"a,b\"", false, "a,b"),
      ("\"a\\\"", false, "a\\"), ("\"ü\"", false, "ü"),
      ("\"!\"", false, "!"), ("\"#\"", false, "#"), ("\"~\"", false, "~"), ("W/\"\"", true, ""),
      ("\"\u{80}\"", false, "\u{80}"),
    ])
  func parse(text: String, isWeak: Bool, opaque: String) throws {
    let tag = try #require(EntityTag(text))
    #expect(tag.isWeak == isWeak)
    #expect(tag.opaque == opaque)
  }

  @Test(
    "Everything else is no tag",
    arguments: [
      "", "a", "\"", "\"a", "a\"", "w/\"a\"", "W\"a\"", "W\\\"a\"", "W/a", "\"a\"b", "\"a b\"", "\"a\"\"",
      "*", "\"\u{1F}\"", "\"\u{7F}\"", "W/\"", "W/", "W", "/\"a\"", "W/W/\"a\"", " \"a\"",
    ])
  func refused(text: String) {
    #expect(EntityTag(text) == nil)
  }

  @Test(
    "Strong comparison wants two strong tags, weak comparison one text",
    arguments: [
      ("W/\"1\"", "W/\"1\"", false, true), ("W/\"1\"", "W/\"2\"", false, false),
      ("W/\"1\"", "\"1\"", false, true),
      ("\"1\"", "W/\"1\"", false, true), ("\"1\"", "\"1\"", true, true), ("\"1\"", "\"2\"", false, false),
    ])
  func comparison(one: String, other: String, isStrong: Bool, isWeak: Bool) throws {
    let (one, other) = (try #require(EntityTag(one)), try #require(EntityTag(other)))
    #expect(one.stronglyMatches(other) == isStrong)
    #expect(one.weaklyMatches(other) == isWeak)
  }

  @Test("Two spellings of one character are two tags") func spellings() throws {
    let (one, other) = (try #require(EntityTag("\"\u{E9}\"")), try #require(EntityTag("\"e\u{301}\"")))
    #expect(!one.weaklyMatches(other) && !one.stronglyMatches(other))
    #expect(Validators.names304Another(stored: ["ETag": "\u{E9}"], answer: ["ETag": "e\u{301}"]))
  }

  @Test(
    "A list is split outside the quotation marks, whatever backslashes stand inside",
    arguments: [
      ("\"a\"", ["a"]), ("\"a\", \"b\"", ["a", "b"]), ("\"a,b\" ,W/\"c\"", ["a,b", "c"]),
      ("\"a\\\", \"b\"", ["a\\", "b"]), ("\"a\",\"b\",\"c\"", ["a", "b", "c"]),
      (",\"a\",,\"b\",", ["a", "b"]), ("\"a\", b\", \"c\"", ["a"]),
      ("", []), (",", []), ("a, \"b\"", ["b"]), ("\"a", []), ("*", []),
    ] as [(String, [String])])
  func list(value: String, expected: [String]) {
    #expect(EntityTag.list(value).map(\.opaque) == expected)
  }
}
