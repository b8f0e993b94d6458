import Testing
import TestTurns

@testable import DataService

@Suite("URLs in their normal form", .inTurn) struct NormalisedURLTests {
  @Test(
    "A port that is none is shown where it cannot be part of a password",
    arguments: [
      ("http://h:70000/", "“70000” is not a port"), ("http://h:0/", "“0” is not a port"),
      ("http://h:12x/", "what follows the host is not a port"),
      ("http://h:+80/", "what follows the host is not a port"),
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
      ("http://h#b", "http://h/"), ("http://h#b/c", "http://h/"), ("http://H:1/", "http://h:1/"),
      ("http://h/a#b", "http://h/a"), ("http://H/a", "http://h/a"), ("HTTP://h/a", "http://h/a"),
      ("http://h/%7e", "http://h/~"), ("http://h/é", "http://h/%C3%A9"), ("http://u@h/", "http://h/"),
      ("http://u:1@h/", "http://h/"), ("http://AZ.test/", "http://az.test/"),
      // A percent sign that encodes nothing is encoded, and so is every byte that no URL may hold.
      ("http://h/%", "http://h/%25"), ("http://h/%4", "http://h/%254"),
      ("http://h/a?b=%4", "http://h/a?b=%254"),
      ("http://h/\u{C0}", "http://h/%C3%80"),
      ("http://h/a|b?x[]={\"^`", "http://h/a%7Cb?x%5B%5D=%7B%22%5E%60"),
      ("http://h/<\\>?-._~:/?@!$&'()*+,;=", "http://h/%3C%5C%3E?-._~:/?@!$&'()*+,;="),
      // A host is encoded, percent-encoded or not.
      ("http://BÜCHER.test:8/", "http://xn--bcher-kva.test:8/"),
      ("http://b%C3%BCcher.test/", "http://xn--bcher-kva.test/"),
      ("http://b\u{FC}cher\u{3002}test/", "http://xn--bcher-kva.test/"), ("http://%48%2F/", "http://%48%2f/"),
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
    "On the wire a URL is as it was spelt, but for its origin and for bytes outside ASCII",
    arguments: [
      ("HTTP://u:p@H:80/%7ea/%2f?x=%7e#f", "http://h/%7ea/%2f?x=%7e"),
      ("http://h/./a/../b", "http://h/./a/../b"),
      ("http://h/a|b^`?u={x}[1]\"<>\\", "http://h/a|b^`?u={x}[1]\"<>\\"),
      ("http://h/é?é%zz", "http://h/%C3%A9?%C3%A9%zz"),
      ("http://h?%61", "http://h/?%61"), ("http://bücher.test/%61", "http://xn--bcher-kva.test/%61"),
      ("http://h/plain?a=b", "http://h/plain?a=b"), ("http://h", "http://h/"),
    ])
  func wire(text: String, wire: String) throws {
    let url = try NormalisedURL(text)
    #expect(url.wire == wire && url.origin + url.target == wire)
    // However it is spelt, it is the same.
    #expect(try NormalisedURL(url.string) == url && NormalisedURL(wire) == url)
  }

  @Test(
    "A reference is resolved against the URL as that was spelt, RFC 3986 section 5.2",
    arguments: [
      ("", "http://a.test/b%7e/c/d%7e?q=%7e"), ("#f", "http://a.test/b%7e/c/d%7e?q=%7e"),
      ("?y=%61", "http://a.test/b%7e/c/d%7e?y=%61"), ("g%7e", "http://a.test/b%7e/c/g%7e"),
      ("./g", "http://a.test/b%7e/c/g"), ("../g", "http://a.test/b%7e/g"), ("../../../g", "http://a.test/g"),
      ("g/./h/..", "http://a.test/b%7e/c/g/"), ("/x/../%2e%2e/./y", "http://a.test/%2e%2e/y"),
      (".", "http://a.test/b%7e/c/"),
      ("g?a/../b", "http://a.test/b%7e/c/g?a/../b"), ("//b.test", "http://b.test/"), ("g:h", nil),
      ("/a:b", "http://a.test/a:b"),
      ("https://b.test/x/../y", "https://b.test/y"), ("/ a\t", "http://a.test/%20a%09"),
      ("//b%C3%BCcher.test/%61", "http://xn--bcher-kva.test/%61"), ("//\u{FFFD}/", nil),
      ("//a b/", "http://a%20b/"),
    ] as [(String, String?)])
  func reference(reference: String, wire: String?) throws {
    let base = try NormalisedURL("http://a.test/b%7e/c/d%7e?q=%7e#x")
    #expect((try? NormalisedURL(Array(reference.utf8), relativeTo: base))?.wire == wire)
  }

  @Test(
    "What is no URL to send stays none",
    arguments: [
      "http:///a", "http://h:0/", "http://h:65536/", "http://h:99999999999999999999/", "http://h:8a/",
      "http://h:+8/", "http://h/a b", "http://h/\u{7F}", "http:/h/", "httpss://h/", "http://:80/",
      "http:x/h/", "http:/xh/", "http:/", "http:", "http",
    ])
  func refused(text: String) {
    #expect(throws: DataServiceError.self) { try NormalisedURL(text) }
  }

  @Test func `a colon and slashes alone are no scheme`() {
    let error = #expect(throws: DataServiceError.self) { try NormalisedURL("://h/") }
    #expect(error?.message.hasSuffix("is not a URL: it has no scheme") == true)
  }

  @Test func `each part of a URL is what stands between its marks`() throws {
    for (text, expected, userInfo) in [
      (
        "HTTPS://u:p%40@Example.COM:8443/a/b?c=d?e#f",
        [
          "https://example.com:8443/a/b?c=d?e", "https", "example.com", "/a/b", "c=d?e",
          "https://example.com:8443", "example.com:8443", "8443",
        ], "u:p%40"
      ),
      (
        "http://[::1]/x", ["http://[::1]/x", "http", "[::1]", "/x", "none", "http://[::1]", "[::1]", "80"],
        nil
      ),
      ("https://h?", ["https://h/?", "https", "h", "/", "", "https://h", "h", "443"], nil),
    ] as [(String, [String], String?)] {
      let url = try NormalisedURL(text)
      #expect(parts(of: url) == expected && url.userInfo == userInfo, "\(text)")
      // The same, read from the normal form.
      #expect(try parts(of: NormalisedURL(url.string)) == expected, "\(text)")
    }
  }

  @Test(
    "What is wrong with the scheme is said, and what to do about it",
    arguments: [
      ("a://h/", "the scheme “a” is not supported", "use an http or https URL"),
      ("mailto:a@b.test", "the scheme “mailto” is not supported", "use an http or https URL"),
      ("FTP:x", "the scheme “FTP” is not supported", "use an http or https URL"),
      ("h.test/x", "“h.test/x” is not a URL: it has no scheme", "did you mean https://h.test/x ?"),
      ("", "“” is not a URL: it has no scheme", "give an http or https URL"),
    ])
  func scheme(text: String, message: String, hint: String) {
    let error = #expect(throws: DataServiceError.self) { try NormalisedURL(text) }
    #expect(error?.message == message && error?.hint == hint)
  }

  private func parts(of url: NormalisedURL) -> [String] {
    [
      url.string, url.scheme, url.host, url.path, url.query ?? "none", url.origin, url.authority,
      "\(url.port)",
    ]
  }
}
