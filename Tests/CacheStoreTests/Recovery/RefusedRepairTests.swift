import Dispatch
import PlatformC
import Synchronization
import TestSupport
import TestTurns
import Testing

@testable import CacheStore

@Suite("A repair that is refused one of its steps", .inTurn) struct RefusedRepairTests {
  /// A damaged store, closed, all of it in the database file.
  private func damaged() async throws -> StoreFixture {
    let fixture = try StoreFixture()
    _ = try await fixture.store.put("a", for: .page)
    await fixture.store.close()
    try fixture.sql("PRAGMA wal_checkpoint(TRUNCATE)")
    try fixture.spoilIndex()
    return fixture
  }

  private func repair(_ configuration: StoreConfiguration) -> Quarantine {
    let files = StoreFiles(path: configuration.path)
    return Quarantine(files: files, lockFile: LockFile(files: files), configuration: configuration)
  }

  /// Minutes from now, which no machine is too busy for.
  private var late: Int64 { Platform.monotonicNanoseconds() + 300_000_000_000 }

  /// What is done to the new file while it is filled, and what the error then says.
  enum Trouble: String, CaseIterable, Sendable {
    case nameIsTaken = "cannot make"
    case isRemoved = "cannot change the mode of"
  }

  @Test(arguments: Trouble.allCases)
  func `a new file that cannot be finished takes no place, and the damaged one stays`(trouble: Trouble)
    async throws
  {
    let fixture = try await damaged()
    let before = try fixture.files.bytes(of: "store.sqlite")
    let configuration = fixture.store.configuration
    let outcome = Mutex<Result<Bool, CacheStoreError>?>(nil)
    do {
      // The repair waits for the damaged file's lock after it has made the new file and its tables.
      let writer = try RawDatabase(fixture.path)
      try writer.execute("BEGIN IMMEDIATE")
      let deadline = late
      DispatchQueue(label: "repair").async {
        let files = StoreFiles(path: configuration.path)
        let repair = Quarantine(
          files: files, lockFile: LockFile(files: files), configuration: configuration)
        do throws(CacheStoreError) {
          let isReplaced = try repair.run(waitingUntil: deadline)
          outcome.withLock { $0 = .success(isReplaced) }
        } catch {
          outcome.withLock { $0 = .failure(error) }
        }
      }
      #expect(await eventually { FileStatus(path: fixture.path + ".new-wal")?.bytes ?? 0 > 0 })
      switch trouble {
      case .nameIsTaken: #expect(mkdir(fixture.path + ".repaired", 0o700) == 0)
      case .isRemoved: #expect(unlink(fixture.path + ".new") == 0)
      }
      try writer.execute("ROLLBACK")
    }
    #expect(await eventually { outcome.withLock { $0 != nil } })
    let error = outcome.withLock { $0?.failure }
    #expect(error?.reason == .cannotOpen)
    #expect(error?.message.hasPrefix(trouble.rawValue) == true, "\(String(describing: error))")
    #expect(try fixture.files.bytes(of: "store.sqlite") == before)
    let names = try fixture.files.names()
    #expect(names.allSatisfy { !$0.contains(".damaged-") && !$0.contains(".new") }, "\(names)")
    if trouble == .nameIsTaken { #expect(rmdir(fixture.path + ".repaired") == 0) }
    #expect(try repair(configuration).run(waitingUntil: late))
    let store = fixture.another()
    #expect(try await store.body(of: .page) == "a")
    await store.close()
  }

  @Test(arguments: [".new", ".new-wal", ".new-shm", ".new-journal", ".repaired"])
  func `what cannot be removed from the new file's place is named, and nothing is moved`(ending: String)
    async throws
  {
    let fixture = try await damaged()
    let before = try fixture.files.bytes(of: "store.sqlite")
    #expect(mkdir(fixture.path + ending, 0o700) == 0)
    #expect {
      try repair(fixture.store.configuration).run(waitingUntil: late)
    } throws: {
      ($0 as? CacheStoreError)?.message.hasPrefix("\(fixture.path)\(ending) is in the way") == true
    }
    #expect(try fixture.files.bytes(of: "store.sqlite") == before)
    #expect(try fixture.files.names().allSatisfy { !$0.contains(".damaged-") })
  }

  @Test func `a new file that cannot take its place in the end is told of, and stays`() throws {
    let folder = try TemporaryFolder()
    for name in ["s-journal", "s-journal.repaired"] { try folder.write(name, to: name) }
    // What is moved as the journal of a damaged file of this name comes to the place of the new one: a folder, which no
    // file can replace.
    #expect(mkdir(folder.file("s-journal-journal"), 0o700) == 0)
    let aside = QuarantinedFiles(files: StoreFiles(path: folder.file("s-journal")))
    let repaired = folder.file("s-journal.repaired")
    #expect {
      try aside.exchange(for: folder.file("s"))
    } throws: {
      ($0 as? CacheStoreError)?.message.hasPrefix("cannot move \(repaired) to") == true
    }
    #expect(try folder.text(of: "s") == "s-journal")
    #expect(try folder.text(of: "s-journal.repaired") == "s-journal.repaired")
  }

  /// As it is where a process ended between its renames, and a folder is where the damaged file's log has to go.
  @Test func `while a repair cannot be finished no store is made in its place`() async throws {
    let fixture = try await damaged()
    try fixture.files.write(fixture.files.bytes(of: "store.sqlite"), to: "store.sqlite.repaired")
    #expect(rename(fixture.path, fixture.path + ".damaged-1") == 0)
    for ending in ["-wal", "-shm"] { unlink(fixture.path + ending) }
    try fixture.files.write("log", to: "store.sqlite-wal")
    #expect(mkdir(fixture.path + ".damaged-1-wal", 0o700) == 0)
    let configuration = fixture.store.configuration
    let attempts: [(String, () async throws -> Void)] = [
      ("a repair", { _ = try self.repair(configuration).run(waitingUntil: self.late) }),
      ("a write", { _ = try await fixture.another().put("b", for: .page, at: 2) }),
    ]
    for (name, attempt) in attempts {
      await #expect("\(name)") {
        try await attempt()
      } throws: {
        ($0 as? CacheStoreError)?.message.hasPrefix("cannot move") == true
      }
      #expect(fixture.files.contains("store.sqlite.repaired"), "\(name)")
      #expect(!fixture.files.contains("store.sqlite"), "\(name)")
    }
  }

  /// A header that says that the file may not be written, as a damaged one may.
  @Test func `a damaged file that its header forbids to write is replaced too`() async throws {
    let fixture = try await damaged()
    // The version that a file is written by: 2 at most, by any SQLite there is.
    try fixture.files.overwrite("store.sqlite", at: 18, with: [3])
    #expect(try repair(fixture.store.configuration).run(waitingUntil: late))
    let store = fixture.another()
    #expect(try await store.body(of: .page) == "a")
    await store.close()
  }
}
