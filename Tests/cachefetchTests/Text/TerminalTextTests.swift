import Testing
import TestTurns

@testable import cachefetch

@Suite("Output: terminal safety", .inTurn) struct TerminalTextTests {
  @Test(
    "What acts on a terminal is shown instead",
    arguments: [
      ("plain é 漢 🙂", "plain é 漢 🙂"), ("\u{1B}[31mred", "^[[31mred"), ("a\nb\tc\r", "a^Jb^Ic^M"),
      ("\u{7}\u{7F}", "^G^?"),
      ("\u{9B}31m", "<U+009B>31m"), ("a\u{202E}b", "a<U+202E>b"), ("\u{0}", "^@"), ("\u{1F}\u{20}", "^_ "),
      ("~\u{80}\u{9F}\u{A0}", "~<U+0080><U+009F>\u{A0}"),
      ("\u{61C}\u{200E}\u{200F}\u{2028}\u{2029}", "<U+061C><U+200E><U+200F><U+2028><U+2029>"),
      ("\u{202A}\u{2066}\u{2069}\u{FEFF}", "<U+202A><U+2066><U+2069><U+FEFF>"),
      ("\u{200D}\u{2027}\u{202F}\u{2065}\u{206A}", "\u{200D}\u{2027}\u{202F}\u{2065}\u{206A}"),
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
      (Array("🙂".utf8), "🙂"), ([0xED, 0xA0, 0x80], "\\xED\\xA0\\x80"), ([0x0D], "^M"),
      ([0x61, 0x0D, 0x0D, 0x0A], "a^M\n"),
      (Array("漢é\u{80}".utf8), "漢é<U+0080>"), ([0xC3, 0x61], "\\xC3a"), ([0xE6, 0xBC], "\\xE6\\xBC"),
      ([0xF0, 0x9F, 0x99, 0x61], "\\xF0\\x9F\\x99a"), ([0x7F, 0x0B], "^?^K"), ([0x80], "\\x80"),
    ] as [([UInt8], String)])
  func body(bytes: [UInt8], shown: String) {
    #expect(String(decoding: TerminalText.body(bytes), as: UTF8.self) == shown)
  }

  @Test func `no sequence of bytes gets an escape or C1 character through`() {
    for first in UInt8.min...UInt8.max {
      for second in stride(from: UInt8(0), to: 255, by: 5) {
        let shown = TerminalText.body([first, second, 0x9B, 0x1B])
        let text = String(validating: shown, as: UTF8.self)
        #expect(text != nil, "\(first)")
        #expect(
          text?.unicodeScalars.contains { TerminalText.isUnsafe($0) && $0 != "\n" && $0 != "\t" } == false,
          "\(first)")
      }
    }
  }
}
