import PlatformFoundation
import TestSupport
import Testing
import TestTurns

@testable import CacheStore

@Suite("The room of bodies that arrive, and what becomes of them in the end", .inTurn)
struct ArrivingBodyTests {
  private func key(_ number: Int) -> RequestKey { RequestKey(target: "https://example.org/\(number)") }

  private func partial(_ length: Int64? = nil) -> UnfinishedBody.Partial {
    UnfinishedBody.Partial(
      key: .page, variant: "accept: x", url: RequestKey.page.target, fields: ["ETag": "\"a\""],
      strongETag: "\"a\"", wholeLength: length)
  }

  // MARK: Room

  private func pagesInUse(_ fixture: StoreFixture) throws -> Int64 {
    let pages = try fixture.number(
      "SELECT (SELECT page_count FROM pragma_page_count) - freelist_count FROM pragma_freelist_count")
    return try #require(pages)
  }

  @Test func `with bodies that arrive a store may be half as large again as its limit, and no page larger`()
    async throws
  {
    let fixture = try StoreFixture()
    _ = try await fixture.store.put(pattern(900_000), for: .page)
    // A small body takes a page.
    for number in 0..<9 where try pagesInUse(fixture) % 3 != 0 {
      _ = try await fixture.store.put(pattern(8_000), for: key(number))
    }
    let third = try pagesInUse(fixture) / 3
    try #require(try pagesInUse(fixture) == 3 * third && third > 33)
    for (pages, isKept) in [(2 * third, true), (2 * third - 2, false)] {
      let store = fixture.another { $0.maximumBytes = pages * 8192 }
      let isFull: Bool
      do throws(CacheStoreError) {
        try await store.writer.perform { (connection) throws(CacheStoreError) in
          try connection.transaction { () throws(CacheStoreError) in
            try store.eviction.keepRoomForArriving(connection)
          }
        }
        isFull = false
      } catch {
        isFull = error.reason == .full
      }
      #expect(isFull != isKept, "\(pages)")
      await store.close()
    }
  }

  @Test func `the pages of bodies that arrive are counted by their chunks, up to half the limit`()
    async throws
  {
    let fixture = try StoreFixture()
    let store = fixture.store
    _ = try await store.put(pattern(700_000), for: .page)
    let body = try await store.beginBody(accountID: try await store.accountID(named: ""))
    for count in [200_000, 100_000] { try await body.append(pattern(count)) }
    func arriving(limit pages: Int64) async throws -> Int64 {
      let other = fixture.another { $0.maximumBytes = pages * 8192 }
      let counted = try await other.writer.perform { (connection) throws(CacheStoreError) -> Int64 in
        try connection.transaction { () throws(CacheStoreError) in
          try other.eviction.arrivingPages(connection)
        }
      }
      await other.close()
      return counted
    }
    // 24 and 12 whole pages, and two more for each chunk.
    #expect(try await arriving(limit: 100) == 40)
    #expect(try await arriving(limit: 66) == 33)
    #expect(try await arriving(limit: 1_000) == 0, "the limit is kept")
    body.end()
    await store.whenIdle()
    #expect(try await arriving(limit: 100) == 0)
    await store.close()
  }

  @Test func `a body that makes its own room is refused with the first chunk for which there is none`()
    async throws
  {
    let fixture = try StoreFixture { $0.maximumBytes = 1 << 20 }
    let store = fixture.store
    for number in 0..<2 {
      _ = try await store.put(pattern(350_000), for: key(number)) { $0.marks.isPinned = true }
    }
    let account = try await store.accountID(named: "")
    let body = try await store.beginBody(accountID: account, partial: nil, makingRoom: true)
    await #expect { try await body.append(pattern(250_000)) } throws: {
      ($0 as? CacheStoreError)?.reason == .full
    }
    #expect(body.chunkCount == 0)
    body.end()
    await store.close()
  }

  // MARK: The end

  @Test func `a download that came too late is kept for its readers, and not to be resumed`() async throws {
    let fixture = try StoreFixture()
    let store = fixture.store
    _ = try await store.put("later", for: .page, at: 10)
    let account = try await store.accountID(named: "")
    let body = try await store.beginBody(accountID: account, partial: partial())
    for part in 0..<2 { try await body.append(pattern(1000, seed: UInt8(part))) }
    // As whoever delivers it holds it.
    var whole: StoredResponse.Body? = body.whole()
    #expect(try await store.put("", for: .page, at: 9) { $0.body = .unfinished(body) } == .superseded)
    await store.whenIdle()
    #expect(try await store.partialBody(accountID: account, key: .page) == nil)
    #expect(await store.performMaintenance(budget: .seconds(3600)) == nil)
    #expect(try await store.chunk(1, of: body.id) == pattern(1000, seed: 1))
    #expect(whole?.id == body.id)
    whole = nil
    #expect(await store.performMaintenance(budget: .seconds(3600)) == nil)
    #expect(try fixture.number("SELECT count(*) FROM body") == 1)
    #expect(try await store.body(of: .page) == "later")
    await store.close()
  }

  @Test func `a download of which nothing came is an empty row, and none is left to be resumed`()
    async throws
  {
    let fixture = try StoreFixture()
    let store = fixture.store
    let account = try await store.accountID(named: "")
    let body = try await store.beginBody(accountID: account, partial: partial())
    _ = try await store.put("", for: .page) { $0.body = .unfinished(body) }
    await store.whenIdle()
    #expect(try await store.partialBody(accountID: account, key: .page) == nil)
    #expect(try fixture.number("SELECT count(*) FROM body WHERE released_at_ms IS NULL") == 1)
    #expect(try await store.body(of: .page) == "")
    await store.close()
  }

  @Test func `a body that arrived in one chunk has no checksum but that of the chunk`() async throws {
    let fixture = try StoreFixture()
    let store = fixture.store
    let body = try await store.beginBody(accountID: try await store.accountID(named: ""))
    try await body.append(pattern(1000))
    _ = try await store.put("", for: .page) { $0.body = .unfinished(body) }
    #expect(try fixture.number("SELECT checksum FROM body") == 0)
    await store.close()
  }

  @Test(arguments: [nil, 2000] as [Int64?])
  func `what is resumed is what was begun, with its whole length or without one`(length: Int64?)
    async throws
  {
    let fixture = try StoreFixture()
    let store = fixture.store
    let account = try await store.accountID(named: "")
    let body = try await store.beginBody(accountID: account, partial: partial(length))
    try await body.append(pattern(1000))
    body.end()
    await store.whenIdle()
    let resumed = try #require(try await store.partialBody(accountID: account, key: .page))
    #expect(resumed.partial == partial(length))
    resumed.body.end()
    await store.close()
  }

  @Test func `a body that is removed is nobody's from then on, though its chunks cannot be deleted yet`()
    async throws
  {
    let fixture = try StoreFixture()
    let store = fixture.store
    let account = try await store.accountID(named: "")
    let body = try await store.beginBody(accountID: account, partial: partial())
    try await body.append(pattern(1000))
    try fixture.sql("CREATE TRIGGER broken BEFORE DELETE ON chunk BEGIN SELECT RAISE(ABORT, 'broken'); END")
    body.remove()
    body.end()
    await store.whenIdle()
    #expect(try fixture.number("SELECT count(*) FROM chunk") == 1)
    #expect(try await store.partialBody(accountID: account, key: .page) == nil)
    try fixture.sql("DROP TRIGGER broken")
    #expect(await store.performMaintenance(budget: .seconds(3600)) == nil)
    #expect(try fixture.number("SELECT count(*) FROM body") == 0)
    await store.close()
  }
}
