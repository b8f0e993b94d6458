import CacheStore
import TestSupport
import TestTurns
import Testing

@Suite("A response in the place of every row that its request matches", .inTurn) struct ReplacedVariantTests {
  /// Stores a response of the variant `accept: a`, whose request matches rows of that variant and those without one.
  private func put(
    _ text: String, in store: ResponseStore, at instant: Int64,
    _ change: (inout ResponseStore.Write) -> Void = { _ in }
  ) async throws -> ResponseStore.Overwritten {
    try await store.put(text, for: .page, at: instant) {
      ($0.vary, $0.variant) = ("accept", "accept: a")
      $0.replaces = { variant, _ in ["", "accept: a"].contains(variant) }
      change(&$0)
    }
  }

  @Test func `the row of another variant is taken over, with its tags, pin and place`() async throws {
    let fixture = try StoreFixture()
    let store = fixture.store
    let old = try await store.put("old", for: .page, at: 1) {
      $0.marks.tags = ["old"]
      $0.marks.isPinned = true
    }
    _ = try await store.put("other's", for: .page, at: 1) { ($0.vary, $0.variant) = ("accept", "accept: b") }
    #expect(try await put("new", in: store, at: 2).row?.rowID == old.row?.rowID)
    let rows = try await store.lookup(.page).rows
    #expect(Set(rows.map(\.variant)) == ["accept: a", "accept: b"])
    let entry = try #require(try await store.entries().first { $0.response.variant == "accept: a" })
    #expect(entry.isSound && entry.tags == ["old"] && entry.response.isPinned)
    #expect(try fixture.remains() == 0)
  }

  @Test(arguments: [true, false])
  func `where the response has a row too, both become one, with the tags and the pin of either`(
    isOwnPinned: Bool
  ) async throws {
    let fixture = try StoreFixture { $0.chunkBytes = 1000 }
    let store = fixture.store
    // Written alone, so that both are there.
    let own = try await store.put("own", for: .page, at: 1) {
      ($0.vary, $0.variant) = ("accept", "accept: a")
      ($0.marks.tags, $0.marks.isPinned) = (["own"], isOwnPinned)
    }
    _ = try await store.put(pattern(2500), for: .page, at: 2) {
      ($0.marks.tags, $0.marks.isPinned) = (["long"], !isOwnPinned)
    }
    #expect(try await put("new", in: store, at: 3).row?.rowID == own.row?.rowID)
    let entry = try #require(try await store.entries().first)
    #expect(try await store.lookup(.page).rows.count == 1 && entry.isSound)
    #expect(entry.tags == ["long", "own"] && entry.response.isPinned)
    await store.performMaintenance(budget: .seconds(3600))
    #expect(try fixture.number("SELECT count(*) FROM body WHERE released_at_ms IS NULL") == 1)
  }

  @Test func `a good response replaces what is kept for http only, and never the other way round`()
    async throws
  {
    let fixture = try StoreFixture()
    let store = fixture.store
    _ = try await store.put("missing", for: .page, at: 1) { ($0.isGood, $0.marks.tags) = (false, ["t"]) }
    _ = try await put("good", in: store, at: 2)
    #expect(try await store.lookup(.page).rows.map(\.isGood) == [true])
    #expect(try await store.entries().map(\.tags) == [["t"]])
    _ = try await store.put("moved", for: .page, at: 3) {
      $0.isGood = false
      $0.replaces = { _, _ in true }
    }
    #expect(try await store.lookup(.page).rows.count == 2)
    #expect(try fixture.remains() == 0)
  }

  @Test func `one that began earlier than what it matches is not stored, of whatever variant that is`()
    async throws
  {
    let fixture = try StoreFixture { $0.chunkBytes = 1000 }
    let store = fixture.store
    _ = try await store.put("later", for: .page, at: 5)
    #expect(try await put("earlier", in: store, at: 4).row == nil)
    #expect(
      try await store.put(pattern(2500), for: .page, at: 4) {
        ($0.vary, $0.variant) = ("accept", "accept: a")
        $0.replaces = { _, _ in true }
      }.row == nil)
    #expect(try await store.body(of: .page) == "later")
    // What only http reuses is no reason.
    let other = try StoreFixture()
    _ = try await other.store.put("missing", for: .page, at: 5) { $0.isGood = false }
    #expect(try await put("earlier", in: other.store, at: 4).row != nil)
    #expect(try await other.store.lookup(.page).rows.count == 2)
  }
}
