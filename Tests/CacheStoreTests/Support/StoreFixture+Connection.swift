import TestSupport

@testable import CacheStore

extension StoreFixture {
  /// A closed store with one row.
  static func closedWithOneRow() async throws -> StoreFixture {
    let fixture = try StoreFixture()
    _ = try await fixture.store.put("a", for: .page)
    await fixture.store.close()
    return fixture
  }

  /// A connection to the file that no store owns.
  func connection(for purpose: Database.Purpose = .reading) throws -> Connection {
    let files = StoreFiles(path: path)
    return try Connection(path: files.resolved(), named: files.database, for: purpose, nil)
  }
}
