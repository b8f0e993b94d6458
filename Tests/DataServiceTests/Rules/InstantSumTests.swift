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
