import CSQLite
import PlatformC
import TestTurns
import Testing

@testable import CacheStore

@Suite("A connection's settings", .inTurn) struct ConnectionTests {
  @Test(arguments: [Database.Purpose.writing, .reading, .readingAlone, .readingUnlocked, .readingUnchanging])
  func `whatever it is for, a crafted file can run nothing, and references are kept`(
    purpose: Database.Purpose
  )
    async throws
  {
    let fixture = try StoreFixture()
    _ = try await fixture.store.put("a", for: .page)
    await fixture.store.close()
    let files = StoreFiles(path: fixture.path)
    let connection = try Connection(path: files.resolved(), named: files.database, for: purpose, nil)
    #expect(try connection.integer("PRAGMA trusted_schema") == 0)
    #expect(try connection.integer("PRAGMA foreign_keys") == 1)
    #expect(sqlite3_limit(connection.handle, SQLITE_LIMIT_LENGTH, -1) == 64 << 20)
  }
}
