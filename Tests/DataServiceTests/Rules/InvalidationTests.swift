import CacheStore
import Testing
import TestTurns

@testable import DataService

@Suite("Invalidation, RFC 9111 section 4.4", .inTurn) struct InvalidationTests {
  func targets(
    _ method: RequestMethod = "POST", status: Int = 200, url: String = "http://a.test/x",
    fields: HTTPFields = [:]
  ) throws -> [String] {
    Invalidation.targets(method: method, url: try NormalisedURL(url), status: status, fields: fields).map(
      \.string)
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
    "Location and Content-Location count where they have the same scheme, host and port",
    arguments: [
      ("/y", "http://a.test/y"), ("y?q=1", "http://a.test/y?q=1"), ("http://a.test/y", "http://a.test/y"),
      ("HTTP://A.TEST:80/y", "http://a.test/y"), ("http://b.test/y", nil), ("https://a.test/y", nil),
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

  @Test("Bytes beyond ASCII name the URL that has these bytes") func bytes() throws {
    var fields = HTTPFields()
    fields.append(name: Array("Content-Location".utf8), value: Array("/t/caf".utf8) + [0xE9])
    #expect(try targets(fields: fields) == ["http://a.test/x", "http://a.test/t/caf%E9"])
  }

  @Test("Both fields count, Location first") func both() throws {
    let fields: HTTPFields = ["Content-Location": "/c", "Location": "/l"]
    #expect(try targets(fields: fields) == ["http://a.test/x", "http://a.test/l", "http://a.test/c"])
    #expect(
      try targets(fields: ["Location": "http://b.test/", "Content-Location": "/c"])
        == ["http://a.test/x", "http://a.test/c"])
  }

  @Test(
    "An origin is scheme, host and port, RFC 9110 section 4.3.1",
    arguments: [
      ("http://a.test", "http://a.test", true), ("HTTP://A.test", "http://a.TEST", true),
      ("http://a.test:80", "http://a.test", true), ("https://a.test:443", "https://a.test", true),
      ("http://a.test:443", "http://a.test", false), ("https://a.test:80", "https://a.test", false),
      ("http://a.test", "https://a.test", false), ("http://a.test:443", "https://a.test", false),
      ("http://a.test", "http://b.test", false), ("http://a.test:81", "http://a.test:82", false),
    ])
  func origin(one: String, other: String, isSame: Bool) throws {
    for (url, location) in [(one, other), (other, one)] {
      #expect(
        try targets(url: url + "/x", fields: ["Location": location + "/y"]).count == (isSame ? 2 : 1),
        "\(url)")
    }
  }
}
