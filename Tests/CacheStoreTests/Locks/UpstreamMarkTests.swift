import TestSupport
import TestTurns
import Testing

@testable import CacheStore

@Suite("An upstream's mark in the lock file", .inTurn) struct UpstreamMarkTests {
  @Test func `every process on a store reads the number that one of them wrote last`() async throws {
    let fixture = try StoreFixture()
    _ = try await fixture.store.put("x", for: .page)
    let other = fixture.another()
    #expect(other.upstreamMark == 0)
    for mark in [7, -3, Int64.max, Int64.min, 0] {
      fixture.store.setUpstreamMark(mark)
      #expect(other.upstreamMark == mark, "\(mark)")
    }
  }

  @Test func `it is apart from the marks of leases and of maintenance`() async throws {
    let fixture = try StoreFixture()
    _ = try await fixture.store.put("x", for: .page)
    #expect(!fixture.store.takeMaintenanceTurn(at: 5))
    let hashes = [0, 8_191, 8_192, UInt64.max]
    for hash in hashes { fixture.store.markLeaseEnded(hash, storedRow: false, at: 9) }
    #expect(fixture.store.upstreamMark == 0)
    fixture.store.setUpstreamMark(1)
    #expect(!fixture.store.takeMaintenanceTurn(at: 6))
    #expect(try fixture.store.leaseEndedWithoutRow(8_191, since: 9, now: 9))
    // Its place stays the last of those so far, for processes of every release.
    #expect(try fixture.files.bytes(of: "store.sqlite.lock").count == 65_552)
    for hash in hashes { fixture.store.markLeaseEnded(hash, storedRow: true, at: 10) }
    #expect(fixture.store.upstreamMark == 1)
    #expect(try !fixture.store.leaseEndedWithoutRow(8_191, since: 10, now: 10))
    #expect(try fixture.store.tryLease(8_191)?.rowStoredAt == 10)
  }

  @Test func `a store that is not there, or may not be written, has none and gets no file`() async throws {
    let fixture = try StoreFixture()
    fixture.store.setUpstreamMark(1)
    #expect(fixture.store.upstreamMark == 0)
    #expect(try fixture.files.names() == [])

    _ = try await fixture.store.put("x", for: .page)
    fixture.store.setUpstreamMark(1)
    let reader = fixture.another { $0.isReadOnly = true }
    reader.setUpstreamMark(2)
    #expect(reader.upstreamMark == 0)
    #expect(fixture.store.upstreamMark == 1)
  }
}
