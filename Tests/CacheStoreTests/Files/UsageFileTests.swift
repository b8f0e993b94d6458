import PlatformC
import TestSupport
import Testing
import TestTurns

@testable import CacheStore

@Suite("Counts left beside the store", .inTurn) struct UsageFileTests {
  private static let host = "example.org"
  private static let one: UsageCount = {
    var count = UsageCount()
    count.stored = 1
    count.savedBytes = 10
    count.savedMilliseconds = 3
    return count
  }()

  /// A store with rows `a`, `b` …, and the identifiers of its account and rows.
  private func filled(
    _ names: [String], _ configure: (inout StoreConfiguration) -> Void = { _ in }
  ) async throws -> (fixture: StoreFixture, account: Int64, rows: [Int64]) {
    let fixture = try StoreFixture(configure)
    var rows: [Int64] = []
    for (number, name) in names.enumerated() {
      let key = RequestKey(target: "https://\(Self.host)/\(name)")
      let written = try await fixture.store.put("x", for: key) { $0.head.receivedAt = Int64(number + 1) }
      rows.append(try #require(written.row).rowID)
    }
    return (fixture, try await fixture.store.accountID(named: ""), rows)
  }

  /// What a program does that ran for a moment.
  private func use(_ row: Int64, _ account: Int64, at instant: Int64, of fixture: StoreFixture) async {
    let store = fixture.another()
    #expect(store.prepareLookup(.page))
    store.markUsed(rowID: row, atMilliseconds: instant)
    store.count(accountID: account, host: Self.host, Self.one)
    await store.close()
  }

  private func stored(_ fixture: StoreFixture) async throws -> Int64? {
    try await fixture.store.statistics().parts.first { $0.host == Self.host }?.deliveries.stored
  }

  @Test func `lines with marks alone, or counts alone, are not empty`() {
    var marks = UsageJournalLines()
    marks.marks = [.init(row: 1, instant: 2)]
    var counts = UsageJournalLines()
    counts.counts = [.init(account: 1, host: Self.host, count: Self.one)]
    #expect(!marks.isEmpty && !counts.isEmpty && UsageJournalLines().isEmpty)
  }

  @Test func `a journal of 64 KiB is not long yet, one byte more is`() throws {
    let fixture = try StoreFixture()
    let journal = UsageJournal(files: StoreFiles(path: fixture.path))
    for (count, isLong) in [(65_535, false), (65_536, false), (65_537, true)] {
      try fixture.files.write([UInt8](repeating: 0x0A, count: count), to: "store.sqlite.uses")
      #expect(journal.isLong == isLong, "\(count)")
      guard case .done(isLong) = try journal.append({ [0x0A] }) else {
        Issue.record("\(count) bytes were not appended to, or taken for the wrong length")
        continue
      }
    }
  }

  @Test func `what is counted is left beside the store, and added once`() async throws {
    let (fixture, account, rows) = try await filled(["a"])
    for instant in [1_000, 2_000] as [Int64] { await use(rows[0], account, at: instant, of: fixture) }
    #expect(try fixture.number("SELECT count(*) FROM usage") == 0)
    #expect(fixture.files.contains("store.sqlite.uses"))
    for _ in 0..<2 { #expect(try await stored(fixture) == 2) }
    #expect(try fixture.number("SELECT saved_bytes FROM usage") == 20)
    #expect(try fixture.number("SELECT saved_ms FROM usage") == 6)
    #expect(try fixture.number("SELECT used_at_ms FROM last_use") == 2_000)
    #expect(try fixture.files.names().allSatisfy { !$0.contains("uses") })
  }

  @Test func `an account known by its name only is found, and one that is not there goes the long way`()
    async throws
  {
    let (fixture, _, _) = try await filled(["a"])
    for (name, isLeft) in [("", true), ("nobody", false)] {
      let other = fixture.another()
      #expect(other.prepareLookup(.page), "\(name)")
      other.count(accountName: name, host: Self.host, Self.one)
      await other.close()
      #expect(fixture.files.contains("store.sqlite.uses") == isLeft, "\(name)")
      #expect(try await stored(fixture) == 1, "\(name)")
    }
  }

  @Test func `what is evicted is what was used least recently, whoever used it`() async throws {
    let (fixture, account, rows) = try await filled(["a", "b"]) { $0.maximumRows = 2 }
    await use(rows[0], account, at: 9_000, of: fixture)
    _ = try await fixture.store.put("x", for: RequestKey(target: "https://\(Self.host)/c"))
    let left = try await fixture.store.entries().map(\.key.target)
    #expect(left == ["https://\(Self.host)/a", "https://\(Self.host)/c"])
    #expect(try await stored(fixture) == 1)
  }

  @Test func `what was counted of a row that goes is kept, and given to no other row`() async throws {
    let (fixture, account, rows) = try await filled(["a", "b"])
    await use(rows[1], account, at: 9_000, of: fixture)
    #expect(try await fixture.store.remove(rowID: rows[1], started: .at(9)))
    let written = try await fixture.store.put(
      "x", for: RequestKey(target: "https://\(Self.host)/c"), at: 10, { $0.head.receivedAt = 3 })
    let row = try #require(written.row).rowID
    #expect(row == rows[1], "the identifier is given again")
    #expect(try await stored(fixture) == 1)
    #expect(try fixture.number("SELECT used_at_ms FROM last_use WHERE request_id = \(row)") == 3)
  }

  @Test func `a transaction that is undone takes nothing in`() async throws {
    let (fixture, account, rows) = try await filled(["a"])
    await use(rows[0], account, at: 9_000, of: fixture)
    struct Undone: Error {}
    await #expect(throws: CacheStoreError.self) {
      try await fixture.store.writer.perform { (connection) throws(CacheStoreError) in
        try connection.transaction { () throws(CacheStoreError) in
          try fixture.store.rowWriter.storeUsageJournal(connection)
          throw CacheStoreError(.other, "undone")
        }
      }
    }
    await use(rows[0], account, at: 9_500, of: fixture)
    // The first call takes what was taken before, the second what came since.
    _ = try await stored(fixture)
    #expect(try await stored(fixture) == 2)
  }

  @Test func `a file that has become long is added by who closes`() async throws {
    let (fixture, account, rows) = try await filled(["a"])
    await use(rows[0], account, at: 9_000, of: fixture)
    let line = try fixture.files.bytes(of: "store.sqlite.uses")
    let count = Int(UsageJournal.longest) / line.count + 2
    try fixture.files.write(
      String(decoding: Array(repeating: Array(line), count: count).joined(), as: UTF8.self),
      to: "store.sqlite.uses")
    #expect(!fixture.another().closeNow())
    await use(rows[0], account, at: 9_001, of: fixture)
    #expect(!fixture.files.contains("store.sqlite.uses"))
    #expect(try fixture.number("SELECT stored FROM usage") == Int64(count + 1))
  }

  @Test func `while somebody appends, what there is waits`() async throws {
    let (fixture, account, rows) = try await filled(["a"])
    await use(rows[0], account, at: 9_000, of: fixture)
    let file = UsageJournal(files: StoreFiles(path: fixture.path))
    _ = try file.append { () throws(CacheStoreError) in
      #expect(file.take() == nil)
      return Array("m 0 0 0\n".utf8)
    }
    // Those who come meanwhile have a file of their own.
    await use(rows[0], account, at: 9_001, of: fixture)
    #expect(file.take().map { String(decoding: $0.bytes, as: UTF8.self).hasSuffix("m 0 0 0\n") } == true)
    _ = try await stored(fixture)
    #expect(try await stored(fixture) == 2)
  }

  @Test func `a link in its place is refused, and the tables are written`() async throws {
    let (fixture, account, rows) = try await filled(["a"])
    try fixture.files.write("", to: "elsewhere")
    #expect(symlink("elsewhere", fixture.files.file("store.sqlite.uses")) == 0)
    await use(rows[0], account, at: 9_000, of: fixture)
    #expect(try fixture.files.bytes(of: "elsewhere").isEmpty)
    #expect(try fixture.number("SELECT stored FROM usage") == 1)
  }

  @Test func `another file's second name in its place is refused, and the tables are written`() async throws {
    let (fixture, account, rows) = try await filled(["a"])
    let theirs = try fixture.files.write("somebody's file", to: "theirs")
    #expect(link(theirs, fixture.files.file("store.sqlite.uses")) == 0)
    await use(rows[0], account, at: 9_000, of: fixture)
    #expect(try fixture.files.text(of: "theirs") == "somebody's file")
    #expect(try fixture.number("SELECT stored FROM usage") == 1)
    #expect(try fixture.number("SELECT used_at_ms FROM last_use") == 9_000)
  }

  @Test func `nothing is put beside a file that is none of ours`() async throws {
    let (fixture, account, rows) = try await filled(["a"])
    try fixture.files.write("somebody's file", to: "other")
    let other = fixture.another { $0.path = fixture.files.file("other") }
    other.markUsed(rowID: rows[0], atMilliseconds: 9_000)
    other.count(accountID: account, host: Self.host, Self.one)
    await other.close()
    #expect(try fixture.files.names().filter { $0.hasPrefix("other") } == ["other"])
  }

  @Test func `nothing of a signed-out account comes to be there, however late`() async throws {
    let (fixture, _, _) = try await filled(["a"])
    let alice = try await fixture.store.accountID(named: "alice")
    let early = fixture.another()
    #expect(early.prepareLookup(.page))
    early.count(accountID: alice, host: "s3cret.example", Self.one)
    await early.close()
    let late = fixture.another()
    _ = try late.lookupNow(RequestKey(account: "alice", target: "https://s3cret.example/"))
    late.count(accountID: alice, host: "s3cret.example", Self.one)
    try await fixture.store.signOut(accountName: "alice")
    #expect(late.closeNow())
    for name in try fixture.files.names() {
      let text = String(decoding: try fixture.files.bytes(of: name), as: UTF8.self)
      #expect(!text.contains("s3cret"), "\(name)")
    }
  }

  @Test func `lines say what was counted; of another file, or cut off, they say nothing`() throws {
    var lines = UsageJournalLines()
    lines.marks = [.init(row: 3, instant: 9)]
    lines.counts = [.init(account: 2, host: "a.example:8080", count: Self.one)]
    let bytes = try #require(lines.bytes(of: 77))
    #expect(UsageJournalLines(bytes, of: 77) == lines)
    #expect(UsageJournalLines(bytes, of: 78).isEmpty)
    var twice = UsageJournalLines()
    twice.marks = [.init(row: 3, instant: 9)]
    var sum = Self.one
    sum += Self.one
    twice.counts = [.init(account: 2, host: "a.example:8080", count: sum)]
    #expect(UsageJournalLines(bytes + bytes, of: 77) == twice)
    for length in 0..<bytes.count {
      let cut = UsageJournalLines(Array(bytes[..<length]), of: 77)
      #expect(cut.counts.isEmpty || cut.counts[0].host.count < 14 || length == bytes.count - 1)
    }
    for bad in ["m 77 -1 9", "m 77 1", "c 77 1 1 1 1 1 1 h", "m 77 1 9223372036854775807", "\u{0}\u{0}", "m"]
    {
      #expect(UsageJournalLines(Array(bad.utf8), of: 77).isEmpty, "\(bad)")
    }
  }
}
