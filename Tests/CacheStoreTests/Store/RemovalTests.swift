import CSQLite
import PlatformFoundation
import Synchronization
import TestSupport
import TestTurns
import Testing

@testable import CacheStore

@Suite("What is removed, and told of", .inTurn) struct RemovalTests {
  private final class Events: Sendable {
    private let noted = Mutex<[StoreEvent]>([])
    var all: [StoreEvent] { noted.withLock { $0 } }
    func note(_ event: StoreEvent) { noted.withLock { $0.append(event) } }
  }

  @Test func `a row that is found to be damaged is removed, and that is told once`() async throws {
    let events = Events()
    let fixture = try StoreFixture { $0.onEvent = { events.note($0) } }
    let store = fixture.store
    _ = try await store.put("damaged", for: .page)
    _ = try await store.put("sound", for: .other)
    try fixture.sql(
      "UPDATE last_request SET status = status + 1 WHERE target = '\(RequestKey.page.target)'")
    for key in [RequestKey.other, .page, .page] {
      _ = try await store.lookup(key)
      await store.whenIdle()
    }
    #expect(events.all == [.removedDamagedRow(path: fixture.path)])
    #expect(try await store.entries().map(\.key) == [.other])
  }

  @Test("an application may call the store from what it is told", arguments: [true, false])
  func toldOutsideOfLocks(ofRow: Bool) async throws {
    let stores = Mutex<[ResponseStore]>([])
    let found = Mutex<[Bool]>([])
    let fixture = try StoreFixture {
      $0.onEvent = { _ in
        let store = stores.withLock { $0[0] }
        found.withLock { $0.append(store.writer.isOpen) }
      }
    }
    let store = fixture.store
    stores.withLock { $0 = [store] }
    _ = try await store.put("damaged", for: .page)
    if ofRow {
      try fixture.sql("UPDATE last_request SET status = status + 1")
      _ = try await store.lookup(.page)
    } else {
      await store.close()
      try fixture.sql("PRAGMA wal_checkpoint(TRUNCATE)")
      try fixture.spoilIndex()
      let another = fixture.another()
      stores.withLock { $0 = [another] }
      _ = try await another.put("fresh", for: .page, at: 1_000_000)
    }
    await stores.withLock { $0[0] }.whenIdle()
    #expect(found.withLock { $0 } == [true])
  }

  /// What removes a row.
  enum Remover: String, CaseIterable, Sendable {
    case lookUp, removal, eviction, age, variant
  }

  @Test(
    "a damaged row that names another's body goes without that, whatever removes it",
    arguments: Remover.allCases)
  func anothersBody(remover: Remover) async throws {
    let fixture = try StoreFixture { $0.now = { 1_002_000 } }
    let store = fixture.store
    _ = try await store.put("damaged", for: .page)
    let other = try #require(try await store.put("sound", for: .other, at: 1_000).row)
    try fixture.sql("UPDATE last_request SET body_id = \(other.body.id) WHERE id <> \(other.rowID)")
    switch remover {
    case .lookUp: _ = try await store.lookup(.page)
    case .removal:
      var selection = EntrySelection.all
      selection.key = .page
      #expect(try await store.remove(selection, started: .at(2_000)) == 1)
    case .eviction:
      let isEvicted = try await store.writer.perform { (connection) throws(CacheStoreError) in
        try connection.transaction { () throws(CacheStoreError) in
          try store.eviction.evictRow(sparing: other.rowID, connection)
        }
      }
      #expect(isEvicted)
    case .variant:
      // The seventeenth takes the place of the oldest.
      for number in 1...16 {
        _ = try await store.put("another", for: .page, at: Int64(number + 1)) { $0.variant = "a: \(number)" }
      }
    case .age:
      _ = try await store.setLimits(StoreLimits(maximumAge: .milliseconds(1_200)))
      #expect(await store.performMaintenance(budget: .seconds(60)) == nil)
    }
    await store.whenIdle()
    #expect(try await store.entries().allSatisfy { $0.key == .other || !$0.response.variant.isEmpty })
    let reader = fixture.another()
    #expect(try await reader.body(of: .other) == "sound")
    await reader.close()
    await store.close()
  }

  @Test func `a removal that is recorded while old ones are collected is remembered`() async throws {
    let isArmed = Mutex(false)
    let path = Mutex("")
    let fixture = try StoreFixture {
      $0.bootNow = {
        // Another process records one as soon as the clock has been read, if nothing keeps it from that.
        let isFirst = isArmed.withLock { armed in
          defer { armed = false }
          return armed
        }
        if isFirst {
          let text = "INSERT INTO removal SELECT id, 7, '\(ResponseStore.boot)', 200, 1 FROM account"
          try? RawDatabase(path.withLock { $0 }).execute(text)
        }
        return isFirst ? 100 : 200
      }
    }
    let store = fixture.store
    path.withLock { $0 = fixture.path }
    _ = try await store.put("a", for: .page)
    // One that is collected, since it is later than now.
    try fixture.sql("INSERT INTO removal SELECT id, 6, '\(ResponseStore.boot)', 300, 1 FROM account")
    await store.whenIdle()
    isArmed.withLock { $0 = true }
    #expect(await store.performMaintenance(budget: .seconds(60)) == nil)
    #expect(isArmed.withLock { !$0 })
    #expect(try fixture.number("SELECT count(*) FROM removal WHERE target_hash = 6") == 0)
    #expect(try fixture.number("SELECT count(*) FROM removal WHERE target_hash = 7") == 1)
    await store.close()
  }

  @Test func `a damaged row that names another's body is removed by a repair without that`() async throws {
    let fixture = try StoreFixture()
    let store = fixture.store
    _ = try await store.put("damaged", for: .page)
    _ = try await store.put("sound", for: .other)
    try fixture.sql(
      """
      UPDATE last_request
      SET body_id = (SELECT body_id FROM last_request WHERE target = '\(RequestKey.other.target)')
      WHERE target = '\(RequestKey.page.target)'
      """)
    let found = await store.findings(repair: true)
    #expect(found.contains { $0.subject == "checksums" && $0.severity == .repaired }, "\(found)")
    #expect(try await store.entries().map(\.key) == [.other])
    #expect(try await store.body(of: .other) == "sound")
    // A body that is released is collected once nobody reads it.
    let released = """
      SELECT count(*) FROM body JOIN last_request ON body_id = body.id WHERE released_at_ms IS NOT NULL
      """
    #expect(try fixture.number(released) == 0)
    await store.close()
  }

  @Test func `of the downloads that were cut off those that are meant go, are counted, and none is in use`()
    async throws
  {
    let fixture = try StoreFixture()
    let store = fixture.store
    let account = try await store.accountID(named: "")
    let keys = ["a", "b", "c"].map { RequestKey(target: "https://example.org/\($0)") }
    for key in keys {
      let partial = UnfinishedBody.Partial(key: key, url: key.target, strongETag: "\"1\"", wholeLength: nil)
      let body = try await store.beginBody(accountID: account, partial: partial)
      try await body.append(pattern(10))
      body.end()
    }
    await store.whenIdle()
    let kept = keys[1]
    let removed = try await store.removeCutOff(.all) { $0 != kept }
    #expect(removed == 2)
    #expect(try fixture.number("SELECT count(*) FROM body") == 1)
    // While it is received, and with nothing to do for a store that may not be written.
    let held = try #require(try await store.partialBody(accountID: account, key: kept))
    #expect(try await store.removeCutOff(.all) == 0)
    held.body.end()
    await store.whenIdle()
    let others = EntrySelection.all
    let none = try await fixture.another { $0.isReadOnly = true }.removeCutOff(others) { $0 != kept }
    #expect(none == 0)
    #expect(try await store.removeCutOff(others) == 1)
    #expect(try fixture.number("SELECT count(*) FROM chunk") == 0)
  }

  /// A target and what else tells two requests apart.
  private func download(_ target: String, _ extra: String = "") -> RequestKey {
    RequestKey(target: target, extra: extra)
  }

  @Test func `downloads that were cut off are selected by their target, and meant by their whole key`()
    async throws
  {
    let fixture = try StoreFixture()
    let store = fixture.store
    let account = try await store.accountID(named: "")
    let meant = download("https://example.org/a", "insecure")
    let others = [download("https://example.org/a"), download("https://example.net/a", "insecure")]
    for key in [meant] + others {
      let partial = UnfinishedBody.Partial(key: key, url: key.target, strongETag: "\"1\"", wholeLength: nil)
      let body = try await store.beginBody(accountID: account, partial: partial)
      try await body.append(pattern(10))
      body.end()
    }
    await store.whenIdle()
    var selection = EntrySelection.all
    selection.prefix = "https://example.org/"
    let removed = try await store.removeCutOff(selection) { $0 == meant }
    #expect(removed == 1)
    for key in others {
      let found = try await store.partialBody(accountID: account, key: key)
      #expect(found != nil, "\(key)")
      found?.body.end()
    }
    #expect(try await store.partialBody(accountID: account, key: meant) == nil)
    await store.close()
  }

  /// As on a machine that does not know the time yet.
  @Test func `what has arrived of a download goes at once, also where the clock has only just begun`()
    async throws
  {
    let fixture = try StoreFixture { $0.now = { 600_000 } }
    let store = fixture.store
    let account = try await store.accountID(named: "")
    let partial = UnfinishedBody.Partial(
      key: .page, url: RequestKey.page.target, strongETag: "\"1\"", wholeLength: nil)
    let body = try await store.beginBody(accountID: account, partial: partial)
    try await body.append(pattern(10))
    body.end()
    await store.whenIdle()
    #expect(try await store.removeCutOff(.all) == 1)
    #expect(try fixture.number("SELECT count(*) FROM body") == 0)
    await store.close()
  }

  @Test func `of what is not there nothing is removed or marked`() async throws {
    let fixture = try StoreFixture()
    let store = fixture.store
    #expect(try await store.removeCutOff(.all) == 0)
    #expect(try await store.unpin(.all) == 0)
    #expect(try await store.untag(.all, "one") == 0)
    #expect(try await store.invalidate(.all, started: .at(1)) == 0)
    #expect(try fixture.files.names().isEmpty)
    let row = try #require(try await store.put("x", for: .page).row).rowID
    let isRemoved = try await store.remove(rowID: row + 1, started: .at(5))
    #expect(!isRemoved)
    let marked = try await store.invalidate(
      accountName: "nobody", targets: [RequestKey.page.target], started: .at(5))
    #expect(marked == 0)
  }

  @Test func `whoever removes nothing deletes no bytes, and whoever cannot delete what is removed says so`()
    async throws
  {
    let clock = TestClock()
    let fixture = try StoreFixture {
      $0.chunkBytes = 1000
      $0.now = { clock.now }
    }
    let store = fixture.store
    for instant in 1...2 as ClosedRange<Int64> {
      _ = try await store.put(pattern(3000, seed: UInt8(instant)), for: .page, at: instant)
    }
    let row = try #require(try store.lookupNow(.page).rows.first).id
    // So long that the replaced body may go.
    clock.now += 24 * 3_600_000
    try fixture.sql("CREATE TRIGGER broken BEFORE DELETE ON chunk BEGIN SELECT RAISE(ABORT, 'broken'); END")
    var nothing = EntrySelection.all
    nothing.host = "nowhere.example"
    #expect(try await store.remove(nothing, started: .at(9)) == 0)
    await #expect(throws: CacheStoreError.self) { try await store.remove(rowID: row, started: .at(9)) }
    #expect(try await store.entries().isEmpty)
    try fixture.sql("DROP TRIGGER broken")
    #expect(await store.performMaintenance(budget: .seconds(3600)) == nil)
    #expect(try fixture.number("SELECT count(*) FROM body") == 0)
    #expect(try fixture.remains() == 0)
    await store.close()
  }

  @Test func `a host's counts go with the last of its rows, and not before`() async throws {
    let fixture = try StoreFixture()
    let store = fixture.store
    let account = try await store.accountID(named: "")
    var count = UsageCount()
    count.stored = 1
    for host in ["a.example", "b.example", "key:mine"] {
      store.count(accountID: account, host: host, count)
    }
    var rows: [Int64] = []
    for key in [
      download("https://a.example/1"), download("http://a.example/2"), download("https://b.example/"),
      download("key:mine"), download("key:mine", "insecure"),
    ] {
      rows.append(try #require(try await store.put("x", for: key).row).rowID)
    }
    await store.flushUsage()
    func counted() throws -> [String] {
      try fixture.sql("SELECT host FROM usage ORDER BY host").compactMap { $0.first?.text }
    }
    for (row, left) in [
      (rows[0], ["a.example", "b.example", "key:mine"]), (rows[3], ["a.example", "b.example", "key:mine"]),
      (rows[1], ["b.example", "key:mine"]), (rows[4], ["b.example"]),
    ] {
      #expect(try await store.remove(rowID: row, started: .at(9)), "\(left)")
      #expect(try counted() == left, "\(left)")
    }
    try fixture.sql("CREATE TRIGGER broken BEFORE DELETE ON usage BEGIN SELECT RAISE(ABORT, 'broken'); END")
    await #expect(throws: CacheStoreError.self) { try await store.remove(.all, started: .at(9)) }
    #expect(try counted() == ["b.example"])
    await store.close()
  }

  /// The first use of the column is for the damaged row itself.
  @Test func `a repair that cannot read which bodies other rows have removes nothing`() async throws {
    let fixture = try StoreFixture()
    let store = fixture.store
    _ = try await store.put("damaged", for: .page)
    try fixture.sql("UPDATE last_request SET status = status + 1")
    let refused = RefusedUse(SQLITE_READ, "last_request", "body_id", nth: 2)
    try await store.writer.perform { (connection) throws(CacheStoreError) in refused.refuse(connection) }
    let found = await store.findings(repair: true).filter { $0.severity != .fine }
    #expect(found.map(\.subject) == ["file"] && found.map(\.severity) == [.wrong], "\(found)")
    #expect(try fixture.number("SELECT count(*) FROM last_request") == 1)
    await store.close()
    withExtendedLifetime(refused) {}
  }
}
