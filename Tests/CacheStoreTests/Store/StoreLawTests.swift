import FixtureServer
import PlatformFoundation
import Synchronization
import TestSupport
import TestTurns
import Testing

@testable import CacheStore

@Suite("The laws, of the store", .inTurn) struct StoreLawTests {
  // MARK: 6

  @Test func `law 6: a key and variant have one last good response, and overwriting replaces it`()
    async throws
  {
    let temporary = try StoreFixture()
    for (instant, text) in [(1, "one"), (2, "two two"), (3, "three")] {
      _ = try await temporary.store.put(text, for: .page, at: Int64(instant))
    }
    #expect(try temporary.store.lookupNow(.page).rows.count == 1)
    #expect(try await temporary.store.body(of: .page) == "three")
    #expect(try temporary.number("SELECT count(*) FROM chunk") == 1)
  }

  @Test func `law 6: a reader of another process sees the old row or the new one, whole`() async throws {
    let temporary = try StoreFixture { $0.chunkBytes = 1000 }
    let store = temporary.store
    // Writes without end: each version of one byte, of 3,000 or of 700.
    let writer = try ChildProcess(
      BuiltProduct.path("StoreDriver"), ["overwrite", temporary.path, RequestKey.page.target], input: nil)
    #expect(await writer.output.waits(for: "writing\n"))
    var seen: [UInt8] = []
    var looks = 0
    while looks < 300 || seen.count < 40 {
      looks += 1
      let rows = try await store.lookup(.page).rows
      #expect(rows.count == 1)
      let row = try #require(rows.first)
      let bytes = try await store.wholeBody(row)
      let value = try #require(bytes.first)
      #expect(bytes.allSatisfy { $0 == value })
      #expect(bytes.count == (value % 2 == 1 ? 3000 : 700))
      #expect(row.fields["X-Version"] == "\(value)", "the head is that of the body")
      if seen.last != value { seen.append(value) }
    }
    writer.closeInput()
    let ended = await writer.finished()
    #expect(ended.exit == .status(0), "\(ended.outputText)\(ended.errorText)")
  }

  @Test func `law 6: what only the http policy keeps never replaces the last good response`() async throws {
    let temporary = try StoreFixture()
    _ = try await temporary.store.put("good", for: .page)
    _ = try await temporary.store.put("gone", for: .page, at: 2) {
      $0.isGood = false
      $0.head.status = 410
    }
    let rows = try temporary.store.lookupNow(.page).rows
    #expect(rows.first { $0.isGood }?.body.firstChunk == Data("good".utf8))
    #expect(rows.count == 2)
  }

  // MARK: 8

  @Test func `law 8: an exchange that began earlier does not overwrite a later one's row`() async throws {
    let temporary = try StoreFixture()
    _ = try await temporary.store.put("later", for: .page, at: 10)
    #expect(try await temporary.store.put("earlier", for: .page, at: 9) == .superseded)
    #expect(try await temporary.store.body(of: .page) == "later")
    let large = Data(count: 600_000)
    #expect(try await temporary.store.put(large, for: .page, at: 9) == .superseded)
    await temporary.store.performMaintenance(budget: .seconds(60))
    #expect(try temporary.number("SELECT count(*) FROM body") == 1)
  }

  @Test func `law 8: marks of two boots do not compare`() async throws {
    let temporary = try StoreFixture()
    _ = try await temporary.store.put("before", for: .page, at: 1_000)
    _ = try await temporary.store.put("after", for: .page) {
      $0.head.started = StartMark(boot: "boot-2", nanoseconds: 1)
    }
    #expect(try await temporary.store.body(of: .page) == "after")
  }

  @Test func `law 8: an earlier exchange does not freshen a later one's row`() async throws {
    let temporary = try StoreFixture()
    let (row, body) = try #require(try await temporary.store.put("later", for: .page, at: 10).row)
    #expect(try await temporary.store.freshen(freshening(row, body, at: 9)) == .superseded)
    #expect(try await temporary.store.freshen(freshening(row, body, at: 11)).isStored)
  }

  @Test func `law 8: an exchange begun before a removal does not bring the row back`() async throws {
    let temporary = try StoreFixture()
    let store = temporary.store
    _ = try await store.put("a", for: .page, at: 1)
    #expect(try await store.remove(.all, started: .at(5)) == 1)
    #expect(try await store.put("late", for: .page, at: 4) == .superseded)
    #expect(try store.lookupNow(.page).rows.isEmpty)
    _ = try await store.put("new", for: .page, at: 6)
    #expect(try await store.body(of: .page) == "new")
  }

  @Test func `law 8: an unsafe request counts as an exchange, with a row or without`() async throws {
    let temporary = try StoreFixture()
    let store = temporary.store
    let (row, body) = try #require(try await store.put("a", for: .page, at: 1).row)
    let other = RequestKey(target: "https://example.org/other")
    #expect(
      try await store.invalidate(
        accountName: "", targets: [RequestKey.page.target, other.target], started: .at(5)) == 1)
    #expect(try store.lookupNow(.page).rows.first?.isInvalid == true)
    #expect(try await store.put("late", for: .page, at: 4) == .superseded)
    #expect(try await store.put("late", for: other, at: 4) == .superseded)
    #expect(try await store.freshen(freshening(row, body, at: 4)) == .superseded)
    #expect(try await store.freshen(freshening(row, body, at: 6)).isStored)
    #expect(try store.lookupNow(.page).rows.first?.isInvalid == false)
  }

  @Test func `law 8: removing a row does not hold up a key of another account`() async throws {
    let temporary = try StoreFixture()
    let alice = RequestKey(account: "alice", target: RequestKey.page.target)
    _ = try await temporary.store.put("a", for: .page, at: 1)
    _ = try await temporary.store.remove(.all, started: .at(5))
    _ = try await temporary.store.put("hers", for: alice, at: 2)
    #expect(try await temporary.store.body(of: alice) == "hers")
  }

  @Test func `law 8: a start later than now is not believed, so that its row can be replaced and freshened`()
    async throws
  {
    let clock = TestClock(100)
    let temporary = try StoreFixture { $0.bootNow = { clock.now } }
    let store = temporary.store
    // As in another time namespace, whose clock since boot is ahead.
    _ = try await store.put("ahead", for: .page, at: 7_200)
    let (row, body) = try #require(
      try await store.put("ours", for: .page, at: 50).row, "a row of the future could not be replaced")
    #expect(try await store.put("earlier", for: .page, at: 49) == .superseded)
    _ = try await store.put("ahead", for: .page, at: 7_300)
    let again = try #require(try store.lookupNow(.page).rows.first)
    #expect(again.id == row && again.body.id == body.id)
    #expect(try await store.freshen(freshening(again.id, again.body, at: 60)).isStored)
    // What was not yet is believed once the clock has come so far.
    _ = try await store.put("ahead", for: .page, at: 7_400)
    clock.now = 7_500
    #expect(try await store.put("earlier", for: .page, at: 7_300) == .superseded)
  }

  @Test func `law 8: a removal and an unsafe request later than now hold nothing up`() async throws {
    let temporary = try StoreFixture { $0.bootNow = { 100 } }
    let store = temporary.store
    let other = RequestKey(target: "https://example.org/other")
    _ = try await store.put("a", for: .page, at: 10)
    _ = try await store.put("b", for: other, at: 10)
    _ = try await store.remove(.all, started: .at(7_200))
    _ = try await store.put("new", for: .page, at: 50)
    #expect(try await store.body(of: .page) == "new")
    try await store.invalidate(accountName: "", targets: [other.target], started: .at(7_200))
    #expect(try await store.put("new", for: other, at: 50) != .superseded)
    // And one that is believed takes its place.
    _ = try await store.remove(.all, started: .at(60))
    #expect(try await store.put("late", for: .page, at: 55) == .superseded)
  }

  @Test func `law 8: a removal that is asked for always removes`() async throws {
    let temporary = try StoreFixture { $0.bootNow = { 100 } }
    let store = temporary.store
    let others = (1...200).map { RequestKey(target: "https://example.org/\($0)") }
    for (number, key) in others.enumerated() { _ = try await store.put("x", for: key, at: Int64(number)) }
    _ = try await store.put("later", for: .page, at: 90)
    _ = try await store.put("ahead", for: RequestKey(account: "alice", target: "x"), at: 7_200)
    #expect(try await store.remove(.all, started: .at(5)) == 202)
    #expect(try await store.entries().isEmpty)
    #expect(try temporary.number("SELECT count(*) FROM chunk") == 0)
  }

  @Test func `law 8: sign-out takes no notice of the order`() async throws {
    let temporary = try StoreFixture { $0.bootNow = { 100 } }
    let alice = RequestKey(account: "alice", target: RequestKey.page.target)
    _ = try await temporary.store.put("ahead", for: alice, at: 7_200)
    try await temporary.store.signOut(accountName: "alice")
    #expect(try await temporary.store.entries().isEmpty)
  }

  // MARK: 10

  @Test(
    "law 10: a row with any one column damaged is a miss, reported, and removed",
    arguments: [
      "UPDATE last_request SET account_id = SECOND", "UPDATE last_request SET good = 0",
      "UPDATE last_request SET variant = 'x'",
      "UPDATE last_request SET vary = 'x'", "UPDATE last_request SET started_boot = 'x'",
      "UPDATE last_request SET started_ns = 9", "UPDATE last_request SET response_url = 'http://evil/'",
      "UPDATE last_request SET http_version = '9'", "UPDATE last_request SET status = 201",
      "UPDATE last_request SET reason = 'x'", "UPDATE last_request SET fields = x'00'",
      "UPDATE last_request SET requested_at_ms = 9", "UPDATE last_request SET received_at_ms = 9",
      "UPDATE last_request SET changed_at_ms = 9", "UPDATE last_request SET exchange_ms = 9",
      "UPDATE last_request SET invalid = 1", "UPDATE last_request SET body_id = 9",
      "UPDATE last_request SET body_bytes = 3", "UPDATE last_request SET checksum = 9",
      "UPDATE chunk SET checksum = 9", "UPDATE chunk SET bytes = x'00'", "DELETE FROM chunk",
      "UPDATE account SET name = 'bob' WHERE id = FIRST; UPDATE account SET name = '' WHERE id = FIRST",
    ])
  func damagedRow(damage: String) async throws {
    let temporary = try StoreFixture()
    let store = temporary.store
    let first = try await store.accountID(named: "")
    let second = try await store.accountID(named: "second")
    #expect(second == first + 1)
    let damage = damage.replacing("FIRST", with: "\(first)").replacing("SECOND", with: "\(second)")
    _ = try await store.put("body", for: .page)
    try temporary.sql("PRAGMA foreign_keys = OFF;" + damage)
    let key =
      damage.contains("account_id")
      ? RequestKey(account: "second", target: RequestKey.page.target) : .page
    let found = try store.lookupNow(key)
    if damage.contains("bob") {
      #expect(found.rows.count == 1, "the same name again is no damage")
      return
    }
    #expect(found.rows.isEmpty && found.damaged == 1)
    // The removal is queued by the look-up; a write after it sees it done.
    #expect(try await eventually { try store.lookupNow(key).damaged == 0 })
    _ = try await store.accountID(named: "")
    _ = try await store.put("again", for: key, at: 20, accountID: key == .page ? first : second)
    #expect(try await store.body(of: key) == "again")
    await store.performMaintenance(budget: .seconds(60))
    // With the row goes its body; where it was the body's name that was damaged, the repair finds it.
    if damage.contains("body_id") {
      #expect(
        await store.findings(repair: true).contains { $0.subject == "bodies" && $0.severity == .repaired })
      await store.performMaintenance(budget: .seconds(60))
    }
    #expect(try temporary.remains() == 0)
    #expect(await store.findings().allSatisfy { $0.severity == .fine })
  }

  @Test func `law 10: not even an index that leads to another account's row delivers it`() async throws {
    let temporary = try StoreFixture()
    let alice = RequestKey(account: "alice", target: RequestKey.page.target)
    _ = try await temporary.store.put("hers", for: alice)
    _ = try await temporary.store.accountID(named: "bob")
    // What a damaged index of names would do: bob's name finds alice's identifier.
    try temporary.sql(
      "UPDATE account SET name = 'x' WHERE name = 'bob'; UPDATE account SET name = 'bob' WHERE name = 'alice'"
    )
    let found = try temporary.store.lookupNow(RequestKey(account: "bob", target: RequestKey.page.target))
    #expect(found.rows.isEmpty && found.damaged == 1)
  }

  @Test(
    "law 10: a damaged later chunk is corrupt, a missing one too, and the row goes, unless it is whole by then",
    arguments: [("checksum", 1), ("id", 1000)], [false, true])
  func laterChunk(damage: (column: String, by: Int), isMended: Bool) async throws {
    let events = Mutex<[StoreEvent]>([])
    let temporary = try StoreFixture {
      $0.chunkBytes = 1000
      $0.onEvent = { event in events.withLock { $0.append(event) } }
    }
    let (store, other) = (temporary.store, RequestKey(target: "https://example.org/other"))
    for key in [RequestKey.page, other] { _ = try await store.put(pattern(3000), for: key) }
    let row = try #require(try store.lookupNow(.page).rows.first)
    let id = row.body.id << 20 | 1
    func shift(by number: Int) throws {
      try temporary.sql(
        "UPDATE chunk SET \(damage.column) = \(damage.column) + \(number) WHERE id IN (\(id), \(id + 1000))")
    }
    try shift(by: damage.by)
    let mayRemove = Gate()
    store.writer.afterQueuedWork { mayRemove.wait() }
    await #expect { try await store.chunk(1, of: row.body.id) } throws: {
      ($0 as? CacheStoreError)?.reason == .corrupt
    }
    if isMended { try shift(by: -damage.by) }
    mayRemove.open()
    await store.whenIdle()
    #expect(try store.lookupNow(.page).rows.count == (isMended ? 1 : 0))
    #expect(try store.lookupNow(other).rows.count == 1)
    #expect(events.withLock { $0.count } == (isMended ? 0 : 1))
  }

  @Test func `law 10: chunks that changed places are corrupt`() async throws {
    let temporary = try StoreFixture { $0.chunkBytes = 1000 }
    _ = try await temporary.store.put(pattern(3000), for: .page)
    let row = try #require(try temporary.store.lookupNow(.page).rows.first)
    try temporary.sql(
      "UPDATE chunk SET id = id + 8 WHERE id % 1048576 = 1; UPDATE chunk SET id = id - 1 WHERE id % 1048576 = 2;"
        + "UPDATE chunk SET id = id - 7 WHERE id % 1048576 = 9")
    await #expect(throws: CacheStoreError.self) { try await temporary.store.chunk(1, of: row.body.id) }
  }

  @Test func `law 10: a replaced body that is deleted in part counts as replaced`() async throws {
    let temporary = try StoreFixture()
    _ = try await temporary.store.put(Data(count: 600_000), for: .page)
    let body = try #require(try temporary.store.lookupNow(.page).rows.first?.body)
    _ = try await temporary.store.put("new", for: .page, at: 2)
    // As after the first of the transactions that delete it.
    try temporary.sql("DELETE FROM chunk WHERE id = \(body.id << 20 | 1)")
    await #expect {
      try await temporary.store.chunk(1, of: body.id)
    } throws: {
      ($0 as? CacheStoreError)?.reason == .replaced
    }
  }
}

func freshening(_ row: Int64, _ body: StoredResponse.Body, at instant: Int64) -> ResponseStore.Freshening {
  ResponseStore.Freshening(
    rowID: row, body: body,
    head: ReceivedHead(
      status: 304, fields: ["ETag": "\"fresh\""], started: .at(instant), requestedAt: 20, receivedAt: 21))
}
