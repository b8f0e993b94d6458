import CFaultVFS
import CSQLite
import PlatformC
import PlatformFoundation
import Synchronization
import TestSupport
import Testing
import TestTurns

@testable import CacheStore

@Suite("A disk with little room left", .inTurn) struct ShortDiskTests {
  private func key(_ number: Int) -> RequestKey { RequestKey(target: "https://example.org/\(number)") }

  /// Makes the log so long, without taking any room for it, that the disk has less left than a log of that length needs.
  /// The store goes on writing behind its own last frame.
  private func makeShort(_ fixture: StoreFixture) throws {
    let free = try #require(Platform.freeBytes(at: fixture.path))
    #expect(truncate(fixture.path + "-wal", off_t(free + 1 << 30)) == 0)
  }

  private func logBytes(_ fixture: StoreFixture) throws -> Int64 {
    try #require(FileStatus(path: fixture.path + "-wal")).bytes
  }

  private func freePages(_ fixture: StoreFixture) async throws -> Int64 {
    try await fixture.store.writer.perform { (connection) throws(CacheStoreError) in
      try connection.value(.freePages)
    }
  }

  @Test(arguments: [true, false])
  func `the room of what is removed goes back to the disk at once, where that has little left`(isShort: Bool)
    async throws
  {
    let fixture = try StoreFixture()
    // Less than a megabyte, after which the log would be written back.
    for number in 0..<2 {
      _ = try await fixture.store.put(pattern(100_000), for: key(number))
    }
    await fixture.store.whenIdle()
    if isShort { try makeShort(fixture) }
    #expect(try await fixture.store.remove(.all, started: .at(9)) == 2)
    let free = try await freePages(fixture)
    #expect((free == 0) == isShort, "\(free)")
    #expect(fixture.files.contains("store.sqlite.reserve") == isShort)
    await fixture.store.close()
  }

  @Test(arguments: [true, false])
  func `the room of a body that is not kept goes back to the disk at once, where that has little left`(
    isShort: Bool
  ) async throws {
    let fixture = try StoreFixture()
    let account = try await fixture.store.accountID(named: "")
    let body = try await fixture.store.beginBody(accountID: account)
    for _ in 0..<2 { try await body.append(pattern(100_000)) }
    await fixture.store.whenIdle()
    if isShort { try makeShort(fixture) }
    body.remove()
    await fixture.store.whenIdle()
    #expect(try fixture.number("SELECT count(*) FROM body") == 0)
    let free = try await freePages(fixture)
    #expect((free == 0) == isShort, "\(free)")
    #expect(fixture.files.contains("store.sqlite.reserve") == isShort)
    body.end()
    await fixture.store.close()
  }

  @Test func `nothing is stored before the log has been emptied, and then it is`() async throws {
    let fixture = try StoreFixture()
    _ = try await fixture.store.put("a", for: .page)
    await fixture.store.whenIdle()
    try makeShort(fixture)
    _ = try await fixture.store.put("b", for: .page, at: 2)
    #expect(try await fixture.store.body(of: .page) == "b")
    #expect(try logBytes(fixture) < 1 << 20)
    await fixture.store.close()
  }

  // MARK: A full disk

  /// Removes what is stored of an account, one piece after the other.
  enum Removal: CaseIterable, Sendable { case rows, account }

  @Test(arguments: Removal.allCases)
  func `what cannot go at once on a full disk goes piece by piece, and the log is emptied after each`(
    removal: Removal
  ) async throws {
    let vfs = "full at removal, \(removal)"
    #expect(faultvfs_register(vfs) != 0)
    defer { faultvfs_unregister(vfs) }
    let fixture = try StoreFixture { $0.vfs = vfs }
    let store = fixture.store
    for number in 0..<3 {
      let key = RequestKey(account: "alice", target: "https://example.org/\(number)")
      _ = try await store.put("x", for: key)
    }
    var count = UsageCount()
    count.stored = 1
    store.count(accountID: try await store.accountID(named: "alice"), host: "example.org", count)
    await store.flushUsage()
    #expect(try fixture.number("SELECT count(*) FROM usage") == 1)
    // Recorded already, so that what finds no room is the removal of the rows and not the mark before it.
    if removal == .rows { try await store.fence(.all, started: .at(9)) }
    await store.whenIdle()
    let lengths = LogLengths(of: fixture.path)
    try await store.writer.perform { (connection) throws(CacheStoreError) in lengths.listen(to: connection) }
    await store.whenIdle()
    faultvfs_arm(vfs, Int32(FAULT_WRITE), 1, Int32(FAULT_FULL), 0)
    switch removal {
    case .rows: #expect(try await store.remove(.all, started: .at(9)) == 3)
    case .account: try await store.signOut(accountName: "alice")
    }
    faultvfs_arm(vfs, 0, 0, 0, 0)
    let all = lengths.all
    #expect(all.first ?? 0 > 0, "the first is that of all, which finds no room: \(all)")
    // Each row, or each row, each body, and then the account.
    let pieces = removal == .rows ? 3 : 7
    // Before that of all, the mark that is there already is a transaction too.
    let single = all.drop { $0 > 0 }
    #expect(all.count - single.count <= 2, "\(all)")
    #expect(single.count >= pieces && single.prefix(pieces).allSatisfy { $0 == 0 }, "\(all)")
    #expect(try fixture.number("SELECT count(*) FROM last_request") == 0)
    #expect(try fixture.number("SELECT count(*) FROM usage") == 0, "its host has no row left")
    await store.close()
    withExtendedLifetime(lengths) {}
  }

  @Test func `a sign-out whose rewriting finds no room has free pages given back, and rewrites then`()
    async throws
  {
    let vfs = "full at rewriting"
    #expect(faultvfs_register(vfs) != 0)
    defer { faultvfs_unregister(vfs) }
    func signOut(failingAt nth: Int64) async throws -> (writes: Int64, isReserved: Bool) {
      let fixture = try StoreFixture { $0.vfs = vfs }
      for account in ["alice", "bob"] {
        _ = try await fixture.store.put("x", for: RequestKey(account: account, target: "t"))
      }
      await fixture.store.whenIdle()
      faultvfs_arm(vfs, Int32(FAULT_WRITE), nth, Int32(FAULT_FULL), 0)
      try await fixture.store.signOut(accountName: "alice")
      let writes = faultvfs_count(vfs)
      faultvfs_arm(vfs, 0, 0, 0, 0)
      #expect(try fixture.number("SELECT count(*) FROM account WHERE name = 'alice'") == 0)
      await fixture.store.close()
      return (writes, fixture.files.contains("store.sqlite.reserve"))
    }
    let (writes, isReserved) = try await signOut(failingAt: 0)
    #expect(!isReserved)
    // The account goes with the first of them, the log is written back with the last; it is rewritten in between.
    var hasGivenBack = false
    for part in [3, 4, 5] as [Int64] {
      let (_, isReserved) = try await signOut(failingAt: writes * part / 8)
      if isReserved { hasGivenBack = true }
    }
    #expect(hasGivenBack)
  }

  @Test(arguments: [false, true])
  func `pages are given back in smaller steps where the disk has no room for larger ones, and at last not`(
    isLasting: Bool
  ) async throws {
    let vfs = "full at giving back, \(isLasting)"
    #expect(faultvfs_register(vfs) != 0)
    defer { faultvfs_unregister(vfs) }
    let fixture = try StoreFixture { $0.vfs = vfs }
    _ = try await fixture.store.put("a", for: .page)
    try fixture.sql("CREATE TABLE filler (bytes BLOB)")
    try fixture.sql("INSERT INTO filler VALUES (zeroblob(1000000))")
    try fixture.sql("DROP TABLE filler")
    let writer = fixture.store.writer
    let steps = Steps()
    let (before, after) = try await writer.perform {
      (connection) throws(CacheStoreError) -> (Int64, Int64) in
      // Nothing is left to be written back before the first step.
      try connection.checkpoint(.truncating)
      let before = try connection.value(.freePages)
      steps.listen(to: connection)
      defer { steps.stopListening(to: connection) }
      faultvfs_arm(vfs, Int32(FAULT_WRITE), 1, Int32(FAULT_FULL), isLasting ? 1 : 0)
      writer.room.giveBack(connection)
      faultvfs_arm(vfs, 0, 0, 0, 0)
      let after = try connection.value(.freePages)
      return (before, after)
    }
    #expect(before > 100 && after == (isLasting ? before : 0))
    #expect(steps.all == (isLasting ? ["1024", "256", "64", "16"] : ["1024", "256"]))
    await fixture.store.close()
  }

  @Test func `a log that finds no room in the database gets that of the reserve`() async throws {
    let vfs = "full at writing back"
    #expect(faultvfs_register(vfs) != 0)
    defer { faultvfs_unregister(vfs) }
    let fixture = try StoreFixture { $0.vfs = vfs }
    _ = try await fixture.store.put("a", for: .page)
    #expect(await fixture.store.performMaintenance(budget: .seconds(3600)) == nil)
    // With a second name, its number is given to no other file.
    #expect(link(fixture.path + ".reserve", fixture.path + ".former") == 0)
    _ = try await fixture.store.put("b", for: .page, at: 2)
    let writer = fixture.store.writer
    try await writer.perform { (connection) throws(CacheStoreError) in
      faultvfs_arm(vfs, Int32(FAULT_WRITE), 1, Int32(FAULT_FULL), 0)
      writer.room.giveBack(connection)
      faultvfs_arm(vfs, 0, 0, 0, 0)
    }
    #expect(try logBytes(fixture) == 0)
    let former = try #require(FileStatus(path: fixture.path + ".former"))
    let reserve = try #require(FileStatus(path: fixture.path + ".reserve"))
    #expect(former.names == 1 && reserve.identity != former.identity && reserve.bytes == Reserve.bytes)
    await fixture.store.close()
  }
}

/// The pages that each step of a connection is to give back, as the statement says it.
private final class Steps: Sendable {
  private let noted = Mutex<[String]>([])

  var all: [String] { noted.withLock { $0 } }

  private func note(_ pages: String) {
    // SQLite may prepare a statement twice.
    noted.withLock { if $0.last != pages { $0.append(pages) } }
  }

  /// Must outlive what is listened to.
  func listen(to connection: Connection) {
    sqlite3_set_authorizer(
      connection.handle,
      { context, action, name, argument, _, _ in
        guard action == SQLITE_PRAGMA, let context, let name, let argument,
          String(cString: name) == "incremental_vacuum"
        else { return SQLITE_OK }
        Unmanaged<Steps>.fromOpaque(context).takeUnretainedValue().note(String(cString: argument))
        return SQLITE_OK
      }, Unmanaged.passUnretained(self).toOpaque())
  }

  func stopListening(to connection: Connection) { sqlite3_set_authorizer(connection.handle, nil, nil) }
}

/// How long a store's log is at each commit of a connection, before what is committed gets there.
private final class LogLengths: Sendable {
  private let log: String
  private let noted = Mutex<[Int64]>([])

  init(of path: String) { log = path + "-wal" }

  var all: [Int64] { noted.withLock { $0 } }

  private func note() {
    let bytes = FileStatus(path: log)?.bytes ?? -1
    noted.withLock { $0.append(bytes) }
  }

  /// Must outlive the connection.
  func listen(to connection: Connection) {
    _ = sqlite3_commit_hook(
      connection.handle,
      { context in
        if let context { Unmanaged<LogLengths>.fromOpaque(context).takeUnretainedValue().note() }
        return 0
      }, Unmanaged.passUnretained(self).toOpaque())
  }
}
