import TestTurns
import Testing

@testable import CacheStore

@Suite("Statistics of the store", .inTurn) struct StatisticsTests {
  @Test func `every number that is counted is read as that one, and added up`() async throws {
    let fixture = try StoreFixture()
    let store = fixture.store
    let account = try await store.accountID(named: "")
    var count = UsageCount()
    count.stored = 1
    count.fresh = 2
    count.unchanged = 3
    count.failed = 4
    count.savedBytes = 5
    count.savedMilliseconds = 6
    store.count(accountID: account, host: "example.org", count)
    #expect(try await store.statistics().parts.map(\.deliveries) == [count])
    store.count(accountID: account, host: "example.org", count)
    var twice = count
    twice += count
    #expect(try await store.statistics().parts.map(\.deliveries) == [twice])
  }

  @Test func `failures are counted by kind, whichever way they come into the tables, and evictions`()
    async throws
  {
    let fixture = try StoreFixture { $0.maximumRows = 2 }
    let store = fixture.store
    for number in 0..<5 {
      _ = try await store.put("x", for: RequestKey(target: "https://example.org/\(number)"))
    }
    store.count(failure: "timeout")
    store.count(failure: "tls")
    #expect(store.leaveUsage())
    store.count(failure: "timeout")
    let statistics = try await store.statistics()
    #expect(statistics.failures.map(\.kind) == ["timeout", "tls"].sorted())
    #expect(statistics.failures.map(\.count) == [2, 1] && statistics.evictedRows == 3, "\(statistics)")
    #expect(try await fixture.another().statistics().failures.map(\.count) == [2, 1])
  }

  @Test func `the use of a store is told by rows, pins, bytes and the oldest instant`() async throws {
    let fixture = try StoreFixture()
    let store = fixture.store
    #expect(try await store.use() == StoreUse())
    #expect(try await store.statistics().pinnedRows == 0)
    for (number, instant) in [(0, 30), (1, 10), (2, 20)] as [(Int, Int64)] {
      let key = RequestKey(target: "https://example.org/\(number)")
      _ = try await store.put("x", for: key) {
        $0.head.receivedAt = instant
        $0.marks.isPinned = number == 2
      }
    }
    let use = try await store.use()
    #expect(use.rows == 3 && use.pinnedRows == 1 && use.oldestReceivedAt == 10)
    #expect(use.fileBytes == FileStatus(path: fixture.path)?.bytes && use.fileBytes > 0)
  }
}
