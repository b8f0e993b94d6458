import TestSupport
import TestTurns
import Testing

@testable import CacheStore

@Suite("Opening a store to write, and making it", .inTurn) struct StoreOpenerTests {
  @Test func `who finds another making the store waits for it, and makes none where that takes too long`()
    async throws
  {
    let fixture = try StoreFixture()
    let maker = LockFile(files: StoreFiles(path: fixture.path))
    #expect(try maker.tryLock(.file))
    let hurried = fixture.another { $0.busyTimeout = .milliseconds(1) }
    await #expect { try await hurried.put("x", for: .page) } throws: {
      ($0 as? CacheStoreError)?.reason == .busy
    }
    #expect(!fixture.files.contains("store.sqlite"))
    await hurried.close()

    let store = fixture.store
    let written = Task { try await store.put("x", for: .page) }
    // Open means that it has been refused the lock once.
    while !store.lockFile.isOpen { await Task.yield() }
    maker.unlock(.file)
    #expect(try await written.value.row != nil)
    #expect(try await store.body(of: .page) == "x")
  }

  /// Looking into such a file is refused too; here nothing has looked into it before.
  @Test func `a file that somebody else has made otherwise is not written`() async throws {
    let fixture = try StoreFixture()
    _ = try await fixture.store.put("x", for: .page)
    await fixture.store.close()
    try fixture.sql("CREATE TRIGGER theirs AFTER INSERT ON account BEGIN DELETE FROM chunk; END")
    let store = fixture.another { $0.isUntrusted = true }
    await #expect { try await store.accountID(named: "another") } throws: {
      ($0 as? CacheStoreError)?.reason == .otherSchema
    }
    await store.close()
    #expect(try fixture.number("SELECT count(*) FROM chunk") == 1)
  }
}
