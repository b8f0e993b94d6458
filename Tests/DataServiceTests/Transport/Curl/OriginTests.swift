import Testing
import TestTurns

@testable import DataService

@Suite("Origins, RFC 9110 section 4.2", .inTurn) struct OriginTests {
  static let origins: [(url: String, key: String, host: String, port: Int, isSecure: Bool)] = [
    ("http://a.test", "http://a.test", "a.test", 80, false),
    ("https://a.test/x", "https://a.test", "a.test", 443, true),
    ("http://a.test:8080/x", "http://a.test:8080", "a.test", 8080, false),
    ("https://a.test:8443", "https://a.test:8443", "a.test", 8443, true),
    ("http://a.test:/x", "http://a.test:", "a.test", 80, false),
    ("https://a.test:", "https://a.test:", "a.test", 443, true),
    ("http://u:p@a.test:81?q", "http://a.test:81", "a.test", 81, false),
    ("http://u@v@a.test#f", "http://a.test", "a.test", 80, false),
    ("HTTP://A.test/", "http://A.test", "A.test", 80, false),
    ("hTTpS://a.test", "https://a.test", "a.test", 443, true),
    ("http://[::1]:81/", "http://[::1]:81", "::1", 81, false),
    ("http://[::1]", "http://[::1]", "::1", 80, false),
    ("https://[::1]:/", "https://[::1]:", "::1", 443, true),
    ("https://u@[::1]", "https://[::1]", "::1", 443, true),
    ("http://a?x@y", "http://a", "a", 80, false), ("http://a#x@y", "http://a", "a", 80, false),
    ("http://a/x@y", "http://a", "a", 80, false), ("http://a:b", "http://a:b", "a", 0, false),
    ("http://a:99999999999999999999", "http://a:99999999999999999999", "a", 0, false),
  ]

  @Test("Scheme, host and port are read from the text") func read() throws {
    for (url, key, host, port, isSecure) in Self.origins {
      let origin = try #require(Origin(url), "\(url)")
      #expect(origin.key == key, "\(url)")
      #expect(origin.host == host, "\(url)")
      #expect(origin.port == port, "\(url)")
      #expect(origin.isSecure == isSecure, "\(url)")
    }
  }

  @Test(
    "Text without an HTTP scheme, two slashes and a host has no origin",
    arguments: [
      "", "a.test", "//a.test", "ftp://a.test", "http:/a.test", "http:a.test", "http://", "http:///x",
      "http://:80",
      "http://u@", "http://[]", "http://[::1", "HTTPX://a.test", "https", "xhttp://a.test",
    ])
  func none(url: String) {
    #expect(Origin(url) == nil)
  }
}
