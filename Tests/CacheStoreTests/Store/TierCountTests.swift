import TestSupport
import TestTurns
import Testing

@testable import CacheStore

@Suite("What a store counts of the second tier", .inTurn) struct TierCountTests {
  @Test func `it is counted beside a store that is there and may be written, and nothing makes no file`()
    async throws
  {
    let fixture = try StoreFixture()
    let store = fixture.store
    let counts = TierCounts(asked: 1, silent: 2)
    store.add(counts)
    #expect(try fixture.files.names().isEmpty)
    _ = try await store.put("x", for: .page)
    store.add(TierCounts())
    let reader = fixture.another { $0.isReadOnly = true }
    reader.add(counts)
    #expect(!fixture.files.contains("store.sqlite.tier"))
    store.add(counts)
    #expect(store.tierCounts == counts && reader.tierCounts == counts)
  }
}
