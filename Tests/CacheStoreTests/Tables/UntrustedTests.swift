import PlatformFoundation
import TestSupport
import Testing
import TestTurns

@testable import CacheStore

@Suite("A file that somebody else may have made", .inTurn) struct UntrustedTests {
  private static let key = RequestKey(account: "", target: "https://a.test/1", method: "GET", extra: "")

  private static func filled() async throws -> StoreFixture {
    let fixture = try StoreFixture()
    _ = try await fixture.store.put("body", for: key) { $0.marks.tags = ["t"] }
    return fixture
  }

  /// A file that somebody else may have made, looked into and written.
  private func outcomes(of fixture: StoreFixture) async -> [CacheStoreError.Reason?] {
    var outcomes: [CacheStoreError.Reason?] = []
    for isReadOnly in [true, false] {
      let store = fixture.another {
        $0.isUntrusted = true
        $0.isReadOnly = isReadOnly
      }
      do throws(CacheStoreError) {
        _ = try await store.entries()
        if !isReadOnly { _ = try await store.accountID(named: "x") }
        outcomes.append(nil)
      } catch {
        outcomes.append(error.reason)
      }
      await store.close()
    }
    return outcomes
  }

  @Test func `a store as this release makes it is read and written, also after its objects changed places`()
    async throws
  {
    let fixture = try await Self.filled()
    #expect(await outcomes(of: fixture) == [nil, nil])
    await fixture.store.close()
    try fixture.sql("VACUUM")
    #expect(await outcomes(of: fixture) == [nil, nil])
  }

  @Test func `comments and line breaks of its tables do not count`() async throws {
    let fixture = try await Self.filled()
    await fixture.store.close()
    try fixture.sql(
      """
      PRAGMA writable_schema = ON; UPDATE sqlite_schema SET sql = replace(sql, '-- never reused', '-- never again')
        WHERE name = 'account';
      UPDATE sqlite_schema SET sql = replace(sql, ' (', '   (') WHERE name = 'usage'
      """)
    #expect(await outcomes(of: fixture) == [nil, nil])
  }

  static let endless = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT"
  /// A change of an object's text alone.
  private static func changed(_ name: String, _ text: String) -> String {
    "PRAGMA writable_schema = ON; UPDATE sqlite_schema SET sql = \(text) WHERE name = '\(name)'"
  }

  static let changes: [String] = [
    "DROP TABLE tag; CREATE VIEW tag AS \(endless) 't' AS name, 1 AS request_id FROM n",
    "DROP TABLE last_use; CREATE VIEW last_use AS \(endless) 1 AS request_id, i AS used_at_ms FROM n",
    "DROP TABLE chunk; CREATE VIEW chunk AS \(endless) i AS id, 0 AS checksum, zeroblob(1000000) AS bytes FROM n",
    "DROP TABLE usage; CREATE VIEW usage AS \(endless) 1 AS account_id, 'h' AS host FROM n",
    "ALTER TABLE account RENAME TO other; CREATE VIEW account AS \(endless) i AS id, '' AS name FROM n",
    "CREATE TRIGGER more AFTER INSERT ON account BEGIN DELETE FROM last_request; END",
    "CREATE TABLE more (id INTEGER)", "CREATE VIEW more AS SELECT 1", "CREATE INDEX more ON usage (host)",
    "ALTER TABLE account ADD COLUMN more TEXT",
    "DROP TRIGGER body_gone; CREATE TRIGGER body_gone AFTER DELETE ON body BEGIN DELETE FROM account; END",
    "CREATE TABLE more AS \(endless) i FROM n LIMIT 1",
    // As long as the trigger of that name, and nearly the same.
    changed("body_gone", "replace(sql, 'id >= OLD', 'id <= OLD')"),
    // The beginning of what it should be, and more than that.
    changed("account", "substr(sql, 1, length(sql) - length(' STRICT'))"),
    changed("store_limit", "sql || ';' || char(10)"),
    changed("body_unfinished", "sql || ' - 1'"),
    // The same to SQLite, but not the text.
    changed("body_unfinished", "replace(sql, 'IS NULL', 'ISNULL')"),
    changed("sqlite_autoindex_account_1", "''"),
  ]

  @Test("Any other object, of whatever kind, is refused before a row is read", arguments: changes)
  func refused(change: String) async throws {
    let fixture = try await Self.filled()
    await fixture.store.close()
    try fixture.sql(change)
    let names = try fixture.files.names()
    #expect(await outcomes(of: fixture) == [.otherSchema, .otherSchema])
    // Nothing is quarantined or made anew.
    #expect(
      try fixture.files.names().filter { !$0.hasSuffix("-shm") && !$0.hasSuffix("-wal") }
        == names.filter { !$0.hasSuffix("-shm") && !$0.hasSuffix("-wal") })
  }

  @Test func `no statement takes more steps than a file of its size explains`() async throws {
    let fixture = try await Self.filled()
    await fixture.store.close()
    let connection = try Connection(path: fixture.path, named: fixture.path, for: .reading, nil)
    try connection.distrust()
    connection.begin(waitingUntil: 0)
    let error = #expect(throws: CacheStoreError.self) {
      _ = try connection.integer("\(Self.endless) count(*) FROM n")
    }
    #expect(error?.reason == .otherSchema)
    // Another piece of work has its own.
    connection.begin(waitingUntil: 0)
    #expect(try connection.integer("SELECT count(*) FROM last_request") == 1)
  }

  static let extremes: [Int64] = [.min, .min + 1, -1, 0, .max - 1, .max]

  @Test("Numbers of a row are brought into range when they are read", arguments: extremes)
  func numbers(value: Int64) async throws {
    let fixture = try await Self.filled()
    _ = try await fixture.store.put("body", for: Self.key, at: 2) { write in
      (write.head.requestedAt, write.head.receivedAt, write.changedAt) = (value, value, value)
      write.head.exchangeMilliseconds = value
    }
    try fixture.sql("UPDATE last_use SET used_at_ms = \(value)")
    let row = try #require(try await fixture.store.lookup(Self.key).rows.first)
    let entry = try #require(try await fixture.store.entries().first)
    #expect(entry.isSound)
    for instant in [
      row.requestedAt, row.receivedAt, row.changedAt, entry.response.receivedAt,
      entry.usedAtMilliseconds ?? 0,
    ] {
      #expect(abs(instant) <= 253_402_300_799_999, "\(instant)")
    }
    #expect(row.exchangeMilliseconds >= 0 && row.exchangeMilliseconds <= 1 << 43)
    // And of one that is not as it was written.
    try fixture.sql(
      "UPDATE last_request SET body_bytes = \(value), status = \(value), received_at_ms = \(value)")
    let damaged = try #require(try await fixture.store.entries().first)
    #expect(
      !damaged.isSound && (0...1 << 43).contains(damaged.response.body.length)
        && (100...999).contains(damaged.response.status))
    _ = try await fixture.store.statistics()
  }

  @Test("A row whose status is none is no row", arguments: [0, 99, 1000, 99_999, -200])
  func status(status: Int) async throws {
    let fixture = try await Self.filled()
    _ = try await fixture.store.put("body", for: Self.key, at: 2) { $0.head.status = status }
    #expect(try await fixture.store.lookup(Self.key).rows.isEmpty)
  }

  @Test func `counts of any size are added up`() async throws {
    let fixture = try await Self.filled()
    _ = try await fixture.store.put(
      "body", for: RequestKey(account: "", target: "https://a.test/2", method: "GET", extra: ""))
    try fixture.sql("UPDATE last_request SET body_bytes = \(Int64.max)")
    for host in ["a.test", "b", "c"] {
      try fixture.sql(
        """
        INSERT INTO usage (account_id, host, stored, saved_bytes, saved_ms)
        VALUES (1, '\(host)', \(Int64.max), \(Int64.max), \(Int64.min))
        """)
    }
    let statistics = try await fixture.store.statistics()
    #expect(statistics.parts.reduce(Int64(0)) { $0 + $1.bytes + $1.deliveries.savedBytes } > 0)
  }
}
