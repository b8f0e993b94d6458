import PlatformFoundation
import Testing
import TestTurns

@testable import CacheStore
@testable import DataService
@testable import cachefetch

@Suite("Command line: options that select entries", .inTurn) struct RowSelectionTests {
  private static let now = Sample.receivedAt + 10_000

  /// The selection of a command line; a request's key has its URL, its account and the extra of `-k`.
  private func selection(_ words: String...) throws(UsageError) -> RowSelection {
    try RowSelection(try ArgumentParser.parse(words), now: Self.now) { (request) throws(UsageError) in
      var account = ""
      if case .named(let name) = request.account.kind { account = name }
      return RequestKey(
        account: account, target: request.key.map { "key:" + $0 } ?? request.url.absoluteString,
        method: "GET",
        extra: (request.connection.isInsecure ? "insecure" : "")
          + (request.limits.redirects == 0 ? " no-location" : ""))
    }
  }

  private func failure(_ words: String...) -> String? {
    do throws(UsageError) {
      _ = try RowSelection(try ArgumentParser.parse(words), now: 0) { (_) throws(UsageError) in
        RequestKey(account: "", target: "", method: "GET", extra: "")
      }
      return nil
    } catch {
      return error.line
    }
  }

  @Test func `without a filter everything is meant, and each filter is one`() throws {
    #expect(try selection("list").isAll && selection("rm").isAll)
    for words in [
      ["--account", "a"], ["--tag", "t"], ["--host", "h"], ["--prefix", "http://a"], ["--older-than", "1s"],
      ["--larger-than", "0"], ["--stale"], ["--status", "404"], ["--type", "a/b"], ["--key", "k"], ["-k"],
    ] {
      let arguments = try ArgumentParser.parse(["rm"] + words)
      let selection = try RowSelection(arguments, now: 0) { (request) throws(UsageError) in
        RequestKey(
          account: "", target: "t", method: "GET", extra: request.connection.isInsecure ? "insecure" : "")
      }
      #expect(!selection.isAll, "\(words)")
    }
    #expect(try selection("list").includes(Sample.entry(), now: Self.now))
  }

  @Test func `the store itself selects by account, tag, age, length and prefix`() throws {
    #expect(try selection("list", "--account", "a").selection.accounts == ["a"])
    #expect(try selection("list", "--tag", "t").selection.tag == "t")
    #expect(
      try selection("list", "--older-than", "4s").selection.receivedBeforeMilliseconds == Self.now - 4_000)
    #expect(try selection("list", "--older-than", "0s").selection.receivedBeforeMilliseconds == .max)
    #expect(try selection("list", "--larger-than", "10").selection.minimumBytes == 11)
    let largest = try selection("list", "--larger-than", "\(Int64.max)").selection.minimumBytes
    #expect(largest == Int64.max)
    #expect(try selection("list", "--prefix", "key:K").selection.prefix == "key:K")
    #expect(try selection("list", "--prefix", "http://ü/A?b").selection.prefix == "http://xn--tda/A?b")
  }

  @Test(arguments: [
    ("A.example", "a.example", true), ("a:8080", "a:8080", false), ("a:443", "a", false),
    ("a:80", "a", false),
    ("ü:81", "xn--tda:81", false), ("[::1]", "[::1]", true), ("[::1]:80", "[::1]", false),
    ("[::1]:81", "[::1]:81", false),
    ("a:8", "a:8", false),
  ]) func `a host is of the port it names, or of any`(text: String, host: String, isAnyPort: Bool) throws {
    let found = try selection("list", "--host", text).selection
    #expect(found.host == host && found.isAnyPort == isAnyPort)
  }

  @Test func `stale ones are selected, and those of a status or a type`() throws {
    let (fresh, stale) = (Sample.entry(), Sample.entry { $0.isInvalid = true })
    #expect(try !selection("list", "--stale").includes(fresh, now: Self.now))
    #expect(try selection("list", "--stale").includes(stale, now: Self.now))
    #expect(try selection("list", "--status", "2xx").includes(fresh, now: Self.now))
    #expect(try !selection("list", "--status", "4xx").includes(fresh, now: Self.now))
    let page = Sample.entry { $0.head.fields = ["Content-Type": "a/b", "content-type": "text/html; x=y"] }
    #expect(try selection("list", "--type", "text/html").includes(page, now: Self.now))
    #expect(try !selection("list", "--type", "a/b").includes(page, now: Self.now))
    #expect(try !selection("list", "--type", "text/html").includes(fresh, now: Self.now))
  }

  @Test func `operands of rm name targets, and keys of one's own`() throws {
    let found = try selection("rm", "http://a/", "key:k", "--key", "own")
    #expect(found.targets == ["http://a/", "key:k", "key:own"] && found.keys == nil)
    #expect(found.includes(Sample.entry("key:own", account: "x"), now: Self.now))
    #expect(!found.includes(Sample.entry("http://b/"), now: Self.now))
    #expect(try selection("list").targets == nil)
    #expect(failure("rm", "key:")?.isEmpty == false)
    for (operand, key) in [("key:k", "k"), ("key:", nil), ("ke:k", nil), ("key:key:", "key:")]
      as [(String, String?)]
    {
      #expect(RowSelection.ownKey(operand) == key, "\(operand)")
    }
  }

  @Test func `options of the connection must be in the key, and others may`() throws {
    let found = try selection("rm", "-k", "http://a/")
    #expect(found.includes(Sample.entry("http://a/", extra: "insecure"), now: Self.now))
    #expect(found.includes(Sample.entry("http://a/", extra: "insecure no-location"), now: Self.now))
    #expect(!found.includes(Sample.entry("http://a/", extra: "no-location"), now: Self.now))
    #expect(!found.includes(Sample.entry("http://a/"), now: Self.now))
  }

  @Test func `--exact means the whole key`() throws {
    let found = try selection("rm", "--exact", "--account", "a", "-k", "http://a/", "key:k")
    #expect(found.keys?.count == 2)
    #expect(found.includes(Sample.entry("http://a/", account: "a", extra: "insecure"), now: Self.now))
    #expect(found.includes(Sample.entry("key:k", account: "a", extra: "insecure"), now: Self.now))
    #expect(
      !found.includes(Sample.entry("http://a/", account: "a", extra: "insecure no-location"), now: Self.now))
    #expect(!found.includes(Sample.entry("http://a/", extra: "insecure"), now: Self.now))
    #expect(try selection("rm", "--exact", "--key", "k").keys?.map(\.target) == ["key:k"])
    #expect(failure("rm", "--exact")?.hasPrefix("--exact needs the URL of an entry") == true)
  }

  @Test(arguments: [
    (["list", "--older-than", "none"], "is not a duration"),
    (["list", "--tag", "a", "--tag", "b"], "given twice"),
    (["list", "--prefix", "a.example"], "did you mean https://a.example?"),
    (["list", "--status", "x"], "not a status"),
    (["list", "--type", "x"], "not a media type"),
  ]) func `what selects nothing is refused`(words: [String], part: String) {
    do throws(UsageError) {
      _ = try RowSelection(try ArgumentParser.parse(words), now: 0) { (_) throws(UsageError) in
        RequestKey(account: "", target: "", method: "GET", extra: "")
      }
      Issue.record("taken: \(words)")
    } catch {
      #expect(error.line.contains(part), "\(error.line)")
    }
  }

  @Test(arguments: [
    ("404", 404...404), ("100", 100...100), ("999", 999...999), ("4xx", 400...499), ("1XX", 100...199),
    ("9xx", 900...999), ("200-299", 200...299), ("200-200", 200...200),
  ])
  func `a status selection is a status, a class, or from one to another`(
    text: String, range: ClosedRange<Int>
  ) throws {
    let status = try StatusSelection(text)
    #expect(status.range == range)
    #expect(status.includes(range.lowerBound) && status.includes(range.upperBound))
    #expect(!status.includes(range.lowerBound - 1) && !status.includes(range.upperBound + 1))
  }

  @Test(arguments: [
    "", "99", "1000", "0xx", "xx", "4xxx", "axx", "299-200", "200-", "-200", "200-299-300", "+20", "099",
    "4x",
  ])
  func `a status selection that is no status, class or range is refused`(text: String) {
    #expect(throws: UsageError.self) { try StatusSelection(text) }
  }

  @Test(
    arguments: [
      ("text/html", "text/html", true), ("text/html", "Text/HTML ; charset=x", true),
      ("TEXT/*", "text/plain", true),
      ("text/html", "text/plain", false), ("text/*", "image/png", false), ("text/html", "texthtml", false),
      ("text/html", nil, false), ("text/html", "", false), ("a/b", " a\t/ b", true),
      ("text/*", "text", false),
    ] as [(String, String?, Bool)])
  func `a type selection is a media type, or all of a kind`(
    text: String, field: String?, isIncluded: Bool
  ) throws {
    #expect(try TypeSelection(text).includes(field) == isIncluded)
  }

  @Test(arguments: ["", "text", "text/", "/html", "*/html", "a/b/c", "a/b;c"])
  func `a type selection that is no media type and no kind is refused`(text: String) {
    #expect(throws: UsageError.self) { try TypeSelection(text) }
  }
}
