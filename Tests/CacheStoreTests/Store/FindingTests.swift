import CXXHash
import CacheStore
import PlatformC
import TestSupport
import Testing
import TestTurns

@Suite("What doctor finds in the store", .inTurn) struct FindingTests {
  func wrong(_ store: ResponseStore, repair: Bool = false) async -> [String] {
    await store.findings(repair: repair).filter { $0.severity != .fine }.map {
      "\($0.subject) \($0.severity)"
    }
  }

  func message(_ store: ResponseStore, _ subject: String) async -> String? {
    await store.findings(repair: false).first { $0.subject == subject }?.message
  }

  @Test func `a sound store, and one that is not there, are fine`() async throws {
    let fixture = try StoreFixture { $0.chunkBytes = 1000 }
    #expect(await wrong(fixture.store).isEmpty)
    _ = try await fixture.store.put(pattern(3500), for: .page)
    #expect(await wrong(fixture.store).isEmpty)
    #expect(
      await fixture.store.findings().contains {
        $0.subject == "libraries" && $0.message.contains("SQLite 3.") && $0.message.contains("xxHash 0.")
      })
    let text = "xxHash \(ResponseStore.dotted(cachefetch_xxhash_version()))"
    #expect(
      await fixture.store.findings().contains { $0.subject == "libraries" && $0.message.hasSuffix(text) })
    #expect([803, 10_000, 20_103].map(ResponseStore.dotted) == ["0.8.3", "1.0.0", "2.1.3"])
    #expect(
      await fixture.store.findings().contains {
        $0.subject == "schema" && $0.message.hasPrefix("schema 4,")
          && $0.message.hasSuffix("; written through a write-ahead log")
      })
    #expect(await message(fixture.store, "file") == fixture.path)
  }

  /// As it is where whoever makes the store has only just begun.
  @Test func `in an empty file nothing is wrong, and nothing is there`() async throws {
    let fixture = try StoreFixture()
    try fixture.files.write("", to: "store.sqlite")
    #expect(chmod(fixture.path, 0o600) == 0)
    let found = await fixture.store.findings()
    #expect(found.allSatisfy { $0.severity == .fine }, "\(found)")
    for (subject, message) in [
      ("schema", "the store is still empty"), ("log", "the write-ahead log has 0 bytes"),
      ("digest-key", "not needed yet"),
    ] {
      #expect(found.filter { $0.subject == subject }.map(\.message) == [message], "\(subject)")
    }
    _ = try DigestKey.loadOrCreate(nextTo: fixture.path)
    #expect(await message(fixture.store, "digest-key") == fixture.path + ".key")
  }

  @Test func `of many problems of the structure ten are told`() async throws {
    let fixture = try StoreFixture()
    for number in 0..<12 {
      _ = try await fixture.store.put("a", for: RequestKey(target: "https://example.org/\(number)"))
    }
    await fixture.store.close()
    // Each row is one that no store can have written.
    let (right, wrong) = ("INTEGER NOT NULL CHECK (good", "INTEGER CHECK (good")
    func declare(_ new: String, insteadOf old: String) -> String {
      "PRAGMA writable_schema = ON; UPDATE sqlite_schema SET sql = replace(sql, '\(old)', '\(new)'); "
    }
    try fixture.sql(
      declare(wrong, insteadOf: right)
        + "PRAGMA writable_schema = RESET; UPDATE last_request SET good = NULL; "
        + declare(right, insteadOf: wrong))
    let found = await fixture.another().findings().filter { $0.subject == "integrity" }
    #expect(found.count == 10 && found.allSatisfy { $0.severity == .wrong }, "\(found)")
  }

  @Test func `modes that let others read are found and repaired`() async throws {
    let fixture = try StoreFixture()
    _ = try await fixture.store.put("a", for: .page)
    chmod(fixture.path, 0o644)
    #expect(await wrong(fixture.store) == ["mode wrong"])
    #expect(await fixture.store.findings().first { $0.subject == "mode" }?.remedy == .repair)
    #expect(await wrong(fixture.store, repair: true) == ["mode repaired"])
    #expect(await wrong(fixture.store).isEmpty)
    chmod(fixture.folder, 0o777)
    #expect(await wrong(fixture.store) == ["folder wrong"])
  }

  @Test func `what a link in the place of a file leads to keeps its mode`() async throws {
    let fixture = try StoreFixture()
    _ = try await fixture.store.put("a", for: .page)
    let theirs = try fixture.files.write("somebody's file", to: "theirs")
    #expect(chmod(theirs, 0o644) == 0)
    #expect(symlink(theirs, fixture.path + ".tier") == 0)
    let found = await fixture.store.findings(repair: true).filter { $0.subject == "mode" }
    #expect(found.map(\.severity) == [.wrong])
    #expect(found.first?.remedy == "remove it: it is not a regular file")
    var status = stat()
    #expect(stat(theirs, &status) == 0 && status.st_mode & 0o777 == 0o644)
  }

  @Test func `a pause is told in seconds or minutes, a begun one among them, and with its account`()
    async throws
  {
    let now = StartMark(boot: "boot-1", nanoseconds: 1_000_000_000)
    let fixture = try StoreFixture { $0.bootNow = { now.nanoseconds } }
    let store = fixture.store
    for (account, host, milliseconds) in [("", "a", 60_000), ("alice", "b", 60_001), ("", "c", 2_001)]
      as [(String, String, Int64)]
    {
      try await store.pause(
        accountID: try await store.accountID(named: account), responder: "https://\(host).example",
        Pause(heard: now, milliseconds: milliseconds))
    }
    let found = await store.findings(at: now).filter { $0.subject == "pause" }
    #expect(
      found.map(\.message) == [
        "https://a.example asked to be left alone, for 1 min more",
        "https://b.example (account alice) asked to be left alone, for 2 min more",
        "https://c.example asked to be left alone, for 3 s more",
      ])
    #expect(found.allSatisfy { $0.severity == .fine && $0.remedy != nil })
    let reader = fixture.another { $0.isReadOnly = true }
    let untouched = await reader.findings(repair: true, at: now).filter { $0.subject == "pause" }
    #expect(untouched.map(\.message) == found.map(\.message))
    #expect(untouched.allSatisfy { $0.severity == .fine && $0.remedy != nil })
    await reader.close()
    let ended = await store.findings(repair: true, at: now).filter { $0.subject == "pause" }
    #expect(ended.count == 3 && ended.allSatisfy { $0.severity == .repaired && $0.remedy == nil })
    #expect(await store.findings(at: now).allSatisfy { $0.subject != "pause" })
  }

  @Test func `damaged rows, first chunk or later, are found and removed`() async throws {
    let fixture = try StoreFixture { $0.chunkBytes = 1000 }
    _ = try await fixture.store.put(pattern(3500), for: .page)
    _ = try await fixture.store.put("sound", for: RequestKey(target: "t"))
    try fixture.sql("UPDATE chunk SET bytes = zeroblob(1000) WHERE id % 1048576 = 2")
    #expect(await wrong(fixture.store) == ["checksums wrong"])
    #expect(await message(fixture.store, "checksums") == "1 stored response is damaged")
    _ = try await fixture.store.put(pattern(3500), for: RequestKey(target: "u"))
    try fixture.sql("UPDATE chunk SET bytes = zeroblob(1000) WHERE id % 1048576 = 2")
    #expect(await message(fixture.store, "checksums") == "2 stored responses are damaged")
    let remedies = await fixture.store.findings().filter { $0.subject == "checksums" }.map(\.remedy)
    #expect(remedies == [.repairRemoves])
    // Their bodies with them: none is found afterwards as one that belongs to no response.
    let repaired = await fixture.store.findings(repair: true).filter { $0.severity != .fine }
    #expect(repaired.map(\.subject) == ["checksums"], "\(repaired)")
    #expect(repaired.map(\.severity) == [.repaired] && repaired.map(\.remedy) == [nil])
    #expect(await wrong(fixture.store).isEmpty)
    #expect(try fixture.store.lookupNow(.page).rows.isEmpty)
    #expect(try await fixture.store.body(of: RequestKey(target: "t")) == "sound")
    // And with a row its body goes.
    await fixture.store.performMaintenance(budget: .seconds(60))
    #expect(try fixture.remains() == 0)
    #expect(try fixture.number("SELECT count(*) FROM body") == 1)
  }

  @Test func `bodies that no response has are found, and removed when asked for`() async throws {
    let fixture = try StoreFixture { $0.chunkBytes = 1000 }
    _ = try await fixture.store.put(pattern(3500), for: .page)
    _ = try await fixture.store.put("kept", for: RequestKey(target: "t"))
    // What is being received, was cut off and can be resumed, or was released, is none of them.
    let account = try await fixture.store.accountID(named: "")
    let arriving = try await fixture.store.beginBody(accountID: account)
    try await arriving.append(pattern(10))
    do {
      let partial = UnfinishedBody.Partial(
        key: RequestKey(target: "u"), url: "u", strongETag: "\"1\"", wholeLength: nil)
      let cutOff = try await fixture.store.beginBody(accountID: account, partial: partial)
      try await cutOff.append(pattern(10))
    }
    _ = try await fixture.store.put(pattern(2500), for: .page, at: 2)
    #expect(await wrong(fixture.store).isEmpty)
    try fixture.sql("UPDATE last_request SET body_id = 77 WHERE target = 't'")
    #expect(await wrong(fixture.store) == ["checksums wrong", "bodies wrong"])
    #expect(await wrong(fixture.store, repair: true) == ["checksums repaired", "bodies repaired"])
    #expect(await wrong(fixture.store).isEmpty)
    await fixture.store.performMaintenance(budget: .seconds(60))
    #expect(
      try fixture.number("SELECT count(*) FROM body WHERE checksum IS NOT NULL AND released_at_ms = 0") == 0)
    let row = try #require(try fixture.store.lookupNow(.page).rows.first)
    #expect(try await fixture.store.wholeBody(row) == pattern(2500))
    try await arriving.append(pattern(10))
  }

  @Test(arguments: [
    (1, "1 stored body belongs to no response"), (2, "2 stored bodies belong to no response"),
  ])
  func `bodies that no response has are counted`(count: Int, message: String) async throws {
    let fixture = try StoreFixture()
    for number in 0..<count {
      _ = try await fixture.store.put("a", for: RequestKey(target: "https://example.org/\(number)"))
    }
    try fixture.sql("DELETE FROM last_request")
    #expect(await self.message(fixture.store, "bodies") == message)
  }

  @Test func `a damaged file is found, and replaced when asked for`() async throws {
    let fixture = try StoreFixture()
    _ = try await fixture.store.put("a", for: .page)
    await fixture.store.close()
    let root = try #require(
      try fixture.number("SELECT rootpage FROM sqlite_schema WHERE name = 'sqlite_autoindex_last_request_1'"))
    try fixture.sql("PRAGMA wal_checkpoint(TRUNCATE)")
    try fixture.files.overwrite(
      "store.sqlite", at: Int(root - 1) * 8192, with: Array(repeating: 0xFF, count: 8192))
    let store = fixture.another()
    let found = await wrong(store)
    #expect(found.first == "integrity wrong")
    #expect(await wrong(store, repair: true).first == "integrity repaired")
    #expect(await wrong(store).isEmpty)
    #expect(try await store.body(of: .page) == "a", "its row was still readable")
    #expect(await store.findings().contains { $0.subject == "quarantined" })
  }

  @Test func `a lost digest key is explained, and what it hid is removed when asked for`() async throws {
    let fixture = try StoreFixture()
    let key = try DigestKey.loadOrCreate(nextTo: fixture.path)
    let hidden = RequestKey(account: "auto:" + key.digest([1]), target: "t")
    _ = try await fixture.store.put("a", for: hidden)
    #expect(await wrong(fixture.store).isEmpty)
    unlink(fixture.path + ".key")
    #expect(await wrong(fixture.store) == ["digest-key wrong"])
    _ = try DigestKey.loadOrCreate(nextTo: fixture.path)
    #expect(await wrong(fixture.store) == ["digest-key wrong"], "a new key does not find them either")
    #expect(await wrong(fixture.store, repair: true) == ["digest-key repaired"])
    #expect(await wrong(fixture.store).isEmpty)
    #expect(try fixture.number("SELECT count(*) FROM last_request") == 0)
  }

  @Test(
    "a repair that is refused its statement does not say that it is done",
    arguments: [
      ("checksums", "DELETE ON last_request"), ("checksums", "UPDATE ON body"), ("bodies", "UPDATE ON body"),
      ("digest-key", "DELETE ON account"),
      ("pause", "DELETE ON pause"),
    ])
  func refused(subject: String, statement: String) async throws {
    let fixture = try StoreFixture { $0.chunkBytes = 1000 }
    let store = fixture.store
    let now = StartMark(boot: "boot-1", nanoseconds: 1_000_000_000)
    switch subject {
    case "checksums":
      _ = try await store.put(pattern(3500), for: .page)
      try fixture.sql("UPDATE chunk SET bytes = zeroblob(1000) WHERE id % 1048576 = 2")
    case "bodies":
      _ = try await store.put("a", for: .page)
      try fixture.sql("DELETE FROM last_request")
    case "digest-key":
      let key = try DigestKey.loadOrCreate(nextTo: fixture.path)
      _ = try await store.put("a", for: RequestKey(account: "auto:" + key.digest([1]), target: "t"))
      unlink(fixture.path + ".key")
    default:
      try await store.pause(
        accountID: try await store.accountID(named: ""), responder: "https://example.org",
        Pause(heard: now, milliseconds: 60_000))
    }
    func severities(repair: Bool) async -> [StoreFinding.Severity] {
      await store.findings(repair: repair, at: now).filter { $0.subject == subject || $0.subject == "file" }
        .map(\.severity)
    }
    try fixture.sql("CREATE TRIGGER refused BEFORE \(statement) BEGIN SELECT RAISE(ABORT, 'refused'); END")
    let refused = await severities(repair: true)
    #expect(refused.contains(.wrong) && !refused.contains(.repaired), "\(refused)")
    try fixture.sql("DROP TRIGGER refused")
    #expect(await severities(repair: true).contains(.repaired))
    #expect(await severities(repair: false).allSatisfy { $0 == .fine })
    await store.close()
  }

  @Test func `a digest key that was lost and that nobody needs is no trouble`() async throws {
    let fixture = try StoreFixture()
    let key = try DigestKey.loadOrCreate(nextTo: fixture.path)
    let hidden = RequestKey(account: "auto:" + key.digest([1]), target: "t")
    _ = try await fixture.store.put("a", for: hidden)
    _ = try await fixture.store.put("b", for: .page)
    // The proof of the key stays, what was named with it goes.
    try await fixture.store.signOut(accountName: hidden.account)
    #expect(unlink(fixture.path + ".key") == 0)
    #expect(try fixture.number("SELECT count(*) FROM digest_key") == 1)
    #expect(await wrong(fixture.store).isEmpty)
    #expect(await wrong(fixture.store, repair: true).isEmpty)
    _ = try DigestKey.loadOrCreate(nextTo: fixture.path)
    #expect(await wrong(fixture.store).isEmpty, "nor is another one")
    #expect(try await fixture.store.body(of: .page) == "b")
  }

  @Test func `a log that a reader keeps from beginning anew is found, and emptied once the reader has ended`()
    async throws
  {
    let fixture = try StoreFixture { $0.busyTimeout = .milliseconds(50) }
    _ = try await fixture.store.put("a", for: .page)
    let reader = try RawDatabase(fixture.path)
    try reader.execute("BEGIN; SELECT count(*) FROM chunk")
    try fixture.sql(
      "PRAGMA wal_autocheckpoint = 0; INSERT INTO chunk VALUES (1 << 40, 0, zeroblob(18 << 20))")
    try fixture.sql("DELETE FROM chunk WHERE id = 1 << 40")
    #expect(await wrong(fixture.store) == ["log wrong"])
    #expect(await wrong(fixture.store, repair: true) == ["log wrong"])
    #expect(await fixture.store.findings(repair: true).contains { $0.remedy == "end its readers" })
    try reader.execute("COMMIT")
    #expect(await wrong(fixture.store, repair: true) == ["log repaired"])
    #expect(await wrong(fixture.store).isEmpty)
  }

  @Test func `a newer store and a foreign file are explained and left alone`() async throws {
    let folder = try TemporaryFolder()
    let path = folder.file("newer.sqlite")
    try RawDatabase(path, create: true).execute("PRAGMA application_id = 0x43464348; PRAGMA user_version = 9")
    let store = ResponseStore(configuration: .unhurried(path: path))
    let findings = await store.findings(repair: true)
    #expect(findings.contains { $0.severity == .wrong && $0.message.contains("newer release") })
    let text = try folder.write(String(repeating: "text ", count: 1000), to: "text")
    let other = ResponseStore(configuration: .unhurried(path: text))
    chmod(text, 0o644)
    let wrong = await other.findings(repair: true).filter { $0.severity == .wrong }
    #expect(wrong.count == 1 && wrong.first?.remedy == .otherFile)
    var status = stat()
    #expect(stat(text, &status) == 0 && status.st_mode & 0o777 == 0o644)
    #expect(try folder.text(of: "text").hasPrefix("text text"))
  }
}
