import CacheStore
import FixtureServer
import PlatformC
import PlatformFoundation
import Synchronization
import TestSupport
import Testing
import TestTurns

@Suite("The store's files", .inTurn) struct StoreFileTests {
  func mode(_ path: String) -> UInt32 {
    var status = stat()
    return lstat(path, &status) == 0 ? UInt32(status.st_mode & 0o7777) : 0
  }

  func reason(_ path: String) async -> CacheStoreError.Reason? {
    await error(path)?.reason
  }

  /// The error of a first write, which must also be that of a look-up where there is one.
  func error(_ path: String) async -> CacheStoreError? {
    let store = ResponseStore(configuration: .unhurried(path: path))
    do {
      _ = try await store.put("a", for: .page)
      return nil
    } catch { return error as? CacheStoreError }
  }

  @Test func `files have mode 0600 in a folder of mode 0700, whatever the umask`() async throws {
    let folder = try TemporaryFolder()
    let path = folder.file("a/b c/ü/store.sqlite")
    #expect(await reason(path) == nil)
    for part in ["a", "a/b c", "a/b c/ü"] { #expect(mode(folder.file(part)) == 0o700, "\(part)") }
    let store = ResponseStore(configuration: .unhurried(path: path))
    _ = try DigestKey.loadOrCreate(nextTo: path)
    _ = try store.tryLease(1)
    #expect(try await store.body(of: .page) == "a")
    for name in ["", "-wal", "-shm", ".lock", ".key"] { #expect(mode(path + name) == 0o600, "\(name)") }
  }

  @Test func `the schema is whole: increments of vacuum, the log, the application's number`() async throws {
    let fixture = try StoreFixture()
    _ = try await fixture.store.accountID(named: "")
    #expect(try fixture.number("PRAGMA auto_vacuum") == 2)
    #expect(try fixture.number("PRAGMA user_version") == 4)
    #expect(try fixture.number("PRAGMA application_id") == 0x4346_4348)
    #expect(try fixture.sql("PRAGMA journal_mode") == [["wal"]])
    #expect(try fixture.sql("PRAGMA integrity_check") == [["ok"]])
  }

  @Test func `an empty file becomes a store`() async throws {
    let folder = try TemporaryFolder()
    let path = try folder.write("", to: "store.sqlite")
    let store = ResponseStore(configuration: .unhurried(path: path))
    #expect(try store.lookupNow(.page).rows.isEmpty)
    _ = try await store.put("a", for: .page)
    #expect(try await store.body(of: .page) == "a")
  }

  @Test
  func `a folder, no file at all, another file, another database and a newer one are refused and left alone`()
    async throws
  {
    let folder = try TemporaryFolder()
    #expect(await reason(folder.path) == .cannotOpen)
    #expect(await reason(":memory:") == .cannotOpen && !FileManager.default.fileExists(atPath: ":memory:"))
    let text = try folder.write(
      "not a database, only some text that is long enough to be one page or so", to: "t")
    #expect(await reason(text) == .foreignFile)
    #expect(try folder.text(of: "t").hasPrefix("not a database"))
    let other = folder.file("other.sqlite")
    try RawDatabase(other, create: true).execute("CREATE TABLE x (y)")
    #expect(await reason(other) == .foreignFile)
    let newer = folder.file("newer.sqlite")
    try RawDatabase(newer, create: true).execute(
      "CREATE TABLE x (y); PRAGMA application_id = 0x43464348; PRAGMA user_version = 5")
    #expect(await reason(newer) == .newerSchema(found: 5))
    #expect(try folder.names() == ["newer.sqlite", "other.sqlite", "t"], "nothing was put beside them")
    for path in [text, other, newer] {
      let store = ResponseStore(configuration: .unhurried(path: path))
      #expect(throws: CacheStoreError.self, "\(path)") { try store.lookupNow(.page) }
      #expect(throws: CacheStoreError.self, "\(path)") { try store.tryLease(1) }
    }
    #expect(try folder.names() == ["newer.sqlite", "other.sqlite", "t"], "no lock file either")
  }

  @Test(
    "beside another program's database in WAL mode nothing appears",
    arguments: [
      "CREATE TABLE x (y)", "CREATE TABLE x (y); PRAGMA application_id = 7", "PRAGMA user_version = 4",
    ])
  func foreignLog(sql: String) async throws {
    let folder = try TemporaryFolder()
    let database = try RawDatabase(folder.file("other.sqlite"), create: true)
    try database.execute("PRAGMA journal_mode = WAL; \(sql); PRAGMA wal_checkpoint(TRUNCATE)")
    // As another program leaves it, and as a copy taken while that program has it open.
    let left = try folder.write(folder.bytes(of: "other.sqlite"), to: "left.sqlite")
    try database.execute("CREATE TABLE later (y)")
    let taken = try folder.write(folder.bytes(of: "other.sqlite"), to: "taken.sqlite")
    try folder.write(folder.bytes(of: "other.sqlite-wal"), to: "taken.sqlite-wal")
    let before = try folder.names()
    for path in [left, taken] {
      for isReadOnly in [false, true] {
        var configuration = StoreConfiguration.unhurried(path: path)
        (configuration.isUntrusted, configuration.isReadOnly) = (true, isReadOnly)
        let store = ResponseStore(configuration: configuration)
        #expect(throws: CacheStoreError.self, "\(path)") { try store.lookupNow(.page) }
        await #expect(throws: CacheStoreError.self, "\(path)") { try await store.put("a", for: .page) }
        #expect(await store.findings(repair: !isReadOnly).contains { $0.severity == .wrong })
        await store.close()
      }
    }
    #expect(try folder.names() == before)
  }

  @Test func `an error names the path`() async throws {
    let folder = try TemporaryFolder()
    let text = try folder.write(
      "not a database, only some text that is long enough to be one page or so", to: "t")
    for path in [folder.path, text, "/dev/null", "/proc/none/store.sqlite"] {
      #expect(await error(path)?.message.contains(path) == true, "\(path)")
    }
  }

  @Test func `a symbolic link in the place of the store, its lock or its key is refused`() async throws {
    let folder = try TemporaryFolder()
    let real = folder.file("real.sqlite")
    _ = try await ResponseStore(configuration: .unhurried(path: real)).put("a", for: .page)
    for name in ["store.sqlite", "other.sqlite.lock", "other.sqlite.key"] {
      #expect(symlink(real, folder.file(name)) == 0, "\(name)")
    }
    #expect(await reason(folder.file("store.sqlite")) == .cannotOpen)
    #expect(await reason(folder.file("other.sqlite")) == .cannotOpen)
    #expect(throws: CacheStoreError.self) { try DigestKey.loadOrCreate(nextTo: folder.file("other.sqlite")) }
    // A folder reached through a link is the user's own affair.
    #expect(symlink(folder.path, folder.file("here")) == 0)
    #expect(await reason(folder.file("here/real.sqlite")) == nil)
  }

  @Test func `in a folder that others may write to, a link beside the store is refused too`() async throws {
    for name in ["-wal", "-shm", "-journal"] {
      let fixture = try StoreFixture()
      _ = try await fixture.store.put("a", for: .page)
      await fixture.store.close()
      let victim = try fixture.files.write("precious", to: "victim")
      unlink(fixture.path + name)
      #expect(symlink(victim, fixture.path + name) == 0, "\(name)")
      chmod(fixture.folder, 0o1777)
      #expect(await reason(fixture.path) == .cannotOpen, "\(name)")
      #expect(throws: CacheStoreError.self, "\(name)") { try fixture.another().lookupNow(.page) }
      // The folder may also be reached by a name of its own.
      let parent = try TemporaryFolder()
      #expect(symlink(fixture.folder, parent.file("here")) == 0, "\(name)")
      #expect(await reason(parent.file("here/store.sqlite")) == .cannotOpen, "\(name)")
      #expect(try fixture.files.text(of: "victim") == "precious", "\(name)")
    }
  }

  @Test func `in a folder that others may write to, a second name of a file is refused`() async throws {
    let folder = try TemporaryFolder()
    let path = folder.file("store.sqlite")
    let victim = try folder.write("precious, and longer than the marks in a lock file are", to: "victim")
    chmod(folder.path, 0o1777)
    for name in ["", ".lock"] {
      #expect(link(victim, path + name) == 0, "\(name)")
      let store = ResponseStore(configuration: .unhurried(path: path))
      #expect(throws: CacheStoreError.self, "\(name)") { try store.tryLease(1)?.release() }
      #expect(await reason(path) != nil, "\(name)")
      #expect(try folder.text(of: "victim").hasPrefix("precious, and longer"), "\(name)")
      unlink(path + name)
    }
    #expect(await reason(path) == nil, "without them all is well")
  }

  @Test(.enabled(if: geteuid() == 0, "only the administrator can give files away"))
  func `another user's store, lock or key in a shared folder is refused, the administrator's own store not`()
    async throws
  {
    let folder = try TemporaryFolder()
    let path = folder.file("store.sqlite")
    #expect(await reason(path) == nil)
    let store = ResponseStore(configuration: .unhurried(path: path))
    _ = try DigestKey.loadOrCreate(nextTo: path)
    _ = try store.tryLease(1)
    await store.close()
    for name in ["", ".lock", ".key"] { #expect(chown(path + name, 65_534, 65_534) == 0, "\(name)") }
    #expect(await reason(path) == nil, "in a folder of one's own the administrator may use it")
    _ = try DigestKey.loadOrCreate(nextTo: path)
    _ = try ResponseStore(configuration: .unhurried(path: path)).tryLease(1)
    chmod(folder.path, 0o1777)
    #expect(await reason(path) == .cannotOpen)
    #expect(throws: CacheStoreError.self) { try DigestKey.loadOrCreate(nextTo: path) }
    #expect(chown(path, 0, 0) == 0)
    #expect(throws: CacheStoreError.self) {
      try ResponseStore(configuration: .unhurried(path: path)).tryLease(1)
    }
    // A folder of somebody else is shared with them, whatever its mode.
    chmod(folder.path, 0o700)
    #expect(chown(folder.path, 65_534, 65_534) == 0)
    #expect(throws: CacheStoreError.self) { try DigestKey.loadOrCreate(nextTo: path) }
  }

  @Test
  func `something else than a file in the place of the lock or the key is refused, and nothing waits for it`()
    async throws
  {
    let folder = try TemporaryFolder()
    let path = folder.file("store.sqlite")
    for name in [".lock", ".key"] { #expect(mkfifo(path + name, 0o600) == 0, "\(name)") }
    #expect(await reason(path) == .cannotOpen)
    #expect(throws: CacheStoreError.self) { try DigestKey.loadOrCreate(nextTo: path) }
  }

  @Test func `a link that comes and goes in the place of the store never leads a write elsewhere`()
    async throws
  {
    let folder = try TemporaryFolder()
    let path = folder.file("store.sqlite")
    // A database the user owns, which is no store: whoever opened it would be seen by its files.
    let victim = folder.file("victim.sqlite")
    try RawDatabase(victim, create: true).execute("CREATE TABLE diary (entry TEXT)")
    let before = try folder.bytes(of: "victim.sqlite")
    let isOver = Mutex(false)
    let hasBegun = Gate()
    let attack = Task.detached {
      while !isOver.withLock({ $0 }) {
        unlink(folder.file("link"))
        symlink(victim, folder.file("link"))
        rename(folder.file("link"), path)
        unlink(path)
        hasBegun.open()
        await Task.yield()
      }
    }
    // A task may be given its first turn when all else is done.
    await hasBegun.wait()
    for _ in 0..<100 {
      let store = ResponseStore(configuration: .unhurried(path: path))
      // Refused, moved under its feet, or stored: whatever comes of it, it is the store's own file.
      _ = try? await store.put("secret", for: .page)
      await store.close()
    }
    isOver.withLock { $0 = true }
    await attack.value
    #expect(try folder.bytes(of: "victim.sqlite") == before)
    #expect(!folder.contains("victim.sqlite-wal") && !folder.contains("victim.sqlite-shm"))
  }

  @Test(arguments: [0o600, 0o640] as [mode_t])
  func `files that are remade keep the store's mode, whatever the umask`(wanted: mode_t) async throws {
    let fixture = try StoreFixture()
    _ = try await fixture.store.put("a", for: .page)
    await fixture.store.close()
    try fixture.sql("PRAGMA wal_checkpoint(TRUNCATE)")
    for name in ["-wal", "-shm"] { unlink(fixture.path + name) }
    chmod(fixture.path, wanted)
    // SQLite's own files.
    _ = try await fixture.another().put("b", for: .page, at: 2)
    for name in ["", "-wal", "-shm"] { #expect(mode(fixture.path + name) == UInt32(wanted), "\(name)") }
    // Sign-out rewrites the file.
    try await fixture.another().signOut(accountName: "alice")
    #expect(mode(fixture.path) == UInt32(wanted))
    // A successor of a damaged file.
    try fixture.sql("PRAGMA wal_checkpoint(TRUNCATE)")
    try fixture.spoilIndex()
    _ = try await fixture.another().put("c", for: .page, at: 3)
    #expect(try fixture.files.names().contains { $0.contains(".damaged-") })
    #expect(try await fixture.another().body(of: .page) == "c")
    for name in ["", "-wal", "-shm"] where mode(fixture.path + name) != 0 {
      #expect(mode(fixture.path + name) == UInt32(wanted), "\(name)")
    }
    // The key and the lock file, when they were lost.
    for name in [".key", ".lock"] { unlink(fixture.path + name) }
    _ = try DigestKey.loadOrCreate(nextTo: fixture.path)
    _ = try fixture.another().tryLease(1)
    for name in [".key", ".lock"] { #expect(mode(fixture.path + name) == 0o600, "\(name)") }
  }

  @Test func `a store opened for reading only serves what is stored and writes nothing`() async throws {
    let fixture = try StoreFixture()
    _ = try await fixture.store.put("a", for: .page)
    await fixture.store.close()
    func files() throws -> [String: [UInt8]] {
      try fixture.files.names().reduce(into: [:]) { $0[$1] = try fixture.files.bytes(of: $1) }
    }
    let before = try files()
    let reader = fixture.another { $0.isReadOnly = true }
    #expect(try reader.lookupNow(.page).rows.count == 1)
    await #expect { try await reader.put("b", for: .page) } throws: {
      ($0 as? CacheStoreError)?.reason == .readOnly
    }
    await reader.performMaintenance()
    await reader.close()
    let after = try files()
    #expect(after.keys.sorted() == before.keys.sorted())
    // In the log's index SQLite marks who reads.
    for (name, bytes) in before where !name.hasSuffix("-shm") { #expect(after[name] == bytes, "\(name)") }
  }

  @Test func `a store that another process put in its place is noticed`() async throws {
    let fixture = try StoreFixture()
    let store = fixture.store
    _ = try await store.put("old", for: .page)
    #expect(try await store.body(of: .page) == "old")
    for name in ["store.sqlite", "store.sqlite-wal", "store.sqlite-shm"] { unlink(fixture.files.file(name)) }
    #expect(try store.lookupNow(.page).rows.isEmpty)
    _ = try await fixture.another().put("other", for: .page)
    #expect(try await store.body(of: .page) == "other")
    _ = try await store.put("new", for: .page, at: 2)
    #expect(try await fixture.another().body(of: .page) == "new")
  }

  @Test func `a store that another was renamed over is noticed by those who read, at once`() async throws {
    let fixture = try StoreFixture()
    let other = try StoreFixture()
    for (store, text) in [(fixture, "old"), (other, "new")] {
      _ = try await store.store.put(text, for: .page)
      await store.store.close()
      try RawDatabase(store.path).execute("PRAGMA wal_checkpoint(TRUNCATE)")
    }
    let reader = fixture.another()
    func text() throws -> String? {
      try reader.lookupNow(.page).rows.first.map { String(decoding: $0.body.firstChunk, as: UTF8.self) }
    }
    #expect(try text() == "old")
    for suffix in ["-wal", "-shm"] { unlink(fixture.path + suffix) }
    // There is no instant without a file, at which all that is open would be closed.
    #expect(rename(other.path, fixture.path) == 0)
    #expect(try text() == "new")
    #expect(try await reader.body(of: .page) == "new")
  }

  @Test func `a store locked for one process alone is busy, and never waited for on the calling thread`()
    async throws
  {
    let fixture = try StoreFixture { $0.busyTimeout = .milliseconds(20) }
    _ = try await fixture.store.put("a", for: .page)
    await fixture.store.close()
    let store = fixture.another()
    do {
      let database = try RawDatabase(fixture.path)
      try database.execute(
        "PRAGMA locking_mode = EXCLUSIVE; BEGIN IMMEDIATE; UPDATE account SET name = name; COMMIT")
      #expect { try store.lookupNow(.page) } throws: { ($0 as? CacheStoreError)?.reason == .busy }
      await #expect { try await store.lookup(.page) } throws: { ($0 as? CacheStoreError)?.reason == .busy }
      await #expect { try await store.accountID(named: "") } throws: {
        ($0 as? CacheStoreError)?.reason == .busy
      }
      try database.execute("SELECT 1")
    }
    #expect(try await store.body(of: .page) == "a")
  }

  @Test func `a write lock held elsewhere lets look-ups through and makes writes busy`() async throws {
    let fixture = try StoreFixture { $0.busyTimeout = .milliseconds(20) }
    let store = fixture.store
    _ = try await store.put("a", for: .page)
    let database = try RawDatabase(fixture.path)
    try database.execute("BEGIN IMMEDIATE")
    #expect(try store.lookupNow(.page).rows.count == 1)
    await #expect { try await store.put("b", for: .page, at: 2) } throws: {
      ($0 as? CacheStoreError)?.reason == .busy
    }
    try database.execute("ROLLBACK")
    _ = try await store.put("b", for: .page, at: 2)
  }
}
