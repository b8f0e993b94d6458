import Testing
import TestTurns

@testable import DataService

@Suite("URLs in their normal form", .inTurn) struct NormalisedURLTests {
  @Test(
    "A port that is none is shown where it cannot be part of a password",
    arguments: [
      ("http://h:70000/", "“70000” is not a port"), ("http://h:0/", "“0” is not a port"),
      ("http://h:12x/", "what follows the host is not a port"),
      ("http://user:70000/x@h/", "what follows the host is not a port"),
    ])
  func port(text: String, message: String) {
    #expect {
      try NormalisedURL(text)
    } throws: {
      ($0 as? DataServiceError)?.message == message
    }
  }

  @Test(
    "A URL that is normal already is taken apart as the one it was made of",
    arguments: [
      "http://Example.COM", "https://example.com:443/a/../b?x=1&y=%7e",
      "http://user:pass@h.example:8080/a#top",
      "http://127.0.0.1:0080/item/1", "https://[::1]:8443/a?b", "http://h/%41%2f?", "http://h/a?b?c/./d",
      "http://münchen.example/ä", "http://h_h/a.b/..c/.d", "http://h:65535/",
      "http://h/a/%2e%2e/b", "http://h/a%2F%2E%2E/b", "http://h/%2e%2e.", "http://h/a?b=/%2e%2e/c",
    ])
  func twice(text: String) throws {
    let once = try NormalisedURL(text)
    let again = try NormalisedURL(once.string)
    #expect(parts(of: again) == parts(of: once))
  }

  @Test(
    "What is nearly normal is not taken for it",
    arguments: [
      ("http://h", "http://h/"), ("http://h?q", "http://h/?q"), ("http://h:80/", "http://h/"),
      ("http://h:443/", "http://h:443/"), ("https://h:443/", "https://h/"),
      ("http://h:0443/", "http://h:443/"), ("http://h:8/", "http://h:8/"), ("http://h:1/", "http://h:1/"),
      ("http://h:/", "http://h/"), ("http://h/./a", "http://h/a"), ("http://h/a/..", "http://h/"),
      ("http://h/a#b", "http://h/a"), ("http://H/a", "http://h/a"), ("HTTP://h/a", "http://h/a"),
      ("http://h/%7e", "http://h/~"), ("http://h/é", "http://h/%C3%A9"), ("http://u@h/", "http://h/"),
      ("http://u:1@h/", "http://h/"),
      // A dot is a dot, encoded or not (RFC 3986 section 6.2.2.2).
      ("http://h/a/%2e%2e/b", "http://h/b"), ("http://h/a/%2E%2E/b", "http://h/b"),
      ("http://h/a/.%2e/b", "http://h/b"), ("http://h/a/%2E./b", "http://h/b"),
      ("http://h/%2e/a", "http://h/a"), ("http://h/a/%2e", "http://h/a/"), ("http://h/a/%2E%2e", "http://h/"),
      ("http://h/%2e%2e/%2e%2e/a", "http://h/a"), ("http://h/a/%2e%2e?b=%2e%2e/c", "http://h/?b=../c"),
      // What only begins like one, or is separated by what is no slash, is none.
      ("http://h/a/%2e%2e%2e/b", "http://h/a/.../b"), ("http://h/a/%2e%2eb", "http://h/a/..b"),
      ("http://h/a%2f%2e%2e/b", "http://h/a%2F../b"), ("http://h/a/%252e%252e/b", "http://h/a/%252e%252e/b"),
    ])
  func nearly(text: String, normal: String) throws {
    #expect(try NormalisedURL(text).string == normal)
  }

  @Test(
    "What is no URL to send stays none",
    arguments: [
      "http:///a", "http://h:0/", "http://h:65536/", "http://h:99999999999999999999/", "http://h:8a/",
      "http://h/a b", "http://h/\u{7F}", "http:/h/", "httpss://h/", "http://:80/",
    ])
  func refused(text: String) {
    #expect(throws: DataServiceError.self) { try NormalisedURL(text) }
  }

  @Test func `a colon and slashes alone are no scheme`() {
    let error = #expect(throws: DataServiceError.self) { try NormalisedURL("://h/") }
    #expect(error?.message.hasSuffix("is not a URL: it has no scheme") == true)
  }

  private func parts(of url: NormalisedURL) -> [String] {
    [
      url.string, url.scheme, url.host, url.path, url.query ?? "none", url.origin, url.authority,
      "\(url.port)",
    ]
  }
}
