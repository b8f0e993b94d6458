import CSQLite
import PlatformC
import TestSupport
import TestTurns
import Testing

@testable import CacheStore

@Suite("Transactions of one connection", .inTurn) struct TransactionTests {
  /// Has SQLite refuse the statement that ends a transaction so: COMMIT or ROLLBACK.
  private func refuse(_ statement: StaticString, _ connection: Connection) {
    sqlite3_set_authorizer(
      connection.handle,
      { context, action, name, _, _, _ in
        guard action == SQLITE_TRANSACTION, let context, let name else { return SQLITE_OK }
        return strcmp(name, context.assumingMemoryBound(to: CChar.self)) == 0 ? SQLITE_DENY : SQLITE_OK
      }, UnsafeMutableRawPointer(mutating: UnsafeRawPointer(statement.utf8Start)))
  }

  @Test func `nothing of it is done while another connection holds the write lock, and that is said`()
    async throws
  {
    let fixture = try await StoreFixture.closedWithOneRow()
    let connection = try fixture.connection(for: .writing)
    let other = try RawDatabase(fixture.path)
    try other.execute("BEGIN IMMEDIATE")
    var isBegun = false
    do throws(CacheStoreError) {
      try connection.transaction { () throws(CacheStoreError) in isBegun = true }
      Issue.record("it has not failed")
    } catch {
      #expect(error.reason == .busy)
    }
    #expect(!isBegun)
    try other.execute("ROLLBACK")
  }

  @Test func `a commit that is refused is told, and nothing of the transaction stays`() async throws {
    let fixture = try await StoreFixture.closedWithOneRow()
    let connection = try fixture.connection(for: .writing)
    do throws(CacheStoreError) {
      try connection.transaction { () throws(CacheStoreError) in
        // No row has that number, which SQLite finds at the commit only.
        try connection.execute("PRAGMA defer_foreign_keys = ON")
        try connection.execute("INSERT INTO tag (name, request_id) VALUES ('t', 0)")
      }
      Issue.record("it has not failed")
    } catch {
      #expect(error.reason == .signedOut)
    }
    try connection.transaction { () throws(CacheStoreError) in
      try connection.execute("UPDATE account SET name = 'next'")
    }
    #expect(try fixture.number("SELECT count(*) FROM account WHERE name = 'next'") == 1)
    #expect(try fixture.number("SELECT count(*) FROM tag") == 0)
  }

  @Test func `where it cannot be undone, that is said and not what it was to be undone for`() async throws {
    let fixture = try await StoreFixture.closedWithOneRow()
    let connection = try fixture.connection(for: .writing)
    refuse("ROLLBACK", connection)
    do throws(CacheStoreError) {
      try connection.transaction { () throws(CacheStoreError) -> Void in
        throw CacheStoreError(.closed, "no more")
      }
      Issue.record("it has not failed")
    } catch {
      #expect(error.sqliteCode == SQLITE_AUTH)
    }
  }

  @Test func `a snapshot that cannot be ended in order is told, and has ended all the same`() async throws {
    let fixture = try await StoreFixture.closedWithOneRow()
    let connection = try fixture.connection(for: .writing)
    refuse("COMMIT", connection)
    do throws(CacheStoreError) {
      _ = try connection.snapshot { () throws(CacheStoreError) -> Int64? in
        try connection.integer("SELECT count(*) FROM account")
      }
      Issue.record("it has not failed")
    } catch {
      #expect(error.sqliteCode == SQLITE_AUTH)
    }
    #expect(sqlite3_get_autocommit(connection.handle) != 0)
  }

  /// Refuses one of the statements that set where the numbers of a new store begin.
  private final class Refusal {
    private var left: Int

    init(_ nth: Int) { left = nth }

    /// Must outlive the connection's work.
    func judge(_ connection: Connection) {
      sqlite3_set_authorizer(
        connection.handle,
        { context, action, table, _, _, _ in
          guard action == SQLITE_INSERT, let context, let table, strcmp(table, "sqlite_sequence") == 0 else {
            return SQLITE_OK
          }
          let refusal = Unmanaged<Refusal>.fromOpaque(context).takeUnretainedValue()
          refusal.left -= 1
          return refusal.left == 0 ? SQLITE_DENY : SQLITE_OK
        }, Unmanaged.passUnretained(self).toOpaque())
    }
  }

  @Test(arguments: [1, 2])
  func `a store whose numbers could not be begun is none yet, and the next attempt makes it`(nth: Int) throws
  {
    let folder = try TemporaryFolder()
    let files = StoreFiles(path: folder.file("store.sqlite"))
    try files.makeDatabase()
    let connection = try Connection(path: files.resolved(), named: files.database, for: .writing, nil)
    let refusal = Refusal(nth)
    refusal.judge(connection)
    #expect(throws: CacheStoreError.self) { try Schema.create(connection, pageBytes: 8192) }
    withExtendedLifetime(refusal) {}
    sqlite3_set_authorizer(connection.handle, nil, nil)
    #expect(try Schema.content(of: connection) == .empty)
    try Schema.create(connection, pageBytes: 8192)
    #expect(try Schema.content(of: connection) == .store)
    #expect(try connection.integer("SELECT count(*) FROM sqlite_sequence WHERE seq > 0") == 2)
  }

  @Test func `after one that was undone nothing counts rows until they are counted anew`() async throws {
    let fixture = try await StoreFixture.closedWithOneRow()
    let connection = try fixture.connection(for: .writing)
    func count() throws(CacheStoreError) -> Int64 {
      try connection.transaction { () throws(CacheStoreError) in try connection.rowCount(most: 0) }
    }
    #expect(try count() == 1)
    #expect(connection.rowTally != nil, "the number is kept, and not counted for each row")
    do throws(CacheStoreError) {
      try connection.transaction { () throws(CacheStoreError) -> Void in
        try connection.execute("DELETE FROM last_request")
        throw CacheStoreError(.closed, "no more")
      }
      Issue.record("it has not failed")
    } catch {
      #expect(error.reason == .closed)
    }
    #expect(connection.rowTally == nil)
    // What it gives is what listened until now.
    #expect(sqlite3_update_hook(connection.handle, nil, nil) == nil)
    #expect(try count() == 1)
  }
}
