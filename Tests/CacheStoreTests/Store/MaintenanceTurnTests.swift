import TestSupport
import Testing
import TestTurns

@testable import CacheStore

@Suite("Housekeeping: when it is due", .inTurn) struct MaintenanceTurnTests {
  @Test func `one process at a time is to do it, and again after a minute`() async throws {
    let fixture = try StoreFixture()
    #expect(!fixture.store.takeMaintenanceTurn(at: 1), "there is no store yet")
    _ = try await fixture.store.put("x", for: .page)
    let minute = ResponseStore.maintenanceInterval
    let other = fixture.another()
    #expect(!fixture.store.takeMaintenanceTurn(at: 5 * minute), "it was only just made")
    #expect(!other.takeMaintenanceTurn(at: 6 * minute - 1))
    #expect(other.takeMaintenanceTurn(at: 6 * minute))
    #expect(!fixture.store.takeMaintenanceTurn(at: 6 * minute + 1))
    #expect(fixture.store.takeMaintenanceTurn(at: 7 * minute))
    #expect(fixture.store.takeMaintenanceTurn(at: 3), "after another boot")
  }

  @Test func `a store at rest is closed at once, one at work is not`() async throws {
    let fixture = try StoreFixture()
    #expect(fixture.store.closeNow())
    _ = try await fixture.store.put("x", for: .page)
    fixture.store.suspendForTesting()
    async let written = fixture.store.put("y", for: .page, at: 2)
    #expect(!fixture.store.closeNow())
    fixture.store.resumeForTesting()
    _ = try await written
    // Its thread may still be on its way out of the write.
    while !fixture.store.closeNow() { await Task.yield() }
  }

  @Test func `a look-up is prepared once there is a store`() async throws {
    let fixture = try StoreFixture()
    #expect(!fixture.store.prepareLookup(.page))
    let other = fixture.another()
    _ = try await other.put("x", for: .page)
    #expect(fixture.store.prepareLookup(.page))
  }
}
