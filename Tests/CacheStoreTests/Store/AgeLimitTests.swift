import PlatformFoundation
import TestSupport
import Testing
import TestTurns

@testable import CacheStore

@Suite("A limit of age that a program brings along", .inTurn) struct AgeLimitTests {
  @Test func `it is met from the first row on, in a store that has no limits of its own`() async throws {
    let fixture = try StoreFixture { $0.now = { 10_000_000 } }
    let written = try await fixture.store.put("old", for: .page) { $0.head.receivedAt = 1_000 }
    #expect(try #require(written.row).rowID == 1)
    _ = try await fixture.store.put("new", for: .other, at: 2) { $0.head.receivedAt = 9_999_000 }
    await fixture.store.close()
    let store = fixture.another { $0.maximumAge = .seconds(60) }
    #expect(await store.performMaintenance(budget: .seconds(3600)) == nil)
    #expect(try await store.entries().map(\.key) == [.other])
    await store.close()
  }

  @Test func `readers obey it at once, whoever has set it, and what is pinned is delivered`() async throws {
    let fixture = try StoreFixture { $0.now = { 10_000_000 } }
    let store = fixture.store
    let pinned = RequestKey(target: "https://example.org/pinned")
    for (key, instant) in [(.page, 9_900_000), (.other, 9_999_000), (pinned, 1)] as [(RequestKey, Int64)] {
      _ = try await store.put("body", for: key) {
        $0.head.receivedAt = instant
        $0.marks.isPinned = key == pinned
      }
    }
    let readers = [fixture.another(), fixture.another { $0.isReadOnly = true }]
    for reader in readers { #expect(try reader.lookupNow(.page).rows.count == 1) }
    // Without the removal that a limit set by `setLimits` begins with: a row grows too old by itself.
    try fixture.sql("INSERT INTO store_limit (id, maximum_ms) VALUES (1, 60000)")
    for reader in readers + [store] {
      #expect(try reader.lookupNow(.page).rows.isEmpty)
      #expect(try await reader.lookup(.page).rows.isEmpty)
      #expect(try reader.lookupNow(.other).rows.count == 1 && reader.lookupNow(pinned).rows.count == 1)
      #expect(try await reader.entries().map(\.key) == [.other, pinned])
    }
    try fixture.sql("UPDATE store_limit SET maximum_ms = NULL")
    for reader in readers + [store] {
      #expect(try reader.lookupNow(.page).rows.count == 1)
      await reader.close()
    }
  }
}
