import CSQLite
import PlatformC
import Synchronization
import TestSupport
import TestTurns
import Testing

@testable import CacheStore

/// What comes between the steps of a sign-out.
@Suite("Sign-out, step by step", .inTurn) struct SignOutStepTests {
  /// Does something after each commit of a connection, on its thread, in place of the store's own hook.
  private final class AfterCommit: Sendable {
    private let work: @Sendable () -> Void

    init(_ work: @escaping @Sendable () -> Void) { self.work = work }

    /// Must outlive the connection.
    func listen(to connection: Connection) {
      sqlite3_wal_hook(
        connection.handle,
        { context, _, _, _ in
          if let context { Unmanaged<AfterCommit>.fromOpaque(context).takeUnretainedValue().work() }
          return SQLITE_OK
        }, Unmanaged.passUnretained(self).toOpaque())
    }
  }

  /// Another program that takes a store's write lock once.
  // @unchecked: the lock is taken on the store's write queue, and released when that has no more work.
  private final class OtherWriter: @unchecked Sendable {
    private let path: String
    private var holder: RawDatabase?
    private(set) var hasTaken = false

    init(of path: String) { self.path = path }

    func take() {
      guard !hasTaken, let database = try? RawDatabase(path) else { return }
      hasTaken = (try? database.execute("BEGIN IMMEDIATE")) != nil
      holder = database
    }

    func release() { holder = nil }
  }

  private func filled(_ busyTimeout: Duration? = nil) async throws -> StoreFixture {
    let fixture = try StoreFixture {
      if let busyTimeout { $0.busyTimeout = busyTimeout }
    }
    _ = try await fixture.store.put("x", for: RequestKey(account: "alice", target: "t"))
    await fixture.store.whenIdle()
    return fixture
  }

  @Test func `whoever could not rewrite the file spills nothing to the disk afterwards`() async throws {
    let fixture = try await filled(.milliseconds(20))
    let store = fixture.store
    let other = OtherWriter(of: fixture.path)
    // After the account has gone, and before its bytes do.
    let hook = AfterCommit { other.take() }
    try await store.writer.perform { (connection) throws(CacheStoreError) in hook.listen(to: connection) }
    await #expect {
      try await store.signOut(accountName: "alice")
    } throws: {
      let error = $0 as? CacheStoreError
      return error?.reason == .busy && error?.message.hasPrefix("the account is signed out, but") == true
    }
    await store.whenIdle()
    #expect(other.hasTaken)
    other.release()
    let setting = try await store.writer.perform { (connection) throws(CacheStoreError) in
      try connection.integer("PRAGMA temp_store")
    }
    #expect(setting == 2, "2 is memory")
    await store.close()
    withExtendedLifetime(hook) {}
  }

  @Test func `what a repair leaves while the file is rewritten goes without another rewriting`()
    async throws
  {
    let fixture = try await filled()
    let store = fixture.store
    let path = fixture.path + ".damaged-1"
    let commits = Mutex(0)
    let hook = AfterCommit {
      commits.withLock { $0 += 1 }
      _ = close(open(path, O_CREAT | O_RDWR, 0o600))
    }
    try await store.writer.perform { (connection) throws(CacheStoreError) in hook.listen(to: connection) }
    try await store.signOut(accountName: "alice")
    #expect(commits.withLock(\.self) == 2, "the account's, and that of the rewriting")
    #expect(!fixture.files.contains("store.sqlite.damaged-1"))
    await store.close()
    withExtendedLifetime(hook) {}
  }
}
