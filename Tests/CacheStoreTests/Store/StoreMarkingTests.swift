import TestTurns
import Testing

@testable import CacheStore

@Suite("Pins and tags for a row that was delivered", .inTurn) struct StoreMarkingTests {
  @Test func `a row is pinned where that is asked for and gets its tags, unless another body stands there`()
    async throws
  {
    let fixture = try StoreFixture { $0.chunkBytes = 1000 }
    let store = fixture.store
    _ = try await store.put("other", for: .other)
    _ = try await store.put("delivered", for: .page)
    let row = try #require(try store.lookupNow(.page).rows.first)
    func isMarked(_ key: RequestKey, isPinned: Bool, tags: [String]) async throws -> Bool {
      let entry = try #require(try await store.entries().first { $0.key == key })
      return entry.response.isPinned == isPinned && entry.tags == tags
    }
    try await store.mark(row, RowMarks(isPinned: false, tags: ["one"]))
    #expect(try await isMarked(.page, isPinned: false, tags: ["one"]))
    try await store.mark(row, RowMarks(isPinned: true, tags: ["two"]))
    #expect(try await isMarked(.page, isPinned: true, tags: ["one", "two"]))
    #expect(try await isMarked(.other, isPinned: false, tags: []))
    #expect(try fixture.number("SELECT max(pinned) FROM last_request") == 1)

    _ = try await store.put(pattern(1500), for: .page, at: 2)
    let unpinned = try await store.unpin(.all)
    #expect(unpinned == 1)
    try await store.mark(row, RowMarks(isPinned: true, tags: ["three"]))
    #expect(try await isMarked(.page, isPinned: false, tags: ["one", "two"]))
  }
}
