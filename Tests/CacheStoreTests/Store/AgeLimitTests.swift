import PlatformFoundation
import TestSupport
import Testing
import TestTurns

@testable import CacheStore

@Suite("A limit of age that a program brings along", .inTurn) struct AgeLimitTests {
  @Test(arguments: [true, false])
  func `it is met from the first row on, in a store that has no limits of its own, nor a table of them`(
    isOlder: Bool
  ) async throws {
    let fixture = try StoreFixture { $0.now = { 10_000_000 } }
    let written = try await fixture.store.put("old", for: .page) { $0.head.receivedAt = 1_000 }
    #expect(try #require(written.row).rowID == 1)
    _ = try await fixture.store.put("new", for: .other, at: 2) { $0.head.receivedAt = 9_999_000 }
    await fixture.store.close()
    if isOlder { try fixture.sql("DROP TABLE store_limit") }
    let store = fixture.another { $0.maximumAge = .seconds(60) }
    #expect(await store.performMaintenance(budget: .seconds(3600)) == nil)
    #expect(try await store.entries().map(\.key) == [.other])
    await store.close()
  }
}
