import CacheStore
import DataService
import FoundationEssentials
import Testing
import TestTurns

@Suite("Stored fields, RFC 9111 section 3.1", .inTurn) struct StoredFieldsTests {
  @Test(
    "Fields of the connection, of the proxy and cookies are not stored",
    arguments: [
      "Connection", "Keep-Alive", "Proxy-Connection", "TE", "Trailer", "Transfer-Encoding", "Upgrade",
      "Proxy-Authenticate", "Proxy-Authentication-Info", "Proxy-Authorization", "Set-Cookie", "Set-Cookie2",
    ])
  func dropped(name: String) {
    var fields: HTTPFields = ["X": "1"]
    fields.append(name, "value")
    fields.append(name.lowercased(), "value")
    #expect(StoredFields.storable(fields) == ["X": "1"])
  }

  @Test("Fields that Connection names are not stored") func named() {
    let fields: HTTPFields = ["Connection": "a, B", "A": "1", "b": "2", "c": "3", "connection": "close"]
    #expect(StoredFields.storable(fields) == ["c": "3"])
  }

  @Test("Secret fields are not stored") func secret() {
    let fields: HTTPFields = ["X-Auth-Token": "secret", "X": "1"]
    #expect(StoredFields.storable(fields, secretNames: ["x-auth-token"]) == ["X": "1"])
  }

  @Test(
    "Every other field is stored as received",
    arguments: [
      "Content-Type", "Cache-Control", "Clear-Site-Data", "Strict-Transport-Security", "WWW-Authenticate",
      "X",
    ])
  func kept(name: String) {
    var fields = HTTPFields()
    fields.append(name, "value")
    #expect(StoredFields.storable(fields) == fields)
  }

  @Test("A response without a Date gets that of its receipt, one with a Date keeps it") func date() {
    #expect(StoredFields.storable([:], receivedAt: Rule.noon) == ["Date": Rule.date()])
    #expect(StoredFields.storable(["Date": "x"], receivedAt: Rule.noon) == ["Date": "x"])
    #expect(StoredFields.storable([:]).isEmpty)
  }
}

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

  @Test("A safe method invalidates nothing", arguments: ["GET", "HEAD", "OPTIONS", "TRACE"])
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
      ("http://[", nil),
    ] as [(String, String?)])
  func locations(value: String, expected: String?) throws {
    for name in ["Location", "Content-Location"] {
      var fields = HTTPFields()
      fields.append(name, value)
      #expect(try targets(fields: fields) == ["http://a.test/x"] + [expected].compactMap { $0 })
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
}

@Suite("Retry-After, RFC 9110 section 10.2.3", .inTurn) struct RetryAfterTests {
  @Test(
    "Seconds or a date say how long",
    arguments: [
      ("0", 0), ("120", 120), (Rule.date(60), 60), (Rule.date(-60), 0), ("", nil), ("-1", nil), ("1.5", nil),
      ("soon", nil), ("99999999999999999999", 2_147_483_648),
    ] as [(String, Int64?)])
  func parse(value: String, expected: Int64?) {
    #expect(RetryAfter.delay(value, now: Rule.noon) == expected.map { .seconds($0) })
  }

  @Test func `a date is measured from the response's own, whatever the clock here says`() {
    for wrong in [-315_360_000_000, 0, 315_360_000_000] as [Int64] {
      let delay = RetryAfter.delay(Rule.date(60), date: Rule.date(0), now: Rule.noon + wrong)
      #expect(delay == .seconds(60))
    }
    #expect(RetryAfter.delay(Rule.date(60), date: "soon", now: Rule.noon) == .seconds(60))
  }
}

@Suite("Cache-Status, RFC 9211", .inTurn) struct CacheStatusTests {
  static let cases: [(CacheStatus, String)] = [
    (CacheStatus(), "cachefetch"), (CacheStatus(isHit: true, timeToLive: 60), "cachefetch; hit; ttl=60"),
    (CacheStatus(isHit: true, forward: .stale, timeToLive: -5), "cachefetch; hit; ttl=-5"),
    (CacheStatus(forward: .uriMiss, isStored: true), "cachefetch; fwd=uri-miss; stored"),
    (CacheStatus(forward: .varyMiss), "cachefetch; fwd=vary-miss"),
    (CacheStatus(forward: .stale, forwardStatus: 304), "cachefetch; fwd=stale; fwd-status=304"),
    (CacheStatus(forward: .miss, isCollapsed: true), "cachefetch; fwd=miss; collapsed"),
    (CacheStatus(forward: .bypass, detail: "no-store"), "cachefetch; fwd=bypass; detail=no-store"),
    (CacheStatus(detail: "a b"), "cachefetch; detail=\"a b\""),
    (CacheStatus(detail: "1"), "cachefetch; detail=\"1\""),
    (CacheStatus(detail: "a\"b\r\nü"), "cachefetch; detail=\"a\\\"b\""),
    (CacheStatus(detail: ""), "cachefetch; detail=\"\""),
  ]
  @Test("Parameters stand in the order of the registry", arguments: cases.indices) func format(index: Int) {
    #expect(Self.cases[index].0.formatted == Self.cases[index].1)
  }
}

@Suite("Pass-through", .inTurn) struct PassThroughTests {
  static let cases:
    [(name: String, method: RequestMethod, fields: HTTPFields, isRead: Bool, passes: Bool, underHTTP: Bool)] =
      [
        ("GET", .get, [:], false, false, false), ("HEAD", .head, [:], false, false, false),
        ("POST", .post, [:], false, true, true), ("get in small letters", "get", [:], false, true, true),
        ("POST marked as a read", .post, [:], true, false, false),
        ("Range", .get, ["Range": "bytes=0-1"], false, true, false),
        ("If-None-Match", .get, ["If-None-Match": "*"], false, true, false),
        ("If-Match", .get, ["if-match": "*"], false, true, false),
        ("If-Modified-Since", .get, ["If-Modified-Since": Rule.date()], false, true, false),
        ("If-Unmodified-Since", .get, ["If-Unmodified-Since": Rule.date()], false, true, false),
        ("If-Range", .get, ["If-Range": "\"a\""], false, true, false),
        ("no-store", .get, ["Cache-Control": "max-age=1, No-Store"], false, true, false),
        ("no-cache", .get, ["Cache-Control": "no-cache"], false, false, false),
        ("Accept", .get, ["Accept": "*/*"], false, false, false),
      ]
  @Test("Which requests the store stays out of", arguments: cases.indices) func decide(index: Int) {
    let (name, method, fields, isRead, passes, underHTTP) = Self.cases[index]
    let comment = Comment(rawValue: name)
    #expect(PassThrough.isPassThrough(method: method, fields: fields, isRead: isRead) == passes, comment)
    #expect(
      PassThrough.isPassThrough(method: method, fields: fields, isRead: isRead, underHTTP: true) == underHTTP,
      comment)
  }

  @Test("no-store does not pass the store by where the answer is to be kept anyway") func keptAnyway() {
    let fields: HTTPFields = ["Cache-Control": "no-store"]
    #expect(!PassThrough.isPassThrough(method: .get, fields: fields, isRead: false, keepsAnyway: true))
  }
}
