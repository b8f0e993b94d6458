import CacheStore
import PlatformFoundation
import TestSupport
import Testing
import TestTurns

/// A file system on which processes cannot share memory, as some network file systems are.
@Suite("A file system without shared memory", .inTurn) struct NoSharedMemoryTests {
  private func mode(_ fixture: StoreFixture) throws -> SQLiteValue? {
    try fixture.sql("PRAGMA journal_mode").first?.first
  }

  @Test("a new store is written through a rollback journal", arguments: NoSharedMemory.allCases)
  func new(kind: NoSharedMemory) async throws {
    let vfs = kind.layer("new")
    let fixture = try StoreFixture {
      $0.vfs = vfs
      $0.chunkBytes = 5000
    }
    let second = fixture.another()
    for round in 1...5 {
      _ = try await (round % 2 == 0 ? second : fixture.store).put(
        pattern(12_000, seed: UInt8(round)), for: .page, at: Int64(round))
      for store in [fixture.store, second] {
        let row = try #require(try await store.lookup(.page).rows.first)
        #expect(try await store.wholeBody(row) == pattern(12_000, seed: UInt8(round)))
      }
    }
    await fixture.store.performMaintenance(budget: .seconds(60))
    let findings = await fixture.store.findings()
    #expect(findings.contains { $0.subject == "schema" && $0.message.contains("without a write-ahead log") })
    #expect(await fixture.store.findings().allSatisfy { $0.severity == .fine })
    try await second.signOut(accountName: "nobody")
    await fixture.store.close()
    await second.close()
    #expect(try mode(fixture) == "delete")
    #expect(try fixture.sql("PRAGMA integrity_check") == [["ok"]])
  }

  @Test("a store that was moved there without a log is read too", arguments: NoSharedMemory.allCases)
  func movedWithoutLog(kind: NoSharedMemory) async throws {
    let fixture = try StoreFixture { $0.chunkBytes = 5000 }
    _ = try await fixture.store.put(pattern(12_000), for: .page)
    await fixture.store.close()
    try fixture.sql("PRAGMA wal_checkpoint(TRUNCATE)")
    for name in ["store.sqlite-wal", "store.sqlite-shm"] where try fixture.files.names().contains(name) {
      try FileManager.default.removeItem(atPath: fixture.files.file(name))
    }
    #expect(try mode(fixture) == "wal")
    let vfs = kind.layer("moved without a log")
    let there = fixture.another { $0.vfs = vfs }
    let row = try #require(try there.lookupNow(.page).rows.first)
    #expect(try await there.wholeBody(row) == pattern(12_000))
    #expect(try await there.entries().count == 1)
    await there.close()
  }

  @Test(
    "a store that was moved there is read at once, its log included, and goes over with the first write",
    arguments: NoSharedMemory.allCases)
  func moved(kind: NoSharedMemory) async throws {
    let fixture = try StoreFixture { $0.chunkBytes = 5000 }
    // The long log that the making of a store leaves is emptied at its close; a short one stays.
    _ = try await fixture.store.put(pattern(12_000), for: .page)
    await fixture.store.close()
    let second = fixture.another { $0.chunkBytes = 5000 }
    _ = try await second.put(pattern(3_000), for: .page, at: 2)
    await second.close()
    #expect(try !fixture.files.bytes(of: "store.sqlite-wal").isEmpty)
    let vfs = kind.layer("moved")
    let there = fixture.another { $0.vfs = vfs }
    let row = try #require(try there.lookupNow(.page).rows.first)
    #expect(try await there.wholeBody(row) == pattern(3_000))
    _ = try await there.put("new", for: .page, at: 3)
    #expect(try await there.body(of: .page) == "new")
    await there.close()
    #expect(try mode(fixture) == "delete")

    // Back where memory can be shared it is written through the log again.
    let back = fixture.another { $0.vfs = nil }
    #expect(try await back.body(of: .page) == "new")
    _ = try await back.put("newer", for: .page, at: 4)
    #expect(try mode(fixture) == "wal")
    #expect(try await back.body(of: .page) == "newer")
    await back.close()
    #expect(try fixture.sql("PRAGMA integrity_check") == [["ok"]])
  }
}
