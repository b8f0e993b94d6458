import CacheStore
import FoundationEssentials
import TestSupport
import Testing

#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

@Suite("The store's files") struct StoreFileTests {
  func mode(_ path: String) -> UInt32 {
    var status = stat()
    return lstat(path, &status) == 0 ? UInt32(status.st_mode & 0o7777) : 0
  }

  func reason(_ path: String) async -> CacheStoreError.Reason? {
    await error(path)?.reason
  }

  /// The error of a first write, which must also be that of a look-up where there is one.
  func error(_ path: String) async -> CacheStoreError? {
    let store = ResponseStore(configuration: StoreConfiguration(path: path))
    do {
      _ = try await store.put("a", for: .page)
      return nil
    } catch { return error as? CacheStoreError }
  }

  @Test func `files have mode 0600 in a folder of mode 0700, whatever the umask`() async throws {
    let folder = try TemporaryFolder()
    let path = folder.file("a/b c/ü/store.sqlite")
    #expect(await reason(path) == nil)
    for part in ["a", "a/b c", "a/b c/ü"] { #expect(mode(folder.file(part)) == 0o700) }
    let store = ResponseStore(configuration: StoreConfiguration(path: path))
    _ = try DigestKey.loadOrCreate(nextTo: path)
    _ = try store.tryLease(1)
    #expect(try await store.body(of: .page) == "a")
    for name in ["", "-wal", "-shm", ".lock", ".key"] { #expect(mode(path + name) == 0o600, "\(name)") }
  }

  @Test func `the schema is whole: increments of vacuum, the log, the application's number`() async throws {
    let fixture = try StoreFixture()
    _ = try await fixture.store.accountID(named: "")
    #expect(try fixture.number("PRAGMA auto_vacuum") == 2)
    #expect(try fixture.number("PRAGMA user_version") == 1)
    #expect(try fixture.number("PRAGMA application_id") == 0x4346_4348)
    #expect(try fixture.sql("PRAGMA journal_mode") == [["wal"]])
    #expect(try fixture.sql("PRAGMA integrity_check") == [["ok"]])
  }

  @Test func `an empty file becomes a store`() async throws {
    let folder = try TemporaryFolder()
    let path = try folder.write("", to: "store.sqlite")
    let store = ResponseStore(configuration: StoreConfiguration(path: path))
    #expect(try store.lookupNow(.page).rows.isEmpty)
    _ = try await store.put("a", for: .page)
    #expect(try await store.body(of: .page) == "a")
  }

  @Test
  func `a folder in its place, another file, another database and a newer one are refused and left alone`()
    async throws
  {
    let folder = try TemporaryFolder()
    #expect(await reason(folder.path) == .cannotOpen)
    let text = try folder.write(
      "not a database, only some text that is long enough to be one page or so", to: "t")
    #expect(await reason(text) == .foreignFile)
    #expect(try folder.text(of: "t").hasPrefix("not a database"))
    let other = folder.file("other.sqlite")
    try RawDatabase(other, create: true).execute("CREATE TABLE x (y)")
    #expect(await reason(other) == .foreignFile)
    let newer = folder.file("newer.sqlite")
    try RawDatabase(newer, create: true).execute(
      "CREATE TABLE x (y); PRAGMA application_id = 0x43464348; PRAGMA user_version = 2")
    #expect(await reason(newer) == .newerSchema(found: 2))
    #expect(try folder.names() == ["newer.sqlite", "other.sqlite", "t"], "nothing was put beside them")
    for path in [text, other, newer] {
      let store = ResponseStore(configuration: StoreConfiguration(path: path))
      #expect(throws: CacheStoreError.self) { try store.lookupNow(.page) }
      #expect(throws: CacheStoreError.self) { try store.tryLease(1) }
    }
    #expect(try folder.names() == ["newer.sqlite", "other.sqlite", "t"], "no lock file either")
  }

  @Test func `an error names the path`() async throws {
    let folder = try TemporaryFolder()
    let text = try folder.write(
      "not a database, only some text that is long enough to be one page or so", to: "t")
    for path in [folder.path, text, "/dev/null", "/proc/none/store.sqlite"] {
      #expect(await error(path)?.message.contains(path) == true)
    }
  }

  @Test func `a symbolic link in the place of the store, its lock or its key is refused`() async throws {
    let folder = try TemporaryFolder()
    let real = folder.file("real.sqlite")
    _ = try await ResponseStore(configuration: StoreConfiguration(path: real)).put("a", for: .page)
    for name in ["store.sqlite", "other.sqlite.lock", "other.sqlite.key"] {
      #expect(symlink(real, folder.file(name)) == 0)
    }
    #expect(await reason(folder.file("store.sqlite")) == .cannotOpen)
    #expect(await reason(folder.file("other.sqlite")) == .cannotOpen)
    #expect(throws: CacheStoreError.self) { try DigestKey.loadOrCreate(nextTo: folder.file("other.sqlite")) }
    // A folder reached through a link is the user's own affair.
    #expect(symlink(folder.path, folder.file("here")) == 0)
    #expect(await reason(folder.file("here/real.sqlite")) == nil)
  }

  @Test func `a store opened for reading only serves what is stored and writes nothing`() async throws {
    let fixture = try StoreFixture()
    _ = try await fixture.store.put("a", for: .page)
    let reader = fixture.another { $0.isReadOnly = true }
    #expect(try reader.lookupNow(.page).rows.count == 1)
    await #expect { try await reader.put("b", for: .page) } throws: {
      ($0 as? CacheStoreError)?.reason == .readOnly
    }
    await reader.performMaintenance()
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
    let account = try await store.accountID(named: "")
    let database = try RawDatabase(fixture.path)
    try database.execute("BEGIN IMMEDIATE")
    #expect(try store.lookupNow(.page).rows.count == 1)
    #expect(try store.overwriteNow(store.write(Data(), for: .page, at: 2, accountID: account)) == nil)
    await #expect { try await store.put("b", for: .page, at: 2) } throws: {
      ($0 as? CacheStoreError)?.reason == .busy
    }
    try database.execute("ROLLBACK")
    _ = try await store.put("b", for: .page, at: 2)
  }
}

@Suite("The digest key") struct DigestKeyTests {
  @Test func `it is made once, kept, and every process has the same`() async throws {
    let folder = try TemporaryFolder()
    let path = folder.file("new/store.sqlite")
    #expect(try DigestKey.load(nextTo: path) == nil)
    let digests = try await withThrowingTaskGroup(of: String.self) { group in
      for _ in 0..<16 {
        group.addTask { try DigestKey.loadOrCreate(nextTo: path).digest(Array("secret".utf8)) }
      }
      return try await group.reduce(into: Set<String>()) { $0.insert($1) }
    }
    #expect(digests.count == 1)
    #expect(try folder.names() == ["new"])
    #expect(try FileManager.default.contentsOfDirectory(atPath: folder.file("new")) == ["store.sqlite.key"])
  }

  @Test func `a digest is 32 lower-case hexadecimal digits and depends on the key`() throws {
    let key = DigestKey(bytes: Array(repeating: 7, count: 32))
    let digest = key.digest(Array("Bearer x".utf8))
    #expect(digest.count == 32 && digest.allSatisfy { $0.isHexDigit && !$0.isUppercase })
    #expect(key.digest(Array("Bearer x".utf8)) == digest)
    #expect(key.digest([]) != digest)
    #expect(DigestKey(bytes: Array(repeating: 8, count: 32)).digest(Array("Bearer x".utf8)) != digest)
    #expect(DigestKey().digest([]) != DigestKey().digest([]))
  }

  @Test func `a lost key is made anew, a damaged one is named`() throws {
    let folder = try TemporaryFolder()
    let path = folder.file("store.sqlite")
    let first = try DigestKey.loadOrCreate(nextTo: path).digest([1])
    unlink(path + ".key")
    #expect(try DigestKey.loadOrCreate(nextTo: path).digest([1]) != first)
    try folder.write("short", to: "store.sqlite.key")
    #expect { try DigestKey.loadOrCreate(nextTo: path) } throws: {
      ($0 as? CacheStoreError)?.message.contains(path + ".key") == true
    }
  }
}
