import CacheStore
import Testing
import TestTurns

@testable import DataService

@Suite("Retry-After, RFC 9110 section 10.2.3", .inTurn) struct RetryAfterTests {
  @Test(
    "Seconds or a date say how long",
    arguments: [
      ("0", 0), ("120", 120), (Rule.date(60), 60), (Rule.date(-60), 0), ("", nil), ("-1", nil), ("1.5", nil),
      ("soon", nil), ("99999999999999999999", 2_147_483_648),
    ] as [(String, Int64?)])
  func parse(value: String, expected: Int64?) {
    #expect(RetryAfter.delay(value, now: Rule.noon) == expected.map { .seconds($0) })
  }

  @Test func `a date is measured from the response's own, whatever the clock here says`() {
    for wrong in [-315_360_000_000, 0, 315_360_000_000] as [Int64] {
      let delay = RetryAfter.delay(Rule.date(60), date: Rule.date(0), now: Rule.noon + wrong)
      #expect(delay == .seconds(60), "\(wrong)")
    }
    #expect(RetryAfter.delay(Rule.date(60), date: "soon", now: Rule.noon) == .seconds(60))
  }

  @Test func `a date is measured from now where the response's own says nothing`() {
    #expect(RetryAfter.delay(Rule.date(60), now: Rule.noon + 500) == .milliseconds(59_500))
    #expect(RetryAfter.delay(Rule.date(60), date: Rule.date(60), now: Rule.noon) == .zero)
    #expect(RetryAfter.delay(Rule.date(60), date: Rule.date(61), now: Rule.noon) == .zero)
    #expect(RetryAfter.delay("9", date: Rule.date(60), now: Rule.noon) == .seconds(9))
  }

  @Test("Two statuses are heard") func statuses() {
    for status in 100...599 {
      let delay = RetryAfter.delay(of: Rule.answer(["Retry-After": "9"], status: status), now: Rule.noon)
      #expect((delay == .seconds(9)) == [429, 503].contains(status), "\(status)")
      #expect(RetryAfter.delay(of: Rule.answer(status: status), now: Rule.noon) == nil, "\(status)")
    }
    let dated = Rule.answer(["Retry-After": Rule.date(60), "Date": Rule.date(20)], status: 503)
    #expect(RetryAfter.delay(of: dated, now: Rule.noon) == .seconds(40))
  }
}
