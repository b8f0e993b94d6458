import PlatformFoundation
import Synchronization
import TestSupport
import Testing
import TestTurns

@testable import CacheStore

@Suite("The log while much is written", .inTurn) struct LogWhileWritingTests {
  @Test func `it is written back while others go on writing, before it has to begin anew`() async throws {
    let fixture = try StoreFixture()
    let account = try await fixture.store.accountID(named: "")
    let body = try await fixture.store.beginBody(accountID: account)
    for number in 0..<16 { try await body.append(pattern(256 << 10, seed: UInt8(number))) }
    fixture.store.writer.checkpointer.wait()
    // Less than would let it begin anew: what is in the database has come there meanwhile. On a busy machine the first
    // time may be the only one until now, and that takes the log up to its first step.
    #expect(4 << 20 < LogPolicy.veryLong)
    #expect(try fixture.files.bytes(of: "store.sqlite").count > LogPolicy.step / 2)
    #expect(try fixture.files.bytes(of: "store.sqlite-wal").count < LogPolicy.veryLong)
    withExtendedLifetime(body) {}
  }

  @Test func `a file that has taken another's place is the one whose log is written back`() async throws {
    let fixture = try StoreFixture()
    let account = try await fixture.store.accountID(named: "")
    let body = try await fixture.store.beginBody(accountID: account)
    for number in 0..<8 { try await body.append(pattern(256 << 10, seed: UInt8(number))) }
    // After the last chunk, too, the queue may begin to write back what the log has.
    await fixture.store.whenIdle()
    fixture.store.writer.checkpointer.wait()
    for ending in ["", "-wal", "-shm"] { try FileManager.default.removeItem(atPath: fixture.path + ending) }
    let successor = fixture.another()
    _ = try await successor.put("new", for: .page)
    let before = try fixture.files.bytes(of: "store.sqlite")
    fixture.store.writer.checkpointer.begin()
    fixture.store.writer.checkpointer.wait()
    #expect(try fixture.files.bytes(of: "store.sqlite") != before)
    #expect(try await successor.body(of: .page) == "new")
    #expect(try fixture.number("SELECT count(*) FROM chunk") == 1)
    withExtendedLifetime(body) {}
  }

  @Test func `a log that is removed while connections have it open costs what was in it, and no more`()
    async throws
  {
    let fixture = try StoreFixture { $0.chunkBytes = 64 << 10 }
    let store = fixture.store
    _ = try await store.put(pattern(900_000), for: .page)
    // All that may have the log open: who writes it back, and who reads. The first may have begun before the last commit, and
    // what it left would be lost, the account with it.
    await store.whenIdle()
    for _ in 0..<2 {
      store.writer.checkpointer.begin()
      store.writer.checkpointer.wait()
    }
    _ = try await store.lookup(.page)
    #expect(store.pool.isOpen)
    try FileManager.default.removeItem(atPath: fixture.path + "-wal")
    for round in 2...4 as ClosedRange<Int64> {
      _ = try await store.put(pattern(900_000, seed: UInt8(round)), for: .page, at: round)
      let row = try #require(try await store.lookup(.page).rows.first)
      #expect(try await store.wholeBody(row) == pattern(900_000, seed: UInt8(round)))
    }
    #expect(try fixture.sql("PRAGMA integrity_check") == [["ok"]])
    await store.close()
  }

  @Test func `a store whose log has been written back meanwhile can become one file`() async throws {
    let fixture = try StoreFixture()
    let body = try await fixture.store.beginBody(accountID: try await fixture.store.accountID(named: ""))
    for number in 0..<8 { try await body.append(pattern(256 << 10, seed: UInt8(number))) }
    // Its own readers have the file open too.
    _ = try await fixture.store.limits()
    try await fixture.store.convertToSingleFile()
    await fixture.store.close()
    let names = try fixture.files.names()
    #expect(names.contains("store.sqlite") && !names.contains("store.sqlite-wal"))
    withExtendedLifetime(body) {}
  }

  @Test func `a store that another process reads does not become one file, and that is said`() async throws {
    let fixture = try StoreFixture { $0.busyTimeout = .milliseconds(20) }
    _ = try await fixture.store.put("kept", for: .page)
    let holder = try await StoreHolder(.reading, fixture.path)
    await #expect {
      try await fixture.store.convertToSingleFile()
    } throws: {
      ($0 as? CacheStoreError)?.reason == .busy
    }
    #expect(try fixture.files.names().contains("store.sqlite-wal"))
    await holder.end()
    try await fixture.store.convertToSingleFile()
    #expect(try !fixture.files.names().contains("store.sqlite-wal"))
    await fixture.store.close()
    #expect(try await fixture.another().body(of: .page) == "kept")
  }

  @Test func `after a chunk that could not be committed none is`() async throws {
    let fixture = try StoreFixture { $0.maximumBytes = 1 << 20 }
    let account = try await fixture.store.accountID(named: "")
    let body = try await fixture.store.beginBody(accountID: account)
    try await body.append(pattern(1000))
    let outcomes = Outcomes()
    // The first is beyond half the store's limit, the others would not be.
    for (number, bytes) in [600_000, 1000, 1000].enumerated() {
      body.append(chunk: pattern(bytes)) { outcomes.note(number, $0) }
    }
    await #expect { try await body.append(pattern(1000)) } throws: {
      ($0 as? CacheStoreError)?.reason == .full
    }
    #expect(outcomes.failures == [0: .full, 1: .full, 2: .full])
    #expect(body.length == 1000 && body.chunkCount == 1)
    #expect(try fixture.number("SELECT count(*) FROM chunk") == 1)
  }

  @Test func `chunks that are given without waiting are committed in their order`() async throws {
    let fixture = try StoreFixture()
    let account = try await fixture.store.accountID(named: "")
    let body = try await fixture.store.beginBody(accountID: account)
    for part in 0..<20 { body.append(chunk: pattern(1000, seed: UInt8(part))) { _ in } }
    try await body.append(pattern(1000, seed: 20))
    _ = try await fixture.store.put("", for: .page) { $0.body = .unfinished(body) }
    let row = try #require(try fixture.store.lookupNow(.page).rows.first)
    var expected = Data()
    for part in 0...20 { expected += pattern(1000, seed: UInt8(part)) }
    #expect(try await fixture.store.wholeBody(row) == expected)
  }
}

/// What became of each chunk.
private final class Outcomes: Sendable {
  private let noted = Mutex<[Int: CacheStoreError.Reason]>([:])

  func note(_ number: Int, _ result: Result<Void, CacheStoreError>) {
    if case .failure(let error) = result { noted.withLock { $0[number] = error.reason } }
  }

  var failures: [Int: CacheStoreError.Reason] { noted.withLock { $0 } }
}
