import CFaultVFS
import PlatformFoundation
import TestSupport
import Testing
import TestTurns

@testable import CacheStore

/// One use of a table after the other is refused to each operation. An error that is swallowed on its way would let an
/// operation go on with a part of what it does, or say that nothing is stored where something is.
@Suite("Whatever an operation does with a table, an error of it is told", .inTurn)
struct RefusedStatementTests {
  typealias Operation = StatementErrorTests.Operation

  /// An error that an operation has to tell by what it returns.
  private struct Told: Error {}

  static let reports: [Operation] = [
    Operation(name: "a look-up") { _ = try await $0.store.lookup(.short) },
    Operation(name: "a look-up at once") { _ = try $0.store.lookupNow(.tagged) },
    Operation(name: "listing the entries") { _ = try await $0.store.entries() },
    Operation(name: "a list of a tag") { filled in
      var selection = EntrySelection.all
      selection.tag = "one"
      _ = try await filled.store.entries(selection)
    },
    Operation(name: "statistics") { _ = try await $0.store.statistics() },
    Operation(name: "limits in force") { _ = try await $0.store.limits() },
    Operation(name: "pauses") { _ = try await $0.store.pauses(at: .at(2)) },
    Operation(name: "a pause at once") { filled in
      _ = try filled.store.pauseNow(accountName: "", responder: "https://example.org")
    },
    Operation(name: "use") { _ = try await $0.store.use() },
    Operation(name: "whether an account is revoked") { filled in
      _ = try await filled.store.isRevoked(accountID: filled.accountID + 100)
    },
    Operation(name: "the chunks of a body") { filled in
      let row = try #require(try await filled.store.lookup(.long).rows.first)
      for number in 0..<3 {
        _ = try await filled.store.chunk(number, of: row.body.id, accountID: row.accountID)
      }
    },
    Operation(name: "the parts of a download") { filled in
      _ = try await filled.store.partialBody(accountID: filled.accountID, key: .cutOff)
    },
    Operation(name: "findings") { filled in
      // The copy's mode is that of any file.
      let findings = await filled.store.findings(at: .at(2)).filter { $0.subject != "mode" }
      if findings.contains(where: { $0.severity == .wrong }) { throw Told() }
    },
    Operation(name: "a repair", isPiecewise: true) { filled in
      let findings = await filled.store.findings(repair: true, at: .at(2)).filter { $0.subject != "mode" }
      if findings.contains(where: { $0.severity == .wrong }) { throw Told() }
    },
    Operation(
      name: "a repair of a damaged row", isPiecewise: true,
      prepare: { try $0.fixture.sql("UPDATE last_request SET status = status + 1 WHERE id = \($0.row)") },
      perform: { filled in
        let findings = await filled.store.findings(repair: true).filter { $0.subject != "mode" }
        if findings.contains(where: { $0.severity == .wrong }) { throw Told() }
      }),
    Operation(
      name: "a new store",
      prepare: { try FileManager.default.removeItem(atPath: $0.fixture.path) },
      perform: { _ = try await $0.store.put("new", for: .other) }),
    Operation(name: "housekeeping", isPiecewise: true) { filled in
      if await filled.store.performMaintenance(budget: .seconds(3600)) != nil { throw Told() }
    },
    Operation(
      name: "housekeeping with a limit of age", isPiecewise: true,
      prepare: StatementErrorTests.Filled.limit("maximum_ms", 1),
      perform: { filled in
        if await filled.store.performMaintenance(budget: .seconds(3600)) != nil { throw Told() }
      }),
    Operation(
      name: "housekeeping with pages to give back", isPiecewise: true,
      prepare: {
        try $0.fixture.sql("CREATE TABLE filler (bytes BLOB)")
        try $0.fixture.sql("INSERT INTO filler VALUES (zeroblob(1000000))")
        try $0.fixture.sql("DROP TABLE filler")
      },
      perform: { filled in
        if await filled.store.performMaintenance(budget: .seconds(3600)) != nil { throw Told() }
      }),
    Operation(
      name: "a body that brings a file back within its limit",
      prepare: {
        try $0.fixture.sql("CREATE TABLE filler (bytes BLOB)")
        try $0.fixture.sql("INSERT INTO filler VALUES (zeroblob(1000000))")
        try $0.fixture.sql("DROP TABLE filler")
        try StatementErrorTests.Filled.limit("maximum_bytes", 1)($0)
      },
      perform: { _ = try await $0.store.put("new", for: .other, at: 9) }),
    Operation(
      name: "sign-out with counts beside the store", isPiecewise: true,
      prepare: { filled in
        let other = filled.fixture.another()
        #expect(other.prepareLookup(.short))
        var count = UsageCount()
        count.stored = 1
        other.count(accountID: filled.accountID, host: "example.org", count)
        await other.close()
        #expect(filled.fixture.files.contains("store.sqlite.uses"))
      },
      perform: { try await $0.store.signOut(accountName: "alice") }),
  ]

  /// Of an operation of many uses every one up to the thirtieth, and half of the others, not the same each time;
  /// `CACHEFETCH_REFUSED=1` for all.
  private static func next(_ nth: Int64) -> Int64 {
    nth + (nth < 30 || wished("CACHEFETCH_REFUSED", else: 0) > 0 ? 1 : Int64.random(in: 1...3))
  }

  @Test(
    "a statement that is refused at any use of a table is told by its operation",
    arguments: StatementErrorTests.operations + reports)
  func told(operation: Operation) async throws {
    let template = try await StatementErrorTests.Filled()
    await template.store.close()
    var nth: Int64 = 0
    var isReached = true
    var tried = 0
    while isReached {
      nth = Self.next(nth)
      let filled = try StatementErrorTests.Filled(copying: template)
      try await operation.prepare(filled)
      #expect(statementfaults_begin(filled.fixture.folder) != 0)
      defer { statementfaults_end(filled.fixture.folder) }
      statementfaults_arm(filled.fixture.folder, nth)
      let hasFailed: Bool
      do {
        try await operation.perform(filled)
        hasFailed = false
      } catch { hasFailed = true }
      let refused = String(cString: statementfaults_refused(filled.fixture.folder))
      isReached = !refused.isEmpty
      tried += isReached ? 1 : 0
      statementfaults_arm(filled.fixture.folder, 0)
      #expect(hasFailed == isReached, "\(operation.name): \(refused), use \(nth) of a table, was not told")
      await filled.store.close()
    }
    print("tried: \(operation.name), with \(tried) statements refused")
    #expect(nth > 1, "\(operation.name) uses no table")
  }

  @Test(
    "an error of the disk at any write or sync is told by its operation",
    arguments: StatementErrorTests.operations + reports, [FAULT_WRITE, FAULT_SYNC])
  func disk(operation: Operation, kind: Int) async throws {
    let template = try await StatementErrorTests.Filled()
    await template.store.close()
    let vfs = "told \(operation.name) \(kind)"
    #expect(faultvfs_register(vfs) != 0)
    defer { faultvfs_unregister(vfs) }
    var nth: Int64 = 0
    var isReached = true
    var tried = 0
    while isReached {
      nth = Self.next(nth)
      let filled = try StatementErrorTests.Filled(copying: template)
      try await operation.prepare(filled)
      let reopened = filled.reopened(vfs: vfs)
      faultvfs_arm(vfs, Int32(kind), nth, Int32(FAULT_ERROR), 0)
      let hasFailed: Bool
      do {
        try await operation.perform(reopened)
        hasFailed = false
      } catch { hasFailed = true }
      isReached = faultvfs_count(vfs) >= nth
      tried += isReached ? 1 : 0
      faultvfs_arm(vfs, 0, 0, 0, 0)
      #expect(hasFailed == isReached, "\(operation.name): call \(nth) was not told")
      await reopened.store.close()
    }
    print("tried: \(operation.name), with \(tried) \(kind == FAULT_WRITE ? "writes" : "syncs") that fail")
  }

  /// No caller is told how this removal ends; but no part of it may be done without the rest.
  @Test func `a damaged row that a look-up meets goes with its body, or stays`() async throws {
    let template = try await StatementErrorTests.Filled()
    await template.store.close()
    var outcomes: Set<Int64> = []
    var nth: Int64 = 0
    var isReached = true
    while isReached {
      nth += 1
      let filled = try StatementErrorTests.Filled(copying: template)
      let long = "FROM last_request WHERE target = '\(RequestKey.long.target)'"
      try filled.fixture.sql(
        "UPDATE last_request SET status = status + 1 WHERE target = '\(RequestKey.long.target)'")
      let body = try #require(try filled.fixture.number("SELECT body_id \(long)"))
      #expect(statementfaults_begin(filled.fixture.folder) != 0)
      defer { statementfaults_end(filled.fixture.folder) }
      statementfaults_arm(filled.fixture.folder, nth)
      // Refused itself, or it finds the damage.
      let found = try? await filled.store.lookup(.long)
      #expect(found?.damaged ?? 1 == 1)
      await filled.store.close()
      isReached = !String(cString: statementfaults_refused(filled.fixture.folder)).isEmpty
      statementfaults_arm(filled.fixture.folder, 0)
      let rows = try #require(try filled.fixture.number("SELECT count(*) \(long)"))
      let isReleased = "SELECT count(*) FROM body WHERE id = \(body) AND released_at_ms IS NULL"
      #expect(try filled.fixture.number(isReleased) == rows, "use \(nth) of a table")
      outcomes.insert(rows)
    }
    #expect(outcomes == [0, 1])
  }

  @Test func `a repair that cannot write into the new file is none, and the damaged one stays`() async throws
  {
    let template = try await StatementErrorTests.Filled()
    try await template.store.setLimits(StoreLimits(maximumRows: 100))
    await template.store.close()
    try RawDatabase(template.fixture.path).execute("PRAGMA wal_checkpoint(TRUNCATE)")
    let root = try #require(
      try template.fixture.number(
        "SELECT rootpage FROM sqlite_schema WHERE name = 'sqlite_autoindex_last_request_1'"))
    try template.fixture.files.overwrite(
      "store.sqlite", at: (Int(root) - 1) * 8192, with: Array(repeating: 0xFF, count: 8192))
    let damaged = try template.fixture.files.bytes(of: "store.sqlite")
    var nth: Int64 = 0
    var isReached = true
    while isReached {
      nth += 1
      let fixture = try StoreFixture { $0.chunkBytes = 1000 }
      try fixture.files.write(damaged, to: "store.sqlite")
      let draft = fixture.path + ".new"
      #expect(statementfaults_begin(draft) != 0)
      defer { statementfaults_end(draft) }
      statementfaults_arm(draft, nth)
      let findings = await fixture.store.findings(repair: true)
      let refused = String(cString: statementfaults_refused(draft))
      isReached = !refused.isEmpty
      #expect(
        findings.contains { $0.severity == .repaired } != isReached, "\(refused), use \(nth) of a table")
      if isReached {
        #expect(try fixture.files.bytes(of: "store.sqlite") == damaged, "use \(nth) of a table")
      }
      await fixture.store.close()
    }
    #expect(nth > 10)
  }
}
