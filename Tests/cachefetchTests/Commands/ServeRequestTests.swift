import CacheStore
import DataService
import PlatformFoundation
import TestSupport
import Testing
import TestTurns

@testable import cachefetch

@Suite("Serve: the line that asks", .inTurn) struct ServeRequestTests {
  private static let url = #""url":"http://127.0.0.1:1/x""#

  /// A line with every member but those of a hand-over.
  static let everyMember = #"""
    {\#(Self.url), "method": "POST", "read": true, "fields": [["X-A", "1"], ["X-A", "é"]],
     "body_base64": "YWI=", "policy": "fresh-only", "max_stale": "7d", "account": "ann", "key": "k",
     "tags": ["a", "b"], "pin": true, "accept": ["text/html", "application/json"],
     "ignore_paths": ["/at"], "keep_anyway": true, "no_location": true, "body": "store",
     "limits": {"connect_timeout": "1s", "timeout": 2, "retry": 3, "max_body": "64k"}}
    """#.replacing("\n", with: "")

  private func terms(_ words: String...) throws -> ServeTerms {
    ServeTerms(try ArgumentParser.parse(["serve"] + words), DigestKey(bytes: Array(repeating: 7, count: 32)))
  }

  private func read(_ line: String, _ terms: ServeTerms? = nil) throws -> ServeRequest {
    try ServeRequest(Array(line.utf8)[...], on: terms ?? self.terms())
  }

  @Test func `a URL is enough`() throws {
    let asked = try read("{\(Self.url)}")
    #expect(asked.request.url.absoluteString == "http://127.0.0.1:1/x")
    #expect(asked.request.method == .get)
    #expect(asked.policy == .storedThenFresh)
    #expect(!asked.isHandedOver)
  }

  @Test func `every member is what the option of its name is`() throws {
    let asked = try read(Self.everyMember)
    let request = asked.request
    #expect(request.method == .post && request.isRead)
    #expect(request.fields.values(of: "X-A") == ["1", "é"])
    #expect(request.fields.all.count == 2)
    #expect(request.body == Data("ab".utf8))
    #expect(asked.policy == .freshOnly)
    #expect(request.maxStale == .seconds(7 * 86_400))
    #expect(request.account == .named("ann"))
    #expect(request.key == "k")
    #expect(request.tags == ["a", "b"] && request.isPinned)
    #expect(request.acceptedMediaTypes == ["text/html", "application/json"])
    #expect(request.changeRule == .json(ignoring: ["/at"]))
    #expect(request.keepsAnyway)
    #expect(request.limits.redirects == 0)
    #expect(request.limits.connectTimeout == .seconds(1))
    #expect(request.limits.totalTimeout == .seconds(2))
    #expect(request.limits.retries == 3)
    #expect(request.limits.bodyBytes == 65_536)
  }

  @Test(
    "the times of policies",
    arguments: [
      (#""max_age": "5m""#, FetchPolicy.storedElseFresh(maxAge: .seconds(300))),
      (#""max_age": 300, "deadline": "1s""#, .storedElseFresh(maxAge: .seconds(300), within: .seconds(1))),
      (#""deadline": "500ms""#, .freshElseStored(within: .milliseconds(500))),
      (#""policy": "stored-only""#, .storedOnly), (#""policy": "http""#, .http),
    ])
  func policies(_ members: String, _ policy: FetchPolicy) throws {
    #expect(try read("{\(Self.url), \(members)}").policy == policy)
  }

  @Test("a flag that is false is not given", arguments: ["pin", "read", "keep_anyway", "no_location"])
  func falseFlags(_ name: String) throws {
    let asked = try read("{\(Self.url), \"\(name)\": false}")
    let plain = try read("{\(Self.url)}")
    #expect(asked.request == plain.request)
  }

  @Test(
    "anything else is refused",
    arguments: [
      "", " ", "GET / HTTP/1.1", "[]", "{", "{}", #"{"url":1}"#, #"{"url":"x"}"#,
      #"{"url":"file:///etc/passwd"}"#,
      #"{\#(url), "nonsense": 1}"#, #"{\#(url), "method": "POST"}"#, #"{\#(url), "method": "DELETE"}"#,
      #"{\#(url), "method": "G T", "read": true}"#, #"{\#(url), "method": "CONNECT", "read": true}"#,
      #"{\#(url), "fields": {}}"#, #"{\#(url), "fields": [["a"]]}"#, #"{\#(url), "fields": [["a b", "c"]]}"#,
      #"{\#(url), "fields": [["a", "b\nc"]]}"#, #"{\#(url), "body_base64": "*"}"#,
      #"{\#(url), "body_base64": 1}"#,
      #"{\#(url), "policy": "soon"}"#, #"{\#(url), "policy": "http", "max_age": "1s"}"#,
      #"{\#(url), "max_age": "soon"}"#,
      #"{\#(url), "max_age": true}"#, #"{\#(url), "account": ""}"#, #"{\#(url), "account": null}"#,
      #"{\#(url), "key": ""}"#,
      #"{\#(url), "key": {}}"#, #"{\#(url), "tags": "a"}"#, #"{\#(url), "tags": [true]}"#,
      #"{\#(url), "tags": ["a\nb"]}"#,
      #"{\#(url), "accept": ["x"]}"#, #"{\#(url), "ignore_paths": ["x"]}"#, #"{\#(url), "pin": "yes"}"#,
      #"{\#(url), "limits": []}"#, #"{\#(url), "limits": {"size": 1}}"#,
      #"{\#(url), "limits": {"retry": -1}}"#,
      #"{\#(url), "body": "socket"}"#, #"{\#(url), "road": "x", "trust": "y"}"#, #"{\#(url), "road": "x"}"#,
    ])
  func refused(_ line: String) {
    #expect(throws: UsageError.self) { try read(line) }
  }

  @Test func `a field or a body that begins with an at sign reads no file`() throws {
    #expect(throws: UsageError.self) { try read(#"{\#(Self.url), "fields": [["@/etc/hostname", "x"]]}"#) }
    #expect(
      try read(#"{\#(Self.url), "fields": [["X-A", "@/etc/hostname"]]}"#).request.fields["X-A"]
        == "@/etc/hostname")
  }

  @Test
  func `a hand-over is taken on the same road and trust alone, and what is stored is not delivered again`()
    throws
  {
    let own = try terms("--proxy", "http://u:p@127.0.0.1:1")
    let plain = try terms()
    #expect(!own.road.contains("127") && own.road != plain.road)
    let line = #"{\#(Self.url), "road": "\#(own.road)", "trust": "\#(own.trust)"}"#
    let asked = try read(line, own)
    #expect(asked.isHandedOver)
    #expect(asked.policy == .storedThenFresh.again(ifOlderThan: .zero))
    #expect(asked.request.connection.proxy == "http://u:p@127.0.0.1:1")
    #expect(throws: UsageError.self) { try read(line) }
    for words in [
      ["-k"], ["--resolve", "a:1:127.0.0.1"], ["--secret-field", "X-A"], ["--secret-parameter", "t"],
    ] {
      let other = ServeTerms(
        try ArgumentParser.parse(["serve", "--proxy", "http://u:p@127.0.0.1:1"] + words),
        DigestKey(bytes: Array(repeating: 7, count: 32)))
      #expect(other.road == own.road)
      #expect(throws: UsageError.self, "\(words)") { try read(line, other) }
    }
  }

  @Test func `a file of authorities that has changed is another trust`() throws {
    let folder = try TemporaryFolder()
    let file = try folder.write("one", to: "ca.pem")
    let first = try terms("--cacert", file).trust
    #expect(try terms("--cacert", file).trust == first)
    try folder.write("other", to: "ca.pem")
    #expect(try terms("--cacert", file).trust != first)
  }
}
