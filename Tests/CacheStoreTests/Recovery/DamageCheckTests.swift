import PlatformC
import TestSupport
import TestTurns
import Testing

@testable import CacheStore

@Suite("Whether a file that failed is a damaged store", .inTurn) struct DamageCheckTests {
  private static func bytes(_ count: Int, _ text: String) -> [UInt8] {
    Array(repeating: 7, count: count) + Array(text.utf8)
  }

  /// What is no database, and whether it was a store once.
  private static let contents: [(bytes: [UInt8], isOurs: Bool)] = [
    (bytes(68, "CFCH"), true), (bytes(68, "CFC"), false), (bytes(69, "CFCH"), false),
    (bytes(600, "TABLE last_request"), true), (bytes(600, "TABLE last_reques"), false),
    (bytes(600, "TTABLE last_request"), true), (bytes(65_518, "TABLE last_request"), true),
    (bytes(65_519, "TABLE last_request"), false), (bytes(65_536, "TABLE last_request"), false),
  ]

  @Test func `a store's number or table in the first 64 KiB tells that it was one, beside a lock file`()
    throws
  {
    for (bytes, isOurs) in Self.contents {
      let folder = try TemporaryFolder()
      let files = StoreFiles(path: try folder.write(bytes, to: "store.sqlite"))
      try folder.write([0], to: "store.sqlite.lock")
      let condition = try DamageCheck.condition(of: files, waitingUntil: 0)
      #expect(condition == (isOurs ? .damaged : .notOurs), "\(bytes.count) bytes")
      #expect(unlink(files.lock) == 0 && mkdir(files.lock, 0o700) == 0)
      #expect(try DamageCheck.condition(of: files, waitingUntil: 0) == .notOurs, "a folder is no lock file")
    }
  }

  private func filled() async throws -> StoreFixture {
    let fixture = try StoreFixture()
    _ = try await fixture.store.put("a", for: .page)
    await fixture.store.close()
    return fixture
  }

  @Test(arguments: [
    ("store_limit", true), ("pause", true), ("partial", true), ("tag", false), ("last_use", false),
    ("usage", false),
  ])
  func `a store may lack a table that came later, and no other`(table: String, isSound: Bool) async throws {
    let fixture = try await filled()
    try fixture.sql("DROP TABLE \(table)")
    let condition = try DamageCheck.condition(of: StoreFiles(path: fixture.path), waitingUntil: 0)
    #expect(condition == (isSound ? .sound : .damaged))
  }

  @Test func `the tables of a file that somebody else may have made are looked at before any is read`()
    async throws
  {
    let fixture = try await filled()
    try fixture.sql("CREATE VIEW more AS SELECT 1")
    #expect(try DamageCheck.condition(of: StoreFiles(path: fixture.path), waitingUntil: 0) == .sound)
    let untrusted = StoreFiles(path: fixture.path, isUntrusted: true)
    #expect {
      try DamageCheck.condition(of: untrusted, waitingUntil: 0)
    } throws: {
      ($0 as? CacheStoreError)?.reason == .otherSchema
    }
  }

  @Test func `a problem is told without its heading`() async throws {
    let fixture = try await filled()
    let files = StoreFiles(path: fixture.path)
    try fixture.sql("PRAGMA wal_checkpoint(TRUNCATE)")
    do {
      let sound = try Connection(path: files.resolved(), named: files.database, for: .reading, nil)
      #expect(try DamageCheck.problems(sound, limit: 1) == [])
    }
    let root = try #require(
      try fixture.number("SELECT rootpage FROM sqlite_schema WHERE name = 'sqlite_autoindex_last_request_1'"))
    try fixture.sql("PRAGMA wal_checkpoint(TRUNCATE)")
    try fixture.files.overwrite(
      "store.sqlite", at: Int(root - 1) * 8192, with: Array(repeating: 0xFF, count: 8192))
    let damaged = try Connection(path: files.resolved(), named: files.database, for: .reading, nil)
    let found = try DamageCheck.problems(damaged, limit: 1)
    #expect(found.count == 1 && found.first?.hasPrefix("***") == false, "\(found)")
    #expect(found.first?.contains("\n") == false, "\(found)")
  }
}
