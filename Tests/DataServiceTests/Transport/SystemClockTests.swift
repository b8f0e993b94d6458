import CacheStore
import Foundation
import Testing
import TestTurns

@testable import DataService

@Suite("The system's clocks", .inTurn) struct SystemClockTests {
  @Test func `the wall clock counts milliseconds since 1970`() {
    let before = Date().timeIntervalSince1970 * 1_000
    let wall = Double(SystemClock.wallMilliseconds)
    let after = Date().timeIntervalSince1970 * 1_000
    #expect(wall >= before - 1 && wall <= after + 1)
  }

  @Test func `the clock since boot goes on, and says since which`() {
    let keeper = SystemTimekeeper()
    let first = SystemClock.bootNanoseconds
    let mark = StartMark.now
    let last = keeper.bootNanoseconds
    #expect(first > 0 && mark.nanoseconds >= first && last >= mark.nanoseconds)
    #expect(mark.boot == keeper.bootID && keeper.bootID == SystemClock.bootID)
    #expect(UUID(uuidString: mark.boot) != nil, "\(mark.boot)")
  }
}
