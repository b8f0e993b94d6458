import DataService
import PlatformFoundation
import Testing
import TestTurns

@testable import cachefetch

@Suite("Command line: hosts that are not in ASCII", .inTurn) struct InternationalHostTests {
  @Test(
    "A host that is not in ASCII is encoded, as curl does",
    arguments: [
      ("http://bücher.example/a", "http://xn--bcher-kva.example/a"),
      (
        "https://u:p@BÜCHER.example:8080/ü?ö#ä", "https://u:p@xn--bcher-kva.example:8080/%C3%BC?%C3%B6#%C3%A4"
      ),
      ("http://straße.example", "http://xn--strae-oqa.example"),
      ("http://bücher.example/@alice", "http://xn--bcher-kva.example/@alice"),
      ("http://bu\u{308}cher.example/", "http://xn--bcher-kva.example/"),
      ("http://a.ü:1", "http://a.xn--tda:1"),
      ("http://例え.テスト/", "http://xn--r8jz45g.xn--zckzah/"),
    ])
  func international(text: String, encoded: String) throws {
    #expect(try URLArgument.parse(text).absoluteString == encoded)
  }

  @Test func `without the library that encodes hosts the message says how`() throws {
    let error = #expect(throws: DataServiceError.self) {
      try InternationalHost.encoded("bücher.example", library: "none.so")
    }
    #expect(error?.hint?.contains("libidn2-0") == true && error?.hint?.contains("xn--") == true)
  }

  @Test func `a host in ASCII stays as it is written`() throws {
    #expect(try URLArgument.hostInASCII("A_b~\u{7F}") == "A_b~\u{7F}")
  }
}
