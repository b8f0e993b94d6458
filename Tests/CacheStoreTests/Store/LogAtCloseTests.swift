import PlatformFoundation
import TestSupport
import Testing
import TestTurns

@testable import CacheStore

@Suite("The log at close", .inTurn) struct LogAtCloseTests {
  @Test func `a log that would delay the next start is emptied, a short one is kept`() async throws {
    let fixture = try StoreFixture()
    let key = RequestKey.page
    // That of the making is long.
    _ = try await fixture.store.put("first", for: key, at: 1)
    await fixture.store.close()
    let short = fixture.another()
    _ = try await short.put("second", for: key, at: 2)
    await short.close()
    #expect(try !fixture.files.bytes(of: "store.sqlite-wal").isEmpty)

    let second = fixture.another()
    for instant in 3...200 { _ = try await second.put("body \(instant)", for: key, at: Int64(instant)) }
    #expect(try fixture.files.bytes(of: "store.sqlite-wal").count > 500_000)
    await second.close()
    #expect(try fixture.files.bytes(of: "store.sqlite-wal").isEmpty)
    #expect(try fixture.number("SELECT count(*) FROM last_request") == 1)
  }

  /// Leaves a log as a process does that is killed.
  private func leave(_ fixture: StoreFixture, at instant: Int64) async throws {
    let killed = fixture.another()
    for number in instant..<instant + 100 {
      _ = try await killed.put("body \(number)", for: .page, at: number)
    }
    #expect(try fixture.files.bytes(of: "store.sqlite-wal").count > 500_000)
  }

  @Test func `a log that was left is emptied by who only reads, once a minute`() async throws {
    let clock = TestClock(5_000_000_000_000)
    let fixture = try StoreFixture { $0.bootNow = { clock.now } }
    try await leave(fixture, at: 1)
    let first = fixture.another()
    #expect(try first.lookupNow(.page).rows.count == 1)
    #expect(first.closeNow())
    #expect(try fixture.files.bytes(of: "store.sqlite-wal").isEmpty)

    try await leave(fixture, at: 200)
    let second = fixture.another()
    #expect(try second.lookupNow(.page).rows.count == 1)
    #expect(second.closeNow())
    #expect(try !fixture.files.bytes(of: "store.sqlite-wal").isEmpty)
    clock.now += 61_000_000_000
    // One that is only read is left alone.
    let reader = fixture.another { $0.isReadOnly = true }
    #expect(try reader.lookupNow(.page).rows.count == 1)
    #expect(reader.closeNow())
    #expect(try !fixture.files.bytes(of: "store.sqlite-wal").isEmpty)
    let third = fixture.another()
    #expect(try third.lookupNow(.page).rows.count == 1)
    await third.close()
    #expect(try fixture.files.bytes(of: "store.sqlite-wal").isEmpty)
  }
}
