import CFaultVFS
import Dispatch
import Synchronization
import TestSupport
import TestTurns
import Testing

@testable import CacheStore

@Suite("The connection that writes", .inTurn) struct DatabaseWriterTests {
  @Test func `four looks after each write go through it, and no more`() async throws {
    let fixture = try StoreFixture()
    let writer = fixture.store.writer
    func looks() -> [Bool] { (0..<6).map { _ in writer.readNow { _ in true } ?? false } }
    #expect(looks() == [false, false, false, false, false, false], "it is not open")
    _ = try await fixture.store.put("x", for: .page)
    await fixture.store.whenIdle()
    #expect(looks() == [true, true, true, true, false, false])
    #expect(try writer.performNow { _ in 7 } == 7)
    #expect(looks() == [true, true, true, true, false, false])
  }

  @Test func `a write that fails alone is not tried a second time`() async throws {
    let fixture = try StoreFixture()
    let runs = Mutex(0)
    do throws(CacheStoreError) {
      _ = try await fixture.store.writer.performTogether(bytes: 1, soon: { $0() }) {
        (_) throws(CacheStoreError) -> Int in
        runs.withLock { $0 += 1 }
        throw CacheStoreError(.signedOut, "the account was signed out")
      }
      Issue.record("it has not failed")
    } catch {
      #expect(error.reason == .signedOut)
    }
    #expect(runs.withLock { $0 } == 1)
  }

  @Test func `a log that has become very long on the calling thread begins anew on the queue`() async throws {
    let fixture = try StoreFixture()
    _ = try await fixture.store.put("x", for: .page)
    await fixture.store.whenIdle()
    let writer = fixture.store.writer
    let isSet = try writer.performNow { (connection) throws(CacheStoreError) -> Bool in
      connection.restartBytes = 5
      return true
    }
    #expect(isSet == true)
    await fixture.store.whenIdle()
    let (bytes, frames) = try await writer.perform {
      (connection) throws(CacheStoreError) -> (Int64, Int32) in
      (connection.restartBytes, connection.logFrames)
    }
    #expect(bytes == LogPolicy.veryLong && frames == 0)
  }

  @Test func `a log that has grown by a step on the calling thread is written back in the background`()
    async throws
  {
    let fixture = try StoreFixture()
    _ = try await fixture.store.put("x", for: .page)
    await fixture.store.whenIdle()
    let writer = fixture.store.writer
    writer.checkpointer.wait()
    let before = try fixture.files.bytes(of: "store.sqlite")
    let isSet = try writer.performNow { (connection) throws(CacheStoreError) -> Bool in
      connection.logFrames = Int32(LogPolicy.step / connection.pageBytes)
      return true
    }
    #expect(isSet == true)
    writer.checkpointer.wait()
    #expect(try fixture.files.bytes(of: "store.sqlite") != before)
  }

  @Test func `housekeeping that cannot write the log back says so, and goes on another time`() async throws {
    let vfs = "log of housekeeping"
    #expect(faultvfs_register(vfs) != 0)
    defer { faultvfs_unregister(vfs) }
    let fixture = try StoreFixture { $0.vfs = vfs }
    let store = fixture.store
    _ = try await store.put("x", for: .page)
    await store.whenIdle()
    let isSet = try store.writer.performNow { (connection) throws(CacheStoreError) -> Bool in
      connection.logFrames = Int32(LogPolicy.long / connection.pageBytes + 1)
      return true
    }
    #expect(isSet == true)
    faultvfs_arm(vfs, Int32(FAULT_SYNC), 1, Int32(FAULT_ERROR), 0)
    #expect(await store.performMaintenance(budget: .seconds(3600)) != nil)
    #expect(faultvfs_count(vfs) == 1)
    faultvfs_arm(vfs, 0, 0, 0, 0)
    #expect(await store.performMaintenance(budget: .seconds(3600)) == nil)
    await store.close()
  }

  @Test func `a store is not closed at once while work waits for its turn`() async throws {
    let fixture = try StoreFixture()
    let store = fixture.store
    _ = try await store.put("x", for: .page)
    #expect(await eventually { store.closeNow() })
    store.writer.queue.suspend()
    store.writer.afterQueuedWork {}
    #expect(!store.closeNow())
    store.writer.queue.resume()
    #expect(await eventually { store.closeNow() })
  }

  @Test func `a log that would delay the next start is emptied by who closes at once, too`() async throws {
    let fixture = try StoreFixture()
    let store = fixture.store
    var instant: Int64 = 1
    _ = try await store.put("first", for: .page, at: instant)
    while try fixture.files.bytes(of: "store.sqlite-wal").count < LogPolicy.long + 50_000 {
      instant += 1
      _ = try await store.put("body \(instant)", for: .page, at: instant)
    }
    #expect(await eventually { store.closeNow() })
    #expect(try fixture.files.bytes(of: "store.sqlite-wal").isEmpty)
  }
}
