import CacheStore
import Testing
import TestTurns

@testable import DataService

@Suite("Sums of instants", .inTurn) struct InstantSumTests {
  @Test func `a sum or a difference that is too far away is the nearest there is`() {
    #expect(Int64(5).plus(7) == 12 && Int64(5).minus(7) == -2)
    #expect(Int64.max.plus(1) == .max && Int64.min.plus(-1) == .min)
    #expect(Int64.max.plus(.max) == .max && Int64.min.plus(.min) == .min)
    #expect(Int64.max.minus(-1) == .max && Int64.min.minus(1) == .min)
    #expect(Int64(0).minus(.min) == .max && Int64(-2).minus(.max) == .min)
    #expect(Int64.max.minus(.max) == 0 && Int64.max.plus(.min) == -1)
  }

  @Test func `division goes down, and what is left is never negative`() {
    #expect(Int64(7).floorDivided(by: 5) == 1 && Int64(7).floorModulo(5) == 2)
    #expect(Int64(-7).floorDivided(by: 5) == -2 && Int64(-7).floorModulo(5) == 3)
    #expect(Int64(-10).floorDivided(by: 5) == -2 && Int64(-10).floorModulo(5) == 0)
  }
}

@Suite("Freshness lifetime, RFC 9111 section 4.2.1", .inTurn) struct FreshnessLifetimeTests {
  static let cases:
    [(name: String, status: Int, fields: HTTPFields, seconds: Int64, source: Freshness.Lifetime.Source)] =
      [
        ("max-age", 200, ["Cache-Control": "max-age=60"], 60, .maxAge),
        (
          "max-age before Expires", 200, ["Cache-Control": "max-age=60", "Expires": Rule.date(9)], 60, .maxAge
        ),
        (
          "invalid max-age before Expires", 200, ["Cache-Control": "max-age=x", "Expires": Rule.date(9)], 0,
          .maxAge
        ),
        ("contradictory max-age", 200, ["Cache-Control": "max-age=60, max-age=61"], 0, .maxAge),
        ("s-maxage is for shared caches", 200, ["Cache-Control": "s-maxage=60"], 0, .none),
        ("s-maxage does not replace max-age", 200, ["Cache-Control": "s-maxage=1, max-age=60"], 60, .maxAge),
        ("Expires less Date", 200, ["Expires": Rule.date(90), "Date": Rule.date(30)], 60, .expires),
        ("Expires less receipt without Date", 200, ["Expires": Rule.date(60)], 60, .expires),
        ("Expires less receipt with a bad Date", 200, ["Expires": Rule.date(60), "Date": "x"], 60, .expires),
        ("Expires before Date", 200, ["Expires": Rule.date(-60), "Date": Rule.date()], 0, .expires),
        ("Expires equal to Date", 200, ["Expires": Rule.date(), "Date": Rule.date()], 0, .expires),
        ("Expires 0", 200, ["Expires": "0", "Last-Modified": Rule.date(-1000)], 0, .expires),
        ("Expires -1", 200, ["Expires": "-1"], 0, .expires),
        ("Expires twice the same", 200, ["Expires": Rule.date(60), "expires": Rule.date(60)], 60, .expires),
        ("Expires twice, different", 200, ["Expires": Rule.date(60), "expires": Rule.date(90)], 0, .expires),
        ("a tenth since Last-Modified", 200, ["Last-Modified": Rule.date(-1000)], 100, .heuristic),
        (
          "the same, up to Date", 200, ["Last-Modified": Rule.date(-1000), "Date": Rule.date(-500)], 50,
          .heuristic
        ),
        ("at most a week", 200, ["Last-Modified": "Sun, 06 Nov 1904 08:49:37 GMT"], 604_800, .heuristic),
        ("Last-Modified ahead", 200, ["Last-Modified": Rule.date(1000)], 0, .heuristic),
        ("bad Last-Modified", 200, ["Last-Modified": "yesterday"], 0, .none),
        ("a status without heuristics", 302, ["Last-Modified": Rule.date(-1000)], 0, .none),
        (
          "public allows them", 302, ["Last-Modified": Rule.date(-1000), "Cache-Control": "public"], 100,
          .heuristic
        ),
        ("nothing", 200, [:], 0, .none),
        ("only an entity tag", 200, ["ETag": "\"a\""], 0, .none),
        ("public alone is no lifetime", 200, ["Cache-Control": "public"], 0, .none),
      ]

  @Test("Terms", arguments: cases.indices) func lifetime(index: Int) {
    let (name, status, fields, seconds, source) = Self.cases[index]
    let lifetime = Freshness.lifetime(status: status, fields: fields, receivedAt: Rule.noon)
    #expect(lifetime.milliseconds == seconds * 1000, Comment(rawValue: name))
    #expect(lifetime.source == source, Comment(rawValue: name))
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

@Suite("Age, RFC 9111 section 4.2.3", .inTurn) struct AgeTests {
  func age(_ fields: HTTPFields, delay: Int64 = 0, resident: Int64 = 0) -> Int64 {
    Freshness.currentAge(
      fields: fields, requestedAt: Rule.noon - delay, receivedAt: Rule.noon, now: Rule.noon + resident)
  }

  @Test(
    "Age is the first member where that is a number",
    arguments: [
      ("7200", 7200), ("0", 0), ("7200, 0", 7200), ("0, 7200", 0), ("abc", 0), ("-7200", 0), ("7200.0", 0),
      ("", 0),
      ("99999999999", 2_147_483_648),
    ] as [(String, Int64)])
  func ageValue(value: String, seconds: Int64) {
    #expect(Freshness.ageValue(fields: ["Age": value]) == seconds * 1000)
  }

  @Test("Of several Age fields the first counts") func ageLines() {
    #expect(Freshness.ageValue(fields: ["Age": "5", "age": "7"]) == 5000)
  }

  @Test("Age, delay and the time in the store add up") func sum() {
    #expect(age([:]) == 0)
    #expect(age(["Age": "10"]) == 10_000)
    #expect(age(["Age": "10"], delay: 3000) == 13_000)
    #expect(age(["Age": "10"], delay: 3000, resident: 500) == 13_500)
  }

  @Test("A Date behind the clock is an age, one ahead is none") func apparent() {
    #expect(age(["Date": Rule.date(-60)]) == 60_000)
    #expect(age(["Date": Rule.date(60)]) == 0)
    #expect(age(["Date": Rule.date(-60), "Age": "10"], delay: 3000) == 60_000)
    #expect(age(["Date": Rule.date(-6), "Age": "10"], delay: 3000) == 13_000)
  }

  @Test("Date's whole seconds do not make an answer old on arrival") func wholeSeconds() {
    let age = Freshness.currentAge(
      fields: ["Date": Rule.date()], requestedAt: Rule.noon + 900, receivedAt: Rule.noon + 999,
      now: Rule.noon + 999)
    #expect(age == 99)
  }

  @Test("Age is never negative, whatever the clocks say") func neverNegative() {
    let instants: [Int64] = [.min, -1, 0, 1, Rule.noon, .max]
    for requested in instants {
      for received in instants {
        for now in instants {
          let age = Freshness.currentAge(
            fields: ["Age": "5", "Date": Rule.date()], requestedAt: requested, receivedAt: received, now: now)
          #expect(age >= 5000)
        }
      }
    }
  }
}

@Suite("Staleness, RFC 9111 section 4.2", .inTurn) struct StalenessTests {
  @Test(
    "A response is stale from the moment its age reaches its lifetime",
    arguments: [(0, false), (59_999, false), (60_000, true), (60_001, true)] as [(Int64, Bool)])
  func boundary(milliseconds: Int64, isStale: Bool) {
    let row = Rule.row(["Cache-Control": "max-age=60"])
    #expect(Freshness.isStale(stored: row, now: Rule.noon + milliseconds) == isStale)
  }

  @Test("A response without a lifetime is stale at once") func noLifetime() {
    #expect(Freshness.isStale(stored: Rule.row(), now: Rule.noon))
  }

  @Test("An invalidated row is stale, and not young") func invalid() {
    let row = Rule.row(["Cache-Control": "max-age=60"], isInvalid: true)
    #expect(Freshness.isStale(stored: row, now: Rule.noon))
    #expect(!Freshness.isYoung(row, maxAge: 60_000, now: Rule.noon))
  }

  @Test(
    "A row from more than a minute ahead shows age 0 and is neither fresh nor young",
    arguments: [(60_000, false), (60_001, true)] as [(Int64, Bool)])
  func future(ahead: Int64, isDistrusted: Bool) {
    let row = Rule.row(["Cache-Control": "max-age=6000", "Age": "5"])
    let now = Rule.noon - ahead
    #expect(Freshness.age(of: row, now: now) == (isDistrusted ? 0 : 5000))
    #expect(Freshness.isStale(stored: row, now: now) == isDistrusted)
    #expect(Freshness.isYoung(row, maxAge: 6_000_000, now: now) == !isDistrusted)
  }

  @Test("Young is as old as the caller allows, and no older") func young() {
    let row = Rule.row()
    #expect(Freshness.isYoung(row, maxAge: 300_000, now: Rule.noon + 300_000))
    #expect(!Freshness.isYoung(row, maxAge: 300_000, now: Rule.noon + 300_001))
  }

  @Test(
    "Recent is received less than so long ago, whatever Age and Date say; never what is invalid or from the future",
    arguments: [
      (0, true), (299_999, true), (300_000, false), (300_001, false), (-60_000, true), (-60_001, false),
      (86_400_000 * 36_500, false),
    ] as [(Int64, Bool)])
  func recent(later: Int64, isRecent: Bool) {
    let row = Rule.row(["Age": "86400", "Date": Rule.date(-86_400)])
    let now = Rule.noon + later
    #expect(Freshness.isRecent(row, within: 300_000, now: now) == isRecent)
    #expect(!Freshness.isRecent(Rule.row(isInvalid: true), within: .max, now: now))
    #expect(!Freshness.isRecent(row, within: 0, now: now))
  }

  @Test("Fresh at an instant means fresh at every earlier one since receipt") func monotone() {
    for lifetime in [0, 1, 5, 60] as [Int64] {
      let row = Rule.row(["Cache-Control": "max-age=\(lifetime)", "Age": "1"])
      var wasStale = false
      for now in stride(from: Rule.noon, through: Rule.noon + 70_000, by: 250) {
        let isStale = Freshness.isStale(stored: row, now: now)
        #expect(isStale || !wasStale)
        wasStale = isStale
      }
    }
  }
}
