import DataService
import FoundationEssentials
import Testing

@testable import cachefetch

@Suite("Output: terminal safety") struct TerminalTextTests {
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

@Suite("Output: JSON") struct JSONTests {
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

@Suite("Output: words") struct WordsTests {
  @Test(
    "Ages",
    arguments: [
      (0, "just now"), (1, "1 second ago"), (59, "59 seconds ago"), (60, "1 minute ago"),
      (3_599, "59 minutes ago"),
      (10_800, "3 hours ago"), (172_800, "2 days ago"), (5_184_000, "2 months ago"),
      (94_608_000, "3 years ago"),
    ])
  func age(seconds: Int, words: String) {
    #expect(Words.age(.seconds(seconds)) == words)
  }

  @Test func `sizes and times are short`() {
    #expect(
      Words.size(512) == "512 B" && Words.size(10_240) == "10.2 kB" && Words.size(1_450_000_000) == "1.4 GB")
    #expect(Words.elapsed(.microseconds(3_450)) == "3.4 ms" && Words.elapsed(.milliseconds(120)) == "120 ms")
    #expect(Words.elapsed(.milliseconds(2_550)) == "2.5 s" && Words.elapsed(.seconds(180)) == "3 minutes")
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

@Suite("Output: what --print prints") struct PrintRuleTests {
  @Test(
    "Stored",
    arguments: [
      (.both, .print), (.stored, .print), (.changed, .print), (.last, .hold), (.fresh, .skip), (.none, .skip),
    ] as [(PrintMode, PrintRule.Verdict)])
  func stored(mode: PrintMode, expected: PrintRule.Verdict) {
    #expect(PrintRule.stored(mode) == expected)
  }

  @Test func `an unchanged fresh body is skipped under changed, and under both on a terminal only`() {
    func fresh(_ mode: PrintMode, _ isTerminal: Bool, _ wasPrinted: Bool = true) -> PrintRule.Verdict {
      PrintRule.fresh(mode, .unchanged, isTerminal: isTerminal, wasStoredPrinted: wasPrinted)
    }
    #expect(
      fresh(.both, false) == .print && fresh(.both, true) == .skip && fresh(.both, true, false) == .print)
    #expect(fresh(.changed, false) == .skip && fresh(.last, true) == .print && fresh(.fresh, true) == .print)
    #expect(fresh(.stored, false) == .skip && fresh(.none, false) == .skip)
    #expect(PrintRule.fresh(.changed, .changed, isTerminal: false, wasStoredPrinted: true) == .print)
  }

  @Test func `the file is replaced by a good answer that differs, and written once in any case`() {
    #expect(PrintRule.replacesFile(status: 200, change: .changed, wasWritten: true))
    #expect(!PrintRule.replacesFile(status: 200, change: .unchanged, wasWritten: true))
    #expect(PrintRule.replacesFile(status: 200, change: .unchanged, wasWritten: false))
    #expect(!PrintRule.replacesFile(status: 404, change: .changed, wasWritten: false))
  }
}
