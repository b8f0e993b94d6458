import FixtureServer
import TestSupport
import Testing
import TestTurns
import PlatformC

@testable import CacheStore

/// Files beside the store that somebody else put there, or that are not what they seem.
@Suite("Foreign files beside the store", .inTurn) struct ForeignFileTests {
  private static let isRoot = geteuid() == 0

  /// Damages the store so that it is repaired at its next use.
  private func damage(_ fixture: StoreFixture) throws {
    try fixture.sql("PRAGMA wal_checkpoint(TRUNCATE)")
    try fixture.spoilIndex()
  }

  @Test(
    "why a store cannot be made",
    arguments: [
      (EROFS, .readOnly), (EACCES, .readOnly), (EPERM, .readOnly), (ENOSPC, .full), (EDQUOT, .full),
      (ENOENT, .cannotOpen), (EMFILE, .cannotOpen),
    ] as [(Int32, CacheStoreError.Reason)])
  func cannotBeMade(number: Int32, reason: CacheStoreError.Reason) {
    #expect(StoreFiles.reason(ofMaking: number) == reason)
  }

  @Test(
    arguments: [(0o700, "remove it"), (0o777, Remedy.ownFolder.text)] as [(mode_t, String)])
  func `what to do about a second name depends on who may give files one`(mode: mode_t, hint: String) throws {
    let folder = try TemporaryFolder()
    let first = try folder.write("x", to: "first")
    let files = StoreFiles(path: folder.file("store.sqlite"))
    #expect(link(first, files.lock) == 0)
    chmod(folder.path, mode)
    #expect {
      try files.check(opened: FileStatus(path: files.lock), "the lock file", files.lock)
    } throws: {
      ($0 as? CacheStoreError)?.hint == hint
    }
  }

  @Test(
    "a file that is no database was a store where it has a lock file and a store's number or table",
    arguments: [
      (Array(repeating: 7, count: 68) + Array("CFCH".utf8) + Array(repeating: 7, count: 600), true),
      (Array(repeating: 7, count: 68) + Array("CFCI".utf8) + Array(repeating: 7, count: 600), false),
      (Array(repeating: 7, count: 600) + Array("CREATE TABLE last_request (".utf8), true),
    ] as [([UInt8], Bool)])
  func ours(bytes: [UInt8], isDamaged: Bool) throws {
    let folder = try TemporaryFolder()
    try folder.write(bytes, to: "store.sqlite")
    let files = StoreFiles(path: folder.file("store.sqlite"))
    #expect(try DamageCheck.condition(of: files, waitingUntil: 0) == .notOurs, "without a lock file")
    try folder.write([0], to: "store.sqlite.lock")
    #expect(try DamageCheck.condition(of: files, waitingUntil: 0) == (isDamaged ? .damaged : .notOurs))
  }

  @Test func `an empty file is made where there is none, and a draft only where nothing has its name`() throws
  {
    let folder = try TemporaryFolder()
    let files = StoreFiles(path: try folder.write("not ours", to: "store.sqlite"))
    try files.makeDatabase()
    #expect(throws: CacheStoreError.self) { try files.makeDatabase(isNew: true) }
    #expect(FileStatus(path: files.database)?.bytes == 8)
  }

  @Test(
    "no row is written into a draft that somebody else made, nor is one taken for the store",
    .enabled(if: isRoot, "only the administrator can give files away"), arguments: [".new", ".repaired"])
  func draft(name: String) async throws {
    let fixture = try StoreFixture()
    _ = try await fixture.store.put("s3cret", for: .page)
    await fixture.store.close()
    try damage(fixture)
    let planted = fixture.path + name
    // A folder cannot be removed with unlink(2) either, as a stranger's file in a sticky folder cannot.
    #expect(mkdir(planted, 0o777) == 0)
    #expect(chown(planted, 65_534, 65_534) == 0)
    chmod(fixture.folder, 0o1777)
    let store = fixture.another()
    await #expect { try await store.put("b", for: .page, at: 2) } throws: {
      ($0 as? CacheStoreError)?.message.contains(planted) == true
    }
    await store.close()
    rmdir(planted)
    _ = try await fixture.another().put("c", for: .page, at: 3)
    #expect(try await fixture.another().body(of: .page) == "c")
  }

  @Test(
    "a store that waits to be put in place is taken only from this user",
    .enabled(if: isRoot, "only the administrator can give files away"))
  func repaired() async throws {
    let fixture = try StoreFixture()
    _ = try await fixture.store.put("planted", for: .page)
    await fixture.store.close()
    try fixture.sql("PRAGMA wal_checkpoint(TRUNCATE)")
    for name in ["-wal", "-shm"] { unlink(fixture.path + name) }
    #expect(rename(fixture.path, fixture.path + ".repaired") == 0)
    #expect(chown(fixture.path + ".repaired", 65_534, 65_534) == 0)
    chmod(fixture.folder, 0o1777)
    await #expect { try await fixture.another().put("b", for: .page, at: 2) } throws: {
      ($0 as? CacheStoreError)?.message.contains(".repaired belongs to another user") == true
    }
  }

  @Test(
    "counts that somebody else left are not added",
    .enabled(if: isRoot, "only the administrator can give files away"))
  func counts() async throws {
    let fixture = try StoreFixture()
    _ = try await fixture.store.put("a", for: .page)
    let account = try await fixture.store.accountID(named: "")
    let inode = try #require(FileStatus(path: fixture.path)?.identity.inode)
    let line = "c \(inode) \(account) 7 7 7 7 7 7 example.org\n"
    try fixture.files.write(line, to: "store.sqlite.uses-taken")
    #expect(chown(fixture.path + ".uses-taken", 65_534, 65_534) == 0)
    chmod(fixture.folder, 0o1777)
    _ = try await fixture.store.statistics()
    await fixture.store.close()
    #expect(try fixture.number("SELECT count(*) FROM usage") == 0)
    #expect(try fixture.files.text(of: "store.sqlite.uses-taken") == line)
  }

  @Test func `counts without measure trap nowhere and end at a largest number`() async throws {
    let fixture = try StoreFixture()
    _ = try await fixture.store.put("a", for: .page)
    let account = try await fixture.store.accountID(named: "")
    let inode = try #require(FileStatus(path: fixture.path)?.identity.inode)
    let most = Int64(1) << 52
    let numbers = Array(repeating: "\(most)", count: 6).joined(separator: " ")
    let lines = String(repeating: "c \(inode) \(account) \(numbers) example.org\n", count: 2_100)
    for _ in 0..<3 {
      try fixture.files.write(lines, to: "store.sqlite.uses-taken")
      let store = fixture.another()
      let statistics = try await store.statistics()
      #expect((1...Int64(1) << 53).contains(statistics.parts.first?.deliveries.stored ?? 0))
      try await store.remove(.all, started: .at(1))
      await store.close()
    }
  }

  @Test(arguments: ["-wal", "-shm", ".lock"])
  func `a second name of another file is refused in a folder of one's own too, and not written`(name: String)
    async throws
  {
    let fixture = try StoreFixture()
    _ = try await fixture.store.put("a", for: .page)
    await fixture.store.close()
    try fixture.sql("PRAGMA wal_checkpoint(TRUNCATE)")
    let precious = String(repeating: "precious", count: 10_000)
    let victim = try fixture.files.write(precious, to: "victim")
    unlink(fixture.path + name)
    #expect(link(victim, fixture.path + name) == 0)
    let store = fixture.another()
    var messages: [String] = []
    do { try store.tryLease(1)?.release() } catch { messages.append(error.message) }
    do { _ = try await store.put("b", for: .page, at: 2) } catch {
      messages.append((error as? CacheStoreError)?.message ?? "")
    }
    #expect(
      messages.contains { $0.contains("\(fixture.path)\(name) is another file's second name") }, "\(messages)"
    )
    #expect(try fixture.files.text(of: "victim") == precious)
    unlink(fixture.path + name)
    _ = try await fixture.another().put("c", for: .page, at: 3)
  }

  @Test func `a journal that another process is just removing is no second name of a file`() async throws {
    let fixture = try StoreFixture()
    let files = StoreFiles(path: fixture.path)
    let journal = fixture.path + "-journal"
    let (isChecked, hasEnded) = (Gate(), Gate())
    // On a thread of its own: a task might wait for the very thread that looks for what it does.
    BackgroundThread.start {
      while !isChecked.isOpen {
        close(open(journal, O_CREAT | O_RDWR, 0o600))
        unlink(journal)
      }
      hasEnded.open()
    }
    // Of a file that is seen while it goes, the system may say that it has no name at all.
    var seen = 0
    #expect(throws: Never.self) {
      while seen < 2_000 {
        if FileStatus(path: journal) != nil { seen += 1 }
        try files.checkCompanions()
      }
    }
    isChecked.open()
    await hasEnded.wait()
  }

  @Test func `nothing waits for a pipe in the place of the journal`() async throws {
    let fixture = try StoreFixture()
    _ = try await fixture.store.put("a", for: .page)
    await fixture.store.close()
    #expect(mkfifo(fixture.path + "-journal", 0o600) == 0)
    let store = fixture.another()
    #expect { try store.lookupNow(.page) } throws: {
      ($0 as? CacheStoreError)?.message.contains("store.sqlite-journal is not a regular file") == true
    }
    await #expect(throws: CacheStoreError.self) { try await store.put("b", for: .page, at: 2) }
  }

  @Test
  func `a lock file that is removed while locks are held in it is left for the one that takes its place`()
    throws
  {
    let fixture = try StoreFixture()
    let store = fixture.store
    let first = try #require(try store.tryLease(1 << 8))
    unlink(fixture.path + ".lock")
    let second = try #require(try store.tryLease(2 << 8))
    #expect(try store.tryLease(1 << 8) == nil, "what is held is held")
    let other = fixture.another()
    #expect(try other.tryLease(2 << 8) == nil, "and what is taken from now on, others see")
    first.release()
    second.release()
    #expect(try other.tryLease(2 << 8) != nil)
    #expect(try store.tryLease(1 << 8) != nil)
  }
}
