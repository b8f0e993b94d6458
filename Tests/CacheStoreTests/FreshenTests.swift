import CacheStore
import PlatformFoundation
import TestSupport
import Testing
import TestTurns

@Suite("Freshening", .inTurn) struct FreshenTests {
  @Test func `a 304 merges fields and times into the row and leaves its body`() async throws {
    let fixture = try StoreFixture()
    let store = fixture.store
    let (row, body) = try #require(try await store.put("kept", for: .page, at: 1).row)
    #expect(try await store.freshen(freshening(row, body, at: 2)))
    let fresh = try #require(try store.lookupNow(.page).rows.first)
    #expect(fresh.fields["ETag"] == "\"fresh\"")
    #expect(fresh.receivedAt == 21 && fresh.requestedAt == 20 && fresh.started == .at(2))
    #expect(fresh.changedAt == 1_000_001, "the body did not become another")
    #expect(try await store.body(of: .page) == "kept")
  }

  @Test func `a 304 for a body that was replaced in place meanwhile changes nothing`() async throws {
    let fixture = try StoreFixture()
    let store = fixture.store
    let (row, body) = try #require(try await store.put("v1", for: .page, at: 1).row)
    // An exchange that began before the validating one, and ended before it.
    let second = try #require(try await store.put("v2", for: .page, at: 2).row).body
    #expect(second.id == body.id, "rewritten in place, so that the identifier alone does not tell")
    #expect(try await !store.freshen(freshening(row, body, at: 3)))
    #expect(try store.lookupNow(.page).rows.first?.fields["ETag"] == "\"2\"")
    #expect(
      try await store.put("", for: .page, at: 4) { $0.body = .sameAs(body) } == .superseded,
      "the same for sameAs")
  }

  @Test func `a 304 for a row that is gone says so`() async throws {
    let fixture = try StoreFixture()
    let (row, body) = try #require(try await fixture.store.put("v1", for: .page, at: 1).row)
    _ = try await fixture.store.remove(rowID: row, started: .at(2))
    #expect(try await !fixture.store.freshen(freshening(row, body, at: 3)))
    await fixture.store.whenIdle()
    #expect(try fixture.store.freshenNow(freshening(row, body, at: 3)) == false)
  }

  @Test func `the same body again is not written again`() async throws {
    let fixture = try StoreFixture { $0.chunkBytes = 1000 }
    let store = fixture.store
    let (row, body) = try #require(try await store.put(pattern(3000), for: .page).row)
    let result = try await store.put("", for: .page, at: 2) {
      $0.body = .sameAs(body)
      $0.changedAt = 5
    }
    #expect(result == .stored(rowID: row, body: body))
    let found = try #require(try store.lookupNow(.page).rows.first)
    #expect(found.body.id == body.id && found.changedAt == 5)
    #expect(try await store.wholeBody(found) == pattern(3000))
  }
}
