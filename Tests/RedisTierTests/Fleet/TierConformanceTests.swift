import CacheStore
import DataService
import DataServiceTesting
import PlatformFoundation
import RedisTier
import TestSupport
import Testing
import TestTurns

/// RFC 9111 as it binds a shared cache, through machine A, the tier and machine B.
@Suite("RFC 9111 for a shared cache: machine A, the tier, machine B", .inTurn) struct TierConformanceTests {
  private let url: URL
  init() throws { url = try #require(URL(string: "https://origin.test/item")) }

  struct Case: Sendable, CustomTestStringConvertible {
    var name: String
    var response: HTTPFields
    var request: HTTPFields = [:]
    var account = Account.automatic
    /// What machine B has of it without a network, under `stored-then-fresh`.
    var isShared: Bool
    var testDescription: String { name }
  }

  static let cases: [Case] = [
    .init(name: "nothing said", response: [:], isShared: true),
    .init(name: "max-age", response: ["Cache-Control": "max-age=60"], isShared: true),
    .init(name: "s-maxage", response: ["Cache-Control": "s-maxage=60"], isShared: true),
    .init(name: "private", response: ["Cache-Control": "private, max-age=60"], isShared: false),
    .init(
      name: "private for a field", response: ["Cache-Control": "private=\"X\", max-age=60"], isShared: false),
    .init(name: "no-store", response: ["Cache-Control": "no-store"], isShared: false),
    .init(
      name: "no-store in the request", response: [:], request: ["Cache-Control": "no-store"], isShared: false),
    .init(name: "Vary: *", response: ["Vary": "*"], isShared: false),
    .init(name: "Vary: Authorization", response: ["Vary": "Authorization"], isShared: false),
    .init(name: "Vary: Accept-Language", response: ["Vary": "Accept-Language"], isShared: true),
    .init(
      name: "Set-Cookie", response: ["Set-Cookie": "a=b", "Cache-Control": "max-age=60"], isShared: false),
    .init(
      name: "Set-Cookie and public", response: ["Set-Cookie": "a=b", "Cache-Control": "public"],
      isShared: true),
    .init(
      name: "Authorization, account of its own", response: ["Cache-Control": "public"],
      request: ["Authorization": "Basic x"], isShared: false),
    .init(
      name: "Authorization, shared account", response: ["Cache-Control": "max-age=60"],
      request: ["Authorization": "Basic x"], account: .named("ci"), isShared: false),
    .init(
      name: "Authorization, shared account and public", response: ["Cache-Control": "public"],
      request: ["Authorization": "Basic x"], account: .named("ci"), isShared: true),
    .init(
      name: "Authorization, shared account and s-maxage", response: ["Cache-Control": "s-maxage=1"],
      request: ["Authorization": "Basic x"], account: .named("ci"), isShared: true),
    .init(
      name: "Authorization, shared account and must-revalidate",
      response: ["Cache-Control": "must-revalidate"], request: ["Authorization": "Basic x"],
      account: .named("ci"), isShared: true),
  ]

  @Test(arguments: cases) func `machine B has what a shared cache may store`(test: Case) async throws {
    let tier = FakeTier()
    var terms = TierTerms()
    terms.accounts = ["ci"]
    let configure: (inout DataService.Request) -> Void = {
      $0.fields = test.request
      $0.account = test.account
    }
    let first = try FleetMachine(tier, terms: terms, answer: "body", test.response)
    _ = await first.deliveries(url, configure: configure)
    let second = try FleetMachine.offline(tier, terms: terms)
    let expected = test.isShared ? ["tier(body)", "failure(offline, last body)"] : ["failure(offline)"]
    #expect(await second.outline(url, configure: configure) == expected)
  }

  @Test func `Set-Cookie: what a 304 without a cookie has confirmed is shared`() async throws {
    let tier = FakeTier()
    let cookie = "a=b"
    let machine = try FleetMachine(tier) { request, number in
      guard request.fields["If-None-Match"] != nil else {
        return .answer("body", ["ETag": "\"1\"", "Cache-Control": "max-age=60", "Set-Cookie": cookie])
      }
      var fields: HTTPFields = ["ETag": "\"1\""]
      if number == 2 { fields.append("Set-Cookie", cookie) }
      return .answer("", status: 304, fields)
    }
    for _ in 1...2 {
      #expect(await machine.deliveries(url).last?.fresh?.sharing == .no(.setCookie))
      #expect(tier.bodies == [])
    }
    #expect(await machine.deliveries(url).last?.fresh?.sharing == .yes)
    #expect(tier.bodies == ["body"] && tier.offers.last?.head.fields.contains("Set-Cookie") == false)
  }

  @Test func `another variant is a miss, and each has its row`() async throws {
    let tier = FakeTier()
    let first = try FleetMachine(tier) { request, _ in
      .answer(request.fields["Accept-Language"] ?? "none", ["Vary": "Accept-Language"])
    }
    for language in ["de", "fr"] {
      _ = await first.deliveries(url) { $0.fields = ["Accept-Language": language] }
    }
    #expect(tier.bodies == ["de", "fr"])
    let second = try FleetMachine.offline(tier)
    for language in ["de", "fr"] {
      let seen = await second.outline(url) { $0.fields = ["Accept-Language": language] }
      #expect(seen.first == "tier(\(language))", "\(language)")
    }
    #expect(await second.outline(url) == ["failure(offline)"])
  }

  struct Reuse: Sendable, CustomTestStringConvertible {
    var name: String
    var control: String
    var age: Int64
    var isReused: Bool
    var testDescription: String { name }
  }

  static let reuse: [Reuse] = [
    .init(name: "fresh for both", control: "max-age=60", age: 10, isReused: true),
    .init(name: "stale for both", control: "max-age=60", age: 61, isReused: false),
    .init(name: "s-maxage is shorter", control: "max-age=60, s-maxage=5", age: 10, isReused: false),
    .init(name: "max-age is shorter", control: "max-age=5, s-maxage=60", age: 10, isReused: false),
    .init(name: "within both", control: "max-age=60, s-maxage=30", age: 10, isReused: true),
    .init(name: "s-maxage alone gives no private lifetime", control: "s-maxage=60", age: 10, isReused: false),
    .init(name: "no-cache", control: "max-age=60, no-cache", age: 1, isReused: false),
    .init(
      name: "stale-while-revalidate is not the tier's", control: "max-age=5, stale-while-revalidate=60",
      age: 10,
      isReused: false),
  ]

  @Test(arguments: reuse)
  func `under http the tier's row is reused where it is fresh as in a shared cache and in a private one`(
    test: Reuse
  ) async throws {
    let tier = try await FakeTier.with("old", at: url, ["Cache-Control": test.control])
    tier.advance(by: test.age)
    let machine = try FleetMachine(tier) { _, _ in .answer("new") }
    #expect(await machine.outline(url, .http) == [test.isReused ? "tier(old)" : "fresh(new, changed)"])
    #expect(machine.requests.count == (test.isReused ? 0 : 1))
  }

  @Test(arguments: [
    ("max-age=5", true), ("max-age=5, proxy-revalidate", false), ("max-age=5, s-maxage=5", false),
  ])
  func `proxy-revalidate and s-maxage forbid the tier's stale row where the origin is not reached`(
    control: String, isServed: Bool
  ) async throws {
    let tier = try await FakeTier.with("old", at: url, ["Cache-Control": control])
    tier.advance(by: 10)
    let machine = try FleetMachine.offline(tier)
    let seen = await machine.outline(url, .http)
    #expect(
      seen == (isServed ? ["tier(old)", "failure(offline, last old)"] : ["failure(offline, last old)"]))
    // Once stored, it is an ordinary private row, which neither of the two concerns.
    #expect(await machine.outline(url, .http) == ["stored(old)", "failure(offline, last old)"])
  }
}
