import TestSupport
import TestTurns
import Testing

@testable import CacheStore

@Suite("The making of a store", .inTurn) struct SchemaTests {
  /// The ranges are those of every release: the identifiers of two stores must not meet.
  @Test func `identifiers begin at random multiples, of accounts up to 2^45, of bodies from 2^39 to 2^40`()
    async throws
  {
    #expect(Schema.accountBits == 24)
    var seen: Set<Int64> = []
    for _ in 0..<4 {
      let fixture = try StoreFixture()
      try await fixture.store.writer.perform { _ in }
      let account = try #require(try fixture.number("SELECT seq FROM sqlite_sequence WHERE name = 'account'"))
      #expect(account % (1 << 24) == 0 && (1...1 << 21).contains(account >> 24), "\(account)")
      let body = try #require(try fixture.number("SELECT seq FROM sqlite_sequence WHERE name = 'body'"))
      #expect(body % (1 << 18) == 0 && (1 << 39..<1 << 40).contains(body), "\(body)")
      seen.formUnion([account, body])
      await fixture.store.close()
    }
    #expect(seen.count > 2, "each store has its own")
  }

  @Test(
    "a number that no release has or will have is a damage, not another release's store",
    arguments: [-1, 0, 10_000])
  func impossible(version: Int) async throws {
    let fixture = try StoreFixture()
    _ = try await fixture.store.put("a", for: .page)
    await fixture.store.close()
    try fixture.sql("PRAGMA user_version = \(version)")
    let store = fixture.another()
    #expect { _ = try store.lookupNow(.page) } throws: { ($0 as? CacheStoreError)?.reason == .corrupt }
    await store.close()
  }

  @Test func `a store returns to the log once nobody else reads it, and until then it is no error`()
    async throws
  {
    let fixture = try StoreFixture()
    _ = try await fixture.store.put("a", for: .page)
    await fixture.store.close()
    #expect(try fixture.sql("PRAGMA journal_mode = DELETE") == [["delete"]])
    let files = StoreFiles(path: fixture.path)
    let connection = try Connection(path: files.resolved(), named: files.database, for: .writing, nil)
    do {
      let reader = try RawDatabase(fixture.path)
      try reader.execute("BEGIN; SELECT count(*) FROM account")
      try Schema.returnToLog(connection)
      #expect(try fixture.sql("PRAGMA journal_mode") == [["delete"]])
      try reader.execute("COMMIT")
    }
    try Schema.returnToLog(connection)
    #expect(try fixture.sql("PRAGMA journal_mode") == [["wal"]])
    try Schema.returnToLog(connection)
    #expect(try connection.integer("SELECT count(*) FROM last_request") == 1)
  }
}
