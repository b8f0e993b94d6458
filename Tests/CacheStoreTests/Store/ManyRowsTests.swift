import TestSupport
import TestTurns
import Testing

@testable import CacheStore

@Suite("A store of many rows", .inTurn) struct ManyRowsTests {
  private func fill(_ fixture: StoreFixture, _ rows: Int) async throws {
    _ = try await fixture.store.accountID(named: "")
    try fixture.sql(
      """
      PRAGMA synchronous = OFF; PRAGMA cache_size = -64000; BEGIN;
      WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < \(rows))
      INSERT INTO last_request SELECT i, 1, 'https://example.org/page/' || i, 'GET', '', 1, '', '', 'boot', i, NULL,
        '1.1', 200, 'OK', zeroblob(200), 0, 1, 1, 1, 1, 0, i, 500, 0, 0 FROM n;
      WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < \(rows))
      INSERT INTO body SELECT i, 1, 0, NULL, NULL, NULL, NULL, 1 FROM n;
      WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < \(rows))
      INSERT INTO chunk SELECT i << 20, 0, zeroblob(500) FROM n;
      COMMIT; PRAGMA wal_checkpoint(TRUNCATE)
      """)
  }

  /// 1,000 and 50,000 rows; `CACHEFETCH_ROWS=1000000` for a million.
  @Test func `opening and looking up reads as many pages as in a small store, within three`() async throws {
    let key = RequestKey(target: "https://example.org/page/777")
    var pages: [Int] = []
    for rows in [1_000, wished("CACHEFETCH_ROWS", else: 50_000)] {
      let fixture = try StoreFixture()
      try await fill(fixture, rows)
      pages.append(try fixture.store.pagesReadForTesting(key))
    }
    print("pages read: \(pages)")
    #expect(pages[0] > 0 && pages[1] <= pages[0] + 3, "\(pages)")
  }

  @Test func `what is listed first, unpinned or removed costs what it is, not what else is stored`()
    async throws
  {
    var pages: [[Int]] = []
    for rows in [1_000, wished("CACHEFETCH_ROWS", else: 50_000)] {
      let fixture = try StoreFixture()
      try await fill(fixture, rows)
      let store = fixture.another()
      var selection = EntrySelection.all
      selection.targets = ["https://other.example/x"]
      _ = try await store.put("x", for: RequestKey(target: "https://other.example/x"), at: 9) {
        $0.marks.isPinned = true
      }
      func read(_ work: () async throws -> Int) async throws -> Int {
        _ = try store.pool.withConnection(waitingUntil: 0) { $0.pagesRead() }
        _ = try await store.writer.perform { $0.pagesRead() }
        #expect(try await work() == 1)
        let byReader = try store.pool.withConnection(waitingUntil: 0) { $0.pagesRead() } ?? 0
        return try await byReader + store.writer.perform { $0.pagesRead() }
      }
      let chosen = selection
      pages.append([
        try await read { try await store.entries(.all, ofEach: 1).count },
        try await read { try await store.entries(chosen).count },
        try await read { try await store.unpin(chosen) },
        try await read { try await store.remove(chosen, started: .at(10)) },
      ])
      await store.close()
    }
    print("pages read: \(pages)")
    for (few, many) in zip(pages[0], pages[1]) { #expect(many <= few + 16, "\(pages)") }
  }
}
