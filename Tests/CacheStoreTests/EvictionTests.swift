import PlatformFoundation
import TestSupport
import TestTurns
import Testing

@testable import CacheStore

@Suite("What goes where a limit is passed", .inTurn) struct EvictionTests {
  private func key(_ number: Int) -> RequestKey { RequestKey(target: "https://example.org/\(number)") }

  @Test func `a store is over its limit with the first page beyond it, and may always have 64`() async throws
  {
    let fixture = try StoreFixture()
    _ = try await fixture.store.put(pattern(700_000), for: .page)
    let pages = try fixture.number(
      "SELECT (SELECT page_count FROM pragma_page_count) - freelist_count FROM pragma_freelist_count")
    let used = try #require(pages)
    #expect(used > 65)
    func isOver(_ bytes: Int64, besides arriving: Int64? = nil) async throws -> Bool {
      let store = fixture.another { $0.maximumBytes = bytes }
      let isOver = try await store.writer.perform { (connection) throws(CacheStoreError) -> Bool in
        if let arriving { return try store.isOverLimit(connection, besides: arriving) }
        return try store.isOverLimit(connection)
      }
      await store.close()
      return isOver
    }
    #expect(try await !isOver(used * 8192))
    #expect(try await isOver(used * 8192 - 1))
    #expect(try await !isOver((used - 3) * 8192, besides: 3))
    #expect(try await isOver((used - 3) * 8192, besides: 2))
    #expect(try await !isOver(1, besides: used - 64))
    #expect(try await isOver(1, besides: used - 65))
  }

  @Test(arguments: [true, false])
  func `the housekeeping begins with the row that was used least recently, be it the first of all`(
    isOfBytes: Bool
  ) async throws {
    let fixture = try StoreFixture()
    for number in 1...6 {
      _ = try await fixture.store.put(Data(count: 200_000), for: key(number), at: Int64(number))
    }
    #expect(try fixture.number("SELECT min(id) FROM last_request") == 1)
    let smaller = fixture.another { configuration in
      if isOfBytes { configuration.maximumBytes = 900_000 }
      if !isOfBytes { configuration.maximumRows = 3 }
    }
    #expect(await smaller.performMaintenance(budget: .seconds(3600)) == nil)
    let left = try await smaller.entries().map(\.key)
    #expect(left.count < 6 && !left.contains(key(1)) && left.contains(key(6)), "\(left)")
    await smaller.close()
  }

  @Test func `one write evicts sixteen rows at most, the next ones go on`() async throws {
    let fixture = try StoreFixture()
    for number in 0..<40 { _ = try await fixture.store.put("x", for: key(number), at: Int64(number)) }
    let fewer = fixture.another { $0.maximumRows = 2 }
    for (number, left) in [(100, 25), (101, 10), (102, 2)] as [(Int, Int64)] {
      _ = try await fewer.put("y", for: key(number), at: Int64(number))
      #expect(try fixture.number("SELECT count(*) FROM last_request") == left)
    }
    await fewer.close()
  }
}
