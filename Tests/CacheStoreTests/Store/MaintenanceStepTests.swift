import CFaultVFS
import TestSupport
import TestTurns
import Testing

@testable import CacheStore

@Suite("Housekeeping, step by step", .inTurn) struct MaintenanceStepTests {
  private func refuse(_ statement: String, in fixture: StoreFixture) throws {
    try fixture.sql("CREATE TRIGGER broken BEFORE \(statement) BEGIN SELECT RAISE(ABORT, 'broken'); END")
  }

  // MARK: The log

  @Test(arguments: [(0, false), (1, true)] as [(Int32, Bool)])
  func `a log is long beyond its limit, and then written back`(extra: Int32, isLong: Bool) async throws {
    let fixture = try StoreFixture()
    let store = fixture.store
    _ = try await store.put("x", for: .page)
    await store.whenIdle()
    store.writer.checkpointer.wait()
    let frames = try await store.writer.perform { (connection) throws(CacheStoreError) -> Int32 in
      connection.logFrames = Int32(LogPolicy.long / connection.pageBytes) + extra
      return connection.logFrames
    }
    #expect(Int64(frames - extra) * StoreConfiguration.usualPageBytes == LogPolicy.long)
    await store.whenIdle()
    await store.performSmallMaintenance()
    let left = try await store.writer.perform { (connection) throws(CacheStoreError) -> Int32 in
      connection.logFrames
    }
    #expect(left == (isLong ? 0 : frames))
    await store.close()
  }

  @Test func `a log that trimming finds long and cannot write back is told of`() async throws {
    let vfs = "log of trimming"
    #expect(faultvfs_register(vfs) != 0)
    defer { faultvfs_unregister(vfs) }
    let fixture = try StoreFixture { $0.vfs = vfs }
    let store = fixture.store
    _ = try await store.put("other", for: .other)
    var instant: Int64 = 1
    // Too short for the work in the background.
    while try fixture.files.bytes(of: "store.sqlite-wal").count < LogPolicy.long + 50_000 {
      instant += 1
      _ = try await store.put("body \(instant)", for: .page, at: instant)
    }
    store.writer.checkpointer.wait()
    // Another process, which learns the log's length by its own first commit: that of an eviction.
    let fewer = fixture.another { $0.maximumRows = 1 }
    faultvfs_arm(vfs, Int32(FAULT_SYNC), 1, Int32(FAULT_ERROR), 0)
    #expect(await fewer.performMaintenance(budget: .seconds(3600)) != nil)
    #expect(faultvfs_count(vfs) == 1)
    faultvfs_arm(vfs, 0, 0, 0, 0)
    #expect(try await fewer.entries().map(\.key) == [.page])
    #expect(await fewer.performMaintenance(budget: .seconds(3600)) == nil)
    await fewer.close()
    await store.close()
  }

  // MARK: Bodies

  @Test func `a long body that goes with a row over the limit is deleted at once, or that is told of`()
    async throws
  {
    let fixture = try StoreFixture { $0.chunkBytes = 1000 }
    let store = fixture.store
    _ = try await store.put(pattern(3000), for: .long, at: 1)
    _ = try await store.put("short", for: .short, at: 2)
    // By the shell, since whoever sets limits by the store trims at once.
    try fixture.sql("INSERT INTO store_limit (id, maximum_rows) VALUES (1, 1)")
    try refuse("DELETE ON chunk", in: fixture)
    #expect(await store.performMaintenance(budget: .seconds(3600)) != nil)
    #expect(try await store.entries().map(\.key) == [.short])
    try fixture.sql("DROP TRIGGER broken")
    #expect(await store.performMaintenance(budget: .seconds(3600)) == nil)
    #expect(try fixture.number("SELECT count(*) FROM body") == 1)
    #expect(try fixture.remains() == 0)
    await store.close()
  }

  @Test func `a body of the first number there is goes like any other`() async throws {
    let fixture = try StoreFixture()
    let store = fixture.store
    let account = try await store.accountID(named: "")
    try fixture.sql("INSERT INTO body (id, account_id, begun_at_ms) VALUES (1, \(account), 1)")
    #expect(await store.performMaintenance(budget: .seconds(3600)) == nil)
    #expect(try fixture.number("SELECT count(*) FROM body") == 0)
    await store.close()
  }

  // MARK: Ages

  @Test(arguments: ["DELETE ON last_request", "DELETE ON body", "UPDATE ON store_limit"])
  func `a look at ages that is refused a statement says so, and is done the next time`(statement: String)
    async throws
  {
    let fixture = try StoreFixture { $0.now = { 10_000_000 } }
    let store = fixture.store
    for target in ["1", "2", "3"] {
      _ = try await store.put("x", for: RequestKey(target: target)) {
        $0.head.receivedAt = target == "2" ? 9_990_000 : 1_000
      }
    }
    // As a look leaves it that was cut off behind the first row.
    try fixture.sql("INSERT INTO store_limit (id, maximum_ms, checked_id) VALUES (1, 60000, 1)")
    try refuse(statement, in: fixture)
    #expect(await store.performMaintenance(budget: .seconds(3600)) != nil)
    try fixture.sql("DROP TRIGGER broken")
    for _ in 0..<2 { #expect(await store.performMaintenance(budget: .seconds(3600)) == nil) }
    #expect(try await store.entries().map(\.key.target) == ["2"])
    #expect(try fixture.number("SELECT checked_id FROM store_limit") == 0)
    // And with a row its body goes.
    #expect(try fixture.number("SELECT count(*) FROM body") == 1)
    #expect(try fixture.remains() == 0)
    await store.close()
  }

  // MARK: Pages

  /// As a file is that another program has rewritten without a map of its pages.
  @Test func `housekeeping ends where free pages cannot be given back`() async throws {
    let fixture = try StoreFixture()
    _ = try await fixture.store.put("x", for: .page)
    await fixture.store.close()
    try fixture.sql("PRAGMA auto_vacuum = NONE; VACUUM")
    #expect(try fixture.number("PRAGMA auto_vacuum") == 0)
    try fixture.sql("CREATE TABLE filler (bytes BLOB)")
    try fixture.sql("INSERT INTO filler VALUES (zeroblob(1000000))")
    try fixture.sql("DROP TABLE filler")
    let free = try #require(try fixture.number("PRAGMA freelist_count"))
    #expect(free > 100)
    let store = fixture.another()
    #expect(await store.performMaintenance(budget: .seconds(3600)) == nil)
    #expect(try fixture.number("PRAGMA freelist_count") == free)
    #expect(try await store.body(of: .page) == "x")
    await store.close()
  }
}
