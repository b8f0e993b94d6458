import Testing
import TestTurns

@testable import cachefetch

@Suite("Completion: a line of bash", .inTurn) struct BashLineTests {
  private static let breaks = " \t\n\"'><=;|&(:"

  @Test(
    "A line is taken apart as bash does it",
    arguments: [
      ("cachefetch show http://a", ["cachefetch", "show", "http://a"]), ("cachefetch ", ["cachefetch", ""]),
      ("cachefetch 'a b' \"c d\" e\\ f", ["cachefetch", "a b", "c d", "e f"]),
      ("cachefetch 'http://a", ["cachefetch", "http://a"]),
      ("cachefetch \"\\$x\\y", ["cachefetch", "$x\\y"]),
      ("cachefetch http://a/\\?b\\&", ["cachefetch", "http://a/?b&"]), ("cachefetch ''", ["cachefetch", ""]),
      ("echo; cachefetch sh", ["cachefetch", "sh"]), ("a|b", ["b"]), ("a&b", ["b"]),
      ("a \";|&\"", ["a", ";|&"]),
      ("a\tb\nc", ["a", "b", "c"]), ("a  b", ["a", "b"]), ("", [""]), ("a \\", ["a", ""]),
      ("a 'b\\'c", ["a", "b\\c"]),
      ("a \"b\\\"c\\`\\\\\"", ["a", "b\"c`\\"]), ("a \"it's\" 'a\"b'", ["a", "it's", "a\"b"]),
      ("a '' b", ["a", "", "b"]),
    ])
  func words(line: String, words: [String]) {
    #expect(BashLine(line, breaks: Self.breaks).words == words)
  }

  @Test(
    "What is inserted is one word for bash",
    arguments: [
      ("cachefetch http://a", "http://a/?x=1&y=2;$(id)", "//a/\\?x=1\\&y=2\\;\\$\\(id\\)"),
      ("cachefetch http://a/\\?x=", "http://a/?x=1&y", "1\\&y"),
      ("cachefetch 'http://a", "http://a/it's;$(id)", "http://a/it'\\''s;$(id)"),
      ("cachefetch \"http://a", "http://a/\"$x`y`\\!", "http://a/\\\"\\$x\\`y\\`\\\\\"'!'\""),
      ("cachefetch ht", "http://a/ü,~b→", "http://a/ü,~b→"), ("cachef", "cachefetch", "cachefetch"),
      ("cachefetch --policy=h", "--policy=http", "http"),
      ("cachefetch ''ht", "http://a", "http://a"), ("cachefetch ", "~a", "\\~a"),
      ("cachefetch x=", "x=~a", "~a"),
      ("cachefetch ab'c", "abcd e", "cd e"), ("cachefetch 'ab'c", "abcd e", "cd\\ e"), ("a;b c", "cd", "cd"),
      ("a=;c", "cd", "cd"), ("a=\tc", "cd", "cd"),
      ("a b:c d", "de", "de"), ("a \"b:c", "b:cd", "b:cd"), ("a b\\:c", "b:cd", "b:cd"),
    ])
  func replacement(line: String, candidate: String, inserted: String) {
    #expect(BashLine(line, breaks: Self.breaks).replacement(for: candidate) == inserted)
  }

  @Test func `what would act on the terminal is not offered`() {
    #expect(BashLine("cachefetch h", breaks: Self.breaks).replacement(for: "h\u{1B}[2J") == nil)
  }

  @Test func `what does not begin as the word does is not offered`() {
    #expect(BashLine("cachefetch a:b", breaks: Self.breaks).replacement(for: "c:b") == nil)
    #expect(BashLine("cachefetch a:b", breaks: Self.breaks).replacement(for: "a:x") == "x")
  }
}
