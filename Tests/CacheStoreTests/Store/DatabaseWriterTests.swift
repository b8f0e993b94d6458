import CFaultVFS
import Dispatch
import PlatformC
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
    #expect(try await writer.perform { _ in 7 } == 7)
    await fixture.store.whenIdle()
    #expect(looks() == [true, true, true, true, false, false])
  }

  @Test func `work on the queue waits for others as long as it may itself, a look never`()
    async throws
  {
    let fixture = try StoreFixture()
    let writer = fixture.store.writer
    func deadlineOnQueue() async throws -> Int64 {
      let deadline = try await writer.perform { $0.waiting.deadline }
      await fixture.store.whenIdle()
      return deadline
    }
    for round in 1...2 {
      let before = Platform.monotonicNanoseconds()
      #expect(try await deadlineOnQueue() > before, "\(round)")
      #expect(writer.readNow { $0.waiting.deadline } == 0, "\(round)")
      #expect(try await deadlineOnQueue() > before, "\(round)")
    }
  }

  @Test func `after an error that may be the connection's the next work opens another, else none`()
    async throws
  {
    let fixture = try StoreFixture()
    let store = fixture.store
    for (reason, isKept) in [
      (.busy, true), (.signedOut, true), (.missing, true), (.other, false), (.full, false),
      (.cannotOpen, false),
    ] as [(CacheStoreError.Reason, Bool)] {
      _ = try await store.accountID(named: "")
      await #expect(throws: CacheStoreError.self, "\(reason)") {
        try await store.writer.perform { (_) throws(CacheStoreError) -> Void in
          throw CacheStoreError(reason, "refused")
        }
      }
      await store.whenIdle()
      #expect(store.isWriting == isKept, "\(reason)")
    }
  }

  @Test func `what is beyond the store's own limit is not tried a second time`() async throws {
    let fixture = try StoreFixture()
    let runs = Mutex(0)
    let work: @Sendable (Connection) throws(CacheStoreError) -> Void = { (_) throws(CacheStoreError) in
      runs.withLock { $0 += 1 }
      throw CacheStoreError(.full, "the store's limit is reached")
    }
    await #expect(throws: CacheStoreError.self) { try await fixture.store.writer.perform(work) }
    #expect(runs.withLock { $0 } == 1)
  }

  @Test(arguments: [false, true])
  func `what a full disk has no room for is tried again, and the reserve goes if it cannot be opened`(
    isRefused: Bool
  ) async throws {
    let vfs = "full at opening, \(isRefused)"
    #expect(faultvfs_register(vfs) != 0)
    defer { faultvfs_unregister(vfs) }
    let fixture = try StoreFixture { $0.vfs = vfs }
    let store = fixture.store
    _ = try await store.put("x", for: .page)
    #expect(await store.performMaintenance(budget: .seconds(3600)) == nil)
    // With a second name, its number is given to no other file.
    #expect(link(fixture.path + ".reserve", fixture.path + ".former") == 0)
    let runs = Mutex(0)
    try await store.writer.perform { (connection) throws(CacheStoreError) -> Void in
      runs.withLock { $0 += 1 }
      let isFirst = runs.withLock { $0 } == 1
      try connection.transaction(isStoring: true) { () throws(CacheStoreError) -> Void in
        guard isFirst else { return }
        if isRefused { faultvfs_arm(vfs, Int32(FAULT_OPEN), 1, Int32(FAULT_ERROR), 0) }
        throw CacheStoreError(.full, "no room", sqliteCode: 13)
      }
    }
    faultvfs_arm(vfs, 0, 0, 0, 0)
    #expect(runs.withLock { $0 } == 2)
    let former = try #require(FileStatus(path: fixture.path + ".former"))
    #expect(former.names == (isRefused ? 1 : 2))
    await store.close()
  }

  /// How work comes to the queue.
  enum Way: CaseIterable, Sendable { case awaited, submitted, together }

  @Test(arguments: Way.allCases)
  func `after whatever work on the queue a log that has grown by a step is written back`(way: Way)
    async throws
  {
    let fixture = try StoreFixture()
    let writer = fixture.store.writer
    let grow: @Sendable (Connection) throws(CacheStoreError) -> Void = { connection in
      connection.logFrames = Int32(LogPolicy.step / connection.pageBytes)
    }
    switch way {
    case .awaited: try await writer.perform(grow)
    case .submitted: writer.submit(grow)
    case .together: try await writer.written(grow)
    }
    #expect(try await writer.perform { $0.checkpointedBytes } == LogPolicy.step)
    // Waits for the writing back, which is in the background.
    await fixture.store.close()
  }

  @Test func `a store that was never opened is closed without its queue`() async throws {
    let fixture = try StoreFixture()
    fixture.store.suspendForTesting()
    await fixture.store.close()
    fixture.store.resumeForTesting()
    await #expect { try await fixture.store.accountID(named: "") } throws: {
      ($0 as? CacheStoreError)?.reason == .closed
    }
  }

  @Test func `a check for damage closes what writes to the store, and what writes its log back`()
    async throws
  {
    let fixture = try StoreFixture()
    let store = fixture.store
    _ = try await store.put("x", for: .page)
    store.writer.checkpointer.begin()
    store.writer.checkpointer.wait()
    func opened() throws -> [String] {
      try openFiles(below: fixture.folder).filter { !$0.hasSuffix(".lock") }
    }
    #expect(try !opened().isEmpty)
    #expect(try await !store.writer.repair())
    #expect(try opened() == [])
  }

  @Test func `a write that fails alone is not tried a second time`() async throws {
    let fixture = try StoreFixture()
    let runs = Mutex(0)
    do throws(CacheStoreError) {
      _ = try await fixture.store.writer.written {
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

  @Test func `a log that has become very long begins anew after the work`() async throws {
    let fixture = try StoreFixture()
    _ = try await fixture.store.put("x", for: .page)
    await fixture.store.whenIdle()
    let writer = fixture.store.writer
    let isSet = try await writer.perform { (connection) throws(CacheStoreError) -> Bool in
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

  @Test func `a log that has grown by a step is written back in the background`()
    async throws
  {
    let fixture = try StoreFixture()
    _ = try await fixture.store.put("x", for: .page)
    await fixture.store.whenIdle()
    let writer = fixture.store.writer
    writer.checkpointer.wait()
    let before = try fixture.files.bytes(of: "store.sqlite")
    let isSet = try await writer.perform { (connection) throws(CacheStoreError) -> Bool in
      connection.logFrames = Int32(LogPolicy.step / connection.pageBytes)
      return true
    }
    #expect(isSet == true)
    await fixture.store.whenIdle()
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
    let isSet = try await store.writer.perform { (connection) throws(CacheStoreError) -> Bool in
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

extension DatabaseWriter {
  /// Changes a row, and returns once that is committed.
  fileprivate func written<Value: Sendable>(
    _ work: @escaping @Sendable (Connection) throws(CacheStoreError) -> Value
  ) async throws(CacheStoreError) -> Value {
    let result: Result<Value, CacheStoreError> = await withCheckedContinuation { waiter in
      write(bytes: 1, work) { waiter.resume(returning: $0) }
    }
    return try result.get()
  }
}
