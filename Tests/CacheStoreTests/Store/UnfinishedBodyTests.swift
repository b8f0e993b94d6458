import PlatformC
import PlatformFoundation
import TestSupport
import Testing
import TestTurns

@testable import CacheStore

@Suite("Bodies that arrive, and downloads that were cut off", .inTurn) struct UnfinishedBodyTests {
  @Test func `a body arrives chunk by chunk, and nobody sees it before the row is switched`() async throws {
    let fixture = try StoreFixture()
    let store = fixture.store
    let account = try await store.accountID(named: "")
    let body = try await store.beginBody(accountID: account)
    for part in 0..<5 { try await body.append(pattern(1000, seed: UInt8(part))) }
    #expect(body.length == 5000 && body.chunkCount == 5)
    #expect(try store.lookupNow(.page).rows.isEmpty)
    _ = try await store.put("", for: .page) { $0.body = .unfinished(body) }
    let row = try #require(try store.lookupNow(.page).rows.first)
    var expected = Data()
    for part in 0..<5 { expected += pattern(1000, seed: UInt8(part)) }
    #expect(try await store.wholeBody(row) == expected)
  }

  @Test func `a download whose store is removed leaves the bodies of the next one alone`() async throws {
    let fixture = try StoreFixture()
    let body = try await fixture.store.beginBody(accountID: try await fixture.store.accountID(named: ""))
    try await body.append(pattern(1000))
    try fixture.remove()
    let other = fixture.another()
    _ = try await other.put("x", for: .page)
    await #expect { try await body.append(pattern(1000, seed: 1)) } throws: {
      ($0 as? CacheStoreError)?.reason == .missing
    }
    #expect(try fixture.number("SELECT count(*) FROM chunk") == 1)
    body.remove()
    await fixture.store.whenIdle()
    #expect(try await other.body(of: .page) == "x")
    #expect(try fixture.number("SELECT count(*) FROM body WHERE released_at_ms IS NULL") == 1)
    body.end()
    await fixture.store.close()
    await other.close()
  }

  @Test func `a body of which nothing came is an empty one`() async throws {
    let fixture = try StoreFixture()
    let account = try await fixture.store.accountID(named: "")
    for instant in 1...2 {
      let body = try await fixture.store.beginBody(accountID: account)
      _ = try await fixture.store.put("", for: .page, at: Int64(instant)) { $0.body = .unfinished(body) }
      let found = try fixture.store.lookupNow(.page)
      #expect(found.damaged == 0)
      #expect(try #require(found.rows.first).body.isWhole)
      #expect(try await fixture.store.body(of: .page) == "")
    }
    await fixture.store.performMaintenance(budget: .seconds(60))
    #expect(try fixture.number("SELECT count(*) FROM body") == 1)
  }

  @Test(
    "law 10: a cut-off download of which anything was damaged is not resumed, and is collected",
    arguments: [
      "UPDATE partial SET fields = CAST(replace(CAST(fields AS TEXT), 'good', 'EVIL') AS BLOB)",
      "UPDATE partial SET fields = CAST('no field line' AS BLOB)", "UPDATE partial SET url = url || '/'",
      "UPDATE partial SET variant = 'a: b'", "UPDATE body SET partial_etag = '\"2\"'",
      "UPDATE body SET partial_bytes = 20", "UPDATE body SET partial_bytes = NULL",
      "UPDATE partial SET checksum = checksum + 1",
    ])
  func damagedHead(change: String) async throws {
    let fixture = try StoreFixture()
    let account = try await fixture.store.accountID(named: "")
    let partial = UnfinishedBody.Partial(
      key: .page, url: RequestKey.page.target, fields: ["X": "good"], strongETag: "\"1\"", wholeLength: 30)
    let body = try await fixture.store.beginBody(accountID: account, partial: partial)
    try await body.append(pattern(10))
    body.end()
    await fixture.store.whenIdle()
    let store = fixture.another()
    let found = try #require(try await store.partialBody(accountID: account, key: .page))
    #expect(found.partial == partial)
    found.body.end()
    await store.whenIdle()
    try fixture.sql(change)
    #expect(try await store.partialBody(accountID: account, key: .page) == nil)
    await store.performMaintenance(budget: .seconds(60))
    #expect(try fixture.number("SELECT count(*) FROM chunk") == 0)
    await store.close()
    await fixture.store.close()
  }

  @Test func `a cut-off download is resumed by another process, and by one at a time`() async throws {
    let fixture = try StoreFixture()
    let account = try await fixture.store.accountID(named: "")
    let partial = UnfinishedBody.Partial(
      key: .page, variant: "accept: x", url: RequestKey.page.target,
      fields: ["ETag": "\"a\"", "Content-Type": "x/y"], strongETag: "\"a\"", wholeLength: 2000)
    let body = try await fixture.store.beginBody(accountID: account, partial: partial)
    try await body.append(pattern(1000))
    let other = fixture.another()
    #expect(
      try await other.partialBody(accountID: account, key: partial.key) == nil, "it is being received")
    await end(body, of: fixture.store)
    let resumed = try #require(try await other.partialBody(accountID: account, key: partial.key))
    #expect(resumed.partial == partial && resumed.body.length == 1000)
    #expect(resumed.body.whole().firstChunk == pattern(1000))
    try await resumed.body.append(pattern(1000, seed: 1))
    #expect(resumed.body.whole().firstChunk == pattern(1000))
    _ = try await other.put("", for: .page) { $0.body = .unfinished(resumed.body) }
    let row = try #require(try fixture.store.lookupNow(.page).rows.first)
    #expect(try await fixture.store.wholeBody(row) == pattern(1000) + pattern(1000, seed: 1))
    #expect(try await other.partialBody(accountID: account, key: partial.key) == nil)
  }

  @Test func `a body that came too late is no longer received, though somebody holds it`() async throws {
    let fixture = try StoreFixture()
    let account = try await fixture.store.accountID(named: "")
    let body = try await fixture.store.beginBody(accountID: account)
    try await body.append(pattern(1000))
    let locks = LockFile(files: fixture.store.files)
    #expect(try locks.isLocked(.body(body.id)))
    body.abandon()
    await fixture.store.whenIdle()
    #expect(try !locks.isLocked(.body(body.id)))
    await fixture.store.performMaintenance(budget: .seconds(60))
    #expect(try fixture.remains() == 0)
    withExtendedLifetime(body) {}
  }

  @Test func `a body that has become a row's is not received any more, and nothing of it is kept to resume`()
    async throws
  {
    let fixture = try StoreFixture()
    let account = try await fixture.store.accountID(named: "")
    let partial = UnfinishedBody.Partial(
      key: .page, url: RequestKey.page.target, strongETag: "\"a\"", wholeLength: nil)
    let body = try await fixture.store.beginBody(accountID: account, partial: partial)
    try await body.append(pattern(1000))
    let locks = LockFile(files: fixture.store.files)
    #expect(try locks.isLocked(.body(body.id)))
    #expect(try fixture.number("SELECT count(*) FROM partial") == 1)
    _ = try await fixture.store.put("", for: .page) { $0.body = .unfinished(body) }
    await fixture.store.whenIdle()
    #expect(try !locks.isLocked(.body(body.id)))
    #expect(try fixture.number("SELECT count(*) FROM partial") == 0)
    withExtendedLifetime(body) {}
  }

  @Test func `of a body that is stopped no further chunk is committed, and the first reason stays`()
    async throws
  {
    let fixture = try StoreFixture()
    let account = try await fixture.store.accountID(named: "")
    let body = try await fixture.store.beginBody(accountID: account)
    try await body.append(pattern(10))
    body.stop(CacheStoreError(.replaced, "stopped"))
    body.stop(CacheStoreError(.closed, "stopped again"))
    await #expect { try await body.append(pattern(10)) } throws: {
      ($0 as? CacheStoreError)?.reason == .replaced
    }
    #expect(body.chunkCount == 1)
    #expect(try fixture.number("SELECT count(*) FROM chunk") == 1)
  }

  @Test func `a damaged partial download is given up`() async throws {
    let fixture = try StoreFixture()
    let account = try await fixture.store.accountID(named: "")
    let partial = UnfinishedBody.Partial(
      key: .page, url: "https://example.org/", strongETag: "\"a\"", wholeLength: nil)
    do {
      let body = try await fixture.store.beginBody(accountID: account, partial: partial)
      try await body.append(pattern(1000))
    }
    try fixture.sql("UPDATE chunk SET bytes = x'00'")
    #expect(try await fixture.store.partialBody(accountID: account, key: partial.key) == nil)
    await fixture.store.performMaintenance(budget: .seconds(60))
    #expect(try fixture.number("SELECT count(*) FROM body") == 0)
  }

  @Test func `bodies that nobody finishes are collected, those being received are not`() async throws {
    let clock = TestClock()
    let fixture = try StoreFixture { $0.now = { clock.now } }
    let account = try await fixture.store.accountID(named: "")
    let alive = try await fixture.store.beginBody(accountID: account)
    try await alive.append(pattern(10))
    let resumable = UnfinishedBody.Partial(
      key: RequestKey(target: "t"), url: "t", strongETag: "\"a\"", wholeLength: nil)
    for partial in [nil, resumable] {
      let body = try await fixture.store.beginBody(accountID: account, partial: partial)
      try await body.append(pattern(10))
      await end(body, of: fixture.store)
    }
    await fixture.another().performMaintenance(budget: .seconds(60))
    #expect(try fixture.number("SELECT count(*) FROM body") == 2, "one is being received, one can be resumed")
    clock.now += 7 * 24 * 3600 * 1000 - 1
    await fixture.another().performMaintenance(budget: .seconds(60))
    #expect(try fixture.number("SELECT count(*) FROM body") == 2, "for seven days")
    clock.now += 1
    await fixture.another().performMaintenance(budget: .seconds(60))
    #expect(try fixture.number("SELECT count(*) FROM body") == 1)
    #expect(try fixture.number("SELECT count(*) FROM chunk") == 1)
    try await alive.append(pattern(10))
  }

  /// Ends the reception of a body, and returns when other stores may have it.
  private func end(_ body: UnfinishedBody, of store: ResponseStore) async {
    body.end()
    await store.whenIdle()
  }

  @Test func `law 8: a download that was cut off goes with what is removed, and is not resumed`()
    async throws
  {
    let fixture = try StoreFixture()
    let store = fixture.store
    let key = RequestKey(account: "alice", target: "https://a.example/x/big", extra: "insecure")
    let account = try await store.accountID(named: "alice")
    let partial = UnfinishedBody.Partial(key: key, url: key.target, strongETag: "\"a\"", wholeLength: nil)
    func isLeft(by change: (inout EntrySelection) -> Void) async throws -> Bool {
      let body = try await store.beginBody(accountID: account, partial: partial)
      try await body.append(pattern(10))
      await end(body, of: store)
      var selection = EntrySelection.all
      change(&selection)
      #expect(try await store.remove(selection, started: .at(9)) == 0, "there is no row")
      guard let left = try await store.partialBody(accountID: account, key: key) else {
        for table in ["body", "partial", "chunk"] {
          #expect(try fixture.number("SELECT count(*) FROM \(table)") == 0, "\(table)")
        }
        return false
      }
      left.body.abandon()
      await store.whenIdle()
      await store.performMaintenance(budget: .seconds(60))
      #expect(try fixture.number("SELECT count(*) FROM partial") == 0)
      return true
    }
    #expect(try await isLeft { _ in } == false)
    #expect(try await isLeft { $0.accounts = ["alice"] } == false)
    #expect(try await isLeft { $0.key = key } == false)
    #expect(try await isLeft { $0.prefix = "https://a.example/x/" } == false)
    #expect(try await isLeft { $0.host = "a.example" } == false)
    #expect(try await isLeft { $0.receivedBeforeMilliseconds = .max } == false)
    // Another's, or selected by what only a row has.
    #expect(try await isLeft { $0.accounts = [""] })
    #expect(try await isLeft { $0.key = RequestKey(account: "alice", target: key.target) })
    #expect(try await isLeft { $0.prefix = "https://a.example/y" })
    #expect(try await isLeft { $0.host = "b.example" })
    #expect(try await isLeft { $0.receivedBeforeMilliseconds = 0 })
    #expect(try await isLeft { $0.tag = "t" })
    #expect(try await isLeft { $0.rowIDs = [1] })
    #expect(try await isLeft { $0.minimumBytes = 0 })
    #expect(try await isLeft { $0.isPinned = false })
    #expect(try await isLeft { $0.isGood = true })
  }

  @Test func `a download that a process is receiving stays, whatever another removes`() async throws {
    let fixture = try StoreFixture()
    let account = try await fixture.store.accountID(named: "")
    let partial = UnfinishedBody.Partial(
      key: .page, url: RequestKey.page.target, strongETag: "\"a\"", wholeLength: nil)
    let body = try await fixture.store.beginBody(accountID: account, partial: partial)
    try await body.append(pattern(10))
    #expect(try await fixture.another().remove(.all, started: .at(9)) == 0)
    try await body.append(pattern(10))
    await end(body, of: fixture.store)
    #expect(try await fixture.store.partialBody(accountID: account, key: .page)?.body.length == 20)
  }

  @Test func `a body that is received is not collected, though the lock file was removed and made anew`()
    async throws
  {
    let fixture = try StoreFixture()
    _ = try await fixture.store.put("old", for: .page)
    #expect(fixture.store.lockFile.isOpen)
    let other = fixture.another()
    let account = try await other.accountID(named: "")
    #expect(unlink(fixture.store.files.lock) == 0)
    let body = try await other.beginBody(accountID: account)
    for part in 0..<2 { try await body.append(pattern(1000, seed: UInt8(part))) }
    // What a write over the limit does before it evicts a row.
    let writer = fixture.store.writer
    let isCollected = try await writer.perform { (connection) throws(CacheStoreError) in
      try connection.transaction { () throws(CacheStoreError) in try writer.room.collectRemains(connection) }
    }
    #expect(!isCollected)
    _ = try await other.put("", for: .page, at: 2) { $0.body = .unfinished(body) }
    let row = try #require(try other.lookupNow(.page).rows.first)
    #expect(try await other.wholeBody(row) == pattern(1000) + pattern(1000, seed: 1))
  }

  @Test func `a body that was collected while it was received becomes no row, and the old one stands`()
    async throws
  {
    let fixture = try StoreFixture()
    _ = try await fixture.store.put("old", for: .page)
    let account = try await fixture.store.accountID(named: "")
    let body = try await fixture.store.beginBody(accountID: account)
    for part in 0..<2 { try await body.append(pattern(1000, seed: UInt8(part))) }
    // As by a process that does not see its lease.
    try fixture.sql("UPDATE body SET released_at_ms = 0 WHERE id = \(body.id)")
    try fixture.sql("DELETE FROM chunk WHERE id = \(body.id) << 20")
    await #expect {
      try await fixture.store.put("", for: .page, at: 2) { $0.body = .unfinished(body) }
    } throws: {
      // Not as if its account had been signed out: the origin is asked again.
      ($0 as? CacheStoreError)?.reason == .missing
    }
    #expect(try await fixture.store.body(of: .page) == "old")
  }

  @Test func `a body over half the limit is not kept`() async throws {
    let fixture = try StoreFixture { $0.maximumBytes = 1 << 20 }
    await #expect { try await fixture.store.put(Data(count: 600_000), for: .page) } throws: {
      ($0 as? CacheStoreError)?.reason == .full
    }
    #expect(try fixture.store.lookupNow(.page).rows.isEmpty)
    await fixture.store.performMaintenance(budget: .seconds(60))
    #expect(try fixture.number("SELECT count(*) FROM body") == 0)
  }

  @Test func `a cut-off download is another request's as little as its row`() async throws {
    let fixture = try StoreFixture()
    let account = try await fixture.store.accountID(named: "")
    let other = try await fixture.store.accountID(named: "alice")
    let keys = ["", "insecure", "unix=2:/a", "host=1:b"].map { RequestKey(target: "t", extra: $0) }
    for key in keys {
      let body = try await fixture.store.beginBody(
        accountID: account, partial: .init(key: key, url: key.extra, strongETag: "\"1\"", wholeLength: nil))
      try await body.append(pattern(10))
    }
    for key in keys {
      let found = try await fixture.store.partialBody(accountID: account, key: key)
      #expect(found?.partial.url == key.extra, "\(key)")
      found?.body.end()
      #expect(try await fixture.store.partialBody(accountID: other, key: key) == nil, "\(key)")
    }
    #expect(
      try await fixture.store.partialBody(accountID: account, key: RequestKey(target: "t", extra: "x")) == nil
    )
    #expect(try await fixture.store.partialBody(accountID: account, key: RequestKey(target: "u")) == nil)
  }
}
