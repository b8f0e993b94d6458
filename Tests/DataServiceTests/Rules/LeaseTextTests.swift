import PlatformFoundation
import Testing
import TestTurns

@testable import DataService

/// Two loads that differ in anything that shapes an exchange must not share one (law 7).
@Suite("The text of a lease", .inTurn) struct LeaseTextTests {
  @Test func `every limit is in it`() {
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
      { $0.fields = ["Accept": "a/b"] }, { $0.fields = ["Accept": "c/d"] }, { $0.keepsAnyway = true },
      { $0.acceptedMediaTypes = ["a/b"] }, { $0.acceptedMediaTypes = ["c/d"] },
    ]
    let hashes = try changes.map {
      try Rule.prepared(change: $0).leaseHash(secrets: SecretList(), options: [])
    }
    #expect(Set(hashes).count == changes.count)
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
    #expect(texts.count == Mirror(reflecting: ConnectionOptions()).children.count + 1)
    var empty = ConnectionOptions()
    empty.proxy = ""
    #expect(!texts.contains(empty.leaseText), "no proxy is not the environment's")
  }
}
