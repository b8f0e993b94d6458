import CacheStore
import Testing
import TestTurns

@testable import DataService

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
          #expect(age >= 5000, "\(requested), \(received), \(now)")
        }
      }
    }
  }
}
