import Testing
import TestTurns

@testable import cachefetch

@Suite("Output: text in single-byte encodings", .inTurn) struct SingleByteTextTests {
  @Test(arguments: [
    "text/plain; charset=ISO-8859-1", "text/html;charset=\"windows-1252\"", "text/plain; x=y; Charset=latin1",
    "text/plain; charset=us-ascii", "text/plain; charset = 'latin-1'", "text/plain;\tcharset=\tcp1252",
  ])
  func `declared text becomes UTF-8`(type: String) throws {
    let text = try #require(SingleByteText(contentType: type))
    #expect(String(decoding: text.utf8([0x63, 0xE9, 0x80, 0xFF, 0xA0]), as: UTF8.self) == "cé€ÿ\u{A0}")
    // What stands for nothing stays a byte that is shown as one.
    #expect(text.utf8([0x81, 0x8D, 0x8F, 0x90, 0x9D]) == [0x81, 0x8D, 0x8F, 0x90, 0x9D])
    #expect(String(decoding: text.utf8([0x7F, 0x9F, 0xBF, 0xC0]), as: UTF8.self) == "\u{7F}Ÿ¿À")
  }

  @Test func `what declares another encoding, or none, stays as it is`() {
    for type in [
      "text/plain; charset=utf-8", "text/plain", "text/plain; charset=iso-8859-2", "latin1",
      "text/plain; latin1", "text/plain; x=latin1",
      "text/plain; charset=utf-8; charset=latin1", "text/plain; charset=x=y; charset=latin1", nil,
    ] {
      #expect(SingleByteText(contentType: type) == nil, "\(type ?? "none")")
    }
  }
}
