import CacheStore
import RedisTier
import Testing
import TestTurns

@testable import DataService

@Suite("What is shared with the fleet", .inTurn) struct SharingTests {
  struct Case: Sendable, CustomTestStringConvertible {
    var name: String
    var verdict: DataService.Shared
    var change: @Sendable (inout Sharing.Asked, inout Sharing.Answered, inout TierTerms) -> Void
    var testDescription: String { name }

    init(
      _ name: String, _ verdict: DataService.Shared,
      _ change: @escaping @Sendable (inout Sharing.Asked, inout Sharing.Answered, inout TierTerms) -> Void
    ) {
      (self.name, self.verdict, self.change) = (name, verdict, change)
    }
  }

  private func verdict(of test: Case, asOffer: Bool) -> DataService.Shared {
    var (asked, answered, terms) = (Sharing.Asked(), Sharing.Answered(), TierTerms())
    test.change(&asked, &answered, &terms)
    return asOffer ? Sharing.verdict(asked, answered, terms) : Sharing.verdict(asked, terms)
  }

  static let requests: [Case] = [
    .init("a GET", .yes) { _, _, _ in },
    .init("a HEAD", .no(.method)) { asked, _, _ in asked.method = .head },
    .init("a HEAD that reads", .no(.method)) { asked, _, _ in
      asked.method = .head
      asked.isRead = true
    },
    .init("a POST", .no(.method)) { asked, _, _ in asked.method = .post },
    .init("a POST that reads", .yes) { asked, _, _ in
      asked.method = .post
      asked.isRead = true
    },
    .init("pass-through", .no(.passThrough)) { asked, _, _ in asked.isPassThrough = true },
    .init("kept anyway", .no(.keepsAnyway)) { asked, _, _ in asked.keepsAnyway = true },
    .init("no-store", .no(.noStore)) { asked, _, _ in asked.fields = ["Cache-Control": "no-store"] },
    .init("a cookie", .no(.cookie)) { asked, _, terms in
      asked.fields = ["Cookie": "a=b"]
      asked.account = "ci"
      terms.accounts = ["ci"]
    },
    .init("credentials of no account", .no(.account)) { asked, _, _ in
      asked.fields = ["Authorization": "Basic x"]
    },
    .init("an automatic account", .no(.account)) { asked, _, _ in
      asked.fields = ["Authorization": "Basic x"]
      asked.account = "auto:1234"
    },
    .init("an account that is not shared", .no(.account)) { asked, _, terms in
      asked.account = "me"
      terms.accounts = ["ci"]
    },
    .init("an account that is shared", .yes) { asked, _, terms in
      asked.account = "ci"
      terms.accounts = ["ci"]
    },
    .init("a secret in the URL", .no(.secretURL)) { asked, _, _ in asked.hasSecretURL = true },
    .init("plain http", .no(.plainHTTP)) { asked, _, _ in asked.isPlainHTTP = true },
    .init("plain http, allowed", .yes) { asked, _, terms in
      asked.isPlainHTTP = true
      terms.sharesPlainHTTP = true
    },
    .init("a proxy under TLS", .yes) { asked, _, _ in asked.connection.proxy = "http://proxy:3128" },
    .init("a proxy without TLS", .no(.connection)) { asked, _, terms in
      asked.connection.proxy = "http://proxy:3128"
      asked.isPlainHTTP = true
      terms.sharesPlainHTTP = true
    },
    .init("insecure", .no(.connection)) { asked, _, _ in asked.connection.isInsecure = true },
    .init("a unix socket", .no(.connection)) { asked, _, _ in asked.connection.unixSocket = "/s" },
    .init("an address given", .no(.connection)) { asked, _, _ in
      asked.connection.resolutions = [.init(host: "a", port: 443, address: "127.0.0.1")]
    },
    .init("authorities of its own", .no(.connection)) { asked, _, _ in
      asked.connection.certificateAuthorityFile = "/ca"
    },
    .init("a folder of authorities", .no(.connection)) { asked, _, _ in
      asked.connection.certificateAuthorityFolder = "/ca"
    },
    .init("authorities that the environment names", .yes) { asked, _, _ in
      asked.connection.certificateAuthorityFile = "/ca"
      asked.connection.certificateAuthorityFolder = "/ca"
      asked.connection.isMachineTrust = true
    },
    .init("a client certificate", .no(.connection)) { asked, _, _ in
      asked.connection.clientCertificateFile = "/cert"
    },
    .init("a client key", .no(.connection)) { asked, _, _ in asked.connection.clientKeyFile = "/key" },
    .init("HTTP/1.1 and no coding", .yes) { asked, _, _ in
      asked.connection.isHTTP11Only = true
      asked.connection.isCompressed = false
    },
  ]

  @Test(arguments: requests) func `what may be asked for, and offered`(test: Case) {
    #expect(verdict(of: test, asOffer: false) == test.verdict)
    #expect(verdict(of: test, asOffer: true) == test.verdict)
  }

  private static func control(_ value: String)
    -> @Sendable (
      inout Sharing.Asked, inout Sharing.Answered, inout TierTerms
    ) -> Void
  {
    { _, answered, _ in answered.fields = ["Cache-Control": value] }
  }

  private static func authorized(_ value: String)
    -> @Sendable (
      inout Sharing.Asked, inout Sharing.Answered, inout TierTerms
    ) -> Void
  {
    { asked, answered, terms in
      asked.fields = ["Authorization": "Basic x"]
      asked.account = "ci"
      terms.accounts = ["ci"]
      answered.fields = ["Cache-Control": value]
    }
  }

  static let responses: [Case] = [
    .init("200 with nothing", .yes) { _, _, _ in },
    .init("no-store", .no(.noStore), control("no-store")),
    .init("no-store misspelt", .no(.noStore), control("max-age=60; no-store")),
    .init("no-store and must-understand", .no(.noStore), control("no-store, must-understand")),
    .init("no-store on a redirect", .no(.noStore)) { _, answered, _ in answered.isNoStoreChain = true },
    .init("private", .no(.isPrivate), control("private")),
    .init("private for a field", .no(.isPrivate), control("private=\"X-User\"")),
    .init("private and public", .no(.isPrivate), control("public, private")),
    .init("300", .no(.status)) { _, answered, _ in answered.status = 300 },
    .init("199", .no(.status)) { _, answered, _ in answered.status = 199 },
    .init("299 with public", .yes) { _, answered, _ in
      answered.status = 299
      answered.fields = ["Cache-Control": "public"]
    },
    .init("404", .no(.status)) { _, answered, _ in answered.status = 404 },
    .init("206", .no(.status)) { _, answered, _ in answered.status = 206 },
    .init("304", .no(.status)) { _, answered, _ in answered.status = 304 },
    .init("must-understand, understood", .yes, control("must-understand")),
    .init("must-understand, not understood", .no(.mustUnderstand)) { _, answered, _ in
      answered.status = 299
      answered.fields = ["Cache-Control": "public, must-understand"]
    },
    .init("202 with nothing", .no(.notStorable)) { _, answered, _ in answered.status = 202 },
    .init("202 with s-maxage", .yes) { _, answered, _ in
      answered.status = 202
      answered.fields = ["Cache-Control": "s-maxage=1"]
    },
    .init("Vary: *", .no(.vary)) { _, answered, _ in answered.fields = ["Vary": "*"] },
    .init("Vary with a secret", .no(.vary)) { _, answered, _ in
      answered.fields = ["Vary": "Accept, X-Api-Key"]
    },
    .init("Vary", .yes) { _, answered, _ in answered.fields = ["Vary": "Accept"] },
    .init("Authorization", .no(.authorization), authorized("max-age=60")),
    .init("Authorization and public", .yes, authorized("public")),
    .init("Authorization and s-maxage", .yes, authorized("s-maxage=0")),
    .init("Authorization and must-revalidate", .yes, authorized("must-revalidate")),
    .init("Authorization and proxy-revalidate", .no(.authorization), authorized("proxy-revalidate")),
    .init("Set-Cookie", .no(.setCookie)) { _, answered, _ in answered.fields = ["Set-Cookie": "a=b"] },
    .init("Set-Cookie and public", .yes) { _, answered, _ in
      answered.fields = ["Set-Cookie": "a=b", "Cache-Control": "public"]
    },
    .init("Set-Cookie and s-maxage", .yes) { _, answered, _ in
      answered.fields = ["Set-Cookie": "a=b", "Cache-Control": "s-maxage=9"]
    },
    .init("a secret in the URL that answered", .no(.secretURL)) { _, answered, _ in
      answered.hasSecretURL = true
    },
    .init("a hop over plain http", .no(.plainHTTP)) { _, answered, _ in answered.wasPlainHTTP = true },
    .init("a hop over plain http, allowed", .yes) { _, answered, terms in
      answered.wasPlainHTTP = true
      terms.sharesPlainHTTP = true
    },
    .init("a portal", .no(.portal)) { _, answered, terms in
      answered.wasPlainHTTP = true
      answered.leftHostTemporarily = true
      terms.sharesPlainHTTP = true
    },
    .init("a temporary redirect under TLS", .yes) { _, answered, _ in answered.leftHostTemporarily = true },
    .init("at the limit", .yes) { _, answered, _ in answered.length = 8 << 20 },
    .init("over the limit", .no(.tooLarge)) { _, answered, _ in answered.length = 8 << 20 + 1 },
    .init("a tier that is only read", .no(.readOnly)) { _, _, terms in terms.isReadOnly = true },
  ]

  @Test(arguments: responses) func `a response is offered, or kept back with the reason`(test: Case) {
    #expect(verdict(of: test, asOffer: true) == test.verdict)
  }

  @Test func `no name of a reason is used twice, and each has words`() {
    let all: [DataService.UnsharedReason] = [
      .method, .passThrough, .keepsAnyway, .account, .cookie, .secretURL, .connection, .plainHTTP, .policy,
      .noStore,
      .isPrivate, .mustUnderstand, .vary, .authorization, .setCookie, .status, .notStorable, .portal,
      .tooLarge,
      .notKept, .readOnly, .silent, .followed,
    ]
    #expect(Set(all.map(\.name)).count == all.count && all.allSatisfy { !$0.text.isEmpty })
  }
}
