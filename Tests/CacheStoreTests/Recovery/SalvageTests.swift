import CFaultVFS
import PlatformFoundation
import Synchronization
import TestSupport
import Testing
import TestTurns

@testable import CacheStore

/// What a repair carries over where it is known which pages are lost.
@Suite("What is saved from a damaged store", .inTurn) struct SalvageTests {
  private static let pageBytes = 1024
  private static let count = 120

  /// A store of small pages with many rows, a few of them long, tagged, pinned or of an account.
  private struct Filled {
    let fixture: StoreFixture
    let events = Events()
    private(set) var keys: [RequestKey] = []
    private(set) var ids: [Int64] = []

    init() async throws {
      let events = events
      fixture = try StoreFixture {
        $0.pageBytes = Int64(SalvageTests.pageBytes)
        $0.chunkBytes = 1000
        $0.onEvent = { events.add($0) }
      }
      for number in 0..<SalvageTests.count {
        let key = RequestKey(
          account: number % 3 == 0 ? "alice" : "", target: "https://example.org/some/path/\(number)")
        let written = try await fixture.store.put(SalvageTests.body(number), for: key, at: Int64(number + 1))
        {
          $0.marks.tags = number % 4 == 0 ? ["fourth", "of \(number)"] : []
          $0.marks.isPinned = number % 5 == 0
        }
        keys.append(key)
        ids.append(try #require(written.row).rowID)
        fixture.store.markUsed(rowID: try #require(ids.last), atMilliseconds: Int64(5_000_000 + number))
      }
      await fixture.store.close()
      try RawDatabase(fixture.path).execute("PRAGMA wal_checkpoint(TRUNCATE)")
      // What is counted has been taken into the tables.
      let marks = try fixture.number("SELECT count(*) FROM last_use WHERE used_at_ms >= 5000000")
      #expect(marks == Int64(SalvageTests.count))
    }

    /// The pages of one kind, in the order of their keys, and how many entries each has.
    func pages(_ name: String, _ kind: String = "leaf") throws -> [(page: Int, cells: Int)] {
      try fixture.sql(
        "SELECT pageno, ncell FROM dbstat WHERE name = '\(name)' AND pagetype = '\(kind)' ORDER BY path"
      ).map { (Int($0[0].integer ?? 0), Int($0[1].integer ?? 0)) }
    }

    /// Which rows, by number, stand on each leaf of a table that is ordered by their identifiers.
    func rows(onLeavesOf table: String) throws -> [(page: Int, rows: Range<Int>)] {
      var first = 0
      return try pages(table).map { leaf in
        defer { first += leaf.cells }
        return (leaf.page, first..<(first + leaf.cells))
      }
    }

    func root(of name: String) throws -> Int {
      Int(try #require(try fixture.number("SELECT rootpage FROM sqlite_schema WHERE name = '\(name)'")))
    }

    func spoil(_ pages: [Int]) throws {
      for page in pages {
        try fixture.files.overwrite(
          "store.sqlite", at: (page - 1) * SalvageTests.pageBytes,
          with: Array(repeating: 0xFF, count: SalvageTests.pageBytes))
      }
    }

    /// Repairs, and finds exactly those rows, whole; the others are counted as lost where they are still known of.
    func expect(_ survivors: Set<Int>, lost: Int? = nil, _ comment: Comment) async throws {
      let store = fixture.another()
      // Counts for rows of the damaged file.
      for name in ["store.sqlite.uses", "store.sqlite.uses-taken"] {
        try fixture.files.write(Array("nobody's\n".utf8), to: name)
      }
      let findings = await store.findings(repair: true)
      #expect(try fixture.files.names().allSatisfy { !$0.contains(".uses") }, comment)
      #expect(findings.contains { $0.subject == "integrity" && $0.severity == .repaired }, comment)
      let aside = try #require(events.setAside, comment)
      #expect(aside.carriedOver == survivors.count, comment)
      if let lost { #expect(aside.lost == lost, comment) }
      var found: Set<Int> = []
      for (number, key) in keys.enumerated() {
        let rows = try await store.lookup(key).rows
        guard let row = rows.first else { continue }
        found.insert(number)
        #expect(rows.count == 1 && row.id == ids[number], comment)
        #expect(try await store.wholeBody(row) == SalvageTests.body(number), "row \(number): \(comment)")
      }
      #expect(found == survivors, "lost: \(survivors.subtracting(found).sorted()): \(comment)")
      #expect(await store.findings().allSatisfy { $0.severity == .fine }, comment)
      await store.performMaintenance(budget: .seconds(60))
      #expect(try fixture.remains() == 0, comment)
      #expect(try fixture.sql("PRAGMA foreign_key_check").isEmpty, comment)
      await store.close()
    }
  }

  private final class Events: Sendable {
    private let events = Mutex<[StoreEvent]>([])
    func add(_ event: StoreEvent) { events.withLock { $0.append(event) } }
    var setAside: (carriedOver: Int, lost: Int)? {
      for case .quarantined(_, _, let carriedOver, let lost) in events.withLock({ $0 }) {
        return (carriedOver, lost)
      }
      return nil
    }
  }

  private static let all = Set(0..<count)

  /// Every seventh is long: of 2 to 5 chunks.
  private static func body(_ number: Int) -> Data {
    pattern(number % 7 == 0 ? 1_500 + number * 30 : 20 + number, seed: UInt8(number))
  }

  @Test("of one lost page of rows only the rows on it are lost", arguments: [0.0, 0.3, 0.5, 1.0])
  func oneLeaf(place: Double) async throws {
    let filled = try await Filled()
    let leaves = try filled.rows(onLeavesOf: "last_request")
    #expect(leaves.count > 10 && leaves.last?.rows.upperBound == Self.count)
    let leaf = leaves[Int(Double(leaves.count - 1) * place)]
    try filled.spoil([leaf.page])
    try await filled.expect(Self.all.subtracting(leaf.rows), lost: leaf.rows.count, "leaf at \(place)")
  }

  /// Which other ways to the rows are closed, and whether the first and the last of their pages are lost.
  static let ways: [([String], Bool, Bool)] = [
    // Between two lost pages there is a way from neither end of the table: the index leads there, or the marks of use.
    (["last_use"], true, true), (["sqlite_autoindex_last_request_1"], true, true),
    // From one end of the table alone.
    (["last_use", "sqlite_autoindex_last_request_1"], true, false),
    (["last_use", "sqlite_autoindex_last_request_1"], false, true),
  ]

  @Test("a row is found where any one way still leads to it", arguments: ways)
  func anyWay(closed: [String], first: Bool, last: Bool) async throws {
    let filled = try await Filled()
    let leaves = try filled.rows(onLeavesOf: "last_request")
    var lost: Set<Int> = []
    var pages = try closed.map { try filled.root(of: $0) }
    for (isLost, leaf) in [(first, leaves[0]), (last, leaves[leaves.count - 1])] where isLost {
      pages.append(leaf.page)
      lost.formUnion(leaf.rows)
    }
    try filled.spoil(pages)
    try await filled.expect(Self.all.subtracting(lost), "\(closed), \(first), \(last)")
  }

  @Test("the marks of use lead to rows from both their ends", arguments: [true, false])
  func marks(isFirst: Bool) async throws {
    let filled = try await Filled()
    let leaves = try filled.rows(onLeavesOf: "last_request")
    let marks = try filled.rows(onLeavesOf: "last_use")
    #expect(marks.count >= 2)
    let mark = isFirst ? marks[0] : marks[marks.count - 1]
    // The rows that are between the lost ones can be found by their marks alone; those whose marks are lost cannot.
    let (first, last) = (leaves[1], leaves[leaves.count - 2])
    try filled.spoil([first.page, last.page, mark.page, filled.root(of: "sqlite_autoindex_last_request_1")])
    let between = Set(first.rows.upperBound..<last.rows.lowerBound).intersection(mark.rows)
    let survivors = Self.all.subtracting(first.rows).subtracting(last.rows).subtracting(between)
    let byMarks = survivors.intersection(first.rows.upperBound..<last.rows.lowerBound)
    #expect(!between.isEmpty && !byMarks.isEmpty)
    try await filled.expect(survivors, "marks, \(isFirst)")
  }

  @Test(
    "with no page of rows or bodies lost everything is saved: long bodies, tags, pins and marks of use",
    arguments: ["index of rows", "tags by row", "tags by name", "order of use", "released bodies"])
  func whole(lost: String) async throws {
    let filled = try await Filled()
    let names = [
      "index of rows": "sqlite_autoindex_last_request_1", "tags by row": "tag_of_request",
      "tags by name": "tag",
      "order of use": "last_use_oldest", "released bodies": "body_unfinished",
    ]
    let before = filled.fixture.another()
    let entries = try await before.entries()
    await before.close()
    try RawDatabase(filled.fixture.path).execute("PRAGMA wal_checkpoint(TRUNCATE)")
    try filled.spoil([filled.root(of: try #require(names[lost]))])
    try await filled.expect(Self.all, lost: 0, "\(lost)")
    let after = filled.fixture.another()
    // Tags are in their table and in the index of each row's own: one of the two will do.
    #expect(try await after.entries() == entries)
    #expect(entries.filter { !$0.tags.isEmpty }.count == Self.count / 4)
    #expect(entries.allSatisfy { $0.usedAtMilliseconds ?? 0 >= 5_000_000 })
    await after.close()
  }

  @Test("of a lost page of a body only the rows it belongs to are lost", arguments: ["leaf", "overflow"])
  func bodies(kind: String) async throws {
    let filled = try await Filled()
    let fixture = filled.fixture
    let pages = try fixture.sql(
      "SELECT pageno, ncell, pagetype, path FROM dbstat WHERE name = 'chunk' ORDER BY path")
    let ids = try fixture.sql("SELECT id >> 20 FROM chunk ORDER BY id").compactMap { $0.first?.integer }
    let leaves = pages.filter { $0[2].text == "leaf" }
    let page: Int
    let owners: Set<Int64>
    if kind == "leaf" {
      let place = leaves.count / 2
      let cells = leaves[..<place].reduce(0) { $0 + Int($1[1].integer ?? 0) }
      page = Int(leaves[place][0].integer ?? 0)
      owners = Set(ids[cells..<(cells + Int(leaves[place][1].integer ?? 0))])
    } else {
      // It belongs to one chunk: its path is that of the leaf, the entry's place on it, and its own in the chain.
      let overflow = try #require(pages.filter { $0[2].text == "overflow" }.dropFirst(5).first)
      page = Int(overflow[0].integer ?? 0)
      let path = try #require(overflow[3].text?.split(separator: "+").first)
      let entry = try #require(Int(path.suffix(3), radix: 16))
      let place = try #require(leaves.firstIndex { $0[3].text.map { $0 == path.dropLast(3) } == true })
      owners = [ids[leaves[..<place].reduce(0) { $0 + Int($1[1].integer ?? 0) } + entry]]
    }
    let rows = try fixture.sql("SELECT id, body_id FROM last_request")
    let lost = rows.filter { owners.contains($0[1].integer ?? 0) }.compactMap { $0[0].integer }
    #expect(!lost.isEmpty)
    try filled.spoil([page])
    let survivors = Self.all.filter { !lost.contains(filled.ids[$0]) }
    try await filled.expect(survivors, lost: lost.count, "\(kind)")
  }

  /// A request that is stored again while its entry, or its account's, is missing in the index.
  @Test(
    "of what was stored twice because an index had lost it, the one received later, else the newer, is saved",
    arguments: [
      ("sqlite_autoindex_last_request_1", "https://example.org/page", 11),
      ("sqlite_autoindex_last_request_1", "https://example.org/page", 10),
      ("sqlite_autoindex_last_request_1", "https://example.org/page", 9),
      ("sqlite_autoindex_account_1", "alice", 11), ("sqlite_autoindex_account_1", "alice", 9),
    ] as [(String, String, Int64)])
  func twice(index: String, text: String, instant: Int64) async throws {
    let events = Events()
    let fixture = try StoreFixture {
      $0.chunkBytes = 1000
      $0.onEvent = { events.add($0) }
    }
    let page = RequestKey(account: "alice", target: "https://example.org/page")
    let other = RequestKey(account: "alice", target: "https://example.org/of the first account")
    _ = try await fixture.store.put(pattern(3000, seed: 1), for: page, at: 10)
    if index == "sqlite_autoindex_account_1" { _ = try await fixture.store.put("other", for: other) }
    await fixture.store.close()
    try fixture.spoil(text, in: index)
    let second = fixture.another()
    let account = try await second.accountID(named: "alice")
    _ = try await second.put(pattern(2000, seed: 2), for: page, at: instant)
    let isOfAccount = index == "sqlite_autoindex_account_1"
    #expect(try fixture.number("SELECT count(*) FROM last_request NOT INDEXED") == (isOfAccount ? 3 : 2))
    let findings = await second.findings(repair: true)
    #expect(findings.contains { $0.subject == "integrity" && $0.severity == .repaired }, "\(findings)")
    let aside = try #require(events.setAside)
    #expect(aside.carriedOver == (isOfAccount ? 2 : 1) && aside.lost == 1)
    let rows = try await second.lookup(page).rows
    #expect(rows.count == 1)
    let row = try #require(rows.first)
    #expect(
      try await second.wholeBody(row) == (instant >= 10 ? pattern(2000, seed: 2) : pattern(3000, seed: 1)))
    if isOfAccount { #expect(try await second.body(of: other) == "other") }
    // What began with the newer identifier goes on.
    #expect(try await second.accountID(named: "alice") == account)
    #expect(try fixture.number("SELECT count(*) FROM account") == 1)
    #expect(await second.findings().allSatisfy { $0.severity == .fine })
    await second.performMaintenance(budget: .seconds(60))
    #expect(try fixture.remains() == 0)
    await second.close()
  }

  @Test func `an error of the new file's log ends the repair, whenever it comes, and the damaged file stays`()
    async throws
  {
    let vfs = "log of a repair"
    #expect(faultvfs_register(vfs) != 0)
    defer { faultvfs_unregister(vfs) }
    let fixture = try StoreFixture {
      $0.vfs = vfs
      $0.chunkBytes = 1 << 20
    }
    // So long that the log has to be written back on the way.
    let length = 2 * LogPolicy.veryLong
    _ = try await fixture.store.put(pattern(Int(length)), for: .page)
    await fixture.store.close()
    try RawDatabase(fixture.path).execute("PRAGMA wal_checkpoint(TRUNCATE)")
    try fixture.spoilIndex()
    let damaged = Data(try fixture.files.bytes(of: "store.sqlite"))
    var nth: Int64 = 0
    var isReached = true
    while isReached {
      nth += 1
      let store = fixture.another()
      faultvfs_arm(vfs, Int32(FAULT_SYNC), nth, Int32(FAULT_ERROR), 0)
      let findings = await store.findings(repair: true)
      isReached = faultvfs_count(vfs) >= nth
      faultvfs_arm(vfs, 0, 0, 0, 0)
      #expect(findings.contains { $0.severity == .repaired } != isReached, "sync \(nth): \(findings)")
      if isReached { #expect(try Data(fixture.files.bytes(of: "store.sqlite")) == damaged, "sync \(nth)") }
      await store.close()
    }
    #expect(nth > 3)
    let row = try #require(try await fixture.another().lookup(.page).rows.first)
    #expect(row.body.length == length)
  }
}
