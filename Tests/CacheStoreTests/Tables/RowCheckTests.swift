import PlatformFoundation
import TestSupport
import TestTurns
import Testing

@testable import CacheStore

@Suite("Rows, checked and inserted one at a time", .inTurn) struct RowCheckTests {
  @Test func `a body whose chunks are sound each is damaged where they are not those it was stored with`()
    async throws
  {
    let fixture = try StoreFixture { $0.chunkBytes = 1000 }
    _ = try await fixture.store.put(pattern(2500), for: .page)
    let row = try #require(try fixture.store.lookupNow(.page).rows.first)
    let files = StoreFiles(path: fixture.path)
    let connection = try Connection(path: files.resolved(), named: files.database, for: .reading, nil)
    #expect(try RowCheck.damagedRows(connection) == [])
    let checksum = Checksum.ofChunk(Data(count: 1000), body: row.body.id, number: 1)
    try fixture.sql(
      "UPDATE chunk SET bytes = zeroblob(1000), checksum = \(checksum) WHERE id % 1048576 = 1")
    let chunk = try #require(
      try ChunkReading.read(1, of: row.body.id, keepingBytes: true, connection))
    #expect(chunk.checksum == checksum && chunk.bytes == Data(count: 1000))
    #expect(try RowCheck.damagedRows(connection) == [row.id])
  }

  @Test func `a row is inserted under its own identifier, or under a new one where it has none`() async throws
  {
    let fixture = try StoreFixture()
    _ = try await fixture.store.put("a", for: .page)
    await fixture.store.close()
    let files = StoreFiles(path: fixture.path)
    let connection = try Connection(path: files.resolved(), named: files.database, for: .writing, nil)
    let id = try #require(try connection.integer("SELECT id FROM last_request"))
    let found = try #require(try connection.wholeRow(id))
    for (own, given) in [(id + 70, id + 70), (0, id + 71)] as [(Int64, Int64)] {
      var row = found.row
      row.id = own
      row.variant = "v: \(own)"
      try connection.insert(&row, found.key)
      #expect(row.id == given, "\(own)")
      #expect(try connection.rowHead(given)?.row.variant == "v: \(own)", "\(own)")
      #expect(try connection.rowHead(given)?.isSound == true, "\(own)")
      #expect(try connection.wholeRow(given)?.isSound == true, "\(own)")
    }
  }

  @Test func `a row that is refused is told as such, and not by what would have come after it`()
    async throws
  {
    let fixture = try StoreFixture()
    _ = try await fixture.store.put("a", for: .page)
    try fixture.sql(
      "CREATE TRIGGER broken BEFORE INSERT ON last_request BEGIN SELECT RAISE(ABORT, 'broken'); END")
    await #expect { try await fixture.store.put("b", for: .other, at: 2) } throws: {
      ($0 as? CacheStoreError)?.reason == .other
    }
    await fixture.store.close()
  }

  @Test func `the checksum of a body is 0 where none is given`() {
    #expect(StoredResponse.Body(id: 1, length: 0, firstChunk: Data()).checksum == 0)
  }
}
