import PlatformFoundation
import TestSupport
import TestTurns
import Testing

@testable import CacheStore

@Suite("Lists, removal and counts", .inTurn) struct EntrySelectionTests {
  @Test func `rows are selected by account, prefix, host, tag, age, size, pin and kind`() async throws {
    let fixture = try StoreFixture()
    let store = fixture.store
    func put(_ url: String, account: String = "", _ change: (inout ResponseStore.Write) -> Void = { _ in })
      async throws
    {
      _ = try await store.put("12345", for: RequestKey(account: account, target: url), change)
    }
    try await put("https://a.example/x/1") { $0.marks.tags = ["news", "old"] }
    try await put("https://a.example/x/2") { $0.head.receivedAt = 5 }
    try await put("https://a.example/y") { $0.marks.isPinned = true }
    try await put("http://a.example/") { $0.body = .bytes(Data(count: 100)) }
    try await put("https://a.example.org/x/1", account: "alice")
    try await put("https://b.example/") { $0.isGood = false }
    func select(_ change: (inout EntrySelection) -> Void) async throws -> [String] {
      var selection = EntrySelection.all
      change(&selection)
      return try await store.entries(selection).map { String($0.key.target.drop { $0 != "/" }.dropFirst(2)) }
    }
    #expect(try await store.entries().count == 6)
    #expect(try await select { $0.accounts = ["alice"] } == ["a.example.org/x/1"])
    #expect(try await select { $0.accounts = ["", "bob"] }.count == 5)
    #expect(try await select { $0.accounts = [] }.isEmpty)
    #expect(try await select { $0.prefix = "https://a.example/x/" } == ["a.example/x/1", "a.example/x/2"])
    #expect(try await select { $0.host = "a.example" }.count == 4)
    #expect(try await select { $0.tag = "news" } == ["a.example/x/1"])
    #expect(try await select { $0.receivedBeforeMilliseconds = 6 } == ["a.example/x/2"])
    #expect(try await select { $0.minimumBytes = 100 } == ["a.example/"])
    #expect(try await select { $0.isPinned = true } == ["a.example/y"])
    #expect(try await select { $0.isGood = false } == ["b.example/"])
    let tagged = try #require(try await store.entries().first { !$0.tags.isEmpty })
    #expect(tagged.tags == ["news", "old"] && tagged.isSound && tagged.response.status == 200)
    var selection = EntrySelection.all
    selection.host = "a.example"
    #expect(try await store.remove(selection, started: .at(9)) == 4)
    #expect(try await store.entries().count == 2)
    #expect(try fixture.number("SELECT count(*) FROM chunk") == 2)
  }

  @Test func `of each account the first that satisfy a condition are found without reading the others`()
    async throws
  {
    let fixture = try StoreFixture()
    let store = fixture.store
    for account in ["", "alice"] {
      for number in 0..<30 {
        let key = RequestKey(account: account, target: "https://a.test/\(10 + number)")
        _ = try await store.put("x", for: key, at: Int64(number))
      }
    }
    func numbers(_ limit: Int, _ selection: EntrySelection = .all) async throws -> [String] {
      try await store.entries(selection, ofEach: limit) { !$0.key.target.hasSuffix("1") }.map {
        $0.key.account + $0.key.target.suffix(2)
      }
    }
    #expect(try await numbers(3) == ["10", "12", "13", "alice10", "alice12", "alice13"])
    #expect(try await numbers(.max).count == 54)
    #expect(try await numbers(0).isEmpty)
    var selection = EntrySelection.all
    selection.accounts = ["alice", "bob"]
    selection.prefix = "https://a.test/2"
    #expect(try await numbers(2, selection) == ["alice20", "alice22"])
    await store.close()
  }

  @Test(
    "What selects by the target is found by the index of rows, in its order",
    arguments: [
      { $0.targets = ["https://a.test/1", "https://a.test/2"] }, { $0.prefix = "https://a.test/" },
      { $0.accounts = [""] },
    ] as [@Sendable (inout EntrySelection) -> Void])
  func plan(_ change: @Sendable (inout EntrySelection) -> Void) async throws {
    let fixture = try StoreFixture()
    _ = try await fixture.store.put("x", for: .page)
    await fixture.store.close()
    var selection = EntrySelection.all
    change(&selection)
    let plan = try fixture.plan(selection.text("r.id"))
    #expect(plan.contains { $0.contains("SEARCH r USING") && $0.contains("(account_id=?") }, "\(plan)")
    #expect(!plan.contains { $0.contains("SCAN r") }, "\(plan)")
    guard selection.accounts != nil else { return }
    // The first row comes before the others are read.
    let ordered = try fixture.plan(
      selection.text("r.id") + " ORDER BY a.name, r.target, r.method, r.extra, r.good DESC, r.variant")
    #expect(!ordered.contains { $0.contains("TEMP B-TREE FOR ORDER BY") }, "\(ordered)")
  }

  @Test func `a host is that of both schemes, with a path or without, and of other ports only if wanted`()
    async throws
  {
    let fixture = try StoreFixture()
    for target in [
      "http://a.test", "https://a.test", "http://a.test/", "https://a.test/x", "http://a.test:8080/x",
      "https://a.test:8443", "http://a.testing/", "https://b.a.test/", "https://a.test.example/",
      "ftp://a.test/", "key:http://a.test/",
    ] { _ = try await fixture.store.put("x", for: RequestKey(target: target)) }
    func select(_ host: String, isAnyPort: Bool) async throws -> Set<String> {
      var selection = EntrySelection.all
      selection.host = host
      selection.isAnyPort = isAnyPort
      return Set(try await fixture.store.entries(selection).map(\.key.target))
    }
    let own: Set = ["http://a.test", "https://a.test", "http://a.test/", "https://a.test/x"]
    let others: Set = ["http://a.test:8080/x", "https://a.test:8443"]
    #expect(try await select("a.test", isAnyPort: false) == own)
    #expect(try await select("a.test", isAnyPort: true) == own.union(others))
    #expect(try await select("a.test:8080", isAnyPort: false) == ["http://a.test:8080/x"])
    #expect(try await select("a.test:8443", isAnyPort: false) == ["https://a.test:8443"])
  }

  @Test func `a key selects its variants, and of keys that differ in one part each selects its own`()
    async throws
  {
    let fixture = try StoreFixture()
    let store = fixture.store
    let target = "https://a.test/"
    let keys = [
      RequestKey(target: target), RequestKey(account: "alice", target: target),
      RequestKey(target: target + "?"), RequestKey(target: target, method: "POST"),
      RequestKey(target: target, extra: "insecure"),
    ]
    for key in keys {
      for variant in ["", "v: 1"] { _ = try await store.put("x", for: key) { $0.variant = variant } }
    }
    for key in keys {
      var selection = EntrySelection.all
      selection.key = key
      #expect(try await store.entries(selection).map(\.key) == [key, key], "\(key)")
      selection.accounts = [key.account]
      #expect(try await store.entries(selection).count == 2, "\(key)")
      selection.accounts = ["bob"]
      #expect(try await store.entries(selection).isEmpty, "\(key)")
    }
    let rows = try await store.entries().map(\.rowID)
    var some = EntrySelection.all
    some.rowIDs = [rows[0], rows[3], rows[9]]
    #expect(Set(try await store.entries(some).map(\.rowID)) == [rows[0], rows[3], rows[9]])
    some.rowIDs = []
    #expect(try await store.entries(some).isEmpty)
  }

  @Test func `a row that has taken another's identifier is not removed in its place`() async throws {
    let fixture = try StoreFixture()
    let store = fixture.store
    _ = try await store.put("x", for: .page)
    let entry = try #require(try await store.entries().first)
    var chosen = EntrySelection.all
    (chosen.rowIDs, chosen.targets) = ([entry.rowID], [entry.key.target])
    #expect(try await store.remove(.all, started: .at(2)) == 1)
    let other = RequestKey(target: "https://example.org/other")
    _ = try await store.put("y", for: other, at: 3)
    #expect(try await store.entries().map(\.rowID) == [entry.rowID])
    #expect(try await store.remove(chosen, started: .at(4)) == 0)
    #expect(try await store.body(of: other) == "y")
    chosen.targets = [other.target, entry.key.target]
    #expect(try await store.remove(chosen, started: .at(4)) == 1)
  }

  @Test func `removing many and long rows leaves nothing of them`() async throws {
    let fixture = try StoreFixture { $0.chunkBytes = 100_000 }
    for number in 0..<150 {
      _ = try await fixture.store.put("x", for: RequestKey(target: "https://example.org/\(number)"))
    }
    _ = try await fixture.store.put(Data(count: 3_000_000), for: .page)
    #expect(try await fixture.store.remove(.all, started: .at(2)) == 151)
    for table in ["last_request", "body", "chunk", "last_use", "tag"] {
      #expect(try fixture.number("SELECT count(*) FROM \(table)") == 0, "\(table)")
    }
  }

  @Test func `deliveries are counted in memory and written together`() async throws {
    let fixture = try StoreFixture()
    let row = try #require(try await fixture.store.put("a", for: .page).row).rowID
    let account = try await fixture.store.accountID(named: "")
    var count = UsageCount()
    count.stored = 1
    count.savedBytes = 10
    for _ in 0..<3 { fixture.store.count(accountID: account, host: "example.org", count) }
    fixture.store.count(accountName: "", host: "example.org", count)
    fixture.store.count(accountName: "nobody", host: "example.org", count)
    fixture.store.markUsed(rowID: row, atMilliseconds: 2_000_000)
    #expect(try fixture.number("SELECT count(*) FROM usage") == 0)
    await fixture.store.performMaintenance()
    #expect(try fixture.number("SELECT stored FROM usage") == 4)
    #expect(try fixture.number("SELECT saved_bytes FROM usage") == 40)
    #expect(try fixture.number("SELECT count(*) FROM usage") == 1)
    #expect(try fixture.number("SELECT used_at_ms FROM last_use") == 2_000_000)
  }
}
