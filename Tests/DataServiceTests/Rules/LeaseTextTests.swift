import CacheStore
import PlatformFoundation
import Synchronization
import Testing
import TestTurns

@testable import DataService

/// Two loads that differ in anything that shapes an exchange must not share one (law 7).
@Suite("The text of a lease", .inTurn) struct LeaseTextTests {
  @Test func `every limit changes the text`() {
    #expect(Limits().leaseText.count == 8 * Mirror(reflecting: Limits()).children.count)
    let changes: [(inout Limits) -> Void] = [
      { $0.bodyBytes += 1 }, { $0.dataBytes += 1 }, { $0.fieldSectionBytes += 1 }, { $0.fieldCount += 1 },
      { $0.redirects += 1 }, { $0.retries += 1 }, { $0.connectTimeout += .seconds(1) },
      { $0.firstByteTimeout += .seconds(1) }, { $0.idleTimeout += .seconds(1) },
      { $0.totalTimeout += .seconds(1) },
    ]
    var texts: Set<[UInt8]> = [Limits().leaseText]
    for change in changes {
      var limits = Limits()
      change(&limits)
      texts.insert(limits.leaseText)
    }
    #expect(texts.count == Mirror(reflecting: Limits()).children.count + 1)
  }

  @Test func `what an answer depends on is in the hash that other processes compare`() throws {
    let changes: [@Sendable (inout DataService.Request) -> Void] = [
      { _ in }, { $0.account = .named("b") }, { $0.method = .head }, { $0.url.append(path: "y") },
      { $0.fields = ["Accept": "a/b"] }, { $0.fields = ["Accept": "c/d"] }, { $0.fields = ["X": "a/b"] },
      { $0.keepsAnyway = true },
      { $0.acceptedMediaTypes = ["a/b"] }, { $0.acceptedMediaTypes = ["c/d"] },
    ]
    let hashes = try changes.map {
      try Rule.prepared(change: $0).leaseHash(secrets: SecretList(), options: [])
    }
    #expect(Set(hashes).count == changes.count)
  }

  @Test func `values that read alike and differ in their bytes make two hashes`() throws {
    let hashes = try [[0xE9], Array("é".utf8)].map { value in
      try Rule.prepared { $0.fields.append(name: Array("Accept".utf8), value: value) }
        .leaseHash(secrets: SecretList(), options: [])
    }
    #expect(hashes[0] != hashes[1])
  }

  @Test func `a key of the caller's own does not hide where the request goes`() throws {
    let hashes = try ["http://a.test/x", "http://a.test/y", "http://b.test/x"].map { url in
      try Rule.prepared(url) { $0.key = "mine" }.leaseHash(secrets: SecretList(), options: [])
    }
    #expect(Set(hashes).count == 3)
  }

  @Test func `nor does it hide what is sent there, which enters as a digest`() throws {
    func hash(_ body: String?) throws -> UInt64 {
      let prepared = try Rule.prepared { request in
        request.method = .post
        request.isRead = true
        request.key = "mine"
        request.body = body.map { Data($0.utf8) }
      }
      return prepared.leaseHash(secrets: SecretList(), options: [])
    }
    #expect(try hash("A") == hash("A"))
    #expect(try hash("A") != hash("B"))
    #expect(try hash("A") != hash(nil))
    // Of both as much is sent.
    #expect(try hash("") == hash(nil))
  }

  @Test func `the policy's rules and the options of the connection are in the hash`() throws {
    let prepared = try Rule.prepared()
    let hashes = ([[], [1], [2]] as [[UInt8]]).map { prepared.leaseHash(secrets: SecretList(), options: $0) }
    let http = try Rule.prepared(policy: .http).leaseHash(secrets: SecretList(), options: [])
    #expect(Set(hashes + [http]).count == 4)
  }

  @Test func `a field's name counts in any case, and its value is not taken for another field`() throws {
    func hash(_ fields: HTTPFields) throws -> UInt64 {
      try Rule.prepared { $0.fields = fields }.leaseHash(secrets: SecretList(), options: [])
    }
    #expect(try hash(["Accept": "a/b"]) == hash(["ACCEPT": "a/b"]))
    #expect(try hash(["A": "x", "B": "y"]) != hash(["A": "x\u{1}b\u{1}y"]))
    #expect(try hash(["A": "x", "B": "y"]) != hash(["A": "xby"]))
  }

  @Test func `a secret enters the hash as a digest, anything else as it is`() throws {
    let digested = Mutex<[String]>([])
    var request = DataService.Request(try #require(URL(string: "http://a.test/x")))
    request.fields = ["Authorization": "Basic geheim", "Accept": "a/b"]
    let prepared = try PreparedRequest(
      request, policy: .storedThenFresh, secrets: SecretList(),
      digest: { bytes in
        digested.withLock { $0.append(String(decoding: bytes, as: UTF8.self)) }
        return "digest"
      }, fileDigest: { _ in nil })
    digested.withLock { $0 = [] }
    _ = prepared.leaseHash(secrets: SecretList(), options: [])
    #expect(digested.withLock { $0 } == ["Basic geheim"])
  }

  @Test func `every connection option is in it`() {
    let changes: [(inout ConnectionOptions) -> Void] = [
      { $0.isInsecure = true }, { $0.unixSocket = "a" }, { $0.proxy = "a" },
      { $0.certificateAuthorityFile = "a" }, { $0.certificateAuthorityFolder = "a" },
      { $0.clientCertificateFile = "a" }, { $0.clientKeyFile = "a" }, { $0.isHTTP11Only = true },
      { $0.isCompressed = false },
      { $0.resolutions = [.init(host: "a", port: 1, address: "b")] },
    ]
    var texts: Set<[UInt8]> = [ConnectionOptions().leaseText]
    for change in changes {
      var options = ConnectionOptions()
      change(&options)
      texts.insert(options.leaseText)
    }
    // All but who named the authorities, which is in the road.
    #expect(texts.count == Mirror(reflecting: ConnectionOptions()).children.count)
    var empty = ConnectionOptions()
    empty.proxy = ""
    #expect(!texts.contains(empty.leaseText), "no proxy is not the environment's")
  }

  @Test func `authorities that the environment names are in the hash, and the system's own as if not named`()
    throws
  {
    func hash(_ url: String, file: String?, folder: String? = nil) throws -> UInt64 {
      let prepared = try Rule.prepared(url) {
        $0.connection.isMachineTrust = true
        $0.connection.certificateAuthorityFile = file
        $0.connection.certificateAuthorityFolder = folder
      }
      return prepared.leaseHash(secrets: SecretList(), options: prepared.request.connection.leaseText)
    }
    for url in ["http://a.test/x", "https://a.test/x"] {
      let none = try Rule.prepared(url)
      let bare = none.leaseHash(secrets: SecretList(), options: none.request.connection.leaseText)
      #expect(try hash(url, file: nil) == bare, "\(url)")
      #expect(
        try hash(url, file: "/etc/ssl/certs/ca-certificates.crt", folder: "/etc/ssl/certs") == bare, "\(url)")
      // A redirect may lead to https.
      #expect(Set([bare, try hash(url, file: "/a"), try hash(url, file: "/b")]).count == 3, "\(url)")
      #expect(try hash(url, file: nil, folder: "/a") != hash(url, file: nil, folder: "/b"), "\(url)")
    }
  }

  @Test func `an option's value is in it, and is not taken for another's`() {
    func text(_ change: (inout ConnectionOptions) -> Void) -> [UInt8] {
      var options = ConnectionOptions()
      change(&options)
      return options.leaseText
    }
    let paths: [WritableKeyPath<ConnectionOptions, String?>] = [
      \.unixSocket, \.proxy, \.certificateAuthorityFile, \.certificateAuthorityFolder,
      \.clientCertificateFile, \.clientKeyFile,
    ]
    for (index, path) in paths.enumerated() {
      #expect(text { $0[keyPath: path] = "a" } != text { $0[keyPath: path] = "b" }, "\(index)")
    }
    let apart = text {
      $0.unixSocket = "a"
      $0.proxy = "b"
      $0.certificateAuthorityFile = "c\u{1}\u{1}d"
    }
    let together = text {
      $0.unixSocket = "a\u{1}\u{1}b"
      $0.proxy = "c"
      $0.certificateAuthorityFile = "d"
    }
    #expect(apart != together)
    let two = text {
      $0.resolutions = [
        .init(host: "a", port: 1, address: "b"), .init(host: "c", port: 2, address: "d"),
      ]
    }
    #expect(two != text { $0.resolutions = [.init(host: "a", port: 1, address: "bc 2 d")] })
    #expect(
      text { $0.resolutions = [.init(host: "a", port: 1, address: "b")] }
        != text { $0.resolutions = [.init(host: "a", port: 1, address: "c")] })
  }
}
