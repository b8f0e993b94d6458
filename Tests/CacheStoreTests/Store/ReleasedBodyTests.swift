import PlatformFoundation
import TestSupport
import TestTurns
import Testing

@testable import CacheStore

@Suite("Bodies that a row has let go of", .inTurn) struct ReleasedBodyTests {
  private static let megabyte = 1 << 20

  private func bodies(_ fixture: StoreFixture) throws -> Int64 {
    try fixture.number("SELECT count(*) FROM body") ?? 0
  }

  @Test func `law 10: a replaced long body is kept while it is read, and goes with the next write`()
    async throws
  {
    let fixture = try StoreFixture { $0.chunkBytes = 1000 }
    let store = fixture.store
    _ = try await store.put(pattern(3000), for: .page)
    var row = try store.lookupNow(.page).rows.first
    // Another reader of it in the same process, which ends first, and one in another.
    var second = try store.lookupNow(.page).rows.first
    let other = fixture.another()
    var third = try other.lookupNow(.page).rows.first
    let body = try #require(row?.body.id)
    _ = try await store.put("short", for: .page, at: 2)
    #expect(second != nil && third != nil)
    (second, third) = (nil, nil)
    _ = try await store.put("other", for: .other, at: 3)
    await store.performMaintenance(budget: .seconds(60))
    #expect(try await store.wholeBody(#require(row)) == pattern(3000))
    third = row
    row = nil
    _ = try await store.put("once more", for: .other, at: 4)
    #expect(try bodies(fixture) == 3, "a copy of the row still reads it")
    third = nil
    _ = try await store.put("again", for: .other, at: 5)
    #expect(third == nil)
    #expect(try fixture.number("SELECT count(*) FROM chunk WHERE id >> 20 = \(body)") == 0)
    await store.close()
    await other.close()
  }

  @Test func `law 10: another process's reader keeps it`() async throws {
    let fixture = try StoreFixture { $0.chunkBytes = 1000 }
    _ = try await fixture.store.put(pattern(3000), for: .page)
    for isReadOnly in [false, true] {
      let reader = fixture.another { $0.isReadOnly = isReadOnly }
      let row = try #require(try reader.lookupNow(.page).rows.first)
      _ = try await fixture.store.put(pattern(3000), for: .page, at: isReadOnly ? 4 : 2)
      _ = try await fixture.store.put("other", for: .other, at: isReadOnly ? 5 : 3)
      await fixture.store.performMaintenance(budget: .seconds(60))
      #expect(try await reader.wholeBody(row) == pattern(3000))
      await reader.close()
    }
  }

  @Test func `a look-up ends though the body of its row is released, as no writer leaves it`() async throws {
    let fixture = try StoreFixture { $0.chunkBytes = 1000 }
    let store = fixture.store
    _ = try await store.put(pattern(3000), for: .page)
    let row = try #require(try store.lookupNow(.page).rows.first)
    try fixture.sql("UPDATE body SET released_at_ms = 1 WHERE id = \(row.body.id)")
    #expect(try store.lookupNow(.page).rows.first?.body == row.body)
    await store.close()
  }

  @Test(
    "The file stays a small multiple of what is stored while long bodies are replaced",
    arguments: [(1, 12), (3, 6)])
  func replaced(megabytes: Int, times: Int) async throws {
    let fixture = try StoreFixture()
    var most = 0
    for time in 1...times {
      // Each by a process of its own, as commands do it.
      let store = fixture.another()
      _ = try await store.put(
        Data(repeating: UInt8(time), count: megabytes * Self.megabyte), for: .page, at: Int64(time))
      await store.close()
      most = max(most, try fixture.files.bytes(of: "store.sqlite").count)
    }
    #expect(most <= (3 * megabytes + 1) * Self.megabyte, "\(most)")
    #expect(try bodies(fixture) <= 2)
  }

  @Test func `writes that are short give the pages back`() async throws {
    let fixture = try StoreFixture()
    let store = fixture.store
    _ = try await store.put(Data(count: 12 * Self.megabyte), for: .page)
    for instant in 2...20 { _ = try await store.put("short", for: .page, at: Int64(instant)) }
    await store.close()
    #expect(try bodies(fixture) == 1)
    #expect(try fixture.files.bytes(of: "store.sqlite").count <= 3 * Self.megabyte)
  }

  @Test func `no clock keeps one`() async throws {
    let clock = TestClock()
    let fixture = try StoreFixture {
      $0.chunkBytes = 1000
      $0.now = { clock.now }
    }
    let store = fixture.store
    let thirtyYears: Int64 = 30 * 365 * 86_400_000
    clock.now += thirtyYears
    _ = try await store.put(pattern(3000), for: .page)
    _ = try await store.put("short", for: .page, at: 2)
    clock.now -= thirtyYears
    await store.performMaintenance(budget: .seconds(60))
    #expect(try bodies(fixture) == 1)
    await store.close()
  }

  @Test func `of a body that is removed nothing waits for a reader`() async throws {
    let fixture = try StoreFixture { $0.chunkBytes = 1000 }
    let store = fixture.store
    _ = try await store.put(pattern(3000), for: .page)
    let row = try #require(try store.lookupNow(.page).rows.first)
    #expect(try await store.remove(.all, started: .at(9)) == 1)
    #expect(try bodies(fixture) == 0)
    await #expect { try await store.chunk(1, of: row.body.id) } throws: {
      ($0 as? CacheStoreError)?.reason == .replaced
    }
    await store.close()
  }

  @Test func `where room is needed one that is read goes too`() async throws {
    let fixture = try StoreFixture { $0.maximumBytes = 4 << 20 }
    let store = fixture.store
    _ = try await store.put(Data(count: 3 * Self.megabyte / 2), for: .page)
    let row = try #require(try store.lookupNow(.page).rows.first)
    for instant in 2...6 {
      _ = try await store.put(Data(count: 3 * Self.megabyte / 2), for: .page, at: Int64(instant))
    }
    await #expect { try await store.wholeBody(row) } throws: { ($0 as? CacheStoreError)?.reason == .replaced }
    #expect(try fixture.files.bytes(of: "store.sqlite").count <= 6 << 20)
    await store.close()
  }

  @Test func `a lower limit brings file and log within it at once`() async throws {
    let fixture = try StoreFixture()
    let store = fixture.store
    for number in 0..<30 {
      let key = RequestKey(target: "https://example.org/\(number)")
      _ = try await store.put(Data(count: Self.megabyte), for: key, at: Int64(number))
    }
    try await store.setLimits(StoreLimits(maximumBytes: 5 << 20))
    #expect(try fixture.files.bytes(of: "store.sqlite").count <= 5 << 20)
    #expect(try fixture.files.bytes(of: "store.sqlite-wal").isEmpty)
    #expect(try await store.entries().count >= 3)
    await store.close()
  }
}
