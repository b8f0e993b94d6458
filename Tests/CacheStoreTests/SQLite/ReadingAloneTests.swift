import TestSupport
import TestTurns
import Testing

@testable import CacheStore

@Suite("Reading with an exclusive lock, where memory cannot be shared", .inTurn) struct ReadingAloneTests {
  @Test(arguments: NoSharedMemory.allCases)
  func `where others have the store open, why it cannot be shared is told, and not that it is in use`(
    kind: NoSharedMemory
  ) async throws {
    let fixture = try StoreFixture()
    _ = try await fixture.store.put("a", for: .page)
    await fixture.store.close()
    let second = fixture.another()
    _ = try await second.put("b", for: .page, at: 2)
    await second.close()
    #expect(try !fixture.files.bytes(of: "store.sqlite-wal").isEmpty)
    let files = StoreFiles(path: fixture.path, vfs: kind.layer("read alone"))
    do {
      let connection = try #require(try Connection.openToRead(files, waitingUntil: 0))
      #expect(connection.purpose == .readingAlone)
      #expect(try connection.integer("SELECT started_ns FROM last_request") == 2)
    }
    let other = try RawDatabase(fixture.path)
    try other.execute("BEGIN; SELECT count(*) FROM account")
    do throws(CacheStoreError) {
      _ = try Connection.openToRead(files, waitingUntil: 0)
      Issue.record("it has been read")
    } catch {
      switch kind {
      case .missing: #expect(error.reason == .cannotOpen)
      case .refused: #expect(error.isOfSharedMemory)
      }
    }
    try other.execute("COMMIT")
  }

  @Test func `what is wrong with the file is told, and not why it cannot be shared`() throws {
    let folder = try TemporaryFolder()
    let path = folder.file("store.sqlite")
    try RawDatabase(path, create: true).execute(
      "PRAGMA journal_mode = WAL; CREATE TABLE more (id INTEGER)")
    let files = StoreFiles(path: path, vfs: NoSharedMemory.refused.layer("of another program"))
    do throws(CacheStoreError) {
      _ = try Connection.openToRead(files, waitingUntil: 0)
      Issue.record("it has been read")
    } catch {
      #expect(error.reason == .foreignFile)
    }
  }
}
