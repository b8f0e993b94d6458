import Testing
import TestTurns

@testable import CacheStore

@Suite("What is counted of the use", .inTurn) struct UsageCountTests {
  @Test(
    "Every number of one count is added to that of the other",
    arguments: [
      \UsageCount.stored, \.fresh, \.unchanged, \.failed, \.savedBytes, \.savedMilliseconds,
    ]) func sum(number: any WritableKeyPath<UsageCount, Int64> & Sendable)
  {
    var (left, right) = (UsageCount(), UsageCount())
    left[keyPath: number] = 3
    right[keyPath: number] = 4
    left += right
    var expected = UsageCount()
    expected[keyPath: number] = 7
    #expect(left == expected)
    left[keyPath: number] = .max
    left += right
    expected[keyPath: number] = .max
    #expect(left == expected)
  }

  @Test func `a sum ends at the largest number and at the least`() {
    for (first, second, sum) in [
      (Int64.max, 1, .max), (.max - 1, 1, .max), (.min, -1, .min), (.min + 1, -1, .min), (.min, 0, .min),
      (3, -4, -1),
    ] as [(Int64, Int64, Int64)] {
      var result = first
      result.saturate(adding: second)
      #expect(result == sum, "\(first) and \(second)")
    }
  }
}
