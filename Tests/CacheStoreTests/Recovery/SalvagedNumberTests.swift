import TestSupport
import TestTurns
import Testing

@testable import CacheStore

@Suite("The numbers that a repair goes on from", .inTurn) struct SalvagedNumberTests {
  /// A closed store without accounts and bodies.
  private func empty() async throws -> StoreFixture {
    let fixture = try StoreFixture()
    try await fixture.store.writer.perform { _ in }
    await fixture.store.close()
    return fixture
  }

  private func salvage(from damaged: StoreFixture, to new: StoreFixture) throws {
    func connection(to fixture: StoreFixture) throws -> Connection {
      let files = StoreFiles(path: fixture.path)
      return try Connection(path: files.resolved(), named: files.database, for: .writing, nil)
    }
    var salvage = Salvage(from: try connection(to: damaged), to: try connection(to: new))
    try salvage.run()
  }

  /// A table, the last number in the damaged file, and whether a store can have come to it.
  private static let numbers: [(String, Int64, Bool)] = [
    ("account", 0, false), ("account", 1, true), ("account", 1 << 46, true),
    ("account", 1 << 46 + 1, false), ("account", .max, false), ("account", .min, false),
    ("body", 0, false), ("body", 1, true), ("body", 1 << 42, true), ("body", 1 << 42 + 1, false),
    ("body", .max, false), ("body", .min, false),
  ]

  @Test(arguments: numbers)
  func `a number that no store comes to is not gone on from`(table: String, last: Int64, isPossible: Bool)
    async throws
  {
    let (damaged, new) = (try await empty(), try await empty())
    let text = "SELECT seq FROM sqlite_sequence WHERE name = '\(table)'"
    let own = try #require(try new.number(text))
    try damaged.sql("UPDATE sqlite_sequence SET seq = \(last) WHERE name = '\(table)'")
    try salvage(from: damaged, to: new)
    #expect(try new.number(text) == (isPossible ? last + 1000 : own), "\(table), \(last)")
    #expect(
      try new.number("SELECT count(*) FROM sqlite_sequence WHERE name = '\(table)'") == 1,
      "\(table), \(last)")
  }

  @Test func `an account whose number is beyond all is left behind, and others can be made`() async throws {
    let (damaged, new) = (try await empty(), try await empty())
    let own = try #require(try new.number("SELECT seq FROM sqlite_sequence WHERE name = 'account'"))
    try damaged.sql(
      "INSERT INTO account (id, name) VALUES (7, 'alice'), (\(Int64.max), 'bob'), (-7, 'carol')")
    try salvage(from: damaged, to: new)
    #expect(try new.sql("SELECT id, name FROM account") == [[7, "alice"]])
    let store = new.another()
    #expect(try await store.accountID(named: "bob") == own + 1)
    await store.close()
  }

  @Test func `a last number of bodies that leaves no room for others is no trouble for the count of rows`()
    async throws
  {
    let fixture = try StoreFixture { $0.maximumRows = 5 }
    let store = fixture.store
    _ = try await store.put("a", for: .page)
    let body = try await store.beginBody(accountID: try await store.accountID(named: ""))
    try await body.append(pattern(10))
    try fixture.sql("UPDATE sqlite_sequence SET seq = \(Int64.max) WHERE name = 'body'")
    _ = try await store.put("", for: .other, at: 2) { $0.body = .unfinished(body) }
    #expect(try await store.entries().count == 2)
    await store.close()
  }
}
