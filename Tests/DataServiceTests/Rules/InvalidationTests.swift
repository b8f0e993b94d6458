import CacheStore
import DataService
import PlatformFoundation
import Testing
import TestTurns

@Suite("Invalidation, RFC 9111 section 4.4", .inTurn) struct InvalidationTests {
  func targets(
    _ method: RequestMethod = "POST", status: Int = 200, url: String = "http://a.test/x",
    fields: HTTPFields = [:]
  ) throws -> [String] {
    let url = try #require(URL(string: url))
    return Invalidation.targets(method: method, url: url, status: status, fields: fields).map(
      \.absoluteString)
  }

  @Test(
    "An unsafe method that succeeds invalidates its target",
    arguments: ["POST", "PUT", "DELETE", "PATCH", "M-SEARCH"])
  func unsafeMethods(method: String) throws {
    #expect(try targets(RequestMethod(rawValue: method)) == ["http://a.test/x"])
  }

  @Test(
    "A method that is registered as safe invalidates nothing",
    arguments: ["GET", "HEAD", "OPTIONS", "TRACE", "PRI", "PROPFIND", "QUERY", "REPORT", "SEARCH"])
  func safeMethods(method: String) throws {
    #expect(try targets(RequestMethod(rawValue: method), fields: ["Location": "/y"]).isEmpty)
  }

  @Test(
    "Only 2xx and 3xx invalidate",
    arguments: [(199, false), (200, true), (204, true), (302, true), (399, true), (400, false), (500, false)])
  func statuses(status: Int, invalidates: Bool) throws {
    #expect(try targets(status: status).isEmpty != invalidates)
  }

  @Test(
    "Location and Content-Location count where they are of the same origin",
    arguments: [
      ("/y", "http://a.test/y"), ("y?q=1", "http://a.test/y?q=1"), ("http://a.test/y", "http://a.test/y"),
      ("HTTP://A.TEST:80/y", "HTTP://A.TEST:80/y"), ("http://b.test/y", nil), ("https://a.test/y", nil),
      ("http://a.test:81/y", nil), ("//b.test/y", nil), ("", nil), ("mailto:a@a.test", nil),
      ("http://[", nil), ("/%20?y[]=%2F", "http://a.test/%20?y%5B%5D=%2F"),
    ] as [(String, String?)])
  func locations(value: String, expected: String?) throws {
    for name in ["Location", "Content-Location"] {
      var fields = HTTPFields()
      fields.append(name, value)
      #expect(try targets(fields: fields) == ["http://a.test/x"] + [expected].compactMap { $0 }, "\(name)")
    }
  }

  @Test("The target is named once") func once() throws {
    #expect(try targets(fields: ["Location": "/x", "Content-Location": "/x"]) == ["http://a.test/x"])
  }

  @Test("The default port is the port") func ports() throws {
    let one = try #require(URL(string: "https://a.test/"))
    let other = try #require(URL(string: "https://a.test:443/"))
    #expect(Invalidation.isSameOrigin(one, other))
  }

  @Test("Both fields count, Location first") func both() throws {
    let fields: HTTPFields = ["Content-Location": "/c", "Location": "/l"]
    #expect(try targets(fields: fields) == ["http://a.test/x", "http://a.test/l", "http://a.test/c"])
    #expect(
      try targets(fields: ["Location": "http://b.test/", "Content-Location": "/c"])
        == ["http://a.test/x", "http://a.test/c"])
  }

  static let origins: [(one: String, other: String, isSame: Bool)] = [
    ("http://a.test/x", "http://a.test/y?z", true), ("HTTP://A.test", "http://a.TEST", true),
    ("http://a.test:80/", "http://a.test/", true), ("https://a.test:443/", "https://a.test/", true),
    ("http://a.test:443/", "http://a.test/", false), ("https://a.test:80/", "https://a.test/", false),
    ("http://a.test/", "https://a.test/", false), ("http://a.test:443/", "https://a.test/", false),
    ("http://a.test/", "http://b.test/", false), ("http://a.test:81/", "http://a.test:82/", false),
    ("ftp://a.test/", "ftp://a.test/", true), ("ftp://a.test/", "ftp://a.test:21/", false),
    ("/x", "/x", false), ("mailto:a@a.test", "mailto:a@a.test", false), ("http://a.test/", "/x", false),
  ]

  @Test("An origin is scheme, host and port, RFC 9110 section 4.3.1") func origin() throws {
    for (one, other, isSame) in Self.origins {
      let urls = (try #require(URL(string: one)), try #require(URL(string: other)))
      #expect(Invalidation.isSameOrigin(urls.0, urls.1) == isSame, "\(one) and \(other)")
      #expect(Invalidation.isSameOrigin(urls.1, urls.0) == isSame, "\(other) and \(one)")
    }
  }
}
