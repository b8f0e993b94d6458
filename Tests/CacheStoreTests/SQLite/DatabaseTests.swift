import PlatformC
import TestSupport
import TestTurns
import Testing

@testable import CacheStore

@Suite("One connection to a database", .inTurn) struct DatabaseTests {
  @Test func `others write meanwhile where a connection takes no exclusive lock and takes one at all`() {
    for (purpose, isShared) in [
      (.reading, true), (.writing, true), (.readingAlone, false), (.readingUnlocked, false),
      (.readingUnchanging, false),
    ] as [(Database.Purpose, Bool)] { #expect(purpose.isShared == isShared, "\(purpose)") }
  }

  @Test func `a snapshot that fails has ended, and the next one begins`() async throws {
    let fixture = try await StoreFixture.closedWithOneRow()
    let connection = try fixture.connection()
    for round in 1...2 {
      let error = #expect(throws: CacheStoreError.self, "\(round)") {
        try connection.snapshot { () throws(CacheStoreError) -> Int64 in
          throw CacheStoreError(.closed, "no more")
        }
      }
      #expect(error?.reason == .closed, "\(round)")
    }
    let count = try connection.snapshot { () throws(CacheStoreError) -> Int64? in
      try connection.integer("SELECT count(*) FROM account")
    }
    #expect(count == 1)
  }

  @Test func `a statement that is reset knows nothing of what was bound to it`() async throws {
    let fixture = try await StoreFixture.closedWithOneRow()
    let connection = try fixture.connection()
    let seen = try connection.withStatement("SELECT ?1, ?2") {
      (statement) throws(CacheStoreError) -> [Bool] in
      statement.bind(1, Int64(7))
      statement.bind(2, "text")
      let isRow = try statement.step()
      var seen = [isRow, statement.integer(0) == 7, statement.text(1) == "text"]
      statement.reset()
      let isRowAgain = try statement.step()
      seen += [isRowAgain, statement.isNull(0), statement.isNull(1)]
      return seen
    }
    #expect(seen == Array(repeating: true, count: 6))
  }

  @Test func `nothing takes the place of what was bound before`() async throws {
    let fixture = try await StoreFixture.closedWithOneRow()
    let connection = try fixture.connection()
    let seen = try connection.withStatement("SELECT ?1, ?2") {
      (statement) throws(CacheStoreError) -> [Bool] in
      statement.bind(1, Int64(7))
      statement.bind(2, "text")
      statement.bind(1, Int64?.none)
      statement.bind(2, String?.none)
      let isRow = try statement.step()
      return [isRow, statement.isNull(0), statement.isNull(1)]
    }
    #expect(seen == [true, true, true])
  }

  @Test func `an empty text is a text, and no text is none`() async throws {
    let fixture = try await StoreFixture.closedWithOneRow()
    let connection = try fixture.connection()
    let seen = try connection.withStatement("SELECT ?1, ?2, ?3, length(?4)") {
      (statement) throws(CacheStoreError) -> [Bool] in
      statement.bind(1, "")
      statement.bind(2, String?.none)
      statement.bind(3, Int64?.none)
      statement.bind(4, borrowing: UnsafeRawBufferPointer(start: nil, count: 0))
      let isRow = try statement.step()
      return [
        isRow, !statement.isNull(0), statement.optionalText(0) == "", statement.isNull(1),
        statement.optionalText(1) == nil, statement.isNull(2), !statement.isNull(3),
        statement.integer(3) == 0,
      ]
    }
    #expect(seen == Array(repeating: true, count: 8))
  }

  @Test func `a log that nobody reads restarts at once, and its limit is the usual one again`() async throws {
    let fixture = try await StoreFixture.closedWithOneRow()
    let connection = try fixture.connection(for: .writing)
    #expect(connection.logFrames == 0)
    connection.restartBytes = 5
    try connection.transaction { () throws(CacheStoreError) in
      try connection.execute("UPDATE account SET name = name || 'x'")
    }
    #expect(connection.logFrames > 0 && connection.isLogVeryLong)
    try connection.restartLog()
    #expect(connection.restartBytes == LogPolicy.veryLong && connection.logFrames == 0)
    #expect(!connection.isLogVeryLong && connection.waiting.deadline == 0)
    #expect(try connection.checkpoint(.truncating))
    #expect(FileStatus(path: fixture.path + "-wal")?.bytes == 0)
  }

  @Test func `a log that a reader keeps from beginning anew may grow by a quarter before the next attempt`()
    async throws
  {
    let fixture = try await StoreFixture.closedWithOneRow()
    let connection = try fixture.connection(for: .writing)
    let reader = try RawDatabase(fixture.path)
    try reader.execute("BEGIN; SELECT count(*) FROM account")
    connection.restartBytes = 5
    try connection.transaction { () throws(CacheStoreError) in
      try connection.execute("UPDATE account SET name = name || 'x'")
    }
    let bytes = connection.logBytes
    #expect(bytes > 0)
    try connection.restartLog()
    #expect(connection.restartBytes == bytes + bytes / 4 && connection.waiting.deadline == 0)
    try reader.execute("COMMIT")
    try connection.restartLog()
    #expect(connection.restartBytes == LogPolicy.veryLong && connection.logFrames == 0)
  }

  @Test func `a log is written back each megabyte, long from 256 KiB on, and very long from 8 MiB on`() {
    #expect(LogPolicy.long == 262_144 && LogPolicy.step == 1_048_576 && LogPolicy.veryLong == 8_388_608)
  }

  @Test func `of a file that is not trusted no view is read`() async throws {
    let fixture = try await StoreFixture.closedWithOneRow()
    try fixture.sql("CREATE VIEW more AS SELECT 7 AS number")
    let connection = try fixture.connection()
    #expect(try connection.integer("SELECT number FROM more") == 7)
    try connection.distrustFile()
    #expect(throws: CacheStoreError.self) { try connection.integer("SELECT number FROM more") }
    #expect(try connection.integer("SELECT count(*) FROM account") == 1)
  }

  @Test func `a file whose sorters cannot be kept in memory is not read as one that is not trusted`()
    async throws
  {
    let fixture = try await StoreFixture.closedWithOneRow()
    let connection = try fixture.connection()
    // Where they are cannot change while a transaction uses it.
    try connection.execute("BEGIN; CREATE TEMP TABLE sorted (id INTEGER); INSERT INTO sorted VALUES (1)")
    #expect(throws: CacheStoreError.self) { try connection.distrust() }
    try connection.execute("ROLLBACK")
    try connection.distrust()
    #expect(try connection.integer("PRAGMA temp_store") == 2)
  }

  @Test func `each piece of work on a file that is not trusted may take all of its steps`() async throws {
    let fixture = try await StoreFixture.closedWithOneRow()
    let connection = try fixture.connection()
    try connection.distrustFile()
    let text = """
      WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 300000) SELECT count(*) FROM n
      """
    for round in 1...3 {
      connection.begin(waitingUntil: 0)
      #expect(try connection.integer(text) == 300_000, "\(round)")
    }
    // Together they take more than one piece may.
    let error = #expect(throws: CacheStoreError.self) {
      for _ in 1...3 { _ = try connection.integer(text) }
    }
    #expect(error?.reason == .otherSchema)
  }

  @Test func `a store that may only be looked at is read with its log where it has one`() async throws {
    let fixture = try await StoreFixture.closedWithOneRow()
    let second = fixture.another()
    _ = try await second.put("b", for: .page, at: 2)
    await second.close()
    // A short one stays.
    #expect(try !fixture.files.bytes(of: "store.sqlite-wal").isEmpty)
    let connection = try #require(
      try Connection.openAsItStands(StoreFiles(path: fixture.path), waitingUntil: 0))
    #expect(connection.purpose == .readingUnlocked)
    #expect(try connection.integer("SELECT started_ns FROM last_request") == 2)
  }

  /// SQLite is given a URI, in which most signs mean something else.
  @Test func `without a log it is read whatever its folder is called`() async throws {
    let folder = try TemporaryFolder()
    let path = folder.file("a?b#c%41 ü&=1/store.sqlite")
    let store = ResponseStore(configuration: .unhurried(path: path))
    _ = try await store.put("a", for: .page)
    await store.close()
    try RawDatabase(path).execute("PRAGMA wal_checkpoint(TRUNCATE)")
    for ending in ["-wal", "-shm"] { unlink(path + ending) }
    let connection = try #require(try Connection.openAsItStands(StoreFiles(path: path), waitingUntil: 0))
    #expect(connection.purpose == .readingUnchanging)
    #expect(try connection.integer("SELECT count(*) FROM last_request") == 1)
  }

  @Test func `what stands beside an opened file is looked at again where others may have put it there`()
    async throws
  {
    let fixture = try await StoreFixture.closedWithOneRow()
    try fixture.sql("PRAGMA wal_checkpoint(TRUNCATE)")
    for ending in ["-wal", "-shm"] { unlink(fixture.path + ending) }
    #expect(mkfifo(fixture.path + "-journal", 0o600) == 0)
    let files = StoreFiles(path: fixture.path)
    #expect(try Connection.openAsItStands(files, waitingUntil: 0) != nil)
    chmod(fixture.folder, 0o1777)
    #expect {
      try Connection.openAsItStands(files, waitingUntil: 0)
    } throws: {
      ($0 as? CacheStoreError)?.message.contains("store.sqlite-journal is not a regular file") == true
    }
  }
}
