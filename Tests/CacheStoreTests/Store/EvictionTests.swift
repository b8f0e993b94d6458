import CFaultVFS
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
        if let arriving { return try store.eviction.isOverLimit(connection, besides: arriving) }
        return try store.eviction.isOverLimit(connection)
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

  @Test func `with rows beyond a limit their long bodies go at once`() async throws {
    let fixture = try StoreFixture { $0.chunkBytes = 1000 }
    for number in 1...3 {
      _ = try await fixture.store.put(pattern(3000), for: key(number), at: Int64(number))
    }
    #expect(try await fixture.store.setLimits(StoreLimits(maximumRows: 1)) == 2)
    #expect(try fixture.number("SELECT count(*) FROM chunk") == 3)
    #expect(try fixture.number("SELECT count(*) FROM body") == 1)
    await fixture.store.close()
  }

  @Test func `a log that limits leave long is written back, and an error of that is told`() async throws {
    let vfs = "log of limits"
    #expect(faultvfs_register(vfs) != 0)
    defer { faultvfs_unregister(vfs) }
    let fixture = try StoreFixture { $0.vfs = vfs }
    let store = fixture.store
    var instant: Int64 = 1
    _ = try await store.put("x", for: key(1), at: instant)
    while try fixture.files.bytes(of: "store.sqlite-wal").count < LogPolicy.long + 50_000 {
      instant += 1
      _ = try await store.put("body \(instant)", for: key(1), at: instant)
    }
    await store.whenIdle()
    store.writer.checkpointer.wait()
    let before = try fixture.files.bytes(of: "store.sqlite")
    faultvfs_arm(vfs, Int32(FAULT_SYNC), 1, Int32(FAULT_ERROR), 0)
    await #expect(throws: CacheStoreError.self) { try await store.setLimits(StoreLimits(maximumRows: 9)) }
    #expect(faultvfs_count(vfs) == 1)
    faultvfs_arm(vfs, 0, 0, 0, 0)
    #expect(try fixture.files.bytes(of: "store.sqlite") == before)
    // The connection is another, which knows of the log what it has written itself.
    try await store.setLimits(StoreLimits(maximumRows: 8))
    #expect(try fixture.files.bytes(of: "store.sqlite") != before)
    await store.close()
  }

  @Test func `limits that nothing exceeds remove nothing`() async throws {
    let fixture = try StoreFixture()
    _ = try await fixture.store.put("x", for: key(1))
    #expect(try await fixture.store.setLimits(StoreLimits(maximumRows: 1)) == 0)
    #expect(try await fixture.store.entries().count == 1)
  }

  @Test func `one write evicts sixteen rows at most, the next ones go on`() async throws {
    let fixture = try StoreFixture()
    for number in 0..<40 { _ = try await fixture.store.put("x", for: key(number), at: Int64(number)) }
    let fewer = fixture.another { $0.maximumRows = 2 }
    for (number, left) in [(100, 25), (101, 10), (102, 2)] as [(Int, Int64)] {
      _ = try await fewer.put("y", for: key(number), at: Int64(number))
      #expect(try fixture.number("SELECT count(*) FROM last_request") == left, "\(number)")
    }
    await fewer.close()
  }
}
