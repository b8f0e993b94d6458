import CFaultVFS
import PlatformC
import PlatformFoundation
import TestSupport
import TestTurns
import Testing

@testable import CacheStore

@Suite("The steps of a repair", .inTurn) struct RepairStepTests {
  /// A store with one row, closed, all of it in the database file.
  private func closed(
    _ bytes: Int = 10, _ configure: (inout StoreConfiguration) -> Void = { _ in }
  ) async throws -> StoreFixture {
    let fixture = try StoreFixture(configure)
    _ = try await fixture.store.put(pattern(bytes), for: .page)
    await fixture.store.close()
    try fixture.sql("PRAGMA wal_checkpoint(TRUNCATE)")
    return fixture
  }

  /// All of the first page behind the header, where the list of tables begins: no row can be read any more.
  private func spoilTables(_ fixture: StoreFixture) throws {
    try fixture.files.overwrite("store.sqlite", at: 100, with: Array(repeating: 0xFF, count: 1900))
  }

  private func repair(_ fixture: StoreFixture, vfs: String? = nil, isUntrusted: Bool = false) -> Quarantine {
    let files = StoreFiles(path: fixture.path, vfs: vfs, isUntrusted: isUntrusted)
    return Quarantine(
      files: files, lockFile: LockFile(files: files), configuration: fixture.store.configuration)
  }

  /// Minutes from now, which no machine is too busy for.
  private var late: Int64 { Platform.monotonicNanoseconds() + 300_000_000_000 }

  @Test func `of the damaged files that are kept those beyond the two newest go with the next repair`()
    async throws
  {
    let fixture = try await closed()
    try fixture.spoilIndex()
    let names = (1...3).map { "store.sqlite.damaged-2000010\($0)T000000Z" }
    for name in names { try fixture.files.write("x", to: name) }
    #expect(try repair(fixture).run(waitingUntil: late))
    let kept = QuarantinedFiles(files: StoreFiles(path: fixture.path)).all()
    #expect(kept.count == 2 && kept.first == fixture.files.file(names[2]), "\(kept)")
  }

  @Test func `a new file whose tables cannot be made replaces none, though nothing would go into them`()
    async throws
  {
    let fixture = try await closed()
    try spoilTables(fixture)
    let damaged = try fixture.files.bytes(of: "store.sqlite")
    let draft = fixture.path + ".new"
    #expect(statementfaults_begin(draft) != 0)
    defer { statementfaults_end(draft) }
    // In the midst of the tables: the settings before them are fewer, and each table is several uses.
    statementfaults_arm(draft, 40)
    #expect(throws: CacheStoreError.self) { try repair(fixture).run(waitingUntil: late) }
    #expect(!String(cString: statementfaults_refused(draft)).isEmpty)
    #expect(try fixture.files.bytes(of: "store.sqlite") == damaged)
  }

  @Test func `an untrusted file is not moved before the empty new one is out of its log`() async throws {
    let vfs = "log of an empty new file"
    #expect(faultvfs_register(vfs) != 0)
    defer { faultvfs_unregister(vfs) }
    let fixture = try await closed()
    try spoilTables(fixture)
    let damaged = try fixture.files.bytes(of: "store.sqlite")
    faultvfs_arm(vfs, Int32(FAULT_TRUNCATE), 1, Int32(FAULT_ERROR), 1)
    #expect(throws: CacheStoreError.self) {
      try repair(fixture, vfs: vfs, isUntrusted: true).run(waitingUntil: late)
    }
    #expect(faultvfs_count(vfs) > 0)
    #expect(try fixture.files.bytes(of: "store.sqlite") == damaged)
    faultvfs_arm(vfs, 0, 0, 0, 0)
    #expect(try repair(fixture, vfs: vfs, isUntrusted: true).run(waitingUntil: late))
  }

  @Test func `of an untrusted file whose tables could not be looked at nothing is read, and it stays`()
    async throws
  {
    let fixture = try await closed()
    try fixture.spoilIndex()
    let damaged = try fixture.files.bytes(of: "store.sqlite")
    // Those of the new file count by themselves.
    let paths = [fixture.path, fixture.path + ".new"]
    for path in paths { #expect(statementfaults_begin(path) != 0) }
    defer { for path in paths { statementfaults_end(path) } }
    statementfaults_arm(fixture.path, 0)
    let files = StoreFiles(path: fixture.path, isUntrusted: true)
    #expect(try DamageCheck.condition(of: files, waitingUntil: late) == .damaged)
    // It is looked at so twice before it is opened to be copied.
    let uses = statementfaults_count(fixture.path)
    statementfaults_arm(fixture.path, 2 * uses + 1)
    #expect(throws: CacheStoreError.self) {
      try repair(fixture, isUntrusted: true).run(waitingUntil: late)
    }
    #expect(uses > 10 && !String(cString: statementfaults_refused(fixture.path)).isEmpty)
    #expect(try fixture.files.bytes(of: "store.sqlite") == damaged)
  }

  private func connection(to fixture: StoreFixture) throws -> Connection {
    let files = StoreFiles(path: fixture.path)
    return try Connection(path: files.resolved(), named: files.database, for: .writing, nil)
  }

  @Test func `the new file's log begins anew while a long body is copied`() async throws {
    let damaged = try await closed(400_000) { $0.chunkBytes = 50_000 }
    let fixture = try StoreFixture()
    try await fixture.store.writer.perform { _ in }
    await fixture.store.close()
    try fixture.sql("PRAGMA wal_checkpoint(TRUNCATE)")
    let new = try connection(to: fixture)
    try Schema.configureWriting(new)
    // Of two chunks, where a store's own is of megabytes.
    new.restartBytes = 100_000
    var salvage = Salvage(from: try connection(to: damaged), to: new)
    try salvage.run()
    #expect(salvage.carriedOver == 1 && salvage.lost == 0)
    let log = try #require(FileStatus(path: fixture.path + "-wal"))
    #expect(log.bytes < 400_000, "\(log.bytes)")
  }

  @Test func `a table is sound or not by itself and its own index`() async throws {
    let fixture = try StoreFixture()
    _ = try await fixture.store.put("a", for: RequestKey(account: "alice", target: "t"))
    await fixture.store.close()
    try fixture.spoil("alice", in: "sqlite_autoindex_account_1")
    let files = StoreFiles(path: fixture.path)
    let connection = try Connection(path: files.resolved(), named: files.database, for: .reading, nil)
    #expect(try !DamageCheck.isSound("account", connection))
    #expect(try DamageCheck.isSound("body", connection))
  }
}
