import Dispatch
import PlatformC
import Synchronization
import TestSupport
import TestTurns
import Testing

@testable import CacheStore

@Suite("A damaged file is replaced", .inTurn) struct QuarantineTests {
  private static let isRoot = geteuid() == 0

  /// A closed store with one row, all of it in the database file.
  private func closed(limits: StoreLimits = StoreLimits()) async throws -> StoreFixture {
    let fixture = try StoreFixture()
    _ = try await fixture.store.put("a", for: .page)
    _ = try await fixture.store.setLimits(limits)
    await fixture.store.close()
    try fixture.sql("PRAGMA wal_checkpoint(TRUNCATE)")
    return fixture
  }

  private func quarantine(
    _ fixture: StoreFixture, isUntrusted: Bool = false,
    _ configure: (inout StoreConfiguration) -> Void = { _ in }
  ) -> Quarantine {
    var configuration = fixture.store.configuration
    configure(&configuration)
    let files = StoreFiles(path: fixture.path, isUntrusted: isUntrusted)
    return Quarantine(files: files, lockFile: LockFile(files: files), configuration: configuration)
  }

  /// Minutes from now, which no machine is too busy for.
  private var late: Int64 { Platform.monotonicNanoseconds() + 300_000_000_000 }

  @Test func `limits and numbers go over to the new file, and no draft stays`() async throws {
    let fixture = try await closed(limits: StoreLimits(maximumRows: 100))
    func numbers() throws -> [Int64] {
      try fixture.sql("SELECT seq FROM sqlite_sequence ORDER BY name").compactMap { $0.first?.integer }
    }
    let before = try numbers()
    try fixture.spoilIndex()
    #expect(try quarantine(fixture).run(waitingUntil: late))
    let names = try fixture.files.names()
    #expect(names.allSatisfy { !$0.contains(".new") && !$0.contains(".repaired") }, "\(names)")
    #expect(names.contains { $0.hasPrefix("store.sqlite.damaged-") }, "\(names)")
    // With a gap for those that could not be read.
    let after = try numbers()
    #expect(before.count == 2 && after == before.map { $0 + 1000 }, "\(before), \(after)")
    #expect(try fixture.number("SELECT checksum FROM body") == 0, "a chunk that is all says its own")
    let store = fixture.another()
    #expect(try await store.limits().own == StoreLimits(maximumRows: 100))
    #expect(try await store.body(of: .page) == "a")
    await store.close()
  }

  @Test func `law 8: what was removed before a repair is not brought back after it, and pauses hold`()
    async throws
  {
    let fixture = try StoreFixture()
    let store = fixture.store
    let account = try await store.accountID(named: "")
    _ = try await store.put("a", for: .page)
    _ = try await store.put("b", for: .other)
    var selection = EntrySelection.all
    selection.key = .page
    #expect(try await store.remove(selection, started: .at(20)) == 1)
    let pause = Pause(heard: .at(5), milliseconds: 9_000)
    try await store.pause(accountID: account, responder: "http://a", pause)
    _ = try DigestKey.loadOrCreate(nextTo: fixture.path)
    _ = try await store.accountID(named: "auto:x")
    await store.close()
    try fixture.sql("PRAGMA wal_checkpoint(TRUNCATE)")
    let proof = try fixture.sql("SELECT proof FROM digest_key")
    #expect(proof.count == 1)
    try fixture.spoilIndex()
    #expect(try quarantine(fixture).run(waitingUntil: late))
    let repaired = fixture.another()
    #expect(try await repaired.put("old", for: .page, at: 10) == .superseded)
    #expect(try repaired.pauseNow(accountName: "", responder: "http://a") == pause)
    #expect(try fixture.sql("SELECT proof FROM digest_key") == proof)
    #expect(try await repaired.entries().map(\.key) == [.other])
    await repaired.close()
  }

  @Test(.enabled(if: isRoot, "only the administrator can give files away"))
  func `whoever owned the damaged file owns the new one`() async throws {
    let fixture = try await closed()
    try fixture.spoilIndex()
    #expect(chown(fixture.path, 65_534, 65_533) == 0)
    chmod(fixture.path, 0o640)
    #expect(try quarantine(fixture).run(waitingUntil: late))
    let status = try #require(FileStatus(path: fixture.path))
    #expect(status.owner == 65_534 && status.group == 65_533 && status.mode == 0o640)
  }

  @Test func `a repair that another process has begun is waited for, and not anticipated`() async throws {
    let fixture = try await closed()
    for ending in ["-wal", "-shm"] { unlink(fixture.path + ending) }
    // As it is between the two renames.
    #expect(rename(fixture.path, fixture.path + ".repaired") == 0)
    let other = LockFile(files: StoreFiles(path: fixture.path))
    #expect(try other.tryLock(.file))
    #expect {
      try quarantine(fixture).run(waitingUntil: 0)
    } throws: {
      ($0 as? CacheStoreError)?.reason == .busy
    }
    #expect(fixture.files.contains("store.sqlite.repaired") && !fixture.files.contains("store.sqlite"))

    let lockFile = LockFile(files: StoreFiles(path: fixture.path))
    let configuration = fixture.store.configuration
    let deadline = late
    let outcome = Mutex<Result<Bool, CacheStoreError>?>(nil)
    DispatchQueue(label: "patient").async {
      let repair = Quarantine(
        files: StoreFiles(path: configuration.path), lockFile: lockFile, configuration: configuration)
      do throws(CacheStoreError) {
        let isReplaced = try repair.run(waitingUntil: deadline)
        outcome.withLock { $0 = .success(isReplaced) }
      } catch {
        outcome.withLock { $0 = .failure(error) }
      }
    }
    // It has tried once, and goes on.
    #expect(await eventually { lockFile.isOpen })
    other.unlock(.file)
    #expect(await eventually { outcome.withLock { $0 != nil } })
    #expect(outcome.withLock { $0 } == .success(true))
    let store = fixture.another()
    #expect(try await store.body(of: .page) == "a")
    await store.close()
  }

  @Test func `a new file that is removed before it takes its place makes no repair, and nothing else goes`()
    async throws
  {
    let fixture = try await closed()
    try fixture.spoilIndex()
    let damaged = try fixture.files.bytes(of: "store.sqlite")
    try fixture.files.write("somebody's\n", to: "store.sqlite.uses")
    let path = fixture.path
    let events = Mutex<[StoreEvent]>([])
    let repair = quarantine(fixture) {
      // Asked for the quarantined file's name, after the copying and before the exchange.
      $0.now = {
        unlink(path + ".repaired")
        return 1_000_000
      }
    }
    #expect {
      try repair.run(waitingUntil: late) { event in events.withLock { $0.append(event) } }
    } throws: {
      ($0 as? CacheStoreError)?.message.contains("was removed meanwhile") == true
    }
    #expect(events.withLock { $0.isEmpty })
    #expect(try fixture.files.bytes(of: "store.sqlite") == damaged)
    #expect(fixture.files.contains("store.sqlite.uses"))
  }

  @Test func `a damaged file that another process writes to is not replaced under it`() async throws {
    let fixture = try await closed()
    try fixture.spoilIndex()
    do {
      let writer = try RawDatabase(fixture.path)
      try writer.execute("BEGIN IMMEDIATE")
      let hurried = quarantine(fixture) { $0.busyTimeout = .zero }
      #expect {
        try hurried.run(waitingUntil: 0)
      } throws: {
        ($0 as? CacheStoreError)?.reason == .busy
      }
      let names = try fixture.files.names()
      #expect(names.allSatisfy { !$0.contains(".damaged-") && !$0.contains(".new") }, "\(names)")
      try writer.execute("ROLLBACK")
    }
    #expect(try quarantine(fixture).run(waitingUntil: late))
  }

  @Test(
    "a lookup says of a store without a header, or without its number, that it is damaged, and not another's",
    arguments: [0..<100, 68..<72])
  func withoutHeader(place: Range<Int>) async throws {
    let fixture = try await closed()
    try fixture.files.overwrite("store.sqlite", at: place.lowerBound, with: place.map { _ in 0x11 })
    let found = await fixture.another().findings()
    #expect(found.contains { $0.subject == "integrity" && $0.severity == .wrong }, "\(found)")
    let store = fixture.another()
    #expect {
      _ = try store.lookupNow(.page, beforeAsking: "http://a")
    } throws: {
      ($0 as? CacheStoreError)?.reason == .corrupt && "\($0)".contains("is damaged")
    }
    // Where the rest is sound it is carried over; a read waits for that.
    let rows = try await store.entries().count
    #expect(rows == (place.count == 4 ? 1 : 0))
    #expect(try fixture.files.names().contains { $0.hasPrefix("store.sqlite.damaged-") })
    // Another program's file stays, and is said to be one.
    try fixture.files.write("another's", to: "other.sqlite")
    let other = fixture.another { $0.path = fixture.files.file("other.sqlite") }
    await #expect { _ = try await other.entries() } throws: {
      ($0 as? CacheStoreError)?.reason == .foreignFile
    }
    for store in [store, other] { await store.close() }
  }

  @Test func `of an untrusted file whose tables cannot be seen nothing is carried over, and it is kept`()
    async throws
  {
    let fixture = try await closed()
    // All of the first page behind the header, where the list of tables begins.
    try fixture.files.overwrite("store.sqlite", at: 100, with: Array(repeating: 0xFF, count: 1900))
    let events = Mutex<[StoreEvent]>([])
    let repair = quarantine(fixture, isUntrusted: true) { $0.now = { 1_000_000 } }
    #expect(try repair.run(waitingUntil: late) { event in events.withLock { $0.append(event) } })
    let name = fixture.path + ".damaged-19700101T001640Z"
    let expected = StoreEvent.quarantined(path: fixture.path, keptAs: name, carriedOver: 0, lost: 0)
    #expect(events.withLock { $0 } == [expected])
    #expect(fixture.files.contains("store.sqlite.damaged-19700101T001640Z"))
    #expect(try fixture.number("PRAGMA user_version") == 4, "the new file is a store")
  }
}
