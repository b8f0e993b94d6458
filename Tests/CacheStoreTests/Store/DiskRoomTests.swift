import PlatformFoundation
import TestSupport
import TestTurns
import Testing

@testable import CacheStore

@Suite("What makes room on a full disk", .inTurn) struct DiskRoomTests {
  /// A download of one chunk that was cut off, and then a short body in the place of one of three chunks, which the next
  /// write deletes.
  private func filled(isReplaced: Bool = true, isCutOff: Bool = true) async throws -> StoreFixture {
    let fixture = try StoreFixture { $0.chunkBytes = 1000 }
    let store = fixture.store
    if isCutOff {
      let account = try await store.accountID(named: "")
      let partial = UnfinishedBody.Partial(
        key: .cutOff, url: RequestKey.cutOff.target, strongETag: "\"a\"", wholeLength: 2000)
      let body = try await store.beginBody(accountID: account, partial: partial)
      try await body.append(pattern(1000))
      body.end()
      await store.whenIdle()
    }
    if isReplaced { try await replace(in: store) }
    return fixture
  }

  private func replace(in store: ResponseStore) async throws {
    _ = try await store.put(pattern(3000), for: .page)
    _ = try await store.put("short", for: .page, at: 2)
  }

  @Test(
    "what belongs to no row and cannot be deleted is told, whichever step it is",
    arguments: [
      ("DELETE ON chunk", true), ("DELETE ON body", true), ("UPDATE ON body", false),
      ("DELETE ON chunk", false),
    ] as [(String, Bool)])
  func refused(statement: String, isReplaced: Bool) async throws {
    let fixture = try await filled(isReplaced: isReplaced, isCutOff: !isReplaced)
    // A body goes after the last of its chunks.
    if statement == "DELETE ON body" {
      try fixture.sql(
        "DELETE FROM chunk WHERE id >> 20 IN (SELECT id FROM body WHERE released_at_ms IS NOT NULL)")
    }
    try fixture.sql("CREATE TRIGGER broken BEFORE \(statement) BEGIN SELECT RAISE(ABORT, 'broken'); END")
    let writer = fixture.store.writer
    func collect() async throws -> Bool {
      try await writer.perform { (connection) throws(CacheStoreError) in
        try connection.transaction { () throws(CacheStoreError) in
          try writer.room.collectRemains(connection)
        }
      }
    }
    await #expect(throws: CacheStoreError.self) { _ = try await collect() }
    try fixture.sql("DROP TRIGGER broken")
    #expect(try await collect())
  }

  @Test func `free pages are given back, the log is empty after that, and the reserve made`() async throws {
    let fixture = try StoreFixture()
    _ = try await fixture.store.put("a", for: .page)
    try fixture.sql("CREATE TABLE filler (bytes BLOB)")
    try fixture.sql("INSERT INTO filler VALUES (zeroblob(1000000))")
    try fixture.sql("DROP TABLE filler")
    #expect(!fixture.files.contains("store.sqlite.reserve"))
    let writer = fixture.store.writer
    let (before, after) = try await writer.perform {
      (connection) throws(CacheStoreError) -> (Int64, Int64) in
      let before = try connection.value(.freePages)
      writer.room.giveBack(connection)
      let after = try connection.value(.freePages)
      return (before, after)
    }
    #expect(before > 100 && after == 0)
    #expect(try #require(FileStatus(path: fixture.path + "-wal")).bytes == 0)
    #expect(fixture.files.contains("store.sqlite.reserve"))
  }

  @Test(arguments: [true, false])
  func `what is to be stored gets the room of what has no row, what is to be removed gets the reserve`(
    isStoring: Bool
  ) async throws {
    let fixture = try await filled(isReplaced: false)
    #expect(await fixture.store.performMaintenance(budget: .seconds(3600)) == nil)
    #expect(fixture.files.contains("store.sqlite.reserve"))
    try await replace(in: fixture.store)
    let remains = "SELECT count(*) FROM body WHERE released_at_ms IS NOT NULL OR checksum IS NULL"
    #expect(try fixture.number(remains) == 2)
    let writer = fixture.store.writer
    try await writer.perform { (connection) throws(CacheStoreError) in
      writer.room.make(isStoring: isStoring, connection)
    }
    #expect(try #require(FileStatus(path: fixture.path + "-wal")).bytes == 0)
    #expect(fixture.files.contains("store.sqlite.reserve") == isStoring)
    #expect(try fixture.number(remains) == (isStoring ? 0 : 2))
    #expect(try await fixture.store.body(of: .page) == "short")
  }
}
