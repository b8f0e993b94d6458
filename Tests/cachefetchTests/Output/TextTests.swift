import CacheStore
import DataService
import FoundationEssentials
import Testing
import TestTurns

@testable import cachefetch

@Suite("Output: terminal safety", .inTurn) struct TerminalTextTests {
  @Test(
    "What acts on a terminal is shown instead",
    arguments: [
      ("plain é 漢 🙂", "plain é 漢 🙂"), ("\u{1B}[31mred", "^[[31mred"), ("a\nb\tc\r", "a^Jb^Ic^M"),
      ("\u{7}\u{7F}", "^G^?"),
      ("\u{9B}31m", "<U+009B>31m"), ("a\u{202E}b", "a<U+202E>b"), ("\u{0}", "^@"),
    ])
  func visible(text: String, shown: String) {
    #expect(TerminalText.visible(text) == shown)
  }

  @Test(
    "A body keeps its lines",
    arguments: [
      (Array("a\r\nb\n\tc".utf8), "a\nb\n\tc"), (Array("a\rb".utf8), "a^Mb"),
      (Array("\u{1B}]0;x\u{7}".utf8), "^[]0;x^G"),
      ([0xE9, 0x61], "\\xE9a"), (Array("é".utf8).dropLast() + [], "\\xC3"), ([0xC2, 0x9B], "<U+009B>"),
      (Array("🙂".utf8), "🙂"), ([0xED, 0xA0, 0x80], "\\xED\\xA0\\x80"),
    ] as [([UInt8], String)])
  func body(bytes: [UInt8], shown: String) {
    #expect(String(decoding: TerminalText.body(bytes), as: UTF8.self) == shown)
  }

  @Test func `no sequence of bytes gets an escape or C1 character through`() {
    for first in UInt8.min...UInt8.max {
      for second in stride(from: UInt8(0), to: 255, by: 5) {
        let shown = TerminalText.body([first, second, 0x9B, 0x1B])
        let text = String(validating: shown, as: UTF8.self)
        #expect(text != nil)
        #expect(
          text?.unicodeScalars.contains { TerminalText.isUnsafe($0) && $0 != "\n" && $0 != "\t" } == false)
      }
    }
  }
}

@Suite("Output: JSON", .inTurn) struct JSONTests {
  @Test func `members keep their order and strings are escaped`() {
    var json = JSONWriter()
    json.member("z", "a\"\\\n\u{1}é\u{9B}")
    json.member("a", 1)
    json.member("b", true)
    json.member("c", pairs: [("n", "v")])
    json.member("d", ["x", "y"])
    #expect(
      String(decoding: json.line(), as: UTF8.self)
        == #"{"z":"a\"\\\n\u0001é\u009b","a":1,"b":true,"c":[["n","v"]],"d":["x","y"]}"# + "\n")
  }

  @Test(
    "Pretty-printing",
    arguments: [
      (
        #"{"b":1.50,"a":[true,null,{}],"c":[]}"#,
        "{\n  \"b\": 1.50,\n  \"a\": [\n    true,\n    null,\n    {}\n  ],\n  \"c\": []\n}\n"
      ),
      (" [ ] ", "[]\n"), (#""\u001b""#, "\"\\u001b\"\n"), ("\"\u{9B}\"", "\"<U+009B>\"\n"),
      ("[1,2] x", nil), ("{\"a\" 1}", nil), ("{a:1}", nil), ("[1,]", nil), ("\"a", nil), ("\"\\", nil),
      ("", nil), ("-", nil), ("[", nil),
    ] as [(String, String?)])
  func pretty(text: String, shown: String?) {
    let pretty = JSONText.pretty(Array(text.utf8), hasColour: false)
    #expect(pretty.map { String(decoding: $0, as: UTF8.self) } == shown)
  }

  @Test func `a document nested too deep is shown as text`() {
    let deep = String(repeating: "[", count: 100_000) + String(repeating: "]", count: 100_000)
    #expect(JSONText.pretty(Array(deep.utf8), hasColour: true) == nil)
  }
}

@Suite("Output: words", .inTurn) struct WordsTests {
  @Test(
    "Ages",
    arguments: [
      (0, "just now"), (1, "1 second ago"), (59, "59 seconds ago"), (60, "1 minute ago"),
      (118, "2 minutes ago"), (3_540, "59 minutes ago"), (3_599, "1 hour ago"),
      (10_800, "3 hours ago"), (172_800, "2 days ago"), (5_184_000, "2 months ago"),
      (94_608_000, "3 years ago"),
    ])
  func age(seconds: Int, words: String) {
    #expect(Words.age(.seconds(seconds)) == words)
  }

  @Test func `sizes and times are short`() {
    #expect(
      Words.size(512) == "512 B" && Words.size(10_240) == "10.2 kB" && Words.size(1_440_000_000) == "1.4 GB")
    #expect(Words.elapsed(.microseconds(3_440)) == "3.4 ms" && Words.elapsed(.milliseconds(120)) == "120 ms")
    #expect(Words.elapsed(.milliseconds(2_540)) == "2.5 s" && Words.elapsed(.seconds(180)) == "3 minutes")
  }

  @Test(
    "Times are rounded, and long ones have two units",
    arguments: [
      (3_460, "3.5 ms"), (9_949, "9.9 ms"), (9_960, "10 ms"), (999_600, "1.0 s"), (1_960_000, "2.0 s"),
      (59_960_000, "1 minute"), (118_000_000, "1 minute 58 s"), (119_700_000, "2 minutes"),
      (3_599_700_000, "1 hour"), (7_500_000_000, "2 hours 5 minutes"), (200_000_000_000, "2 days"),
    ])
  func elapsed(microseconds: Int64, words: String) {
    #expect(Words.elapsed(.microseconds(microseconds)) == words)
  }

  @Test(
    "Sizes and ages are rounded",
    arguments: [
      (999, "999 B"), (1_960, "2.0 kB"), (999_949, "999.9 kB"), (999_960, "1.0 MB"),
      (1_999_999_999, "2.0 GB"),
    ])
  func size(bytes: Int64, words: String) {
    #expect(Words.size(bytes) == words)
  }

  @Test func `a word as long as a megabyte is cut in its middle, and nothing else`() {
    let url = "http://a.example/" + String(repeating: "x", count: 1_000_000) + "/end.json"
    let line = Columns.shortened("\(url): refused the connection")
    #expect(
      line.count < 400 && line.hasPrefix("http://a.example/xxx")
        && line.hasSuffix("/end.json: refused the connection"))
    #expect(Columns.shortened("a b  c") == "a b  c")
  }

  @Test func `the end of a URL is kept where there is little room`() {
    #expect(
      Columns.end(of: "http://a/b/c.json", to: 9) == "…b/c.json" && Columns.end(of: "abc", to: 3) == "abc")
    let lines = Heading(url: "http://a.example/x/one.json", width: 40).line(
      DataService.Delivery<Int>.failure(DataServiceError(.offline, "there is no network"), lastKnown: nil))
    #expect(lines == "failure  there is no network\n         http://a.example/x/one.json\n")
  }

  @Test func `text is cut to the width with an ellipsis`() {
    #expect(Columns.cut("abcdef", to: 4) == "abc…" && Columns.cut("abc", to: 3) == "abc")
    #expect(Columns.pad("7", to: 3, isFigure: true) == "  7" && Columns.pad("a", to: 3) == "a  ")
  }

  @Test func `binary and text are told apart`() {
    #expect(!BodyPrinter.isBinary(Array("héllo\n".utf8)[...], isWhole: true))
    #expect(!BodyPrinter.isBinary((Array(repeating: 0x61, count: 30) + [0xE9])[...], isWhole: true))
    #expect(BodyPrinter.isBinary([0x50, 0x4B, 0], isWhole: true))
    #expect(BodyPrinter.isBinary([0x89, 0xFF, 0xFE, 0x80], isWhole: true))
  }
}

@Suite("Output: what --print prints", .inTurn) struct PrintRuleTests {
  @Test(
    "Stored",
    arguments: [
      (.both, .print), (.stored, .print), (.changed, .print), (.last, .hold), (.fresh, .skip), (.none, .skip),
    ] as [(PrintMode, PrintRule.Verdict)])
  func stored(mode: PrintMode, expected: PrintRule.Verdict) {
    #expect(PrintRule.stored(mode, mayBecomeFresh: true) == expected)
    // There is nothing to wait for where it is all there will be.
    #expect(PrintRule.stored(mode, mayBecomeFresh: false) == (expected == .hold ? .print : expected))
  }

  @Test func `an unchanged fresh body is skipped where the stored one was printed, on a terminal or not`() {
    func fresh(_ mode: PrintMode, isRecord: Bool = false, _ wasPrinted: Bool = true) -> PrintRule.Verdict {
      PrintRule.fresh(mode, .unchanged, isRecord: isRecord, wasStoredPrinted: wasPrinted)
    }
    #expect(fresh(.both) == .skip && fresh(.both, false) == .print && fresh(.both, isRecord: true) == .print)
    #expect(fresh(.changed) == .skip && fresh(.last) == .print && fresh(.fresh) == .print)
    #expect(fresh(.changed, isRecord: true) == .skip)
    #expect(fresh(.stored) == .skip && fresh(.none) == .skip)
    #expect(PrintRule.fresh(.changed, .changed, isRecord: false, wasStoredPrinted: true) == .print)
  }

  @Test func `a failure's object is printed where no stored one takes its place`() {
    for mode in [PrintMode.both, .fresh, .changed] {
      #expect(PrintRule.failure(mode, wasStoredPrinted: true) == .print)
    }
    for mode in [PrintMode.last, .stored] {
      #expect(PrintRule.failure(mode, wasStoredPrinted: true) == .skip)
      #expect(PrintRule.failure(mode, wasStoredPrinted: false) == .print)
    }
    #expect(PrintRule.failure(.none, wasStoredPrinted: false) == .skip)
  }

  @Test func `the file takes no error's page and no portal's`() {
    #expect(
      PrintRule.fileTakes(status: 200, kept: .yes) && PrintRule.fileTakes(status: 399, kept: .no(.status)))
    #expect(!PrintRule.fileTakes(status: 400, kept: .no(.status)))
    #expect(!PrintRule.fileTakes(status: 200, kept: .no(.portal)))
  }
}

@Suite("Output: text in single-byte encodings", .inTurn) struct SingleByteTextTests {
  @Test(arguments: [
    "text/plain; charset=ISO-8859-1", "text/html;charset=\"windows-1252\"", "text/plain; x=y; Charset=latin1",
    "text/plain; charset=us-ascii",
  ])
  func `declared text becomes UTF-8`(type: String) throws {
    let text = try #require(SingleByteText(contentType: type))
    #expect(String(decoding: text.utf8([0x63, 0xE9, 0x80, 0xFF, 0xA0]), as: UTF8.self) == "cé€ÿ\u{A0}")
    // What stands for nothing stays a byte that is shown as one.
    #expect(text.utf8([0x81]) == [0x81])
  }

  @Test func `what declares another encoding, or none, stays as it is`() {
    for type in ["text/plain; charset=utf-8", "text/plain", "text/plain; charset=iso-8859-2", nil] {
      #expect(SingleByteText(contentType: type) == nil)
    }
  }
}

@Suite("Output: the format of -w", .inTurn) struct WriteOutTests {
  private func text(_ format: String, _ change: (inout WriteOut.Transfer) -> Void = { _ in }) throws -> String
  {
    var transfer = WriteOut.Transfer(number: 1, url: "http://a.example/x", method: "GET")
    change(&transfer)
    return try WriteOut(format: format).text(of: transfer, exitStatus: .nothing, file: "out")
      .map { ($0.isForErrors ? "2:" : "1:") + $0.text }.joined(separator: "|")
  }

  @Test(arguments: [
    ("a", "1:a"), ("%{exitcode}\\n", "1:4\n"), ("%{http_code}", "1:000"), ("100%% %x", "1:100% %x"),
    ("\\t\\r\\q\\", "1:\t\r\\q\\"), ("%{url} %{method} %{urlnum}", "1:http://a.example/x GET 1"),
    ("a%{stderr}b%{stdout}c", "1:a|2:b|1:c"), ("%header{etag}.", "1:."), ("%{scheme}", "1:http"),
    ("%{filename_effective} %{http_version} %{num_headers}", "1:out 0 0"), ("", ""), ("%", "1:%"),
    ("%{errormsg}%{content_type}%{size_download}", "1:0"),
  ])
  func `each is as in curl`(format: String, expected: String) throws {
    #expect(try text(format) == expected)
  }

  @Test func `a failure says its message, and its status where it has one`() throws {
    let error = DataServiceError(.status, "it answered 503", status: 503)
    #expect(
      try text("%{http_code} %{errormsg} %{delivery}") { $0.take(error) } == "1:503 it answered 503 failure")
  }

  @Test func `the time is in seconds with six digits behind the point`() throws {
    #expect(try text("%{time_total}").wholeMatch(of: #/1:[0-9]+\.[0-9]{6}/#) != nil)
  }

  @Test(arguments: ["%{time_connect}", "%{", "%{certs}", "%header{x"])
  func `what cannot be said is refused, and the line names what can`(format: String) {
    #expect(throws: UsageError.self) { try WriteOut(format: format) }
  }
}

@Suite("Output: numbers with nouns", .inTurn) struct CountedTests {
  @Test func `one of something is not said as several`() {
    func setAside(_ saved: Int, _ lost: Int) -> String {
      StoreEvent.setAside(path: "a", keptAs: "b", carriedOver: saved, lost: lost).message
    }
    #expect(setAside(1, 1).hasSuffix("; 1 response was carried over, 1 was lost"))
    #expect(setAside(0, 2).hasSuffix("; 0 responses were carried over, 2 were lost"))
    #expect(Words.entries(1) == "1 entry" && Words.entries(2) == "2 entries")
    #expect(Words.span(seconds: 1) == "1 second" && Words.span(seconds: 120) == "2 minutes")
    var counts = AnticipationCounts()
    counts.committed = 1
    let ahead = StatisticsText.ahead(counts)
    #expect(ahead.hasPrefix("ahead    1 of 1 load begun ahead was wanted"), "\(ahead)")
  }

  @Test(
    "A limit of time is said as it was given",
    arguments: [
      (5_000, "5 seconds"), (1_000, "1 second"), (1_500, "1.5 seconds"), (2_050, "2.05 seconds"),
      (10_000, "10 seconds"), (200, "200 ms"),
    ])
  func limit(milliseconds: Int64, said: String) {
    var limits = Limits()
    limits.connectTimeout = .milliseconds(milliseconds)
    #expect(
      DataServiceError.timeout(.connect, host: "a", limits: limits).message
        == "no connection to a within \(said)")
  }
}
