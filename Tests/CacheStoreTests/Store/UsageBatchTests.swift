import TestTurns
import Testing

@testable import CacheStore

@Suite("What is counted in memory", .inTurn) struct UsageBatchTests {
  private static func stored(_ number: Int64) -> UsageCount {
    var count = UsageCount()
    count.stored = number
    return count
  }

  /// The deliveries by host and account, added up: one may come twice.
  private func deliveries(of batch: UsageBatch) throws -> [String: Int64] {
    var sums: [String: Int64] = [:]
    try batch.forEachCount { (account, host, count) throws(CacheStoreError) in
      sums["\(host) \(account)", default: 0] += count.stored
    }
    return sums
  }

  @Test func `deliveries of one row that follow each other are one mark, of the latest of them`() {
    var batch = UsageBatch()
    for (row, instant) in [(1, 10), (2, 30), (2, 20), (2, 40), (1, 5)] as [(Int64, Int64)] {
      batch.mark(row, at: instant)
    }
    #expect(batch.marks.map(\.row) == [1, 2, 1] && batch.marks.map(\.instant) == [10, 40, 5])
    let latest = batch.latestMarks().sorted { $0.row < $1.row }
    #expect(latest.map(\.row) == [1, 2] && latest.map(\.instant) == [10, 40])
  }

  @Test func `of 10,000 marks the latest of each row stay, and others come if those are half at most`() {
    for (rows, later) in [(5_000, 2), (5_001, 0)] as [(Int64, Int)] {
      var batch = UsageBatch()
      for number in 0..<10_000 as Range<Int64> { batch.mark(number % rows, at: number) }
      #expect(batch.marks.count == 10_000, "\(rows)")
      for number in 10_000...10_001 as ClosedRange<Int64> { batch.mark(number, at: number) }
      #expect(batch.marks.count == Int(rows) + later, "\(rows)")
      #expect(batch.marks.allSatisfy { $0.instant >= 10_000 - rows }, "\(rows)")
    }
  }

  @Test func `an error at any of the counts is the end of them`() {
    var batch = UsageBatch()
    for host in ["a", "b"] { batch.count(.id(1), host: host, Self.stored(1)) }
    let counted = batch
    for host in ["a", "b"] {
      #expect(throws: CacheStoreError.self, "\(host)") {
        try counted.forEachCount { (_, each, _) throws(CacheStoreError) in
          guard each != host else { throw CacheStoreError(.other, "refused") }
        }
      }
    }
  }

  @Test func `counts are added by host and account, in whatever order they come`() throws {
    var batch = UsageBatch()
    for round in 1...3 as ClosedRange<Int64> {
      for account in [.id(1), .id(2), .name("alice")] as [UsageBatch.Account] {
        for host in ["a", "b"] { batch.count(account, host: host, Self.stored(round)) }
        batch.count(account, host: "b", Self.stored(10))
      }
    }
    let sums = try deliveries(of: batch)
    #expect(sums.count == 6)
    for account in [.id(1), .id(2), .name("alice")] as [UsageBatch.Account] {
      #expect(sums["a \(account)"] == 6 && sums["b \(account)"] == 36, "\(account)")
    }
  }

  @Test func `what could not be written is put back beside what has come since`() throws {
    var taken = UsageBatch()
    taken.mark(1, at: 10)
    taken.mark(2, at: 20)
    taken.count(.id(1), host: "a", Self.stored(1))
    taken.count(.id(1), host: "b", Self.stored(2))
    var batch = UsageBatch()
    batch.mark(3, at: 30)
    batch.count(.id(1), host: "b", Self.stored(4))
    batch.putBack(taken)
    #expect(batch.marks.map(\.row) == [3, 1, 2])
    #expect(try deliveries(of: batch) == ["a id(1)": 1, "b id(1)": 6])
  }

  @Test func `marks alone, a host alone, and a host counted before one that was forgotten are not nothing`()
    throws
  {
    var marked = UsageBatch()
    #expect(marked.isEmpty)
    marked.mark(1, at: 1)
    #expect(!marked.isEmpty)

    var batch = UsageBatch()
    batch.count(.id(1), host: "a", Self.stored(1))
    #expect(!batch.isEmpty)
    batch.count(.id(2), host: "b", Self.stored(2))
    batch.forgetCounts { $0 == .id(2) }
    #expect(!batch.isEmpty)
    #expect(try deliveries(of: batch) == ["a id(1)": 1])
    batch.forgetCounts { $0 == .id(1) }
    #expect(batch.isEmpty)
  }

  @Test func `of more hosts than are kept the later ones are dropped, and those that are kept go on`() throws
  {
    var batch = UsageBatch()
    for host in 0...(UsageBatch.limit + 1) { batch.count(.id(1), host: "\(host)", Self.stored(1)) }
    // The one that was counted last is kept apart from them.
    let kept = try deliveries(of: batch)
    #expect(kept.count == UsageBatch.limit + 1)
    #expect(kept["\(UsageBatch.limit - 1) id(1)"] == 1 && kept["\(UsageBatch.limit) id(1)"] == nil)
    batch.count(.id(1), host: "0", Self.stored(1))
    batch.count(.id(1), host: "last", Self.stored(1))
    let later = try deliveries(of: batch)
    #expect(later["0 id(1)"] == 2 && later["last id(1)"] == 1)
  }
}
