import PlatformC
import PlatformFoundation
import Synchronization
import TestSupport
import TestTurns
import Testing

@testable import CacheStore

/// The moment at which a repaired file takes the damaged one's place, and who comes at that moment.
@Suite("A repaired file takes its place", .inTurn) struct RepairExchangeTests {
  private static let alice = RequestKey(account: "alice", target: "https://example.org/s3cret")

  /// A store with an account's row, closed, all of it in the database file.
  private func filled() async throws -> StoreFixture {
    let fixture = try StoreFixture()
    _ = try await fixture.store.put("s3cret-body", for: Self.alice)
    _ = try await fixture.store.put("a", for: .page)
    await fixture.store.close()
    try RawDatabase(fixture.path).execute("PRAGMA wal_checkpoint(TRUNCATE)")
    return fixture
  }

  @Test func `the damaged file takes no write from its copying on until the new one is in its place`()
    async throws
  {
    let fixture = try await filled()
    try fixture.spoilIndex()
    let path = fixture.path
    let codes = Mutex<[Int32]>([])
    // Asked for the quarantined file's name, after the copying and before the exchange.
    let store = fixture.another {
      $0.now = {
        if FileStatus(path: path + ".repaired") != nil, FileStatus(path: path) != nil {
          var code: Int32 = 0
          do {
            let other = try RawDatabase(path)
            try other.execute("PRAGMA busy_timeout = 0; BEGIN IMMEDIATE; DELETE FROM account; COMMIT")
          } catch { code = (error as? RawDatabase.Failed)?.code ?? -1 }
          codes.withLock { $0.append(code & 0xFF) }
        }
        return 1_000_000
      }
    }
    _ = try await store.put("b", for: .other)
    #expect(codes.withLock(\.self) == [5], "5 is SQLITE_BUSY")
    #expect(try fixture.number("SELECT count(*) FROM account WHERE name = 'alice'") == 1)
    await store.close()
  }

  // MARK: Names

  private func folder(_ names: [String]) throws -> (folder: TemporaryFolder, aside: QuarantinedFiles) {
    let folder = try TemporaryFolder()
    for name in names { try folder.write(name, to: "s" + name) }
    return (folder, QuarantinedFiles(files: StoreFiles(path: folder.file("s"))))
  }

  @Test func `log and journal go with the damaged file, and none is beside the new one`() throws {
    let (folder, aside) = try folder(["", "-wal", "-shm", "-journal", ".repaired"])
    try aside.exchange(for: folder.file("s.damaged-1"))
    #expect(try folder.names().sorted() == ["s", "s.damaged-1", "s.damaged-1-journal", "s.damaged-1-wal"])
    #expect(try folder.text(of: "s") == ".repaired" && folder.text(of: "s.damaged-1") == "")
    #expect(
      try folder.text(of: "s.damaged-1-wal") == "-wal" && folder.text(of: "s.damaged-1-journal") == "-journal"
    )
    #expect(aside.all() == [folder.file("s.damaged-1")])
  }

  @Test(
    "a repair that ended between its renames is finished, and the damaged file's log is not the new one's",
    arguments: [
      ["-wal", "-shm", "-journal", ".repaired", ".damaged-1", ".damaged-2"], [".repaired", ".damaged-2"],
      ["-wal", "-shm", "-journal", ".repaired"],
    ])
  func finished(names: [String]) throws {
    let (folder, aside) = try folder(names)
    try aside.finishExchange()
    #expect(try folder.text(of: "s") == ".repaired", "\(names)")
    for companion in ["-wal", "-shm", "-journal"] { #expect(!folder.contains("s" + companion), "\(names)") }
    if names.contains(".damaged-2"), names.contains("-wal") {
      #expect(try folder.text(of: "s.damaged-2-wal") == "-wal", "\(names)")
      #expect(try folder.text(of: "s.damaged-2-journal") == "-journal", "\(names)")
    }
  }

  @Test func `without the new file nothing is moved`() throws {
    let (folder, aside) = try folder(["", "-wal", "-shm"])
    #expect { try aside.exchange(for: folder.file("s.damaged-1")) } throws: {
      ($0 as? CacheStoreError)?.message.contains("s.repaired was removed") == true
    }
    #expect(try folder.names().sorted() == ["s", "s-shm", "s-wal"])
  }

  @Test func `a damaged file that cannot be moved away stays, and so does the new one`() throws {
    let (folder, aside) = try folder(["", "-wal", "-shm", ".repaired"])
    #expect {
      try aside.exchange(for: folder.file("none/s.damaged-1"))
    } throws: {
      ($0 as? CacheStoreError)?.message.hasPrefix("cannot move") == true
    }
    #expect(try folder.names() == ["s", "s-shm", "s-wal", "s.repaired"])
    #expect(try folder.text(of: "s") == "")
  }

  @Test func `while its log cannot go with the damaged file the new one does not take its place`() throws {
    let (folder, aside) = try folder(["", "-wal", ".repaired"])
    #expect(mkdir(folder.file("s.damaged-1-wal"), 0o700) == 0)
    let tried: [(String, () throws -> Void)] = [
      ("exchange", { try aside.exchange(for: folder.file("s.damaged-1")) }),
      ("its end", { try aside.finishExchange() }),
    ]
    for (name, attempt) in tried {
      #expect("\(name)") {
        try attempt()
      } throws: {
        ($0 as? CacheStoreError)?.message.hasPrefix("cannot move") == true
      }
      #expect(folder.contains("s.repaired") && !folder.contains("s"), "\(name)")
    }
    #expect(rmdir(folder.file("s.damaged-1-wal")) == 0)
    try aside.finishExchange()
    #expect(try folder.names() == ["s", "s.damaged-1", "s.damaged-1-wal"])
    #expect(try folder.text(of: "s") == ".repaired" && folder.text(of: "s.damaged-1-wal") == "-wal")
  }

  @Test func `of quarantined files the oldest go with all that is theirs`() throws {
    let (folder, aside) = try folder(
      (1...3).flatMap { number in ["", "-wal", "-journal"].map { ".damaged-\(number)\($0)" } })
    aside.prune()
    #expect(
      try folder.names().sorted()
        == (2...3).flatMap { number in ["", "-journal", "-wal"].map { "s.damaged-\(number)\($0)" } })
  }

  // MARK: Sign-out

  @Test func `a sign-out does not remove the new file of a repair that is under way`() async throws {
    let fixture = try await filled()
    let repair = LockFile(files: StoreFiles(path: fixture.path))
    #expect(try repair.tryLock(.file))
    try fixture.files.write("new", to: "store.sqlite.repaired")
    let hurried = fixture.another { $0.busyTimeout = .milliseconds(50) }
    await #expect { try await hurried.signOut(accountName: "alice") } throws: {
      let error = $0 as? CacheStoreError
      return error?.reason == .busy && error?.message.hasPrefix("the account is signed out, but") == true
    }
    #expect(try fixture.files.text(of: "store.sqlite.repaired") == "new")
    repair.unlock(.file)
    try await hurried.signOut(accountName: "alice")
    #expect(!fixture.files.contains("store.sqlite.repaired"))
    await hurried.close()
  }

  /// A sign-out that has removed the account, and waits for a repair that is under way.
  private func waitingSignOut(
    of fixture: StoreFixture
  ) async throws -> (repair: LockFile, store: ResponseStore, signingOut: Task<Void, any Error>) {
    let repair = LockFile(files: StoreFiles(path: fixture.path))
    #expect(try repair.tryLock(.file))
    // What a sign-out removes, for which it waits until the repair is over.
    try fixture.files.write("draft", to: "store.sqlite.new")
    let store = fixture.another()
    let signingOut = Task { try await store.signOut(accountName: "alice") }
    while try fixture.number("SELECT count(*) FROM account WHERE name = 'alice'") == 1 { await Task.yield() }
    return (repair, store, signingOut)
  }

  /// As if the repairing process had been killed after the first of its moves.
  private func killBetweenMoves(_ fixture: StoreFixture) throws {
    let copy = try fixture.files.bytes(of: "store.sqlite")
    try fixture.files.write(copy, to: "store.sqlite.repaired")
    #expect(rename(fixture.path, fixture.path + ".damaged-1") == 0)
  }

  @Test func `a sign-out that waited for a repair which then ended between its renames finishes it`()
    async throws
  {
    let fixture = try await filled()
    let (repair, store, signingOut) = try await waitingSignOut(of: fixture)
    try killBetweenMoves(fixture)
    repair.unlock(.file)
    try await signingOut.value
    #expect(try await store.body(of: .page) == "a")
    await store.close()
  }

  @Test func `a sign-out that cannot finish such a repair leaves the new file, which is all that there is`()
    async throws
  {
    let fixture = try await filled()
    let (repair, store, signingOut) = try await waitingSignOut(of: fixture)
    try killBetweenMoves(fixture)
    // A folder, which no log can replace.
    #expect(mkdir(fixture.path + ".damaged-1-wal", 0o700) == 0)
    repair.unlock(.file)
    await #expect {
      try await signingOut.value
    } throws: {
      ($0 as? CacheStoreError)?.message.hasPrefix("cannot move") == true
    }
    #expect(fixture.files.contains("store.sqlite.repaired") && !fixture.files.contains("store.sqlite"))
    await store.close()
  }

  @Test func `an account that a repair brings back while it is signed out goes again`() async throws {
    let fixture = try await filled()
    let copy = try fixture.files.bytes(of: "store.sqlite")
    let (repair, store, signingOut) = try await waitingSignOut(of: fixture)
    // The new file was copied before.
    try fixture.files.write(copy, to: "store.sqlite.repaired")
    try QuarantinedFiles(files: StoreFiles(path: fixture.path)).exchange(for: fixture.path + ".damaged-1")
    repair.unlock(.file)
    try await signingOut.value
    for name in try fixture.files.names() {
      let text = String(decoding: try fixture.files.bytes(of: name), as: UTF8.self)
      #expect(!text.contains("s3cret") && !text.contains("alice"), "\(name)")
      #expect(!name.contains("damaged") && !name.contains(".new") && !name.contains(".repaired"), "\(name)")
    }
    #expect(try await store.body(of: .page) == "a")
    await store.close()
  }

  @Test func `names that cannot be read are not taken for none`() throws {
    let folder = try TemporaryFolder()
    try folder.write("x", to: "f")
    #expect(throws: FolderNames.Unreadable.self) { try FolderNames.read(in: folder.file("f")) }
    #expect(throws: FolderNames.Unreadable.self) { try FolderNames.read(in: folder.file("none")) }
    #expect(try FolderNames.read(in: folder.path).sorted() == [".", "..", "f"])
  }

  // MARK: Counts

  @Test func `counts that one process stores are not stored by another before they are removed`() throws {
    let folder = try TemporaryFolder()
    let journal = UsageJournal(files: StoreFiles(path: folder.file("s")))
    _ = try journal.append { [0x61, 0x0A] }
    var taken = journal.take()
    #expect(taken?.bytes == [0x61, 0x0A] && journal.take() == nil)
    // Not removed, as where the commit failed: the next one has them.
    taken = nil
    taken = journal.take()
    #expect(taken?.bytes == [0x61, 0x0A])
    taken?.remove()
    #expect(journal.take() == nil)
    taken = nil
    _ = try journal.append { [0x62, 0x0A] }
    #expect(journal.take()?.bytes == [0x62, 0x0A])
  }
}
