import Testing
import TestTurns

@testable import cachefetch

@Suite("Output: the line at the foot of a terminal", .inTurn) struct RedrawnLineTests {
  @Test func `it is drawn over itself, and erased before anything else is written`() throws {
    let written = try WrittenText()
    let status = RedrawnLine(on: written.output)
    status.clear()
    #expect(written.text == "")
    status.write("a\n")
    #expect(written.text == "a\n")
    status.show("1 %")
    #expect(written.text == "a\n\r1 %\u{1B}[J\r")
    status.write("b\n")
    #expect(written.text == "a\n\r1 %\u{1B}[J\r\r\u{1B}[Jb\n")
    // Once it is erased, it is not erased again.
    status.write("c\n")
    status.clear()
    #expect(written.text.hasSuffix("\u{1B}[Jb\nc\n"))
    status.show("2 %")
    status.clear()
    #expect(written.text.hasSuffix("c\n\r2 %\u{1B}[J\r\r\u{1B}[J"))
  }
}
