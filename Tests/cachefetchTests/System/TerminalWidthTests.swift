import PlatformC
import TestSupport
import Testing
import TestTurns

@testable import cachefetch

@Suite("System: how wide a terminal is", .inTurn) struct TerminalWidthTests {
  @Test func `it is as wide as it says, 20 columns at least, and as no terminal where it does not say`()
    throws
  {
    let (child, parent) = try ChildStream.terminal()
    defer { for end in [child, parent] { close(end) } }
    let unknown = Terminal.width(of: -1)
    for (columns, width) in [(110, 110), (21, 21), (20, 20), (19, 20), (1, 20), (0, unknown)] {
      var size = winsize(ws_row: 40, ws_col: UInt16(columns), ws_xpixel: 0, ws_ypixel: 0)
      let isSet = ioctl(parent, UInt(TIOCSWINSZ), &size) == 0
      #expect(isSet)
      #expect(Terminal.width(of: child) == width, "\(columns)")
    }
  }
}
