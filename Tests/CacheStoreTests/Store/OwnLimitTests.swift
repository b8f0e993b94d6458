import CSQLite
import PlatformFoundation
import TestSupport
import Testing
import TestTurns

@testable import CacheStore

@Suite("Limits kept in the store", .inTurn) struct OwnLimitTests {
  private func key(_ number: Int) -> RequestKey { RequestKey(target: "https://example.org/\(number)") }

  private func fill(_ store: ResponseStore, _ count: Int, bytes: Int = 20_000) async throws {
    for number in 0..<count {
      _ = try await store.put(Data(count: bytes), for: key(number), at: Int64(number))
    }
  }

  @Test func `a store that is full by its own limit is no full disk`() {
    #expect(!CacheStoreError(.full, "the store's limit").isDiskFull)
    #expect(CacheStoreError.sqlite(SQLITE_FULL, path: "store.sqlite").isDiskFull)
    #expect(!CacheStoreError.sqlite(SQLITE_IOERR, path: "store.sqlite").isDiskFull)
  }

  @Test(
    "the limit that is proposed for a body that is too large does, as far as a number can",
    arguments: [
      (1 << 20, 700_000, 2 << 20), (1 << 20, 5 << 20, 16 << 20), (0, 5, 16), (-8, 1, 2),
      (.max, .max, .max), (1 << 20, .max, .max),
    ] as [(Int64, Int64, Int64)])
  func proposed(limit: Int64, bytes: Int64, proposed: Int64) throws {
    let store = try StoreFixture { $0.maximumBytes = limit }.store
    #expect(store.tooLarge(bytes).remedy?.detail == .bytes(proposed))
  }

  @Test func `they are read back, win over the configuration's, and none leaves it to that`() async throws {
    let fixture = try StoreFixture {
      $0.maximumBytes = 5 << 20
      $0.maximumRows = 7
    }
    let store = fixture.store
    // Of a store that is not there yet, too.
    #expect(try await store.limits().own == StoreLimits())
    #expect(try await store.limits().inForce == StoreLimits(maximumBytes: 5 << 20, maximumRows: 7))
    try await store.setLimits(StoreLimits(maximumBytes: 3 << 20, maximumAge: .seconds(60)))
    let other = fixture.another { $0.maximumAge = .seconds(5) }
    #expect(try await other.limits().own == StoreLimits(maximumBytes: 3 << 20, maximumAge: .seconds(60)))
    #expect(
      try await other.limits().inForce
        == StoreLimits(maximumBytes: 3 << 20, maximumRows: 7, maximumAge: .seconds(60)))
    #expect(try await other.statistics().limitBytes == 3 << 20)
    try await store.setLimits(StoreLimits())
    #expect(try await other.limits().inForce.maximumBytes == 5 << 20)
  }

  @Test func `a lower one trims at once, and what is pinned stays`() async throws {
    let fixture = try StoreFixture()
    try await fill(fixture.store, 200)
    _ = try await fixture.store.put("pinned", for: .page, at: 1) { $0.marks.isPinned = true }
    let removed = try await fixture.store.setLimits(StoreLimits(maximumRows: 10))
    #expect(removed == 191)
    #expect(try await fixture.store.entries().contains { $0.key == .page })
    try await fill(fixture.store, 200)
    try await fixture.store.setLimits(StoreLimits(maximumBytes: 1 << 20))
    let pages = try fixture.number("PRAGMA page_count") ?? 0
    #expect(pages * 8192 <= 2 << 20 && pages > 0, "\(pages)")
  }

  @Test func `a store that runs on obeys what another sets, with its next write`() async throws {
    let fixture = try StoreFixture()
    let running = fixture.store
    try await fill(running, 40)
    let setter = fixture.another()
    try await setter.setLimits(StoreLimits(maximumRows: 100))
    #expect(try await running.entries().count == 40)
    try await setter.setLimits(StoreLimits(maximumRows: 20))
    #expect(try await setter.entries().count == 20)
    for number in 100..<110 {
      _ = try await running.put("x", for: key(number), at: Int64(number))
      #expect(try await setter.entries().count == 20, "nothing beyond it after any write")
    }
    try await setter.setLimits(StoreLimits(maximumBytes: 1 << 20))
    _ = try await running.put("x", for: key(200), at: 200)
    #expect(running.largestBody == 1 << 19)
    await #expect { try await running.put(Data(count: 600_000), for: key(201), at: 201) } throws: {
      ($0 as? CacheStoreError)?.reason == .full
    }
    try await setter.setLimits(StoreLimits())
    #expect(try await running.put(Data(count: 600_000), for: key(201), at: 201) != .superseded)
  }

  @Test func `what was received longer ago than the limit goes, at once and with the housekeeping`()
    async throws
  {
    let clock = TestClock(10_000_000)
    let fixture = try StoreFixture { $0.now = { clock.now } }
    let store = fixture.store
    for number in 0..<1_100 {
      _ = try await store.put("x", for: key(number), at: Int64(number)) {
        $0.head.receivedAt = number % 2 == 0 ? 1_000 : 9_990_000
      }
    }
    _ = try await store.put("pinned", for: .page, at: 1) {
      $0.marks.isPinned = true
      $0.head.receivedAt = 1_000
    }
    let rows = "SELECT count(*) FROM last_request"
    #expect(try await store.setLimits(StoreLimits(maximumAge: .seconds(60))) == 550)
    #expect(try await store.entries().count == 551)
    #expect(try fixture.number(rows) == 551)
    clock.now += 60_000
    // For readers they are gone at once. Nothing is begun after the time is over; the next goes on and does the rest.
    await fixture.another().performMaintenance(budget: .zero)
    #expect(try await store.entries().map(\.key) == [.page])
    #expect(try fixture.number(rows) == 551)
    await fixture.another().performMaintenance(budget: .seconds(60))
    #expect(try await store.entries().map(\.key) == [.page])
    #expect(try fixture.number(rows) == 1)
  }

  @Test func `a look at ages that was cut off is taken up again`() async throws {
    let fixture = try StoreFixture { $0.now = { 10_000_000 } }
    let store = fixture.store
    try await store.setLimits(StoreLimits(maximumAge: .seconds(60)))
    _ = try await store.put("old", for: key(1), at: 1) { $0.head.receivedAt = 1_000 }
    _ = try await store.put("old", for: key(2), at: 1) { $0.head.receivedAt = 1_000 }
    try fixture.sql("UPDATE store_limit SET checked_id = 1")
    await store.performMaintenance(budget: .seconds(60))
    // By the shell, since no reader is given a row that is too old.
    #expect(try fixture.sql("SELECT target FROM last_request").map { $0.first?.text } == [key(1).target])
    #expect(try fixture.number("SELECT checked_id FROM store_limit") == 0)
    await store.performMaintenance(budget: .seconds(60))
    #expect(try fixture.number("SELECT count(*) FROM last_request") == 0)
  }

  @Test func `before a body is found too large the limit is read anew`() async throws {
    let fixture = try StoreFixture { $0.maximumBytes = 4 << 20 }
    let store = fixture.store
    try await fill(store, 1)
    try await fixture.another().setLimits(StoreLimits(maximumBytes: 6 << 20))
    #expect(store.largestBody == 2 << 20)
    #expect(await store.readLargestBody() == 3 << 20)
    #expect(store.largestBody == 3 << 20)
  }

  @Test func `an age of less than a millisecond is one, since none would be no limit`() async throws {
    let fixture = try StoreFixture()
    try await fixture.store.setLimits(StoreLimits(maximumAge: .nanoseconds(1)))
    #expect(try await fixture.store.limits().own == StoreLimits(maximumAge: .milliseconds(1)))
  }

  @Test func `a repaired store keeps its own limits`() async throws {
    let fixture = try StoreFixture()
    try await fill(fixture.store, 3)
    try await fixture.store.setLimits(StoreLimits(maximumRows: 9))
    await fixture.store.close()
    try fixture.sql("DROP TABLE usage")
    let repaired = fixture.another()
    #expect(await repaired.findings(repair: true).contains { $0.severity == .repaired })
    #expect(try await repaired.limits().own == StoreLimits(maximumRows: 9))
    #expect(try await repaired.entries().count == 3)
  }

  @Test func `what nobody can have set is not heeded`() async throws {
    let fixture = try StoreFixture()
    _ = try await fixture.store.put("x", for: .page)
    try fixture.sql("INSERT INTO store_limit VALUES (1, 0, -5, 0, 0)")
    #expect(try await fixture.another().limits().own == StoreLimits())
    _ = try await fixture.another().put("y", for: .page, at: 2)
    #expect(try await fixture.store.body(of: .page) == "y")
  }
}
