import CacheStore
import PlatformFoundation
import Testing
import TestTurns

@testable import DataService

@Suite("Redirects, RFC 9110 section 15.4", .inTurn) struct RedirectRuleTests {
  private func hop(
    _ url: String = "http://a.test/dir/page?q=1", _ method: RequestMethod = .get, _ fields: HTTPFields = [:],
    body: String? = nil
  ) throws -> RedirectRule.Hop {
    RedirectRule.Hop(
      url: try NormalisedURL(url), method: method, fields: fields, body: body.map { Data($0.utf8) })
  }

  private func next(
    after hop: RedirectRule.Hop, from original: RedirectRule.Hop? = nil, status: Int = 302,
    to location: String? = "/next"
  ) throws -> RedirectRule.Hop? {
    var fields = HTTPFields()
    if let location { fields.append("Location", location) }
    return try RedirectRule.next(
      after: hop, from: original ?? hop, status: status, fields: fields, secrets: SecretList())
  }

  @Test("Of all statuses five are followed, three of them temporary") func statuses() throws {
    let followed = [301, 302, 303, 307, 308]
    for status in 100...599 {
      #expect(try (next(after: hop(), status: status) != nil) == followed.contains(status), "\(status)")
    }
    #expect(RedirectRule.statuses == Set(followed))
    #expect(RedirectRule.temporaryStatuses == [302, 303, 307])
  }

  static let methods: [(status: Int, method: RequestMethod, becomes: RequestMethod, keepsBody: Bool)] = [
    (301, .get, .get, true), (302, .get, .get, true), (303, .get, .get, true), (307, .get, .get, true),
    (308, .get, .get, true),
    (301, .post, .get, false), (302, .post, .get, false), (303, .post, .get, false),
    (307, .post, .post, true),
    (308, .post, .post, true),
    (301, .put, .put, true), (302, .put, .put, true), (303, .put, .get, false), (307, .put, .put, true),
    (308, .put, .put, true),
    (301, .head, .head, true), (302, .head, .head, true), (303, .head, .head, true),
    (307, .head, .head, true),
    (308, .head, .head, true),
    (301, .delete, .delete, true), (302, .delete, .delete, true), (303, .delete, .get, false),
    (301, "post", "post", true), (302, "post", "post", true), (303, "post", .get, false),
  ]

  @Test("303 makes a GET of all but HEAD, 301 and 302 of POST, sections 15.4.2 to 15.4.4") func method()
    throws
  {
    for (status, method, becomes, keepsBody) in Self.methods {
      let fields: HTTPFields = [
        "Content-Type": "a/b", "CONTENT-language": "de", "X-Content-Type": "1", "Content": "2",
        "Transfer-Encoding": "chunked", "TRAILER": "X-Sum", "expect": "100-continue", "Digest": "md5=1",
        "Repr-Digest": "md5=:1:", "last-modified": "now",
      ]
      let comment = Comment(rawValue: "\(status) to \(method.rawValue)")
      let next = try #require(
        try next(after: hop("http://a.test/", method, fields, body: "b"), status: status), comment)
      #expect(next.method == becomes, comment)
      #expect(next.body == (keepsBody ? Data("b".utf8) : nil), comment)
      #expect(next.fields == (keepsBody ? fields : ["X-Content-Type": "1", "Content": "2"]), comment)
    }
  }

  @Test("Without a body no field describes one") func noBody() throws {
    let fields: HTTPFields = ["Content-Type": "a/b", "X": "1", "Transfer-Encoding": "chunked"]
    let next = try next(after: hop("http://a.test/", .post, fields), status: 308)
    #expect(next?.method == .post)
    #expect(next?.fields == ["X": "1"])
  }

  static let locations: [(location: String?, url: String?)] = [
    (nil, nil), ("", nil), ("/next", "http://a.test/next"), ("next", "http://a.test/dir/next"),
    ("?q=2", "http://a.test/dir/page?q=2"), ("//b.test/x", "http://b.test/x"), ("../up", "http://a.test/up"),
    ("https://a.test/s", "https://a.test/s"), ("/a b  c", "http://a.test/a%20b%20%20c"),
    ("/%20x|?y[]=%2F", "http://a.test/%20x%7C?y%5B%5D=%2F"),
    ("/x#part", "http://a.test/x"), ("HTTP://B.TEST:80", "http://b.test/"),
  ]

  /// What a signature of the origin's is over.
  static let signed = [
    "/s/foo%2Etxt", "/s/a%7Eb", "/s/a%2Db", "/s/%61", "/s/a?x=%7e", "/s/a?f=a%2eb", "/s/a%2fb",
    "/s/a?k=%3D%3d",
    "/s/a?d=%d0%b0", "/s/a?x=%5b1%5d", "/s/a?x=[1]", "/s/a|b", "/s/a^b", "/s/a`b", "/s/a?u={x}",
    "/s/a?q=\"x\"",
    "/s/foo.txt", "/s/it%27s", "/s/a?d=%D0%B0", "/s/a?b=%2F",
  ]

  @Test("The target is asked for as the origin has spelt it", arguments: signed) func spelling(
    location: String
  ) throws {
    for text in [location, "http://a.test\(location)", "//a.test\(location)"] {
      #expect(try next(after: hop(), to: text)?.url.wire == "http://a.test\(location)")
    }
  }

  @Test(
    "Bytes beyond ASCII are encoded as they came",
    arguments: [
      ([0xE9], "%E9"), ([0xC3, 0xA9], "%C3%A9"), ([0xC3, 0xA9, 0xE9], "%C3%A9%E9"), ([0xFF, 0x80], "%FF%80"),
    ] as [([UInt8], String)])
  func bytes(bytes: [UInt8], encoded: String) throws {
    var fields = HTTPFields()
    fields.append(name: Array("Location".utf8), value: Array("/t/caf".utf8) + bytes)
    let hop = try hop()
    let next = try RedirectRule.next(
      after: hop, from: hop, status: 302, fields: fields, secrets: SecretList())
    #expect(next?.url.wire == "http://a.test/t/caf\(encoded)" && next?.url.string == next?.url.wire)
  }

  @Test(
    "A host that is not in ASCII is encoded, as a typed one is",
    arguments: [
      "http://bücher.test:18411/t", "//bücher.test:18411/t", "http://BÜCHER.test:18411/t",
      "http://b%C3%BCcher.test:18411/t",
      "http://bücher\u{3002}test:18411/t", "http://xn--bcher-kva.test:18411/t",
    ])
  func international(location: String) throws {
    #expect(try next(after: hop(), to: location)?.url.wire == "http://xn--bcher-kva.test:18411/t")
  }

  @Test("Location is resolved against the URL that redirects, section 10.2.2") func location() throws {
    let original = try hop("http://elsewhere.test/")
    for (location, url) in Self.locations {
      let next = try next(after: hop(), from: original, to: location)
      #expect(next?.url.string == url, "\(location ?? "none")")
    }
  }

  @Test(
    "What is no URL that is followed is an error",
    arguments: ["mailto:a@a.test", "ftp://a.test/", "http://", "http://-bücher.test/", "http:x"])
  func refused(location: String) throws {
    let error = #expect(throws: DataServiceError.self) { try next(after: hop(), to: location) }
    #expect(error?.kind == .protocol)
    #expect(error?.message.contains("a.test redirects to") == true)
  }

  @Test("Only from https to http is not followed") func downgrade() throws {
    for (from, to, isFollowed) in [
      ("http", "http", true), ("http", "https", true), ("https", "https", true), ("https", "http", false),
    ] {
      let comment = Comment(rawValue: "\(from) to \(to)")
      do {
        let next = try next(after: hop("\(from)://a.test/"), to: "\(to)://b.test/x")
        #expect(isFollowed && next?.url.string == "\(to)://b.test/x", comment)
      } catch let error as DataServiceError {
        #expect(!isFollowed && error.kind == .protocol && error.hint != nil, comment)
      }
    }
  }

  @Test("Credentials and Host go to the original's origin alone, section 15.4") func credentials() throws {
    let all: HTTPFields = [
      "Authorization": "a", "cookie": "b", "X-Api-Key": "c", "HOST": "h.test", "Accept": "d", "X-Host": "e",
    ]
    let harmless: HTTPFields = ["Accept": "d", "X-Host": "e"]
    let original = try hop("http://a.test/", .get, all)
    let cases: [(name: String, hop: String, location: String, fields: HTTPFields)] = [
      ("own origin", "http://a.test/", "/x", all),
      ("its own port named", "http://a.test/", "http://a.test:80/x", all),
      ("another host", "http://a.test/", "http://b.test/", harmless),
      ("another port", "http://a.test/", "http://a.test:81/", harmless),
      ("another scheme", "http://a.test/", "https://a.test/", harmless),
      ("staying elsewhere", "http://b.test/", "/x", harmless),
      ("back again", "http://b.test/", "http://a.test/x", all),
    ]
    for (name, url, location, fields) in cases {
      let next = try next(after: hop(url, .get, ["Gone": "1"]), from: original, to: location)
      #expect(next?.fields == fields, Comment(rawValue: name))
    }
  }

  @Test("Method and body are those of the hop, and not of the original") func ofTheHop() throws {
    let original = try hop("http://a.test/", .post, ["X": "1"], body: "b")
    let next = try next(after: hop("http://a.test/", .get), from: original, status: 307)
    #expect(next?.method == .get && next?.body == nil && next?.fields == ["X": "1"])
  }
}
