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
