import CFaultVFS
import TestSupport
import TestTurns
import Testing

@testable import CacheStore

@Suite("The connections of a store's looks", .inTurn) struct ReaderPoolTests {
  @Test func `after an error none of them waits for the next look, since all have the same files open`()
    async throws
  {
    let fixture = try StoreFixture()
    _ = try await fixture.store.put("x", for: .page)
    let pool = ReaderPool(files: StoreFiles(path: fixture.path)) {}
    // Two are in use at once, and wait afterwards.
    _ = try pool.withConnection(waitingUntil: 0) { (_) throws(CacheStoreError) -> Void in
      _ = try pool.withConnection(waitingUntil: 0) { _ in }
    }
    #expect(pool.isOpen)
    #expect(throws: CacheStoreError.self) {
      _ = try pool.withConnection(waitingUntil: 0) { (_) throws(CacheStoreError) -> Void in
        throw CacheStoreError(.other, "refused")
      }
    }
    #expect(!pool.isOpen)
  }

  @Test func `each look waits for others until its own deadline`() async throws {
    let fixture = try StoreFixture()
    _ = try await fixture.store.put("x", for: .page)
    let pool = ReaderPool(files: StoreFiles(path: fixture.path)) {}
    for deadline in [.max, 0, .max] as [Int64] {
      #expect(try pool.withConnection(waitingUntil: deadline) { $0.waiting.deadline } == deadline)
    }
  }

  @Test(
    "a file that is locked when it is opened is waited for, but where there are no locks it is read without",
    arguments: [(0, false, nil), (.max, false, .reading), (.max, true, .readingUnlocked)]
      as [(Int64, Bool, Database.Purpose?)])
  func locked(deadline: Int64, hasNoLocks: Bool, purpose: Database.Purpose?) async throws {
    let vfs = "locked at opening, \(deadline) \(hasNoLocks)"
    #expect(faultvfs_register(vfs) != 0)
    defer { faultvfs_unregister(vfs) }
    let fixture = try StoreFixture()
    _ = try await fixture.store.put("x", for: .page)
    await fixture.store.close()
    let pool = ReaderPool(
      files: StoreFiles(path: fixture.path, vfs: vfs), hasNoLocks: { asks in asks && hasNoLocks }
    ) {}
    faultvfs_arm(vfs, Int32(FAULT_LOCK), 1, Int32(FAULT_ERROR), 0)
    var found: Database.Purpose?
    var reason: CacheStoreError.Reason?
    do throws(CacheStoreError) {
      found = try pool.withConnection(waitingUntil: deadline) { $0.purpose }
    } catch {
      reason = error.reason
    }
    #expect(found == purpose)
    #expect((reason == .busy) == (purpose == nil))
    pool.close()
  }

  @Test func `of a file that is replaced while it is opened nothing is read: the next has its name`()
    async throws
  {
    let vfs = "replaced at opening"
    #expect(faultvfs_register(vfs) != 0)
    defer { faultvfs_unregister(vfs) }
    let (fixture, next) = (try StoreFixture(), try StoreFixture())
    for (store, keys) in [(fixture, [.page]), (next, [.page, .long])] as [(StoreFixture, [RequestKey])] {
      for key in keys { _ = try await store.store.put("x", for: key) }
      await store.store.close()
      // Without a log, the file is all there is of it.
      #expect(try store.connection(for: .writing).checkpoint(.truncating))
    }
    try fixture.files.write(next.files.bytes(of: "store.sqlite"), to: "store.sqlite.next")
    faultvfs_arm(vfs, Int32(FAULT_OPEN), 1, Int32(FAULT_REPLACED), 0)
    let pool = ReaderPool(files: StoreFiles(path: fixture.path, vfs: vfs)) {}
    let rows = try pool.withConnection(waitingUntil: 0) { (connection) throws(CacheStoreError) in
      try connection.integer("SELECT count(*) FROM last_request")
    }
    #expect(rows == 2)
    #expect(try !fixture.files.names().contains("store.sqlite.next"))
    pool.close()
  }

  @Test func `of a store that was removed none stays open`() async throws {
    let fixture = try StoreFixture()
    _ = try await fixture.store.put("x", for: .page)
    _ = try await fixture.store.lookup(.page)
    #expect(fixture.store.isReadyToLookUp)
    try fixture.remove()
    #expect(try fixture.store.lookupNow(.page).rows.isEmpty)
    #expect(!fixture.store.isReadyToLookUp)
  }
}
