import Testing
import TestTurns

@testable import CacheStore
@testable import cachefetch

@Suite("Output: entries as list shows them", .inTurn) struct EntryTableTests {
  /// Ten seconds after the samples were received.
  private let table = EntryTable(now: Sample.receivedAt + 10_000)

  /// The lines below the header.
  private func text(_ entries: StoredEntry..., width: Int = 200) -> String {
    String(table.text(entries, width: width).drop { $0 != "\n" }.dropFirst())
  }

  private func header(_ entries: StoredEntry..., width: Int = 200) -> String {
    String(table.text(entries, width: width).prefix { $0 != "\n" })
  }

  @Test(
    "entries are ordered by URL from a on, by all else from the last, the longest or the latest on",
    arguments: [(.url, "abc"), (.age, "bca"), (.size, "cab"), (.used, "cba")] as [(ListOrder, String)])
  func order(order: ListOrder, names: String) {
    func entry(_ name: String, at received: Int64, length: Int64, usedAt: Int64?) -> StoredEntry {
      Sample.entry(name, usedAt: usedAt) {
        $0.head.receivedAt = received
        $0.body.length = length
      }
    }
    let entries = [
      entry("b", at: 3, length: 3, usedAt: 1), entry("c", at: 2, length: 1, usedAt: 2),
      entry("a", at: 1, length: 2, usedAt: nil),
    ]
    #expect(EntryTable.sorted(entries, by: order).map(\.key.target).joined() == names)
  }

  @Test(arguments: [ListOrder.age, .size, .used])
  func `entries between which an order does not decide stay as they are`(order: ListOrder) {
    let entries = (0..<40).map { Sample.entry("\($0)") }
    #expect(EntryTable.sorted(entries, by: order).map(\.key.target) == entries.map(\.key.target))
  }

  @Test func `the entries of one URL are in the order of their accounts`() {
    let entries = ["b", "", "a"].map { Sample.entry(account: $0) }
    #expect(EntryTable.sorted(entries, by: .url).map(\.key.account) == ["", "a", "b"])
    // Those of one account stay as they are.
    let alike = (0..<40).map { Sample.entry(extra: "\($0)") }
    #expect(EntryTable.sorted(alike, by: .url).map(\.key.extra) == alike.map(\.key.extra))
  }

  @Test(
    "a line says the entry's state, and then what its key has besides a URL",
    arguments: [
      ("fresh", Sample.entry(), "fresh  http://a.example/x"),
      ("stale", Sample.entry { $0.isInvalid = true }, "stale  http://a.example/x"),
      (
        "neither, since its server has given no lifetime",
        Sample.entry { $0.head.fields = ["ETag": "\"1\""] },
        "http://a.example/x"
      ),
      ("damaged", Sample.entry(isSound: false), "damaged  http://a.example/x"),
      ("another status", Sample.entry { $0.head.status = 404 }, "fresh 404  http://a.example/x"),
      ("pinned", Sample.entry { $0.isPinned = true }, "fresh pinned  http://a.example/x"),
      ("imported", Sample.entry { $0.head.started = .imported }, "fresh imported  http://a.example/x"),
      ("another method", Sample.entry(method: "HEAD"), "fresh  HEAD http://a.example/x"),
      ("an account", Sample.entry(account: "alice"), "fresh  http://a.example/x  [alice]"),
      ("an option", Sample.entry(extra: "insecure"), "fresh  http://a.example/x  -k"),
      (
        "a variant", Sample.entry { $0.variant = "accept: a\naccept-language: de" },
        "fresh  http://a.example/x  (accept: a, accept-language: de)"
      ),
      ("tags", Sample.entry(tags: ["a", "b"]), "fresh  http://a.example/x  #a  #b"),
      ("what acts on a terminal", Sample.entry("http://a/\u{9B}"), "fresh  http://a/<U+009B>"),
    ])
  func line(name: String, entry: StoredEntry, end: String) {
    let shown = text(entry).split(separator: " ").joined(separator: " ")
    #expect(shown == "10 seconds ago 3 B \(end)\n".split(separator: " ").joined(separator: " "), "\(name)")
  }

  @Test func `columns are aligned, under a header`() {
    let (one, two) = (Sample.entry("http://a/"), Sample.entry("http://b/") { $0.body.length = 12_345 })
    #expect(
      table.text([one, two], width: 80)
        == """
              RECEIVED     SIZE  STATE  ENTRY
        10 seconds ago      3 B  fresh  http://a/
        10 seconds ago  12.3 kB  fresh  http://b/

        """)
    #expect(table.text([], width: 80) == "RECEIVED  SIZE  STATE  ENTRY\n")
  }

  @Test func `for a program columns are separated by tabs, and times and sizes are exact`() {
    let entry = Sample.entry(
      "http://a/\tb", account: "auto:0123456789abcdef", extra: "insecure", method: "POST", tags: ["a", "b"]
    ) {
      $0.head.status = 203
      $0.isPinned = true
      $0.variant = "accept: a\naccept-language: de"
      $0.body.length = 12_345
    }
    #expect(
      table.lines([Sample.entry(), entry])
        == "1970-01-01T00:00:01.500Z\t3\t200\tfresh\t\thttp://a.example/x\t\t\n"
        + "1970-01-01T00:00:01.500Z\t12345\t203\tfresh pinned\tauto:0123456789abcdef\thttp://a/^Ib\t"
        + "-X POST -k (accept: a, accept-language: de)\t#a #b\n")
    #expect(table.lines([]).isEmpty)
  }

  @Test func `a row from the future is not older than now`() {
    #expect(text(Sample.entry { $0.head.receivedAt = Sample.receivedAt + 20_000 }).hasPrefix("just now"))
  }

  @Test func `a narrow window has two lines for each`() {
    let entry = Sample.entry("http://a/b")
    #expect(text(entry, width: 60) == "10 seconds ago   3 B  fresh  http://a/b\n")
    #expect(text(entry, width: 59) == "10 seconds ago   3 B  fresh\n  http://a/b\n")
    let wide = Sample.entry { $0.head.status = 404 }
    #expect(text(entry, wide, width: 59).hasPrefix("10 seconds ago   3 B  fresh\n  http://a/b\n"))
    #expect(header(entry, width: 59) == "      RECEIVED  SIZE  STATE")
    #expect(header(entry, width: 20) == "      RECEIVED  SIZ…")
    #expect(text(entry, width: 11) == "10 seconds ago   3 B  fresh\n  http://a…\n")
    let named = Sample.entry("http://a/b", account: "alice")
    for width in 1...3 {
      #expect(text(named, width: width) == "10 seconds ago   3 B  fresh\n  h\n", "\(width)")
    }
  }

  @Test func `first the account's name is cut, then the URL, and the account never goes`() {
    let account = "auto:0123456789abcdef"
    let entry = Sample.entry("http://a/" + String(repeating: "b", count: 20), account: account)
    // 29 columns are for figures, and the entry is 29 + 25 long.
    let whole = "http://a/" + String(repeating: "b", count: 20)
    #expect(text(entry, width: 83).hasSuffix("  \(whole)  [\(account)]\n"))
    #expect(text(entry, width: 82).hasSuffix("  \(whole)  [auto:01234567…]\n"))
    #expect(text(entry, width: 76).hasSuffix("  \(whole)  [auto:01234567…]\n"))
    #expect(
      text(entry, width: 75).hasSuffix("  http://a/\(String(repeating: "b", count: 18))…  [auto:01234567…]\n")
    )
    // Half of the width is the URL's at least, else both are cut as one.
    #expect(text(entry, width: 65).hasSuffix("  http://a/bbbbbbbb…  [auto:01234567…]\n"))
    #expect(text(entry, width: 64).hasSuffix("  http://a/bbbbbbb…  [auto:01234567…]\n"))
    #expect(text(entry, width: 63).hasSuffix("  \(whole)  [a…\n"))
  }

  @Test(arguments: [
    ("alice", "alice"), ("auto:012345678", "auto:012345678"), ("auto:0123456789", "auto:01234567…"),
    ("a-very-long-name-of-alice", "a-very-long-name-of-alice"),
  ]) func `only the names that nobody has given are cut`(name: String, short: String) {
    #expect(EntryTable.shortAccount(name) == short)
  }

  @Test func `the total says how many are shown`() {
    let entries = [Sample.entry(), Sample.entry()]
    #expect(EntryTable.total(of: entries, shown: 2) == "2 entries, 6 B\n")
    #expect(EntryTable.total(of: entries, shown: 1) == "the first 1 of 2 entries, 6 B\n")
  }

  @Test func `its JSON object has what there is`() {
    let times = #""stored_at":"1970-01-01T00:00:01.500Z","changed_at":"1970-01-01T00:00:01.500Z","#
    #expect(
      String(decoding: table.line(Sample.entry()), as: UTF8.self)
        == #"{"url":"http://a.example/x","method":"GET","account":"","status":200,"#
        + #""fields":[["Cache-Control","max-age=60"]],"body_bytes":3,"# + times
        + #""age_ms":10000,"stale":false,"pinned":false,"imported":false,"tags":[],"damaged":false}"# + "\n")
    let other = Sample.entry("key:k", extra: "insecure", usedAt: 2_000, tags: ["t"], isSound: false) {
      $0.head.url = "http://b/"
      $0.variant = "accept: a"
      $0.head.receivedAt = 20_000
    }
    let line = String(decoding: table.line(other), as: UTF8.self)
    #expect(
      line.hasPrefix(
        #"{"key":"k","response_url":"http://b/","method":"GET","account":"","extra":"insecure","variant":"accept: a","#
      ))
    #expect(line.contains(#""used_at":"1970-01-01T00:00:02.000Z","age_ms":0,"#))
    #expect(line.hasSuffix(#""tags":["t"],"damaged":true}"# + "\n"))
  }
}
