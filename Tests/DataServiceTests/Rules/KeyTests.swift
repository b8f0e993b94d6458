import CacheStore
import DataServiceTesting
import PlatformFoundation
import TestSupport
import Testing
import TestTurns

@testable import DataService

/// Identity is one value: whatever the caller says of who answers, or for whom, is in the key, and nothing that the
/// machine says.
@Suite("The key", .inTurn) struct KeyTests {
  private let folder: TemporaryFolder
  private let service: ServiceFixture
  private let url: URL

  init() throws {
    folder = try TemporaryFolder()
    service = try ServiceFixture(transport: ScriptedTransport { _, _ in .answer("") })
    url = try #require(URL(string: "https://a.test/x?b=c"))
    for name in ["one.pem", "two.pem"] { try folder.write("certificate \(name)", to: name) }
  }

  private func key(_ change: (inout DataService.Request) -> Void = { _ in }) throws -> RequestKey {
    try key(of: url, change)
  }

  private func key(of url: URL, _ change: (inout DataService.Request) -> Void) throws -> RequestKey {
    var request = DataService.Request(url)
    change(&request)
    return try service.service.key(for: request)
  }

  /// What an option has to do with the key.
  private enum Place {
    /// Two values of it, each of which makes a key of its own.
    case inKey((inout DataService.Request) -> Void, (inout DataService.Request) -> Void)
    /// It makes the same key as another, whatever its value.
    case inKeyLike(String, (inout DataService.Request) -> Void)
    /// It makes an account, where none is named.
    case inAccount((inout DataService.Request) -> Void, (inout DataService.Request) -> Void)
    /// Why it cannot matter.
    case inNone(String, (inout DataService.Request) -> Void)
  }

  private var connection: [String: Place] {
    let (one, two) = (folder.file("one.pem"), folder.file("two.pem"))
    return [
      "isInsecure": .inKey({ $0.connection.isInsecure = true }, { $0.connection.isInsecure = true }),
      "unixSocket": .inKey({ $0.connection.unixSocket = "/a" }, { $0.connection.unixSocket = "/b" }),
      "resolutions": .inKey(
        { $0.connection.resolutions = [.init(host: "a.test", port: 443, address: "127.0.0.1")] },
        { $0.connection.resolutions = [.init(host: "a.test", port: 443, address: "127.0.0.2")] }),
      "proxy": .inNone("the way to the network does not decide who answers") {
        $0.connection.proxy = "http://u:p@p:1"
      },
      "certificateAuthorityFile": .inKey(
        { $0.connection.certificateAuthorityFile = one }, { $0.connection.certificateAuthorityFile = two }),
      "certificateAuthorityFolder": .inKeyLike("certificateAuthorityFile") {
        $0.connection.certificateAuthorityFolder = "/a"
      },
      "isMachineTrust": .inNone("what the environment names is the machine's own") {
        $0.connection.isMachineTrust = true
        $0.connection.certificateAuthorityFile = one
        $0.connection.certificateAuthorityFolder = "/a"
      },
      "clientCertificateFile": .inAccount(
        { $0.connection.clientCertificateFile = one }, { $0.connection.clientCertificateFile = two }),
      "clientKeyFile": .inNone("it proves the certificate, which is in the account") {
        $0.connection.clientKeyFile = one
      },
      "isHTTP11Only": .inNone("the version is spoken between two ends; the answer is the same") {
        $0.connection.isHTTP11Only = true
      },
      "isCompressed": .inNone("decoded bodies are stored, and a coded one is never resumed") {
        $0.connection.isCompressed = false
      },
    ]
  }

  private var limits: [String: Place] {
    func cost(_ change: @escaping (inout DataService.Request) -> Void) -> Place {
      .inNone("it says what a load may cost, not what the answer is", change)
    }
    return [
      "redirects": .inKey({ $0.limits.redirects = 0 }, { $0.limits.redirects = 0 }),
      "bodyBytes": cost { $0.limits.bodyBytes = 1 }, "dataBytes": cost { $0.limits.dataBytes = 1 },
      "fieldSectionBytes": cost { $0.limits.fieldSectionBytes = 1 },
      "fieldCount": cost { $0.limits.fieldCount = 1 }, "retries": cost { $0.limits.retries = 9 },
      "connectTimeout": cost { $0.limits.connectTimeout = .seconds(1) },
      "firstByteTimeout": cost { $0.limits.firstByteTimeout = .seconds(1) },
      "idleTimeout": cost { $0.limits.idleTimeout = .seconds(1) },
      "totalTimeout": cost { $0.limits.totalTimeout = .seconds(1) },
    ]
  }

  private var request: [String: Place] {
    func apart(_ reason: String, _ change: @escaping (inout DataService.Request) -> Void) -> Place {
      .inNone(reason, change)
    }
    return [
      "url": .inKey(
        { $0.url = $0.url.appending(path: "1") }, { $0.url = $0.url.appending(path: "2") }),
      "spelling": apart("it is how the URL, which is in the key, was spelt") {
        $0.spelling = "HTTPS://a.test/%78?b=%63"
      },
      "method": .inKey({ $0.method = .post }, { $0.method = .put }),
      "fields": .inKey({ $0.fields = ["Host": "b.test"] }, { $0.fields = ["Host": "c.test"] }),
      "body": .inKey({ $0.body = Data("1".utf8) }, { $0.body = Data("2".utf8) }),
      "account": .inKey({ $0.account = .named("a") }, { $0.account = .named("b") }),
      "key": .inKey({ $0.key = "a" }, { $0.key = "b" }),
      "isRead": apart("it says that the method, which is in the key, only reads") { $0.isRead = true },
      "keepsAnyway": apart("it is about what may be written") { $0.keepsAnyway = true },
      "tags": apart("labels of the row") { $0.tags = ["t"] },
      "isPinned": apart("a property of the row") { $0.isPinned = true },
      "changeRule": apart("it compares two answers") { $0.changeRule = .notModified },
      "acceptedMediaTypes": apart("what it refuses is never stored") { $0.acceptedMediaTypes = ["a/b"] },
      "acceptedStatuses": apart("what it refuses is never stored") { $0.acceptedStatuses = 200...404 },
      "maxStale": apart("it says what is used, not what is stored") { $0.maxStale = .seconds(1) },
      "onlineWait": apart("it says how long a load waits") { $0.onlineWait = .seconds(1) },
      "yieldsToOthers": apart("it says who asks, not who answers") { $0.yieldsToOthers = true },
      "isCounted": apart("it says who counts what is delivered") { $0.isCounted = false },
      // Enumerated by themselves.
      "limits": apart("see its own table") { _ in }, "connection": apart("see its own table") { _ in },
    ]
  }

  private func names(of value: Any) -> Set<String> {
    Set(Mirror(reflecting: value).children.compactMap(\.label))
  }

  private func check(_ places: [String: Place], besides own: (inout DataService.Request) -> Void = { _ in })
    throws
  {
    var keys: [RequestKey: String] = [try key(own): "nothing"]
    for (name, place) in places.sorted(by: { $0.key < $1.key }) {
      func make(_ change: (inout DataService.Request) -> Void) throws -> RequestKey {
        try key {
          own(&$0)
          change(&$0)
        }
      }
      switch place {
      case .inKey(let one, let two), .inAccount(let one, let two):
        for made in Set([try make(one), try make(two)]) {
          #expect(keys[made] == nil, "\(name) makes the same key as \(keys[made] ?? "")")
          keys[made] = name
        }
      case .inKeyLike(let other, let change):
        // In the order of the names that one has been made.
        #expect(keys[try make(change)] == other, "\(name)")
      case .inNone(let reason, let change):
        #expect(try make(change) == key(own), "\(name) is in the key, though \(reason)")
      }
    }
  }

  @Test func `every connection option is in the key, or cannot matter`() throws {
    #expect(Set(connection.keys) == names(of: ConnectionOptions()), "a new option has to be placed")
    try check(connection)
  }

  @Test func `every limit is in the key, or cannot matter`() throws {
    #expect(Set(limits.keys) == names(of: Limits()))
    try check(limits)
  }

  @Test func `every part of a request is in the key, or cannot matter`() throws {
    #expect(Set(request.keys) == names(of: DataService.Request(url)))
    try check(request)
  }

  @Test(
    "Values that differ in one byte are two, in whatever encoding they read alike",
    arguments: ["Host", "Cookie"])
  func bytes(name: String) throws {
    let keys = try [[0xE9], Array("é".utf8), Array("Ã©".utf8), Array("e\u{301}".utf8), [0xC9]].map { value in
      try key { $0.fields.append(name: Array(name.utf8), value: value) }
    }
    let texts = keys.map { Array("\($0.account) \($0.extra)".utf8) }
    #expect(Set(texts).count == keys.count)
  }

  @Test func `a key of the caller's own replaces method, URL and body, and nothing else`() throws {
    let own: (inout DataService.Request) -> Void = { $0.key = "mine" }
    try check(connection, besides: own)
    try check(["redirects": try #require(limits["redirects"])], besides: own)
    var rest = request
    for name in ["url", "method", "body", "key"] { rest[name] = nil }
    try check(rest, besides: own)
    let plain = try key(own)
    #expect(plain.target == "key:mine" && plain.method == "GET" && plain.extra.isEmpty)
    let changes: KeyValuePairs<String, (inout DataService.Request) -> Void> = [
      "method": { $0.method = .post }, "body": { $0.body = Data("1".utf8) },
      "url": { $0.url = $0.url.appending(path: "1") },
    ]
    for (name, change) in changes {
      #expect(
        try key {
          own(&$0)
          change(&$0)
        } == plain, "\(name)")
    }
  }

  @Test func `a request without special options has nothing extra`() throws {
    #expect(try key() == RequestKey(target: "https://a.test/x?b=c"))
    #expect(try key { $0.fields = ["Host": "A.test", "Accept": "*/*"] } == key(), "the URL's own host")
  }

  @Test func `a relative path is the one from the working folder`() throws {
    let folder = FileManager.default.currentDirectoryPath
    #expect(
      try key { $0.connection.unixSocket = "run/x" }
        == key { $0.connection.unixSocket = folder + "/run/x" })
    #expect(try key { $0.connection.unixSocket = "/run/x" }.extra == RequestKey.extraPart("unix", "/run/x"))
  }

  @Test func `of the parts the body is the first, and the others have the order of the rule`() throws {
    let extra = try key {
      $0.body = Data("1".utf8)
      $0.connection.isInsecure = true
      $0.limits.redirects = 0
    }.extra
    #expect(RequestKey.extraParts(extra).map { $0.name } == ["body", "insecure", "no-location"])
  }

  @Test func `no value is taken for another part`() throws {
    let one = try key { $0.connection.unixSocket = "/a resolve=1:h at=4:80 b" }
    let two = try key {
      $0.connection.unixSocket = "/a"
      $0.connection.resolutions = [.init(host: "h", port: 80, address: "b")]
    }
    #expect(one.extra != two.extra)
    var seen: Set<String> = []
    // Whatever a value looks like: no two of these are the same connection.
    let odd = ["", " ", "a", "a insecure", "1:a", "a unix=1:b", "b\n", "insecure", "resolve=1:a"]
    for socket in odd {
      for address in odd {
        for insecure in [false, true] {
          let made = try key {
            $0.connection.unixSocket = "/" + socket
            $0.connection.resolutions = [.init(host: "h", port: 1, address: address)]
            $0.connection.isInsecure = insecure
          }
          #expect(seen.insert(made.extra).inserted, "\(made.extra)")
        }
      }
    }
    let first = both(("h", "1"), ("h", "2"))
    let second = both(("h", "2"), ("h", "1"))
    #expect(try key { $0.connection.resolutions = first } != key { $0.connection.resolutions = second })
    let other = both(("g", "2"), ("h", "1"))
    let swapped = both(("h", "1"), ("g", "2"))
    #expect(try key { $0.connection.resolutions = other } == key { $0.connection.resolutions = swapped })
  }

  @Test func `an account whose name is empty is refused, since nobody's responses are under that`() throws {
    let error = #expect(throws: DataServiceError.self) { try key { $0.account = .named("") } }
    #expect(error?.kind == .invalidRequest && error?.hint != nil)
    #expect(try key { $0.account = .named(" ") }.account == " ")
  }

  @Test(arguments: ["a\nb", "\r", "\u{0}", "a\u{7F}", "\u{85}b"])
  func `an account or a tag with a control character is refused, since no list could show it as it is`(
    name: String
  ) throws {
    typealias Change = (inout DataService.Request) -> Void
    for change in [{ $0.account = .named(name) }, { $0.tags = ["a", name] }] as [Change] {
      let error = #expect(throws: DataServiceError.self) { try key(change) }
      #expect(error?.kind == .invalidRequest && error?.hint == "leave it out")
    }
    #expect(try key { $0.account = .named("ü\u{A0}") }.account == "ü\u{A0}")
  }

  @Test func `credentials in any order make one account, and other fields none`() throws {
    func account(_ fields: HTTPFields) throws -> String { try key { $0.fields = fields }.account }
    let one = try account(["Authorization": "a", "Cookie": "b", "Accept": "c"])
    #expect(one.hasPrefix("auto:"))
    #expect(try account(["cookie": "b", "AUTHORIZATION": "a"]) == one)
    for other in [
      ["Authorization": "b", "Cookie": "a"], ["Authorization": "A", "Cookie": "b"], ["Authorization": "a"],
      ["Cookie": "b"], ["Authorization": "a", "Cookie": "b", "X-Api-Key": "c"],
    ] as [HTTPFields] {
      #expect(try account(other) != one, "\(other.all)")
    }
    #expect(try account(["Accept": "c"]).isEmpty)
  }

  @Test func `an address counts by host and port, in any order and case, and the first of several`() throws {
    func key(_ all: [(String, Int, String)]) throws -> RequestKey {
      try self.key { $0.connection.resolutions = all.map { .init(host: $0.0, port: $0.1, address: $0.2) } }
    }
    let one = try key([("h", 80, "1"), ("h", 443, "2"), ("g", 80, "3")])
    #expect(try key([("h", 443, "2"), ("g", 80, "3"), ("h", 80, "1")]) == one)
    #expect(try key([("H", 443, "2"), ("G", 80, "3"), ("h", 80, "1")]) == one)
    #expect(try key([("h", 443, "1"), ("h", 80, "2"), ("g", 80, "3")]) != one)
    // The first of one host and port counts, so that their order does.
    #expect(try key([("h", 80, "1"), ("H", 80, "2")]) != key([("H", 80, "2"), ("h", 80, "1")]))
  }

  private func both(_ one: (String, String), _ two: (String, String)) -> [ConnectionOptions.Resolution] {
    [one, two].map { .init(host: $0.0, port: 80, address: $0.1) }
  }

  @Test func `a client certificate counts by what is in it, and authorities whatever is in them`() throws {
    let one = folder.file("one.pem")
    let before = try key { $0.connection.clientCertificateFile = one }
    let trust = try key { $0.connection.certificateAuthorityFile = one }
    #expect(before.account.hasPrefix("auto:") && before.extra.isEmpty && trust.extra == "authorities")
    try folder.write("certificate one.pem", to: "copy.pem")
    #expect(try key { $0.connection.clientCertificateFile = folder.file("copy.pem") } == before)
    #expect(try key { $0.connection.certificateAuthorityFile = folder.file("copy.pem") } == trust)
    for text in ["Certificate one.pem", "certificate one.peM"] {
      try folder.write(text, to: "near.pem")
      let near = folder.file("near.pem")
      #expect(try key { $0.connection.clientCertificateFile = near } != before, "\(text)")
    }
    try folder.write("another certificate", to: "one.pem")
    #expect(try key { $0.connection.clientCertificateFile = one } != before)
    for authorities in [one, folder.file("none.pem")] {
      #expect(try key { $0.connection.certificateAuthorityFile = authorities } == trust, "\(authorities)")
    }
    let both = try key {
      $0.connection.clientCertificateFile = one
      $0.fields = ["Authorization": "Basic YTpi"]
    }
    #expect(try both.account != key { $0.connection.clientCertificateFile = one }.account)
    #expect(try both.account != key { $0.fields = ["Authorization": "Basic YTpi"] }.account)
    let named = try key {
      $0.connection.clientCertificateFile = one
      $0.account = .named("alice")
    }
    #expect(named.account == "alice", "a name stands in for the credentials")
  }

  @Test func `a client certificate makes another account in every store`() throws {
    let other = try ServiceFixture(transport: ScriptedTransport { _, _ in .answer("") })
    var request = DataService.Request(url)
    request.connection.clientCertificateFile = folder.file("one.pem")
    let both = try [service, other].map { try $0.service.key(for: request) }
    #expect(both[0].account != both[1].account)
  }

  @Test func `over http no certificate has a part in the key`() throws {
    let plain = try #require(URL(string: "http://a.test/x"))
    let (one, none) = (folder.file("one.pem"), folder.file("none.pem"))
    for own in [nil, "mine"] {
      let changed = try key(of: plain) {
        $0.key = own
        $0.connection.isInsecure = true
        $0.connection.certificateAuthorityFile = one
        $0.connection.certificateAuthorityFolder = "/a"
        $0.connection.clientCertificateFile = none
      }
      #expect(try changed == key(of: plain) { $0.key = own })
    }
  }

  @Test func `of a body its type, coding and language count, however they are spelt, and no other field`()
    throws
  {
    func key(_ fields: HTTPFields, _ body: String = "select 1") throws -> RequestKey {
      try self.key {
        ($0.method, $0.isRead, $0.fields, $0.body) = ("QUERY", true, fields, Data(body.utf8))
      }
    }
    var all = [HTTPFields()]
    for name in ["Content-Type", "Content-Encoding", "Content-Language"] {
      for value in ["a", "b"] { all.append(HTTPFields(dictionaryLiteral: (name, value))) }
    }
    #expect(Set(try all.map { try key($0).extra }).count == all.count)
    #expect(try key(["content-type": "a"]) == key(["Content-Type": "a", "Accept": "b"]))
    // No body is taken for a field of another.
    #expect(try key([:], "\n\nx") != key(["Content-Language": "x"], ""))
    #expect(try key(["Content-Type": "a"], "b") != key([:], "a\n\n\nb"))
    // Without a body there is nothing to describe.
    #expect(try key(["Content-Type": "a"], "") == key([:], ""))
  }

  @Test func `a certificate that cannot be read stands for nobody`() throws {
    for path in [folder.file("none.pem"), folder.path, "/dev/null", ""] {
      #expect(throws: DataServiceError.self, "\(path)") {
        try key { $0.connection.clientCertificateFile = path }
      }
    }
  }
}
