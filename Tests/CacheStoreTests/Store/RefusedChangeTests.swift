import CFaultVFS
import CSQLite
import PlatformFoundation
import TestSupport
import Testing
import TestTurns

@testable import CacheStore

/// One change refused, while all else that an operation does, with the same table too, goes well.
@Suite("A change that is refused alone is told", .inTurn) struct RefusedChangeTests {
  /// What is refused, and an operation on a store that holds one row of the program's own.
  struct Change: Sendable, CustomTestStringConvertible {
    let testDescription: String
    /// Which changes the trigger is for.
    let refused: String
    let perform: @Sendable (ResponseStore, Int64, StoredResponse.Body) async throws -> Void

    init(
      _ name: String, refused: String,
      perform: @escaping @Sendable (ResponseStore, Int64, StoredResponse.Body) async throws -> Void
    ) {
      testDescription = name
      self.refused = refused
      self.perform = perform
    }
  }

  static let changes: [Change] = [
    Change("the first use of a row", refused: "INSERT ON last_use") { store, _, _ in
      _ = try await store.put("new", for: .other, at: 2)
    },
    Change("the variant of the program's own row", refused: "UPDATE OF variant ON last_request") {
      store, row, _ in
      _ = try await store.put("theirs", for: .short, at: 2) {
        ($0.vary, $0.variant) = ("v", "v: a")
        $0.localRow = row
      }
    },
    Change("the variant that a 304 names", refused: "UPDATE OF variant ON last_request") { store, row, body in
      var wanted = freshening(row, body, at: 2)
      wanted.variant = ("v", "v: a")
      _ = try await store.freshen(wanted)
    },
    Change("a chunk behind the first", refused: "INSERT ON chunk WHEN NEW.id & 1048575 = 1") { store, _, _ in
      _ = try await store.put(pattern(3000), for: .other, at: 2)
    },
    Change("that a body makes its own room", refused: "UPDATE ON body WHEN NEW.partial_bytes = 0") {
      store, _, _ in
      _ = try await store.put(pattern(3000), for: .other, at: 2)
    },
    // Not as if the body were gone: then the account would seem to be signed out, or the store removed.
    Change("that a body is whole", refused: "UPDATE OF checksum ON body") { store, _, _ in
      _ = try await store.put(pattern(3000), for: .other, at: 2)
    },
  ]

  @Test(arguments: changes)
  func `the error is that of the change, and the rows are as they were`(change: Change) async throws {
    let fixture = try StoreFixture { $0.chunkBytes = 1000 }
    let store = fixture.store
    let written = try await store.put("own", for: .short) { $0.head.version = StoredResponse.localVersion }
    let (row, body) = try #require(written.row)
    let before = try await store.entries().map(\.response)
    try fixture.sql(
      "CREATE TRIGGER broken BEFORE \(change.refused) BEGIN SELECT RAISE(ABORT, 'broken'); END")
    await #expect { try await change.perform(store, row, body) } throws: {
      ($0 as? CacheStoreError)?.reason == .other
    }
    #expect(try await store.entries().map(\.response) == before)
    try fixture.sql("DROP TRIGGER broken")
    try await change.perform(store, row, body)
    #expect(try await store.entries().map(\.response) != before)
    await store.close()
  }

  @Test func `counts that cannot be added are told by the write that evicts by them`() async throws {
    let fixture = try StoreFixture { $0.maximumRows = 1 }
    let store = fixture.store
    let written = try await store.put("a", for: .page)
    let row = try #require(written.row).rowID
    let reader = fixture.another()
    #expect(reader.prepareLookup(.page))
    reader.markUsed(rowID: row, atMilliseconds: 9_000_000)
    await reader.close()
    #expect(fixture.files.contains("store.sqlite.uses"))
    try fixture.sql(
      "CREATE TRIGGER broken BEFORE UPDATE ON last_use BEGIN SELECT RAISE(ABORT, 'broken'); END")
    await #expect { try await store.put("b", for: .other, at: 2) } throws: {
      ($0 as? CacheStoreError)?.reason == .other
    }
    #expect(try await store.entries().map(\.key) == [.page])
    try fixture.sql("DROP TRIGGER broken")
    _ = try await store.put("b", for: .other, at: 3)
    #expect(try await store.entries().map(\.key) == [.other])
    await store.close()
  }

  @Test func `a new row has its use noted under its own number, whatever was deleted by hand`() async throws {
    let fixture = try StoreFixture()
    for instant in 1...2 as ClosedRange<Int64> {
      _ = try await fixture.store.put("x", for: RequestKey(target: "\(instant)"), at: instant)
    }
    try fixture.sql("DELETE FROM last_use")
    let written = try await fixture.store.put("x", for: .page, at: 3)
    let row = try #require(written.row).rowID
    #expect(try fixture.number("SELECT request_id FROM last_use") == row)
    await fixture.store.close()
  }

  @Test func `a body whose chunk was refused takes no later one, and the first error stays`() async throws {
    let fixture = try StoreFixture()
    let store = fixture.store
    let body = try await store.beginBody(accountID: try await store.accountID(named: ""))
    try await body.append(pattern(10))
    try fixture.sql("CREATE TRIGGER broken BEFORE INSERT ON chunk BEGIN SELECT RAISE(ABORT, 'broken'); END")
    for isRefused in [true, false] {
      if !isRefused { try fixture.sql("DROP TRIGGER broken") }
      await #expect("\(isRefused)") { try await body.append(pattern(10)) } throws: {
        ($0 as? CacheStoreError)?.reason == .other
      }
    }
    #expect(body.chunkCount == 1 && body.length == 10)
    #expect(try fixture.number("SELECT count(*) FROM chunk") == 1)
    body.end()
    await store.close()
  }

  /// By the way that SQLite asks whether it may: no trigger sees what is no change of a row.
  @Test func `pages that cannot be given back are told by the write that found the file too long`()
    async throws
  {
    let fixture = try StoreFixture()
    let store = fixture.store
    _ = try await store.put("a", for: .page)
    try fixture.sql("CREATE TABLE filler (bytes BLOB)")
    try fixture.sql("INSERT INTO filler VALUES (zeroblob(1000000))")
    try fixture.sql("DROP TABLE filler")
    try fixture.sql("INSERT INTO store_limit (id, maximum_bytes) VALUES (1, 1)")
    try await store.writer.perform { (connection) throws(CacheStoreError) in
      _ = sqlite3_set_authorizer(
        connection.handle,
        { _, action, name, _, _, _ in
          guard action == SQLITE_PRAGMA, let name, String(cString: name) == "incremental_vacuum" else {
            return SQLITE_OK
          }
          return SQLITE_DENY
        }, nil)
    }
    await #expect { try await store.put("b", for: .page, at: 2) } throws: {
      ($0 as? CacheStoreError)?.reason == .cannotOpen
    }
    #expect(try await store.body(of: .page) == "a")
    // Another connection, which nobody asks.
    _ = try await store.put("c", for: .page, at: 3)
    #expect(try fixture.number("SELECT page_count FROM pragma_page_count") ?? 0 <= 64)
    await store.close()
  }

  @Test func `a table of limits that cannot be made is told as that, and not taken for damage`()
    async throws
  {
    let fixture = try StoreFixture()
    _ = try await fixture.store.put("a", for: .page)
    await fixture.store.close()
    try fixture.sql("DROP TABLE store_limit")
    let store = fixture.another()
    _ = try await store.accountID(named: "")
    try await store.writer.perform { (connection) throws(CacheStoreError) in
      _ = sqlite3_set_authorizer(
        connection.handle,
        { _, action, _, _, _, _ in action == SQLITE_CREATE_TABLE ? SQLITE_DENY : SQLITE_OK }, nil)
    }
    await #expect { try await store.setLimits(StoreLimits(maximumRows: 2)) } throws: {
      ($0 as? CacheStoreError)?.reason == .cannotOpen
    }
    try await store.setLimits(StoreLimits(maximumRows: 2))
    #expect(try await store.limits().own == StoreLimits(maximumRows: 2))
    await store.close()
  }

  @Test func `a log that others have open cannot be left, and whoever has to waits for them`() async throws {
    let vfs = "a log that is left"
    #expect(faultvfs_register_without_shared_memory(vfs) != 0)
    let fixture = try StoreFixture()
    _ = try await fixture.store.put("a", for: .page)
    let there = fixture.another {
      $0.vfs = vfs
      $0.busyTimeout = .milliseconds(1)
    }
    await #expect { try await there.put("b", for: .page, at: 2) } throws: {
      ($0 as? CacheStoreError)?.reason == .busy
    }
    await there.close()
    #expect(try await fixture.store.body(of: .page) == "a")
    await fixture.store.close()
  }
}
