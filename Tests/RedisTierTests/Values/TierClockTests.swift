import TestTurns
import Testing

@testable import RedisTier

@Suite("The tier's clock in this machine's terms", .inTurn) struct TierClockTests {
  /// The tier is 1,000 s ahead of this machine's clock.
  private static let ahead: Int64 = 1_000_000_000_000
  private static let second: Int64 = 1_000_000_000

  private func learn(
    _ clock: inout TierClock, sent: Int64, after: Int64, received: Int64, ahead: Int64 = ahead
  ) {
    clock.learn(tierMicroseconds: (sent + after + ahead) / 1_000, sent: sent, received: received)
  }

  @Test func `a ticket's instant is a lower bound, and never later than its arrival`() {
    var clock = TierClock()
    #expect(clock.tierMicroseconds(at: 5) == nil)
    #expect(clock.instant(of: 77, notAfter: 5) == 5, "nothing is known")
    for after in [0, 400_000, 1_000_000] as [Int64] {
      learn(&clock, sent: Self.second, after: after, received: Self.second + 1_000_000)
      let ticket = (Self.second + after + Self.ahead) / 1_000
      let instant = clock.instant(of: ticket, notAfter: Self.second + 1_000_000)
      #expect(instant <= Self.second + after, "\(after)")
      #expect(instant >= Self.second - 1_000_000, "\(after)")
      #expect(clock.instant(of: ticket + 5_000_000, notAfter: Self.second + 9) == Self.second + 9, "\(after)")
    }
  }

  @Test func `the order of tickets is kept, and none is before the boot`() {
    var clock = TierClock()
    learn(&clock, sent: Self.second, after: 10, received: Self.second + 100)
    var last: Int64 = 0
    for ticket in stride(from: 1, through: 3_000_000_000, by: 100_000_000) as StrideThrough<Int64> {
      let instant = clock.instant(of: ticket, notAfter: .max)
      #expect(instant >= last)
      last = instant
    }
    #expect(clock.instant(of: 1, notAfter: .max) == 0)
    #expect(clock.instant(of: .max, notAfter: 12) == 12)
  }

  @Test func `the tightest answer of the last minute counts, and after that the next`() throws {
    var clock = TierClock()
    learn(&clock, sent: Self.second, after: 10_000, received: Self.second + 20_000)
    learn(&clock, sent: 2 * Self.second, after: 0, received: 2 * Self.second + 50_000_000)
    let time = try #require(clock.tierMicroseconds(at: 2 * Self.second))
    #expect(abs(time - (2 * Self.second + Self.ahead) / 1_000) <= 20)
    learn(&clock, sent: 62 * Self.second, after: 0, received: 62 * Self.second + 50_000_000)
    let later = try #require(clock.tierMicroseconds(at: 62 * Self.second))
    #expect((62 * Self.second + Self.ahead) / 1_000 - later == 50_000)
  }

  @Test(arguments: [-3_600, 3_600] as [Int64]) func `a clock that was set is believed at once`(step: Int64)
    throws
  {
    var clock = TierClock()
    learn(&clock, sent: Self.second, after: 10, received: Self.second + 100)
    let ahead = Self.ahead + step * Self.second
    learn(&clock, sent: 2 * Self.second, after: 10, received: 2 * Self.second + 5_000_000, ahead: ahead)
    let time = try #require(clock.tierMicroseconds(at: 2 * Self.second))
    #expect(abs(time - (2 * Self.second + ahead) / 1_000) <= 5_000)
  }

  @Test func `no numbers trap`() {
    for time in [0, 1, .max, .max / 1_000] as [Int64] {
      for sent in [0, 1, .max] as [Int64] {
        var clock = TierClock()
        clock.learn(tierMicroseconds: time, sent: sent, received: sent)
        _ = clock.instant(of: .max, notAfter: .max)
        _ = clock.instant(of: 0, notAfter: 0)
        for instant in [0, sent, .max] as [Int64] { _ = clock.tierMicroseconds(at: instant) }
      }
    }
  }
}
