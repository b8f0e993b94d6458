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
    #expect(try await store.freshen(freshening(row, body, at: 2)).isStored)
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
    #expect(try await store.freshen(freshening(row, body, at: 3)) == .superseded)
    #expect(try store.lookupNow(.page).rows.first?.fields["ETag"] == "\"2\"")
    #expect(
      try await store.put("", for: .page, at: 4) { $0.body = .sameAs(body) } == .superseded,
      "the same for sameAs")
  }

  @Test func `law 13: a head that grows makes its room like a body does`() async throws {
    let fixture = try StoreFixture { $0.maximumBytes = 1 << 20 }
    let store = fixture.store
    let (row, body) = try #require(try await store.put("kept", for: .page, at: 1).row)
    for number in 0..<24 {
      _ = try await store.put(pattern(30_000), for: RequestKey(target: "https://example.org/\(number)"))
    }
    #expect(try await store.entries().count == 25)
    var update = freshening(row, body, at: 2)
    update.head.fields.append("X", String(repeating: "y", count: 500_000))
    #expect(try await store.freshen(update).isStored)
    #expect(try #require(try store.lookupNow(.page).rows.first).fields["X"]?.count == 500_000)
    let bytes = try fixture.number("SELECT page_count * page_size FROM pragma_page_count, pragma_page_size")
    #expect(try #require(bytes) <= 1 << 20)
    #expect(try await store.entries().count < 20)
    await store.close()
  }

  @Test func `a 304 for a row that is gone says so`() async throws {
    let fixture = try StoreFixture()
    let (row, body) = try #require(try await fixture.store.put("v1", for: .page, at: 1).row)
    _ = try await fixture.store.remove(rowID: row, started: .at(2))
    #expect(try await fixture.store.freshen(freshening(row, body, at: 3)) == .superseded)
  }

  @Test func `a 304 that changes the variant replaces the row that stands there, and keeps its pin and tags`()
    async throws
  {
    let fixture = try StoreFixture()
    let store = fixture.store
    _ = try await store.put("old", for: .page, at: 1) {
      ($0.vary, $0.variant) = ("accept", "accept: a")
      ($0.marks.isPinned, $0.marks.tags) = (true, ["both", "old"])
    }
    let (row, body) = try #require(
      try await store.put("new", for: .page, at: 2) { $0.marks.tags = ["both"] }.row)
    var update = freshening(row, body, at: 3)
    update.variant = ("accept", "accept: a")
    #expect(try await store.freshen(update).isStored)
    let entry = try #require(try await store.entries().first)
    #expect(entry.rowID == row && entry.isSound && entry.response.isPinned && entry.tags == ["both", "old"])
    let found = try store.lookupNow(.page).rows
    #expect(found.map(\.variant) == ["accept: a"] && found.map(\.vary) == ["accept"])
    #expect(try await store.body(of: .page) == "new")
    #expect(try fixture.remains() == 0)
  }

  @Test func `a 304 that changes the variant gives way to a later row that stands there`() async throws {
    let fixture = try StoreFixture()
    let store = fixture.store
    let (row, body) = try #require(try await store.put("mine", for: .page, at: 1).row)
    _ = try await store.put("later", for: .page, at: 9) {
      ($0.vary, $0.variant) = ("accept", "accept: a")
    }
    var update = freshening(row, body, at: 3)
    update.variant = ("accept", "accept: a")
    #expect(try await store.freshen(update) == .superseded)
    let found = try store.lookupNow(.page).rows
    #expect(Set(found.map(\.variant)) == ["", "accept: a"] && found.allSatisfy { $0.started != .at(3) })
  }

  @Test func `a 304 pins its row where that is asked for, adds tags, and takes no pin away`() async throws {
    let fixture = try StoreFixture()
    let store = fixture.store
    let (row, body) = try #require(
      try await store.put("kept", for: .page, at: 1) { $0.marks.tags = ["one"] }.row)
    for (instant, isPinned) in [(2, true), (3, false)] as [(Int64, Bool)] {
      var update = freshening(row, body, at: instant)
      update.marks.isPinned = isPinned
      update.marks.tags = ["two"]
      #expect(try await store.freshen(update).isStored)
      let entry = try #require(try await store.entries().first)
      #expect(entry.response.isPinned && entry.tags == ["one", "two"], "\(instant)")
    }
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
