import CacheStore
import Testing
import TestTurns

@testable import DataService

@Suite("Freshness lifetime, RFC 9111 section 4.2.1", .inTurn) struct FreshnessLifetimeTests {
  struct Case: Sendable, CustomTestStringConvertible {
    let testDescription: String
    let status: Int
    let fields: HTTPFields
    let seconds: Int64
    let source: Freshness.Lifetime.Source

    init(
      _ name: String, _ status: Int, _ fields: HTTPFields, _ seconds: Int64,
      _ source: Freshness.Lifetime.Source
    ) {
      (testDescription, self.status, self.fields) = (name, status, fields)
      (self.seconds, self.source) = (seconds, source)
    }
  }

  static let cases: [Case] = [
    Case("max-age", 200, ["Cache-Control": "max-age=60"], 60, .maxAge),
    Case(
      "max-age before Expires", 200, ["Cache-Control": "max-age=60", "Expires": Rule.date(9)], 60, .maxAge),
    Case(
      "invalid max-age before Expires", 200, ["Cache-Control": "max-age=x", "Expires": Rule.date(9)], 0,
      .maxAge),
    Case("contradictory max-age", 200, ["Cache-Control": "max-age=60, max-age=61"], 0, .maxAge),
    Case("s-maxage is for shared caches", 200, ["Cache-Control": "s-maxage=60"], 0, .none),
    Case("s-maxage does not replace max-age", 200, ["Cache-Control": "s-maxage=1, max-age=60"], 60, .maxAge),
    Case("Expires less Date", 200, ["Expires": Rule.date(90), "Date": Rule.date(30)], 60, .expires),
    Case("Expires less receipt without Date", 200, ["Expires": Rule.date(60)], 60, .expires),
    Case("Expires less receipt with a bad Date", 200, ["Expires": Rule.date(60), "Date": "x"], 60, .expires),
    Case("Expires before Date", 200, ["Expires": Rule.date(-60), "Date": Rule.date()], 0, .expires),
    Case("Expires equal to Date", 200, ["Expires": Rule.date(), "Date": Rule.date()], 0, .expires),
    Case("Expires 0", 200, ["Expires": "0", "Last-Modified": Rule.date(-1000)], 0, .expires),
    Case("Expires -1", 200, ["Expires": "-1"], 0, .expires),
    Case("Expires twice the same", 200, ["Expires": Rule.date(60), "expires": Rule.date(60)], 60, .expires),
    Case("Expires twice, different", 200, ["Expires": Rule.date(60), "expires": Rule.date(90)], 0, .expires),
    Case("a tenth since Last-Modified", 200, ["Last-Modified": Rule.date(-1000)], 100, .heuristic),
    Case(
      "the same, up to Date", 200, ["Last-Modified": Rule.date(-1000), "Date": Rule.date(-500)], 50,
      .heuristic),
    Case("at most a week", 200, ["Last-Modified": "Sun, 06 Nov 1904 08:49:37 GMT"], 604_800, .heuristic),
    Case("Last-Modified ahead", 200, ["Last-Modified": Rule.date(1000)], 0, .heuristic),
    Case("bad Last-Modified", 200, ["Last-Modified": "yesterday"], 0, .none),
    Case("a status without heuristics", 302, ["Last-Modified": Rule.date(-1000)], 0, .none),
    Case(
      "public allows them", 302, ["Last-Modified": Rule.date(-1000), "Cache-Control": "public"], 100,
      .heuristic),
    Case("nothing", 200, [:], 0, .none),
    Case("only an entity tag", 200, ["ETag": "\"a\""], 0, .none),
    Case("public alone is no lifetime", 200, ["Cache-Control": "public"], 0, .none),
  ]

  @Test(
    "the lifetime is the first that the fields give, or a tenth of the age where they give none",
    arguments: cases)
  func lifetime(_ test: Case) {
    let lifetime = Freshness.lifetime(status: test.status, fields: test.fields, receivedAt: Rule.noon)
    #expect(lifetime.milliseconds == test.seconds * 1000)
    #expect(lifetime.source == test.source)
  }

  @Test("In a shared cache s-maxage comes before all else, RFC 9111 section 5.2.2.10") func shared() {
    for (control, milliseconds, source, isInvalid) in [
      ("s-maxage=60, max-age=5", 60_000, .sharedMaxAge, false),
      ("s-maxage=0, max-age=5", 0, .sharedMaxAge, false),
      ("s-maxage=x, max-age=5", 0, .sharedMaxAge, true), ("max-age=5", 5_000, .maxAge, false),
      ("public", 0, .none, false),
    ] as [(String, Int64, Freshness.Lifetime.Source, Bool)] {
      let lifetime = Freshness.lifetime(
        status: 200, fields: ["Cache-Control": control], receivedAt: Rule.noon, isShared: true)
      #expect(lifetime.milliseconds == milliseconds, "\(control)")
      #expect(lifetime.source == source && lifetime.isInvalid == isInvalid, "\(control)")
    }
  }

  @Test(
    "A heuristic is allowed for the statuses RFC 9110 names and no other",
    arguments: [
      (200, true), (203, true), (204, true), (206, true), (300, true), (301, true), (308, true), (404, true),
      (405, true), (410, true), (414, true), (501, true), (201, false), (202, false), (302, false),
      (303, false),
      (307, false), (400, false), (403, false), (500, false), (503, false), (599, false),
    ])
  func heuristicStatuses(status: Int, isAllowed: Bool) {
    #expect(Freshness.isHeuristicallyCacheable(status) == isAllowed)
  }
}
