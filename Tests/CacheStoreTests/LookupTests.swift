import CacheStore
import FoundationEssentials
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
    var write = ResponseStore.Write(
      accountID: account, key: key, isGood: false, variant: "accept: text/plain", vary: "accept",
      started: StartMark(boot: "b", nanoseconds: 7), responseURL: "https://example.com/", httpVersion: "2",
      status: 404, reason: "Not Found", fields: ["A": "1", "B": "ü"], requestedAt: 11, receivedAt: 12,
      changedAt: 13,
      exchangeMilliseconds: 14, isPinned: true, tags: ["x"], body: .bytes(Data([0, 255, 10])))
    write.tags = ["x", "y"]
    let result = try await store.overwrite(write)
    guard case .stored(let rowID, let body) = result else {
      Issue.record("not stored")
      return
    }
    let found = try store.lookupNow(key)
    let row = try #require(found.rows.first)
    #expect(found.accountID == account)
    #expect(found.rows.count == 1 && found.damaged == 0)
    #expect(
      row
        == StoredResponse(
          id: rowID, accountID: account, isGood: false, variant: "accept: text/plain", vary: "accept",
          started: StartMark(boot: "b", nanoseconds: 7), responseURL: "https://example.com/",
          httpVersion: "2",
          status: 404, reason: "Not Found", fields: ["A": "1", "B": "ü"], requestedAt: 11, receivedAt: 12,
          changedAt: 13, exchangeMilliseconds: 14, isInvalid: false, isPinned: true, body: body))
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

  @Test func `a write on the calling thread stores when the connection is idle`() async throws {
    let temporary = try StoreFixture()
    let store = temporary.store
    #expect(try store.overwriteNow(store.write(Data("a".utf8), for: .page, at: 1, accountID: 1)) == nil)
    let account = try await store.accountID(named: "")
    let result = try store.overwriteNow(store.write(Data("b".utf8), for: .page, at: 1, accountID: account))
    guard case .stored = result else {
      Issue.record("not stored: \(String(describing: result))")
      return
    }
    #expect(try await store.body(of: .page) == "b")
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

  @Test func `neither form waits for a store that is held back`() async throws {
    let temporary = try StoreFixture()
    let store = temporary.store
    _ = try await store.put("a", for: .page)
    let account = try await store.accountID(named: "")
    store.suspendForTesting()
    #expect(throws: CacheStoreError.self) { try store.lookupNow(.page) }
    #expect(try store.overwriteNow(store.write(Data(), for: .page, at: 2, accountID: account)) == nil)
    async let waiting = store.lookup(.page)
    store.resumeForTesting()
    #expect(try await waiting.rows.count == 1)
  }
}
