import CFaultVFS
import TestSupport
import TestTurns
import Testing

@testable import CacheStore

@Suite("What is counted, on its way into the tables", .inTurn) struct UsageTests {
  private static let host = "example.org"
  private static let one: UsageCount = {
    var count = UsageCount()
    count.stored = 1
    return count
  }()

  /// A store with two rows, received at 1 and at 2.
  private func filled(
    _ configure: (inout StoreConfiguration) -> Void = { _ in }
  ) async throws -> (fixture: StoreFixture, account: Int64, rows: [Int64]) {
    let fixture = try StoreFixture(configure)
    var rows: [Int64] = []
    for number in 1...2 as ClosedRange<Int64> {
      let key = RequestKey(target: "https://\(Self.host)/\(number)")
      let written = try await fixture.store.put("x", for: key) { $0.head.receivedAt = number }
      rows.append(try #require(written.row).rowID)
    }
    return (fixture, try await fixture.store.accountID(named: ""), rows)
  }

  /// Leaves a delivery at 9,000 beside the store, as a program does that ran for a moment.
  private func leave(_ row: Int64, _ account: Int64, beside fixture: StoreFixture) async {
    let store = fixture.another()
    #expect(store.prepareLookup(.page))
    store.markUsed(rowID: row, atMilliseconds: 9_000)
    store.count(accountID: account, host: Self.host, Self.one)
    await store.close()
    #expect(fixture.files.contains("store.sqlite.uses"))
  }

  private func refuse(_ statement: String, in fixture: StoreFixture) throws {
    try fixture.sql("CREATE TRIGGER broken BEFORE \(statement) BEGIN SELECT RAISE(ABORT, 'broken'); END")
  }

  private func stored(_ fixture: StoreFixture) throws -> Int64 {
    try fixture.number("SELECT coalesce(sum(stored), 0) FROM usage") ?? -1
  }

  private func usedLast(_ fixture: StoreFixture) throws -> Int64? {
    try fixture.number("SELECT max(used_at_ms) FROM last_use")
  }

  @Test(
    "what was left beside the store is added as a whole, and stays where a part of it is refused",
    arguments: ["INSERT ON usage", "UPDATE ON last_use"])
  func refusedJournal(statement: String) async throws {
    let (fixture, account, rows) = try await filled()
    await leave(rows[0], account, beside: fixture)
    try refuse(statement, in: fixture)
    await fixture.store.flushUsage()
    #expect(try stored(fixture) == 0)
    #expect(try usedLast(fixture) == 2)
    try fixture.sql("DROP TRIGGER broken")
    await fixture.store.flushUsage()
    #expect(try stored(fixture) == 1)
    #expect(try usedLast(fixture) == 9_000)
  }

  @Test(
    "of what is in memory nothing is written where a part of it is refused",
    arguments: ["INSERT ON usage", "UPDATE ON last_use"])
  func refusedBatch(statement: String) async throws {
    let (fixture, account, rows) = try await filled()
    fixture.store.markUsed(rowID: rows[0], atMilliseconds: 9_000)
    fixture.store.count(accountID: account, host: Self.host, Self.one)
    try refuse(statement, in: fixture)
    await fixture.store.flushUsage()
    #expect(try stored(fixture) == 0)
    #expect(try usedLast(fixture) == 2)
  }

  @Test func `a list says when a row was used last, by another program too`() async throws {
    let (fixture, account, rows) = try await filled()
    await leave(rows[0], account, beside: fixture)
    #expect(try await fixture.store.entries().compactMap(\.usedAtMilliseconds).max() == 9_000)
  }

  @Test func `no row goes before what was counted of it is added`() async throws {
    let (fixture, account, rows) = try await filled { $0.maximumRows = 2 }
    await leave(rows[0], account, beside: fixture)
    try refuse("INSERT ON usage", in: fixture)
    await #expect(throws: CacheStoreError.self) {
      try await fixture.store.remove(rowID: rows[1], started: .at(9))
    }
    // Another row would have to go for it.
    await #expect(throws: CacheStoreError.self) { try await fixture.store.put("x", for: .page, at: 9) }
    #expect(try fixture.number("SELECT count(*) FROM last_request") == 2)
    try fixture.sql("DROP TRIGGER broken")
    _ = try await fixture.store.put("x", for: .page, at: 9)
    #expect(try stored(fixture) == 1)
    // What was used lately has stayed.
    #expect(try fixture.number("SELECT count(*) FROM last_request WHERE id = \(rows[0])") == 1)
  }

  @Test func `a store that was only written to leaves its counts beside it, too`() async throws {
    let (fixture, account, rows) = try await filled()
    await fixture.store.whenIdle()
    #expect(fixture.store.isWriting && !fixture.store.isReadyToLookUp)
    fixture.store.markUsed(rowID: rows[0], atMilliseconds: 9_000)
    fixture.store.count(accountID: account, host: Self.host, Self.one)
    #expect(fixture.store.leaveUsage())
    #expect(fixture.files.contains("store.sqlite.uses"))
    #expect(try stored(fixture) == 0)
  }

  @Test func `the small housekeeping of who writes fills the tables, that of who reads leaves lines`()
    async throws
  {
    let (fixture, account, _) = try await filled()
    await fixture.store.whenIdle()
    fixture.store.count(accountID: account, host: Self.host, Self.one)
    await fixture.store.performSmallMaintenance()
    #expect(try stored(fixture) == 1)

    let reader = fixture.another()
    #expect(reader.prepareLookup(.page))
    reader.count(accountID: account, host: Self.host, Self.one)
    await reader.performSmallMaintenance()
    #expect(!reader.isWriting && fixture.files.contains("store.sqlite.uses"))
    #expect(try stored(fixture) == 1)
    // More than a line is for.
    for row in 1_000..<1_064 as Range<Int64> { reader.markUsed(rowID: row, atMilliseconds: 1) }
    await reader.performSmallMaintenance()
    #expect(try stored(fixture) == 2)
    #expect(!fixture.files.contains("store.sqlite.uses"))
    await reader.close()
  }

  @Test func `counts of an account that cannot be read are kept, and written another time`() async throws {
    let (fixture, account, rows) = try await filled()
    #expect(statementfaults_begin(fixture.folder) != 0)
    defer { statementfaults_end(fixture.folder) }
    let reader = fixture.another()
    #expect(reader.prepareLookup(.page))
    reader.markUsed(rowID: rows[0], atMilliseconds: 9_000)
    reader.count(accountID: account, host: Self.host, Self.one)
    statementfaults_arm(fixture.folder, 1)
    #expect(!reader.leaveUsage())
    #expect(!String(cString: statementfaults_refused(fixture.folder)).isEmpty)
    statementfaults_arm(fixture.folder, 0)
    await reader.flushUsage()
    #expect(try stored(fixture) == 1)
    #expect(try usedLast(fixture) == 9_000)
    await reader.close()
  }

  @Test func `what was counted of others stays when an account is signed out`() async throws {
    let (fixture, account, _) = try await filled()
    let store = fixture.store
    for name in ["alice", "bob"] { _ = try await store.accountID(named: name) }
    store.count(accountID: account, host: Self.host, Self.one)
    store.count(accountName: "bob", host: Self.host, Self.one)
    try await store.signOut(accountName: "alice")
    await store.flushUsage()
    #expect(try stored(fixture) == 2)
  }

  @Test func `an account of a name that was signed out begins without counts`() async throws {
    let (fixture, _, _) = try await filled()
    let store = fixture.store
    _ = try await store.accountID(named: "alice")
    store.count(accountName: "alice", host: Self.host, Self.one)
    try await store.signOut(accountName: "alice")
    _ = try await store.accountID(named: "alice")
    await store.flushUsage()
    #expect(try stored(fixture) == 0)
  }
}
