import CFaultVFS
import CacheStore
import PlatformFoundation
import Testing
import TestTurns

@Suite("Look-up and overwrite", .inTurn) struct LookupTests {
  @Test func `a store that does not exist has no rows and is not made by looking`() async throws {
    let temporary = try StoreFixture()
    #expect(try temporary.store.lookupNow(.page).rows.isEmpty)
    #expect(try await temporary.store.lookup(.page).accountID == nil)
    #expect(try FileManager.default.contentsOfDirectory(atPath: temporary.folder).isEmpty)
  }

  @Test func `what was stored is found, every column of it`() async throws {
    let temporary = try StoreFixture()
    let store = temporary.store
    let account = try await store.accountID(named: "alice")
    let key = RequestKey(
      account: "alice", target: "https://example.org/ü?q=1", method: "POST", extra: "insecure")
    let head = ReceivedHead(
      status: 404, reason: "Not Found", fields: ["A": "1", "B": "ü"], version: "2",
      url: "https://example.com/", started: StartMark(boot: "b", nanoseconds: 7), requestedAt: 11,
      receivedAt: 12, endedAt: 25)
    #expect(head.exchangeMilliseconds == 14)
    var write = ResponseStore.Write(
      accountID: account, key: key, head: head, body: .bytes(Data([0, 255, 10])))
    write.isGood = false
    write.variant = "accept: text/plain"
    write.vary = "accept"
    write.changedAt = 13
    write.marks.isPinned = true
    write.marks.tags = ["x", "y"]
    let result = try await store.overwrite(write)
    let (rowID, body) = try #require(result.row)
    let found = try store.lookupNow(key)
    let row = try #require(found.rows.first)
    #expect(found.accountID == account)
    #expect(found.rows.count == 1 && found.damaged == 0)
    #expect(
      row
        == StoredResponse(
          id: rowID, accountID: account, isGood: false, variant: "accept: text/plain", vary: "accept",
          head: head, changedAt: 13, isPinned: true, body: body))
    #expect(row.body.firstChunk == Data([0, 255, 10]))
    #expect(try await store.lookup(key).rows == [row])
  }

  @Test func `an empty body is a body`() async throws {
    let store = try StoreFixture()
    _ = try await store.store.put("", for: .page)
    let row = try #require(try store.store.lookupNow(.page).rows.first)
    #expect(row.body.length == 0 && row.body.isWhole)
  }

  @Test func `a look-up finds all variants, good and not, and only those of the key`() async throws {
    let store = try StoreFixture()
    for (variant, good) in [("a: 1", true), ("a: 2", true), ("a: 1", false)] {
      _ = try await store.store.put("\(variant) \(good)", for: .page) {
        $0.variant = variant
        $0.isGood = good
      }
    }
    var other = RequestKey.page
    other.extra = "insecure"
    _ = try await store.store.put("other", for: other)
    let rows = try store.store.lookupNow(.page).rows
    #expect(Set(rows.map { "\($0.variant) \($0.isGood)" }) == ["a: 1 true", "a: 2 true", "a: 1 false"])
  }

  /// Keys that differ from each other in one part only.
  private static let near: [RequestKey] = [
    RequestKey(target: "https://example.org/"), RequestKey(target: "https://example.org/?"),
    RequestKey(target: "https://example.org/", method: "POST"),
    RequestKey(target: "https://example.org/", extra: "insecure"),
    RequestKey(target: "https://example.org/", extra: "unix=2:/a"),
    RequestKey(target: "https://example.org/", extra: "unix=2:/b"),
    RequestKey(account: "alice", target: "https://example.org/"),
    RequestKey(account: "alice", target: "https://example.org/", extra: "insecure"),
  ]

  @Test
  func `keys that differ in one part have a row each, which is found, overwritten and removed by itself`()
    async throws
  {
    let temporary = try StoreFixture()
    let store = temporary.store
    var rows: [RequestKey: Int64] = [:]
    for (number, key) in Self.near.enumerated() {
      rows[key] = try #require(try await store.put("old \(number)", for: key, at: 1).row).rowID
    }
    #expect(Set(rows.values).count == Self.near.count)
    for (number, key) in Self.near.enumerated() {
      let (row, body) = try #require(try await store.put("new \(number)", for: key, at: 2).row)
      #expect(row == rows[key], "key \(number)")
      #expect(try await store.freshen(freshening(row, body, at: 3)).isStored, "key \(number)")
      for (other, otherKey) in Self.near.enumerated() {
        let found = try store.lookupNow(otherKey).rows
        #expect(found.map(\.id) == [rows[otherKey]], "key \(other) after \(number)")
        #expect(
          try await store.body(of: otherKey) == "\(other <= number ? "new" : "old") \(other)",
          "key \(other) after \(number)")
        #expect((found.first?.started == .at(3)) == (other <= number), "key \(other) after \(number)")
      }
    }
    #expect(try await Set(store.entries().map(\.key)) == Set(Self.near))
    for (number, key) in Self.near.enumerated() {
      #expect(try await store.remove(rowID: try #require(rows[key]), started: .at(0)), "key \(number)")
      for (other, otherKey) in Self.near.enumerated() {
        #expect(
          try store.lookupNow(otherKey).rows.count == (other <= number ? 0 : 1),
          "key \(other) after \(number)")
      }
    }
  }

  @Test func `the variants of one key take no place of another's that differs in one part`() async throws {
    let temporary = try StoreFixture()
    for key in Self.near { _ = try await temporary.store.put("one", for: key, at: 1) }
    for number in 1...20 {
      _ = try await temporary.store.put("\(number)", for: Self.near[3], at: Int64(number)) {
        $0.variant = "v: \(number)"
      }
    }
    for key in Self.near {
      #expect(try temporary.store.lookupNow(key).rows.count == (key == Self.near[3] ? 16 : 1), "\(key)")
    }
  }

  @Test(arguments: [1000, 2500])
  func `with a variant that makes room its whole body goes, once it is not read`(count: Int)
    async throws
  {
    let fixture = try StoreFixture { $0.chunkBytes = 1000 }
    var first: StoredResponse?
    for number in 1...20 {
      _ = try await fixture.store.put(pattern(count), for: .page, at: Int64(number)) {
        $0.variant = "v: \(number)"
      }
      if number == 1 { first = try fixture.store.lookupNow(.page).rows.first }
    }
    // A body of several chunks may still be read, as the first is; the last that has gone is for the next write.
    #expect(try fixture.number("SELECT count(*) FROM body") == (count == 1000 ? 16 : 18))
    if count > 1000 { #expect(try await fixture.store.wholeBody(#require(first)) == pattern(count)) }
    first = nil
    #expect(await fixture.store.performMaintenance(budget: .seconds(3600)) == nil)
    #expect(try fixture.number("SELECT count(*) FROM body") == 16)
    #expect(try fixture.remains() == 0)
  }

  @Test(
    "Bodies around the chunk size come back byte for byte", arguments: [0, 1, 4095, 4096, 4097, 8192, 20_000])
  func chunks(count: Int) async throws {
    let temporary = try StoreFixture { $0.chunkBytes = 4096 }
    let bytes = pattern(count)
    _ = try await temporary.store.put(bytes, for: .page)
    let row = try #require(try temporary.store.lookupNow(.page).rows.first)
    #expect(try await temporary.store.wholeBody(row) == bytes)
    #expect(row.body.isWhole == (count <= 4096))
    // Over again, from each size to another.
    for next in [10, 9000, count] {
      _ = try await temporary.store.put(pattern(next, seed: 9), for: .page, at: 2)
      let row = try #require(try temporary.store.lookupNow(.page).rows.first)
      #expect(try await temporary.store.wholeBody(row) == pattern(next, seed: 9))
    }
  }

  @Test func `the seventeenth variant takes the place of the one least recently written`() async throws {
    let temporary = try StoreFixture()
    for number in 1...17 {
      _ = try await temporary.store.put("\(number)", for: .page, at: Int64(number)) {
        $0.variant = "v: \(number)"
      }
    }
    let rows = try temporary.store.lookupNow(.page).rows
    #expect(rows.count == 16)
    #expect(!rows.contains { $0.variant == "v: 1" })
    #expect(rows.contains { $0.variant == "v: 17" })
    #expect(try temporary.number("SELECT count(*) FROM body") == 16)
  }

  @Test func `a look after a write sees what others have committed since, and the file that is there now`()
    async throws
  {
    let temporary = try StoreFixture()
    let (store, other) = (temporary.store, temporary.another())
    func text() throws -> String? {
      try store.lookupNow(.page).rows.first.map { String(decoding: $0.body.firstChunk, as: UTF8.self) }
    }
    for round in 1..<4 {
      _ = try await store.put("own \(round)", for: .page, at: Int64(2 * round))
      #expect(try text() == "own \(round)")
      _ = try await other.put("other \(round)", for: .page, at: Int64(2 * round + 1))
      // More often than the writing connection is used for looks.
      for _ in 0..<6 { #expect(try text() == "other \(round)") }
    }
    _ = try await store.put("own", for: .page, at: 9)
    for suffix in ["", "-wal", "-shm"] { try FileManager.default.removeItem(atPath: temporary.path + suffix) }
    #expect(try text() == nil)
  }

  @Test func `a look does not wait for a store that is held back`() async throws {
    let temporary = try StoreFixture()
    let store = temporary.store
    _ = try await store.put("a", for: .page)
    await store.whenIdle()
    store.suspendForTesting()
    #expect(throws: CacheStoreError.self) { try store.lookupNow(.page) }
    async let waiting = store.lookup(.page)
    store.resumeForTesting()
    #expect(try await waiting.rows.count == 1)
  }

  @Test func `what is not there may have changed, whatever its number`() {
    #expect(ResponseStore.isUnchanged(from: 1 << 32 | 7, to: 1 << 32 | 7))
    #expect(!ResponseStore.isUnchanged(from: 1 << 32 | 7, to: 1 << 32 | 8))
    #expect(!ResponseStore.isUnchanged(from: nil, to: 7))
    #expect(!ResponseStore.isUnchanged(from: 1 << 32, to: 1 << 32))
  }
}
