import CacheStore
import PlatformFoundation
import Testing
import TestTurns

@testable import DataService

extension Rule {
  /// A request taken apart, with digests that can be read.
  static func prepared(
    _ url: String = "http://a.test/x", policy: FetchPolicy = .storedThenFresh,
    change: (inout DataService.Request) -> Void = { _ in }
  ) throws -> PreparedRequest {
    var request = DataService.Request(try #require(URL(string: url)))
    change(&request)
    return try PreparedRequest(
      request, policy: policy, secrets: SecretList(),
      digest: { "<" + String(decoding: $0, as: UTF8.self) + ">" }, fileDigest: { "file " + $0 })
  }
}

@Suite("Requests taken apart", .inTurn) struct PreparedRequestTests {
  @Test("User-info goes as Basic credentials, RFC 7617, unless the caller sends its own") func userInfo()
    throws
  {
    let cases: [(url: String, own: String?, sent: [String])] = [
      ("http://a.test/", nil, []), ("http://u:p@a.test/", nil, ["Basic dTpw"]),
      ("http://u@a.test/", nil, ["Basic dTo="]), ("http://:p@a.test/", nil, ["Basic OnA="]),
      ("http://u%40:p%3A@a.test/", nil, ["Basic dUA6cDo="]), ("http://u:p@a.test/", "Bearer x", ["Bearer x"]),
      ("http://a.test/", "Bearer x", ["Bearer x"]),
    ]
    for (url, own, sent) in cases {
      let prepared = try Rule.prepared(url) { if let own { $0.fields.append("authorization", own) } }
      #expect(prepared.fields.values(of: "Authorization") == sent, "\(url)")
      #expect(prepared.url.string == "http://a.test/", "\(url)")
    }
  }

  static let refused: [(name: String, change: @Sendable (inout DataService.Request) -> Void, says: String)] =
    [
      ("a field of two lines", { $0.fields.append("X", "1\r\nY: 2") }, "X"),
      ("a field whose name is no token", { $0.fields.append("X Y", "1") }, "X Y"),
      ("no method", { $0.method = "" }, "not a method"),
      ("a method of two words", { $0.method = "GET it" }, "GET it"),
      ("a length without a body", { $0.fields = ["Content-Length": "5"] }, "Content-Length"),
      (
        "a length that is not the body's",
        {
          $0.fields = ["content-length": "5"]
          $0.body = Data("x".utf8)
        }, "Content-Length"
      ),
    ]

  @Test("What cannot be sent is named") func invalid() throws {
    for (name, change, says) in Self.refused {
      let error = #expect(throws: DataServiceError.self, Comment(rawValue: name)) {
        try Rule.prepared(change: change)
      }
      #expect(
        error?.kind == .invalidRequest && error?.message.contains(says) == true, Comment(rawValue: name))
      #expect(error?.hint?.isEmpty == false, Comment(rawValue: name))
    }
  }

  @Test("A length that is the body's is accepted") func length() throws {
    for (length, body) in [("1", Data("x".utf8)), ("0", Data()), ("0", nil)] as [(String, Data?)] {
      let prepared = try Rule.prepared {
        $0.fields = ["Content-Length": length]
        $0.body = body
      }
      #expect(
        prepared.fields.values(of: "Content-Length") == [length], "\(length), \(String(describing: body))")
    }
  }

  @Test("Policy and method decide whether it can be repeated, and whether it passes the store by")
  func kinds() throws {
    let all: [FetchPolicy] = [
      .storedThenFresh, .storedOnly, .freshOnly, .freshElseStored(), .storedElseFresh(maxAge: .zero),
    ]
    for policy in all { #expect(try !Rule.prepared(policy: policy).isHTTP, "\(policy)") }
    #expect(try Rule.prepared(policy: .http).isHTTP)
    for (policy, isPassThrough) in [(FetchPolicy.storedThenFresh, true), (.http, false)] {
      let prepared = try Rule.prepared(policy: policy) { $0.fields = ["Range": "bytes=0-1"] }
      #expect(prepared.isPassThrough == isPassThrough, "\(policy)")
    }
    let methods:
      [(method: RequestMethod, isRead: Bool, isHead: Bool, isRepeatable: Bool, isPassThrough: Bool)] = [
        (.get, false, false, true, false), (.head, false, true, true, false),
        (.post, false, false, false, true),
        (.post, true, false, true, false), (.options, false, false, false, true),
        ("get", false, false, false, true),
      ]
    for (method, isRead, isHead, isRepeatable, isPassThrough) in methods {
      let prepared = try Rule.prepared {
        $0.method = method
        $0.isRead = isRead
      }
      #expect(prepared.isHead == isHead, "\(method.rawValue)")
      #expect(prepared.isRepeatable == isRepeatable, "\(method.rawValue)")
      #expect(prepared.isPassThrough == isPassThrough, "\(method.rawValue)")
    }
    #expect(
      try !Rule.prepared {
        $0.fields = ["Cache-Control": "no-store"]
        $0.keepsAnyway = true
      }.isPassThrough)
  }

  @Test("What is shown is without secrets, whatever the key, law 12") func shown() throws {
    let plain = try Rule.prepared("http://u:p@a.test/?token=S&x=1")
    #expect(plain.shownURL == plain.key.target)
    #expect(plain.shownURL.contains("<S>") && plain.shownURL.hasSuffix("&x=1"))
    #expect(plain.shownPlace == "for \(plain.shownURL)")
    let named = try Rule.prepared("http://u:p@a.test/?token=S&x=1") { $0.key = "mine" }
    #expect(named.key.target == "key:mine" && named.shownURL == plain.shownURL)
    #expect(named.shownPlace == "under the key mine")
  }

  @Test("Pauses are of the origin, and of the way to it") func responder() throws {
    let (own, other) = (try NormalisedURL("http://a.test/y"), try NormalisedURL("http://b.test/y"))
    let plain = try Rule.prepared()
    #expect(plain.responder(of: own) == "http://a.test" && plain.responder(of: other) == "http://b.test")
    // The caller's Host goes to its own origin only.
    let hosted = try Rule.prepared { $0.fields = ["Host": "h.test"] }
    #expect(
      hosted.responder(of: own).hasPrefix("http://a.test ") && hosted.responder(of: own).contains("h.test"))
    #expect(hosted.responder(of: other) == "http://b.test")
    let connected = try Rule.prepared {
      $0.fields = ["Host": "h.test"]
      $0.connection.unixSocket = "/run/x"
    }
    #expect(
      connected.responder(of: own).contains("h.test") && connected.responder(of: own).contains("/run/x"))
    #expect(
      connected.responder(of: other).hasPrefix("http://b.test ")
        && connected.responder(of: other).contains("/run/x"))
    #expect(!connected.responder(of: other).contains("h.test"))
    let socket = try Rule.prepared { $0.connection.unixSocket = "/run/x" }
    #expect(socket.responder(of: own).hasSuffix("/run/x") && socket.responder(of: other).hasSuffix("/run/x"))
    #expect(socket.source == "http://a.test/x unix=6:/run/x")
  }

  @Test("The way is by the proxy in force, and over https by whom is trusted") func road() throws {
    let urls = try ["http://a.test/", "https://a.test/"].map { try NormalisedURL($0) }
    func roads(_ change: (inout ConnectionOptions) -> Void) throws -> [String] {
      let prepared = try Rule.prepared { change(&$0.connection) }
      return urls.map { String(prepared.responder(of: $0).dropFirst($0.origin.utf8.count)) }
    }
    #expect(try roads { $0.proxy = "http://p:1" } == [" proxy=10:http://p:1", " proxy=10:http://p:1"])
    let secret = try roads { $0.proxy = "http://u:geheim@p:1" }
    #expect(secret[0] == " proxy=22:http://~<u:geheim>@p:1", "digests can be read here")
    #expect(try roads { $0.proxy = "" } == ["", ""])
    #expect(try roads { ($0.proxy, $0.unixSocket) = ("http://p:1", "/s") }[0] == " unix=2:/s")
    #expect(try roads { $0.isInsecure = true } == ["", " insecure"])
    for isMachineTrust in [false, true] {
      let mark = isMachineTrust ? "" : " authorities"
      let both = try roads {
        ($0.certificateAuthorityFile, $0.certificateAuthorityFolder) = ("/f", "/d")
        $0.isMachineTrust = isMachineTrust
      }
      #expect(both == ["", "\(mark) trust=2:/f trust=2:/d"])
    }
    // The system's own, by whatever tool of a distribution.
    for file in ["/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt"] {
      let named = try roads {
        ($0.certificateAuthorityFile, $0.certificateAuthorityFolder) = (file, "/etc/ssl/certs")
        $0.isMachineTrust = true
      }
      #expect(named == ["", ""], "\(file)")
    }
  }

  static let differences:
    [(name: String, isAlike: Bool, change: @Sendable (inout DataService.Request) -> Void)] = [
      ("nothing", true, { _ in }), ("account", false, { $0.account = .named("b") }),
      ("method", false, { $0.method = .head }),
      ("URL", false, { $0.url.append(path: "y") }), ("fields", false, { $0.fields = ["Accept": "a/b"] }),
      ("body", false, { $0.body = Data("c".utf8) }), ("no body", false, { $0.body = nil }),
      ("limits", false, { $0.limits.retries = 3 }),
      ("connection", false, { $0.connection.isCompressed = false }),
      ("kept anyway", false, { $0.keepsAnyway = true }),
      ("media types", false, { $0.acceptedMediaTypes = ["a/b"] }),
      ("online wait", false, { $0.onlineWait = .seconds(1) }),
      ("tags", true, { $0.tags = ["t"] }), ("pin", true, { $0.isPinned = true }),
      ("change rule", true, { $0.changeRule = .notModified }),
      ("yielding", true, { $0.yieldsToOthers = true }),
    ]

  @Test("Two loads share an exchange where all that shapes it is the same, law 7") func alike() throws {
    let common: @Sendable (inout DataService.Request) -> Void = {
      $0.key = "same"
      $0.body = Data("b".utf8)
    }
    let one = try Rule.prepared(change: common)
    for (name, isAlike, change) in Self.differences {
      let other = try Rule.prepared {
        common(&$0)
        change(&$0)
      }
      #expect(one.isAlike(other) == isAlike, Comment(rawValue: name))
      #expect(other.isAlike(one) == isAlike, Comment(rawValue: name))
    }
    #expect(try !one.isAlike(Rule.prepared(policy: .http, change: common)))
    #expect(try one.isAlike(Rule.prepared(policy: .freshOnly, change: common)))
  }
}
