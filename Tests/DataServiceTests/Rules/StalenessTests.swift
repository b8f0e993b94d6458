import CacheStore
import Testing
import TestTurns

@testable import DataService

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

  @Test("What has just been received is recent, however short the time is") func justReceived() {
    // A clock that is slightly off makes no difference.
    for ahead in [0, 60_000] as [Int64] {
      #expect(Freshness.isRecent(Rule.row(), within: 1, now: Rule.noon - ahead), "\(ahead)")
    }
    #expect(!Freshness.isRecent(Rule.row(), within: 1, now: Rule.noon + 1))
  }

  @Test("Fresh at an instant means fresh at every earlier one since receipt") func monotone() {
    for lifetime in [0, 1, 5, 60] as [Int64] {
      let row = Rule.row(["Cache-Control": "max-age=\(lifetime)", "Age": "1"])
      var wasStale = false
      for now in stride(from: Rule.noon, through: Rule.noon + 70_000, by: 250) {
        let isStale = Freshness.isStale(stored: row, now: now)
        #expect(isStale || !wasStale, "\(lifetime)")
        wasStale = isStale
      }
    }
  }
}
