import TestTurns
import Testing

@testable import CacheStore

@Suite("The connections of a store's looks", .inTurn) struct ReaderPoolTests {
  @Test func `after an error none of them waits for the next look, since all have the same files open`()
    async throws
  {
    let fixture = try StoreFixture()
    _ = try await fixture.store.put("x", for: .page)
    let pool = ReaderPool(files: StoreFiles(path: fixture.path)) {}
    // Two are in use at once, and wait afterwards.
    _ = try pool.withConnection(waitingUntil: 0) { (_) throws(CacheStoreError) -> Void in
      _ = try pool.withConnection(waitingUntil: 0) { _ in }
    }
    #expect(pool.isOpen)
    #expect(throws: CacheStoreError.self) {
      _ = try pool.withConnection(waitingUntil: 0) { (_) throws(CacheStoreError) -> Void in
        throw CacheStoreError(.other, "refused")
      }
    }
    #expect(!pool.isOpen)
  }

  @Test func `of a store that was removed none stays open`() async throws {
    let fixture = try StoreFixture()
    _ = try await fixture.store.put("x", for: .page)
    _ = try await fixture.store.lookup(.page)
    #expect(fixture.store.isReadyToLookUp)
    try fixture.remove()
    #expect(try fixture.store.lookupNow(.page).rows.isEmpty)
    #expect(!fixture.store.isReadyToLookUp)
  }
}
