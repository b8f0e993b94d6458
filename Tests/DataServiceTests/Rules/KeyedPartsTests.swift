import CacheStore
import DataServiceTesting
import PlatformFoundation
import TestSupport
import Testing
import TestTurns

@testable import DataService

@Suite("What only one store finds", .inTurn) struct KeyedPartsTests {
  typealias Change = @Sendable (inout DataService.Request) -> Void

  struct Case: Sendable, CustomTestStringConvertible {
    let testDescription: String
    let isBound: Bool
    let change: Change

    init(_ name: String, _ isBound: Bool, _ change: @escaping Change) {
      (testDescription, self.isBound, self.change) = (name, isBound, change)
    }
  }

  static let cases: [Case] = [
    Case("nothing special", false, { _ in }),
    Case(
      "a parameter that is no secret", false, { $0.url = URL(string: "https://a.test/?a=~0123") ?? $0.url }),
    Case(
      "a secret parameter", true, { $0.url = URL(string: "https://a.test/?a=b&token=geheim&c=d") ?? $0.url }),
    Case(
      "a secret parameter in the path", true, { $0.url = URL(string: "https://a.test/x;token=g/y") ?? $0.url }
    ),
    Case(
      "a secret in a URL in a parameter", true,
      { $0.url = URL(string: "https://a.test/?to=https%3A%2F%2Fb.test%2F%3Ftoken%3Dgeheim") ?? $0.url }),
    Case(
      "user-info of a URL in a parameter", true,
      { $0.url = URL(string: "https://a.test/?to=https://me:geheim@b.test/") ?? $0.url }),
    Case(
      "user-info of a URL in the path", true,
      { $0.url = URL(string: "https://a.test/https%3A%2F%2Fme%3Ageheim%40b.test") ?? $0.url }),
    Case(
      "a body", true,
      {
        $0.method = .post
        $0.isRead = true
        $0.body = Data("q".utf8)
      }),
    Case("a proxy", false, { $0.connection.proxy = "http://p.test:1" }),
    Case("a proxy with credentials", false, { $0.connection.proxy = "http://u:geheim@p.test:1" }),
    Case("authorities", false, { $0.connection.certificateAuthorityFile = "/etc/hostname" }),
    Case("a host of its own", false, { $0.fields = ["Host": "b.test"] }),
    Case("a key of its own", false, { $0.key = "a=~0123456789abcdef0123456789abcdef" }),
  ]

  @Test("Of each request it is known whether another store finds its row", arguments: cases)
  func requests(_ test: Case) throws {
    let (one, two) = try (Self.service(), Self.service())
    var request = DataService.Request(try #require(URL(string: "https://a.test/x")))
    test.change(&request)
    let key = try one.service.key(for: request)
    #expect(KeyedParts.areIn(key, variant: "") == test.isBound, "\(key)")
    // That is what it means.
    #expect(try (two.service.key(for: request) == key) == !test.isBound)
  }

  @Test func `a field that Vary names counts if its value is digested`() throws {
    let fixture = try Self.service()
    let key = RequestKey(target: "https://a.test/x")
    func variant(_ names: String, _ fields: HTTPFields) -> String {
      Vary.variant(names: names, requestFields: fields, protect: fixture.service.core.protect)
    }
    let harmless = variant("accept,x-tenant", ["Accept": "text/html"])
    #expect(harmless == "accept: text/html" && !KeyedParts.areIn(key, variant: harmless))
    let tenant = variant("accept,x-tenant", ["Accept": "text/html", "X-Tenant": "alice"])
    #expect(KeyedParts.areIn(key, variant: tenant), "\(tenant)")
  }

  @Test("Only the form of a digest is one", arguments: [31, 32, 33]) func form(digits: Int) {
    for digit in ["0", "f", "F", "g"] {
      let key = RequestKey(target: "https://a.test/?token=~" + String(repeating: digit, count: digits))
      let isOne = digits == 32 && ["0", "f"].contains(digit)
      #expect(KeyedParts.areIn(key, variant: "") == isOne, "\(key.target)")
    }
  }

  private static func service() throws -> ServiceFixture {
    try ServiceFixture(transport: ScriptedTransport { _, _ in .answer("") })
  }
}
