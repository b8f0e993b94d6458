import CFaultVFS
import PlatformFoundation
import TestSupport
import Testing
import TestTurns

@testable import CacheStore

@Suite("Sign-out", .inTurn) struct SignOutTests {
  @Test func `no byte of a signed-out account is left in any file, and others' rows are whole`() async throws
  {
    let fixture = try StoreFixture { $0.chunkBytes = 5000 }
    let store = fixture.store
    let bob = RequestKey(account: "bob", target: "https://example.org/bob")
    let alice = try await store.accountID(named: "alice")
    var random = SeededGenerator(for: "sign-out")
    for round in 1...420 {
      let key = RequestKey(
        account: "alice", target: "https://s3cret-host.example/s3cret-path/\(round % 60)",
        extra: "s3cret-extra")
      let count = [100, 4000, 12_000][round % 3]
      let body = Data((String(repeating: "s3cret-body ", count: count / 12)).utf8)
      _ = try await store.put(body, for: key, at: Int64(round)) {
        $0.head.fields = ["X-Secret": "s3cret-field"]
        $0.marks.tags = ["s3cret-tag"]
        $0.variant = "s3cret-variant: x"
        $0.head.url = "https://s3cret-answer.example/"
      }
      if round % 7 == 0 { _ = try await store.put(pattern(3000), for: bob, at: Int64(round)) }
      if Int.random(in: 0..<20, using: &random) == 0 { await store.performMaintenance() }
    }
    try await store.pause(
      accountID: alice, responder: "https://s3cret-origin.example",
      Pause(heard: StartMark(boot: "b", nanoseconds: 1), milliseconds: 1))
    store.count(accountID: alice, host: "s3cret-host.example", UsageCount())
    store.count(accountName: "alice", host: "s3cret-host.example", UsageCount())
    try fixture.files.write("s3cret-body in an old file", to: "store.sqlite.damaged-20200101T000000Z")
    try fixture.files.write("s3cret-body", to: "store.sqlite.damaged-20200101T000000Z-wal")

    let inFlight = try await store.beginBody(
      accountID: alice,
      partial: .init(
        key: RequestKey(target: "https://s3cret-host.example/"), variant: "s3cret",
        url: "https://s3cret-host.example/", fields: ["X": "s3cret"], strongETag: "\"s3cret\"",
        wholeLength: nil))
    try await inFlight.append(Data("s3cret-body in flight".utf8))
    let reader = try ChildProcess(
      try BuiltProduct.path("StoreDriver"),
      ["read", fixture.path, "https://s3cret-host.example/s3cret-path/1"], input: nil)
    #expect(
      await reader.output.lines(1).first == "rows 0", "its extra is another: no row, but an open connection")

    try await store.signOut(accountName: "alice")

    await #expect { try await inFlight.append(Data("s3cret-body late".utf8)) } throws: {
      ($0 as? CacheStoreError)?.reason == .signedOut
    }
    reader.write(Array("store\nlook\n".utf8))
    #expect(await reader.output.lines(3).dropFirst() == ["refused signedOut", "rows 0"])
    for name in try fixture.files.names() {
      let text = String(decoding: try fixture.files.bytes(of: name), as: UTF8.self)
      for wanted in ["s3cret", "alice"] { #expect(!text.contains(wanted), "\(wanted) in \(name)") }
      #expect(!name.contains("damaged"), "\(name)")
    }
    #expect(try await store.wholeBody(try #require(try store.lookupNow(bob).rows.first)) == pattern(3000))
    reader.closeInput()
    _ = await reader.exit()
    await store.close()
    for name in try fixture.files.names() {
      let text = String(decoding: try fixture.files.bytes(of: name), as: UTF8.self)
      #expect(!text.contains("s3cret"), "\(name), after closing")
    }
  }

  @Test(arguments: [StoreHolder.Kind.reading, .writing, .exclusive])
  func `a process that keeps the bytes is named, with its program`(kind: StoreHolder.Kind) async throws {
    let fixture = try StoreFixture()
    let alice = RequestKey(account: "alice", target: "t")
    _ = try await fixture.store.put("x", for: alice)
    await fixture.store.close()
    let holder = try await StoreHolder(kind, fixture.path)
    // Another process that has the store open and is idle is in nobody's way, and is not named.
    let idle =
      kind == .exclusive
      ? nil
      : try ChildProcess(
        try BuiltProduct.path("StoreDriver"), ["read", fixture.path, "t"], input: nil)
    if let idle { #expect(await idle.output.lines(1).first == "rows 1") }
    let store = fixture.another { $0.busyTimeout = .milliseconds(50) }
    do throws(CacheStoreError) {
      try await store.signOut(accountName: "alice")
      Issue.record("signed out although another process holds the store")
    } catch {
      #expect(error.reason == .busy && error.hint == "end what uses it, and sign out again")
      #expect(
        error.message.hasSuffix("\(fixture.path) is in use by process \(holder.processID) (StoreDriver)"))
      #expect(
        error.message.hasPrefix("the account is \(kind == .reading ? "signed out, but" : "not signed out")"))
      if let idle { #expect(!error.message.contains("\(idle.pid)"), "\(error.message)") }
    }
    await holder.release()
    let later = fixture.another()
    #expect(try await later.lookup(alice).rows.isEmpty == (kind == .reading))
    try await later.signOut(accountName: "alice")
    #expect(try await later.lookup(alice).accountID == nil)
    idle?.closeInput()
    await holder.end()
  }

  @Test func `of a program's name only visible letters are shown`() {
    let all = String(String.UnicodeScalarView((0...0x100).compactMap(Unicode.Scalar.init)))
    #expect(
      LockHolders.shown(all)
        == String(String.UnicodeScalarView((0x21...0x7E).compactMap(Unicode.Scalar.init))))
  }

  @Test func `locks are read from the system's list`() {
    let lock = LockHolders.Lock("1: POSIX  ADVISORY  READ 1234 00:2f:5678 124 126")
    #expect(
      lock?.process == 1234 && lock?.inode == 5678 && lock?.bytes == 124...126 && lock?.isExclusive == false)
    #expect(LockHolders.Lock("2: POSIX  ADVISORY  WRITE 7 fe:00:9 0 EOF")?.bytes == 0...Int64.max)
    #expect(LockHolders.Lock("2: POSIX  ADVISORY  WRITE 7 fe:00:9 0 EOF")?.isExclusive == true)
    // In a container the first process may be the one that holds the store.
    #expect(LockHolders.Lock("2: POSIX  ADVISORY  WRITE 1 fe:00:9 0 EOF")?.process == 1)
    for other in [
      "3: -> POSIX  ADVISORY  WRITE 7 fe:00:9 0 EOF", "4: OFDLCK ADVISORY  WRITE -1 fe:00:9 0 EOF", "",
      "x y z",
      "5: POSIX  ADVISORY  READ 0 00:2f:5678 124 124", "6: FLOCK  ADVISORY  WRITE 7 fe:00:9 0 EOF",
    ] { #expect(LockHolders.Lock(other[...]) == nil, "\(other)") }
  }

  @Test(
    "a store that turns out to be damaged while an account is signed out leaves no byte of it",
    arguments: 0..<12)
  func damaged(part: Int) async throws {
    let fixture = try StoreFixture { $0.chunkBytes = 5000 }
    let bob = RequestKey(account: "bob", target: "https://example.org/bob")
    for number in 1...60 {
      let key = RequestKey(account: "alice", target: "https://example.org/s3cret/\(number)")
      let body = Data(String(repeating: "s3cret-body ", count: [10, 300, 1_000][number % 3]).utf8)
      _ = try await fixture.store.put(body, for: key, at: Int64(number))
    }
    _ = try await fixture.store.put("bob's", for: bob)
    await fixture.store.close()
    try fixture.sql("PRAGMA wal_checkpoint(TRUNCATE)")
    let pages = try fixture.files.bytes(of: "store.sqlite").count / 8192
    // Not the first page, without which it is no store.
    let page = 1 + part * (pages - 1) / 12
    try fixture.files.overwrite(
      "store.sqlite", at: page * 8192, with: distinctBytes(8192))
    let store = fixture.another()
    try await store.signOut(accountName: "alice")
    for name in try fixture.files.names() {
      let text = String(decoding: try fixture.files.bytes(of: name), as: UTF8.self)
      #expect(!text.contains("s3cret") && !text.contains("alice"), "\(name), page \(page)")
      #expect(!name.contains("damaged") && !name.contains(".new"), "\(name), page \(page)")
    }
    await store.close()
  }

  /// What of an entry of which index is changed: the account is not found, or its row is not found to be the account's.
  @Test(
    "what an index has lost goes with its account",
    arguments: [
      ("sqlite_autoindex_account_1", "alice", false),
      ("sqlite_autoindex_last_request_1", "https://example.org/s3cret/1", true),
    ])
  func lostByIndex(index: String, text: String, isBefore: Bool) async throws {
    let fixture = try StoreFixture()
    let alice = try await fixture.store.accountID(named: "alice")
    let bob = RequestKey(account: "bob", target: "https://example.org/bob")
    for number in 1...3 {
      let key = RequestKey(account: "alice", target: "https://example.org/s3cret/\(number)")
      _ = try await fixture.store.put("s3cret-body", for: key, accountID: alice)
    }
    _ = try await fixture.store.put("bob's", for: bob)
    await fixture.store.close()
    try fixture.spoil(text, in: index, isBefore: isBefore)
    let store = fixture.another()
    try await store.signOut(accountName: "alice")
    for name in try fixture.files.names() {
      let text = String(decoding: try fixture.files.bytes(of: name), as: UTF8.self)
      #expect(!text.contains("s3cret") && !text.contains("alice"), "\(name)")
      #expect(!name.contains("damaged") && !name.contains(".new"), "\(name)")
    }
    #expect(try await store.body(of: bob) == "bob's")
    #expect(await store.findings().allSatisfy { $0.severity == .fine })
    await store.close()
  }

  /// As a person leaves it who deletes an account with the shell, which does not look at foreign keys.
  @Test func `a row whose account is gone is no damage, and goes with the next account`() async throws {
    let fixture = try StoreFixture()
    let bob = RequestKey(account: "bob", target: "https://example.org/bob")
    for account in ["alice", "carol"] {
      let key = RequestKey(account: account, target: "https://example.org/s3cret")
      _ = try await fixture.store.put("x", for: key)
    }
    _ = try await fixture.store.put("bob's", for: bob)
    try fixture.sql("PRAGMA foreign_keys = OFF; DELETE FROM account WHERE name = 'alice'")
    try await fixture.store.signOut(accountName: "carol")
    for name in try fixture.files.names() {
      let text = String(decoding: try fixture.files.bytes(of: name), as: UTF8.self)
      #expect(!text.contains("s3cret"), "\(name)")
    }
    #expect(try await fixture.store.body(of: bob) == "bob's")
    await fixture.store.close()
  }

  @Test func `what a repair that was killed has left goes too`() async throws {
    let fixture = try StoreFixture()
    _ = try await fixture.store.put("x", for: RequestKey(account: "alice", target: "t"))
    let names = [
      ".new", ".new-wal", ".new-shm", ".new-journal", ".repaired", ".repaired-wal",
      ".damaged-20200101T000000Z",
      ".damaged-20200101T000000Z-wal", ".damaged-20200101T000000Z-shm",
    ]
    for name in names { try fixture.files.write("s3cret-body", to: "store.sqlite" + name) }
    try await fixture.store.signOut(accountName: "alice")
    await fixture.store.close()
    for name in names { #expect(!fixture.files.contains("store.sqlite" + name), "\(name)") }
  }

  @Test func `a file that cannot be removed is named, and nothing is said to be gone`() async throws {
    let fixture = try StoreFixture()
    _ = try await fixture.store.put("x", for: RequestKey(account: "alice", target: "t"))
    let folder = fixture.path + ".new-wal"
    // What unlink(2) refuses whoever asks.
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    await #expect { try await fixture.store.signOut(accountName: "alice") } throws: {
      ($0 as? CacheStoreError)?.message.contains("\(folder) cannot be removed") == true
    }
  }

  @Test func `an account that cannot be removed on a full disk stays, with its counts`() async throws {
    let vfs = "full at sign-out"
    #expect(faultvfs_register(vfs) != 0)
    defer { faultvfs_unregister(vfs) }
    let fixture = try StoreFixture { $0.vfs = vfs }
    let store = fixture.store
    // Without rows, whose removal one by one would fail first.
    let alice = try await store.accountID(named: "alice")
    var count = UsageCount()
    count.stored = 1
    store.count(accountID: alice, host: "example.org", count)
    await store.whenIdle()
    faultvfs_arm(vfs, Int32(FAULT_WRITE), 1, Int32(FAULT_FULL), 1)
    await #expect { try await store.signOut(accountName: "alice") } throws: {
      ($0 as? CacheStoreError)?.reason == .full
    }
    faultvfs_arm(vfs, 0, 0, 0, 0)
    #expect(try await store.statistics().parts.map(\.host) == ["example.org"])
    try await store.signOut(accountName: "alice")
    #expect(try await store.statistics().parts.isEmpty)
    await store.close()
  }

  @Test func `a row that cannot be removed on a full disk ends the sign-out, and stays`() async throws {
    let vfs = "full at a row"
    #expect(faultvfs_register(vfs) != 0)
    defer { faultvfs_unregister(vfs) }
    let fixture = try StoreFixture { $0.vfs = vfs }
    let store = fixture.store
    let key = RequestKey(account: "alice", target: "t")
    _ = try await store.put("x", for: key)
    await store.whenIdle()
    faultvfs_arm(vfs, Int32(FAULT_WRITE), 1, Int32(FAULT_FULL), 1)
    await #expect { try await store.signOut(accountName: "alice") } throws: {
      ($0 as? CacheStoreError)?.reason == .full
    }
    faultvfs_arm(vfs, 0, 0, 0, 0)
    #expect(try await store.body(of: key) == "x")
    try await store.signOut(accountName: "alice")
    #expect(try await store.lookup(key).accountID == nil)
    await store.close()
  }

  @Test("where the database alone was removed, its log and its counts go too", arguments: [true, false])
  func removed(isOpen: Bool) async throws {
    let fixture = try StoreFixture()
    func whereFound() throws -> [String] {
      try fixture.files.names().filter {
        String(decoding: try fixture.files.bytes(of: $0), as: UTF8.self).contains("s3cret")
      }
    }
    _ = try await fixture.store.put(
      "s3cret-body", for: RequestKey(account: "alice", target: "https://s3cret-host.example/"))
    try FileManager.default.removeItem(atPath: fixture.path)
    for name in ["-journal", ".uses", ".uses-taken"] {
      try fixture.files.write("s3cret-host.example", to: "store.sqlite" + name)
    }
    #expect(try whereFound().contains("store.sqlite-wal"), "nothing was written back")
    let store = isOpen ? fixture.store : fixture.another()
    try await store.signOut(accountName: "alice")
    #expect(try whereFound().isEmpty)
    await fixture.store.close()
    #expect(try whereFound().isEmpty)
  }

  @Test func `signing out where there is no store makes none`() async throws {
    let fixture = try StoreFixture()
    try await fixture.store.signOut(accountName: "alice")
    #expect(try fixture.files.names().isEmpty)
  }
}
