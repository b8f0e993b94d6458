import TestTurns
import Testing

@testable import CacheStore

@Suite("How many writes one transaction takes", .inTurn) struct WriteGroupTests {
  /// Writes nothing, and says that it is so many bytes.
  private func write(_ bytes: Int) -> GroupedWork<Void> {
    GroupedWork<Void>(bytes: bytes, deadline: 0, work: { _ in }, completion: { _ in })
  }

  @Test(
    "64 at most, and a mebibyte of them; one that is longer goes alone",
    arguments: [
      (Array(repeating: 0, count: 65), [64, 1]), (Array(repeating: 1 << 18, count: 5), [4, 1]),
      ([1 << 20, 1], [1, 1]), ([(1 << 20) + 1, 0], [1, 1]), ([1, 1 << 20, 1], [1, 1, 1]),
    ] as [([Int], [Int])])
  func taken(bytes: [Int], counts: [Int]) {
    let group = WriteGroup()
    for (number, bytes) in bytes.enumerated() {
      let isFirst = group.add(write(bytes))
      #expect(isFirst == (number == 0), "\(number)")
    }
    for (number, count) in counts.enumerated() {
      let (writes, isMore) = group.take()
      #expect(writes.count == count && isMore == (number < counts.count - 1), "\(number)")
    }
    #expect(group.count == 0)
  }
}
