import PlatformFoundation
import TestTurns
import Testing

@Suite("The texts of URLs", .inTurn) struct URLTextTests {
  static let texts: [(text: String, encoded: String)] = [
    ("http://h", "http://h"), ("", ""), ("http://h/a%20b?x=%7c#%41", "http://h/a%20b?x=%7c#%41"),
    ("http://h/a|b", "http://h/a%7Cb"), ("http://h/%20a|b", "http://h/%20a%7Cb"),
    ("http://h/?x[]=%20", "http://h/?x%5B%5D=%20"), ("http://h/ä%20", "http://h/%C3%A4%20"),
    ("http://h/a b%2f", "http://h/a%20b%2f"), ("http://h?a|%20", "http://h?a%7C%20"),
    ("http://h/%zz%2", "http://h/%25zz%252"), ("http://h/%|", "http://h/%25%7C"),
    ("http://h/%4G|%g4", "http://h/%254G%7C%25g4"), ("http://h/%aF%Fa|", "http://h/%aF%Fa%7C"),
    ("http://h/a%20|#b|#c", "http://h/a%20%7C#b%7C%23c"), ("http://h#a|%20", "http://h#a%7C%20"),
    (#"http://h/^`{}"<>\%20"#, "http://h/%5E%60%7B%7D%22%3C%3E%5C%20"),
    ("http://h/-._~:/?@!$&'()*+,;=|", "http://h/-._~:/?@!$&'()*+,;=%7C"), ("http://h/\u{7F}", "http://h/%7F"),
    // The host is left as it is, and an address keeps its brackets.
    ("http://[::1]:80/|%20", "http://[::1]:80/%7C%20"), ("http://ä.test/%20", "http://ä.test/%20"),
    // References.
    ("//h/|%20", "//h/%7C%20"), ("/a//b|%20", "/a//b%7C%20"), ("a|b%20", "a%7Cb%20"),
    ("?[]=%20", "?%5B%5D=%20"),
    ("/|", "/%7C"),
  ]

  @Test("What no URL may have is encoded, and what is encoded stays", arguments: texts)
  func encoded(text: String, encoded: String) {
    #expect(URLText.encoded(text) == encoded)
    #expect(URLText.encoded(encoded) == encoded)
  }

  @Test("Where nothing is encoded yet it is what Foundation makes of it", arguments: texts.map(\.text))
  func asFoundation(text: String) {
    guard !text.contains("%"), let url = URL(string: text) else { return }
    #expect(URL(string: URLText.encoded(text))?.absoluteString == url.absoluteString)
  }
}
