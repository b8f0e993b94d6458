import CFaultVFS
import CSQLite
import PlatformC
import Synchronization
import TestSupport
import TestTurns
import Testing

@testable import CacheStore

/// What comes between the steps of a sign-out.
@Suite("Sign-out, step by step", .inTurn) struct SignOutStepTests {
  /// Does something after each commit of a store, on its write queue, in place of the store's own hook.
  private final class AfterCommit: Sendable {
    private let work: @Sendable (Int) -> Void
    private let count = Mutex(0)

    /// How many there have been.
    var commits: Int { count.withLock(\.self) }

    /// - Parameter work: Is given the commit's number, from 1.
    init(_ work: @escaping @Sendable (Int) -> Void) { self.work = work }

    /// Must outlive the store.
    func listen(to store: ResponseStore) async throws {
      try await store.writer.perform { (connection) throws(CacheStoreError) in
        _ = sqlite3_wal_hook(
          connection.handle,
          { context, _, _, _ in
            if let context { Unmanaged<AfterCommit>.fromOpaque(context).takeUnretainedValue().note() }
            return SQLITE_OK
          }, Unmanaged.passUnretained(self).toOpaque())
      }
    }

    private func note() {
      let number = count.withLock { count in
        count += 1
        return count
      }
      work(number)
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
    let hook = AfterCommit { _ in other.take() }
    try await hook.listen(to: store)
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

  @Test func `an account of that name which is made meanwhile is another, and stays`() async throws {
    let fixture = try await filled()
    let store = fixture.store
    let path = fixture.path
    let made = Mutex<Int64?>(nil)
    let hook = AfterCommit { number in
      // After the account has gone, and before its bytes do.
      guard number == 1, let other = try? RawDatabase(path) else { return }
      let rows = try? other.rows("INSERT INTO account (name) VALUES ('alice') RETURNING id")
      made.withLock { $0 = rows?.first?.first?.integer }
    }
    try await hook.listen(to: store)
    try await store.signOut(accountName: "alice")
    #expect(hook.commits == 2, "the account's, and that of the rewriting")
    let other = made.withLock { $0 }
    #expect(other != nil)
    #expect(try await store.knownAccountID(named: "alice") == other)
    await store.close()
    withExtendedLifetime(hook) {}
  }

  @Test func `what a repair leaves while the file is rewritten goes without another rewriting`()
    async throws
  {
    let fixture = try await filled()
    let store = fixture.store
    let path = fixture.path + ".damaged-1"
    let hook = AfterCommit { _ in
      _ = close(open(path, O_CREAT | O_RDWR, 0o600))
    }
    try await hook.listen(to: store)
    try await store.signOut(accountName: "alice")
    #expect(hook.commits == 2, "the account's, and that of the rewriting")
    #expect(!fixture.files.contains("store.sqlite.damaged-1"))
    await store.close()
    withExtendedLifetime(hook) {}
  }

  // MARK: Files

  @Test func `while a file that may hold its bytes cannot be removed, nothing is rewritten`() async throws {
    let fixture = try await filled()
    let store = fixture.store
    let path = fixture.path + ".new-wal"
    // A folder, which unlink(2) does not remove, until the next commit.
    let hook = AfterCommit { number in
      if number == 1 { mkdir(path, 0o700) } else { rmdir(path) }
    }
    try await hook.listen(to: store)
    await #expect {
      try await store.signOut(accountName: "alice")
    } throws: {
      ($0 as? CacheStoreError)?.message.contains("\(path) cannot be removed") == true
    }
    #expect(hook.commits == 1, "the account's")
    await store.close()
    withExtendedLifetime(hook) {}
  }

  @Test func `a file that cannot be removed after the rewriting ends a sign-out, and none is begun anew`()
    async throws
  {
    let fixture = try await filled()
    let store = fixture.store
    let bob = try await store.accountID(named: "bob")
    await store.whenIdle()
    let inode = try #require(FileStatus(path: fixture.path)?.identity.inode)
    let line = "c \(inode) \(bob) 1 1 1 1 1 1 example.org\n"
    let files = fixture.files
    let path = fixture.path + ".new-wal"
    let hook = AfterCommit { number in
      // The account's comes first, then that of the rewriting. Whoever began anew would take the counts in.
      guard number == 2 else { return }
      mkdir(path, 0o700)
      _ = try? files.write(line, to: "store.sqlite.uses")
    }
    try await hook.listen(to: store)
    await #expect {
      try await store.signOut(accountName: "alice")
    } throws: {
      ($0 as? CacheStoreError)?.message.contains("\(path) cannot be removed") == true
    }
    #expect(hook.commits == 2)
    #expect(try fixture.number("SELECT count(*) FROM usage") == 0)
    await store.close()
    withExtendedLifetime(hook) {}
  }

  @Test func `what a repair has made and cannot put in place is not for a sign-out to remove`() async throws {
    let fixture = try await filled()
    let store = fixture.store
    let path = fixture.path
    // As where a repair ended between its renames, and a folder is where the damaged file's log has to go.
    let hook = AfterCommit { _ in
      rename(path, path + ".damaged-1")
      _ = close(open(path + ".repaired", O_CREAT | O_RDWR, 0o600))
      mkdir(path + ".damaged-1-wal", 0o700)
    }
    try await hook.listen(to: store)
    await #expect {
      try await store.signOut(accountName: "alice")
    } throws: {
      ($0 as? CacheStoreError)?.message.hasPrefix("cannot move") == true
    }
    for ending in [".repaired", ".damaged-1"] {
      #expect(fixture.files.contains("store.sqlite" + ending), "\(ending)")
    }
    await store.close()
    withExtendedLifetime(hook) {}
  }

  @Test func `of a store that has taken the place of the rewritten one the account is signed out, too`()
    async throws
  {
    let fixture = try await filled()
    let store = fixture.store
    let next = try await filled()
    await next.store.close()
    try next.sql("PRAGMA wal_checkpoint(TRUNCATE)")
    let (path, other) = (fixture.path, next.path)
    let hook = AfterCommit { number in
      // The account's comes first, then that of the rewriting.
      guard number == 2 else { return }
      rename(path, path + ".former")
      for ending in ["-wal", "-shm"] { unlink(path + ending) }
      rename(other, path)
    }
    try await hook.listen(to: store)
    try await store.signOut(accountName: "alice")
    #expect(hook.commits == 2)
    #expect(try fixture.number("SELECT count(*) FROM account WHERE name = 'alice'") == 0)
    await store.close()
    withExtendedLifetime(hook) {}
  }

  /// A link to itself is a folder that cannot be read. In a file there are no others, and no store.
  @Test(
    arguments: [
      (true, "make it readable, and sign out again"), (false, Remedy.writableStore.text),
    ] as [(Bool, String)])
  func `what may be left in a folder that cannot be read is told of, unless it is a folder no more`(
    isLink: Bool, hint: String
  ) async throws {
    let folder = try TemporaryFolder()
    let (caches, former) = (folder.file("caches"), folder.file("former"))
    let store = ResponseStore(configuration: .unhurried(path: caches + "/store.sqlite"))
    _ = try await store.put("x", for: RequestKey(account: "alice", target: "t"))
    await store.whenIdle()
    let hook = AfterCommit { _ in
      rename(caches, former)
      if isLink { symlink(caches, caches) } else { _ = close(open(caches, O_CREAT | O_RDWR, 0o600)) }
    }
    try await hook.listen(to: store)
    await #expect {
      try await store.signOut(accountName: "alice")
    } throws: {
      ($0 as? CacheStoreError)?.hint == hint
    }
    await store.close()
    withExtendedLifetime(hook) {}
  }

  // MARK: What is refused

  @Test(arguments: ["FILE", "MEMORY"])
  func `a sign-out that may not set where its copy goes ends, and says so`(place: String) async throws {
    let fixture = try await filled()
    let store = fixture.store
    let refused = RefusedUse(SQLITE_PRAGMA, "temp_store", place)
    try await store.writer.perform { (connection) throws(CacheStoreError) in refused.refuse(connection) }
    await #expect {
      try await store.signOut(accountName: "alice")
    } throws: {
      ($0 as? CacheStoreError)?.sqliteCode == SQLITE_AUTH
    }
    await store.close()
    withExtendedLifetime(refused) {}
  }

  @Test func `where a full disk does not let the file be rewritten, that is what is said`() async throws {
    let vfs = "full while rewriting"
    #expect(faultvfs_register(vfs) != 0)
    defer { faultvfs_unregister(vfs) }
    let fixture = try StoreFixture { $0.vfs = vfs }
    let store = fixture.store
    let alice = RequestKey(account: "alice", target: "t")
    _ = try await store.put("x", for: alice)
    await store.whenIdle()
    // After the account has gone, and before its bytes do.
    let hook = AfterCommit { _ in faultvfs_arm(vfs, Int32(FAULT_WRITE), 1, Int32(FAULT_FULL), 1) }
    try await hook.listen(to: store)
    await #expect {
      try await store.signOut(accountName: "alice")
    } throws: {
      let error = $0 as? CacheStoreError
      return error?.reason == .full
        && error?.message.hasPrefix("the account is signed out, but traces of it may stay in") == true
    }
    faultvfs_arm(vfs, 0, 0, 0, 0)
    #expect(try await store.lookup(alice).accountID == nil)
    try await store.signOut(accountName: "alice")
    await store.close()
    withExtendedLifetime(hook) {}
  }

  @Test func `a row of nobody that cannot be deleted is told of at once`() async throws {
    let fixture = try await filled()
    let store = fixture.store
    _ = try await store.accountID(named: "carol")
    try fixture.sql("PRAGMA foreign_keys = OFF; DELETE FROM account WHERE name = 'alice'")
    try fixture.sql(
      "CREATE TRIGGER broken BEFORE DELETE ON last_request BEGIN SELECT RAISE(ABORT, 'broken'); END")
    await #expect {
      try await store.signOut(accountName: "carol")
    } throws: {
      ($0 as? CacheStoreError)?.reason == .other
    }
    try fixture.sql("DROP TRIGGER broken")
    try await store.signOut(accountName: "carol")
    #expect(try fixture.number("SELECT count(*) FROM last_request") == 0)
    await store.close()
  }

  // MARK: Again and again

  @Test func `an account that comes back each time is signed out three times, and then that is said`()
    async throws
  {
    let fixture = try await filled()
    let store = fixture.store
    let number = "SELECT id FROM account WHERE name = 'alice'"
    let first = try #require(try fixture.number(number))
    try fixture.sql(
      "CREATE TRIGGER back AFTER DELETE ON account BEGIN INSERT INTO account (name) VALUES (OLD.name); END")
    await #expect {
      try await store.signOut(accountName: "alice")
    } throws: {
      ($0 as? CacheStoreError)?.message.hasPrefix("the account may not be gone") == true
    }
    #expect(try fixture.number(number) == first + 3)
    await store.close()
  }

  @Test func `others' counts that cannot be added end a sign-out, and come with the next`() async throws {
    let fixture = try await filled()
    let store = fixture.store
    let bob = try await store.accountID(named: "bob")
    let reader = fixture.another()
    #expect(reader.prepareLookup(.page))
    var count = UsageCount()
    count.stored = 1
    reader.count(accountID: bob, host: "example.org", count)
    await reader.close()
    #expect(fixture.files.contains("store.sqlite.uses"))
    try fixture.sql("CREATE TRIGGER broken BEFORE INSERT ON usage BEGIN SELECT RAISE(ABORT, 'broken'); END")
    await #expect(throws: CacheStoreError.self) { try await store.signOut(accountName: "alice") }
    try fixture.sql("DROP TRIGGER broken")
    try await store.signOut(accountName: "alice")
    #expect(try fixture.number("SELECT stored FROM usage") == 1)
    await store.close()
  }

  @Test func `what others go on counting is added three times, and then left`() async throws {
    let fixture = try await filled()
    let store = fixture.store
    let bob = try await store.accountID(named: "bob")
    await store.whenIdle()
    let inode = try #require(FileStatus(path: fixture.path)?.identity.inode)
    let line = "c \(inode) \(bob) 1 1 1 1 1 1 example.org\n"
    let files = fixture.files
    let hook = AfterCommit { _ in _ = try? files.write(line, to: "store.sqlite.uses") }
    try await hook.listen(to: store)
    try await store.signOut(accountName: "alice")
    #expect(try fixture.number("SELECT stored FROM usage") == 3)
    #expect(files.contains("store.sqlite.uses"))
    await store.close()
    withExtendedLifetime(hook) {}
  }
}
