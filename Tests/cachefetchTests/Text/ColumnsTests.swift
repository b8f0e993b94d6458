import Testing
import TestTurns

@testable import cachefetch

@Suite("Output: columns", .inTurn) struct ColumnsTests {
  @Test(
    "A text is cut at its end or at its beginning",
    arguments: [
      ("abcdef", 4, "abc…", "…def"), ("abc", 3, "abc", "abc"), ("abc", 2, "a…", "…c"), ("abc", 1, "a", "c"),
      ("abc", 0, "", ""), ("", 0, "", ""),
    ])
  func cut(text: String, width: Int, end: String, beginning: String) {
    #expect(Columns.cut(text, to: width) == end)
    #expect(Columns.end(of: text, to: width) == beginning)
  }

  @Test(arguments: [("abcdef", 5, "ab...", "...ef"), ("abcdef", 3, "abc", "def"), ("abc", 3, "abc", "abc")])
  func `an ellipsis of three dots has its room`(text: String, width: Int, end: String, beginning: String) {
    #expect(Columns.cut(text, to: width, ellipsis: "...") == end)
    #expect(Columns.end(of: text, to: width, ellipsis: "...") == beginning)
  }

  @Test func `parts go into lines whole`() {
    #expect(Columns.wrapped(["a b,", "c d,", "e"], to: 9) == ["a b, c d,", "e"])
    #expect(Columns.wrapped(["a longer part", "b"], to: 3) == ["a longer part", "b"])
  }

  @Test func `a word of more than 300 characters is cut in its middle, and nothing else`() {
    let word = String(repeating: "a", count: 200) + "b" + String(repeating: "c", count: 100)
    #expect(
      Columns.shortened("x  \(word) y")
        == "x  " + String(repeating: "a", count: 200) + "…" + String(repeating: "c", count: 100) + " y")
    let longest = String(word.dropLast())
    #expect(Columns.shortened("x  \(longest) y") == "x  \(longest) y")
    // 300 characters, though more bytes.
    let letters = String(repeating: "é", count: 300)
    #expect(Columns.shortened(letters) == letters)
    #expect(Columns.shortened("a b  c") == "a b  c")
  }

  @Test func `a word as long as a megabyte does not fill the screen`() {
    let url = "http://a.example/" + String(repeating: "x", count: 1_000_000) + "/end.json"
    let line = Columns.shortened("\(url): refused the connection")
    #expect(
      line.count < 400 && line.hasPrefix("http://a.example/xxx")
        && line.hasSuffix("/end.json: refused the connection"))
  }

  @Test func `words go into lines of the width`() {
    #expect(Columns.wrapped("aa bb cc", to: 5) == ["aa bb", "cc"])
    #expect(Columns.wrapped("aa bb cc", to: 4) == ["aa", "bb", "cc"])
    #expect(Columns.wrapped("a longer b", to: 3) == ["a", "longer", "b"])
    #expect(Columns.wrapped("", to: 3) == [])
  }

  @Test func `text is filled with spaces behind it, and a figure before it`() {
    #expect(Columns.pad("7", to: 3, isFigure: true) == "  7" && Columns.pad("a", to: 3) == "a  ")
    #expect(Columns.pad("abc", to: 2) == "abc")
  }
}
