import Testing
import TestTurns

@testable import CacheStore
@testable import DataService
@testable import cachefetch

@Suite("Command: what import takes of somebody else's file", .inTurn) struct BundleRowTests {
  @Test func `an entry comes without cookies, not pinned, and not from the future`() {
    let now = Sample.receivedAt
    for (shift, kept) in [(-1, now - 1), (0, now), (1, now)] as [(Int64, Int64)] {
      let entry = Sample.entry {
        $0.head.fields = ["Set-Cookie": "a", "X": "b", "set-cookie2": "c"]
        $0.isPinned = true
        ($0.head.requestedAt, $0.head.receivedAt, $0.changedAt) = (now + shift, now + shift, now + shift)
      }
      let row = BundleRow.accepted(entry, now: now).response
      #expect(row.fields.all.map(\.name) == ["X"] && !row.isPinned, "\(shift)")
      #expect([row.requestedAt, row.receivedAt, row.changedAt] == [kept, kept, kept], "\(shift)")
    }
  }

  @Test(arguments: ["Date", "Last-Modified"])
  func `a date to come is dropped, and one that is past or none stays`(name: String) {
    for (value, isKept) in [
      ("Fri, 31 Dec 9999 23:59:59 GMT", false), (HTTPDate.format(Sample.receivedAt + 60_000), false),
      (HTTPDate.format(Sample.receivedAt), true), ("yesterday", true),
    ] {
      let entry = Sample.entry { $0.head.fields = HTTPFields(dictionaryLiteral: (name, value)) }
      let row = BundleRow.accepted(entry, now: Sample.receivedAt).response
      #expect(row.fields[name] == (isKept ? value : nil), "\(value)")
    }
  }

  @Test("A good row has a status of good rows", arguments: [100, 199, 206, 300, 304, 404, 416, 500, 999])
  func notGood(status: Int) {
    let entry = Sample.entry { $0.head.status = status }
    #expect(BundleRow.refusal(entry) == "has a status that is never stored")
    var besides = entry
    besides.response.isGood = false
    let isStored = [300, 404, 500, 999].contains(status)
    #expect((BundleRow.refusal(besides) == nil) == isStored)
  }

  @Test(
    "What no exchange could have brought is refused",
    arguments: [
      (Sample.entry(isSound: false), "is damaged"), (Sample.entry(method: ""), "has a method that is none"),
      (Sample.entry(method: "G T"), "has a method that is none"),
      (Sample.entry("ftp://a/"), "has a URL that is none"),
      (Sample.entry("http://a/\u{1F}"), "has a URL that is none"),
      (Sample.entry("key:\u{7F}"), "has a URL that is none"),
      (Sample.entry { $0.head.url = "a\n" }, "has a URL that is none"),
      (Sample.entry { $0.head.version = "1.2" }, "has a status line that is none"),
      (Sample.entry { $0.head.reason = "a\r" }, "has a status line that is none"),
      (Sample.entry { $0.head.fields = HTTPFields(wire: [0x61]) }, "has header fields that are none"),
      (Sample.entry(account: "a\0"), "has control characters in it"),
      (Sample.entry(extra: "a\n"), "has control characters in it"),
      (Sample.entry(tags: ["a", "\u{1B}"]), "has control characters in it"),
      (Sample.entry { $0.vary = "a\n" }, "has control characters in it"),
      (Sample.entry { $0.variant = "a: b\nc: \t" }, "has control characters in it"),
    ])
  func refused(entry: StoredEntry, words: String) {
    #expect(BundleRow.refusal(entry) == words)
  }

  @Test(arguments: [
    Sample.entry(), Sample.entry("https://a/ü "), Sample.entry("key:k"),
    Sample.entry { $0.head.url = "http://b/" },
    Sample.entry { $0.head.version = "3" }, Sample.entry { $0.head.version = "2" },
    Sample.entry { $0.head.version = "1.0" },
    Sample.entry { $0.variant = "a: b\nc: d" }, Sample.entry(account: "a", extra: "b", tags: ["c"]),
  ]) func `what is as it should be is taken`(entry: StoredEntry) {
    #expect(BundleRow.refusal(entry) == nil)
  }

  @Test(arguments: [
    ("", true), ("a: b\r\n", true), ("a: b\r\nc:\r\n", true), ("a: b\n", false), ("a: b", false),
    ("\n", false),
    ("\r\n", false), (": b\r\n", false), ("a b: c\r\n", false), ("a\r\n", false), ("a: b\rc\r\n", false),
    ("a: \0\r\n", false), ("a: b\r\nc", false), ("a: b\r\n\r\n", false), ("a:b:c\r\n", true),
    ("a: \t\u{1}\r\n", true),
  ]) func `a field line is well formed with a name, a colon and CR LF`(text: String, isWellFormed: Bool) {
    #expect(BundleRow.isWellFormed(Array(text.utf8)) == isWellFormed)
  }
}
