import CacheStore
import PlatformFoundation
import TestSupport
import Testing
import TestTurns

/// What a statement's error does, wherever it comes: the operation says so and has changed nothing.
@Suite("An error of any statement is told, and changes nothing", .inTurn) struct StatementErrorTests {
  /// One operation on a store that has something of everything.
  struct Operation: Sendable, CustomTestStringConvertible {
    let name: String
    /// Whether it is made of several transactions: a long body is there piece by piece, without a row until it is whole.
    var isPiecewise = false
    /// Whether what it means is fenced off first, by a mark of removal in a transaction of its own.
    var isFenced = false
    /// What is done to the store beforehand.
    var prepare: @Sendable (Filled) async throws -> Void = { _ in }
    let perform: @Sendable (Filled) async throws -> Void
    var testDescription: String { name }
  }

  static let tables = [
    "account", "last_request", "body", "chunk", "removal", "tag", "partial", "pause", "store_limit",
  ]
  static let operations: [Operation] = [
    Operation(name: "a new short body") { _ = try await $0.store.put("new", for: .other, at: 9) },
    Operation(name: "a new row with tags and a pin") {
      _ = try await $0.store.put("new", for: .other, at: 9) {
        $0.marks.tags = ["one", "two"]
        $0.marks.isPinned = true
      }
    },
    Operation(name: "a new long body", isPiecewise: true) {
      _ = try await $0.store.put(pattern(3000), for: .other, at: 9)
    },
    Operation(name: "short over short") { _ = try await $0.store.put("other", for: .short, at: 9) },
    Operation(name: "long over short", isPiecewise: true) {
      _ = try await $0.store.put(pattern(3000), for: .short, at: 9)
    },
    Operation(name: "short over long") { _ = try await $0.store.put("short", for: .long, at: 9) },
    Operation(name: "the same body") { filled in
      _ = try await filled.store.put("", for: .short, at: 9) { $0.body = .sameAs(filled.body) }
    },
    Operation(name: "tags over tags") {
      _ = try await $0.store.put("other", for: .tagged, at: 9) { $0.marks.tags = ["two", "three"] }
    },
    Operation(name: "a body that came in pieces", isPiecewise: true) { filled in
      let body = try await filled.store.beginBody(accountID: filled.accountID)
      try await body.append(pattern(1000))
      try await body.append(pattern(1000))
      _ = try await filled.store.put("", for: .long, at: 9) { $0.body = .unfinished(body) }
    },
    Operation(name: "a body of which nothing came", isPiecewise: true) { filled in
      let body = try await filled.store.beginBody(accountID: filled.accountID)
      _ = try await filled.store.put("", for: .long, at: 9) { $0.body = .unfinished(body) }
    },
    Operation(
      name: "a variant in place of the oldest",
      prepare: { filled in
        let other = filled.fixture.another()
        for number in 1...ResponseStore.variantLimit {
          _ = try await other.put("\(number)", for: .other, at: Int64(number)) { $0.variant = "v: \(number)" }
        }
        await other.close()
      }
    ) {
      _ = try await $0.store.put("more", for: .other, at: 99) { $0.variant = "v: more" }
    },
    Operation(
      name: "a row in place of the oldest", prepare: Filled.limit("maximum_rows", 4),
      perform: { _ = try await $0.store.put("new", for: .other, at: 9) }),
    Operation(
      name: "a body in place of all others", isPiecewise: true, prepare: Filled.limit("maximum_bytes", 1),
      perform: { _ = try await $0.store.put("new", for: .other, at: 9) }),
    Operation(name: "freshening") {
      _ = try await $0.store.freshen(freshening($0.row, $0.body, at: 9))
    },
    Operation(name: "removing one") { _ = try await $0.store.remove(rowID: $0.row, started: .at(9)) },
    // The downloads that were cut off go before the rows, in transactions of their own.
    Operation(name: "removing all", isPiecewise: true) {
      _ = try await $0.store.remove(.all, started: .at(9))
    },
    Operation(name: "invalidating") {
      _ = try await $0.store.invalidate(
        accountID: $0.accountID, targets: [RequestKey.short.target], started: .at(9))
    },
    Operation(name: "invalidating some", isFenced: true) { filled in
      _ = try await filled.store.invalidate(.all, started: .at(9))
    },
    Operation(name: "unpinning") { _ = try await $0.store.unpin(.all) },
    Operation(name: "untagging") { _ = try await $0.store.untag(.all, "one") },
    Operation(name: "removing what has a tag", isFenced: true) { filled in
      var selection = EntrySelection.all
      selection.tag = "one"
      _ = try await filled.store.remove(selection, started: .at(9))
    },
    Operation(name: "ending pauses") { _ = try await $0.store.endPauses(at: .at(2)) { _ in true } },
    Operation(name: "a write with others") { filled in
      let wanted = filled.store.write(Data("with".utf8), for: .short, at: 9, accountID: filled.accountID)
      let done: Result<ResponseStore.Overwritten, CacheStoreError> = await withCheckedContinuation { waiter in
        let isUnderWay = filled.store.overwrite(wanted) {
          waiter.resume(returning: $0)
        }
        if !isUnderWay { waiter.resume(returning: .failure(CacheStoreError(.other, "not taken"))) }
      }
      _ = try done.get()
    },
    Operation(name: "a pause") {
      try await $0.store.pause(
        accountID: $0.accountID, responder: "https://example.org", Pause(heard: .at(9), milliseconds: 9))
    },
    Operation(name: "limits", isPiecewise: true) {
      try await $0.store.setLimits(StoreLimits(maximumRows: 2))
    },
    Operation(name: "a new account") { _ = try await $0.store.accountID(named: "bob") },
    Operation(name: "sign-out") { try await $0.store.signOut(accountName: "alice") },
    Operation(name: "a body that came too late", isPiecewise: true) { filled in
      let body = try await filled.store.beginBody(accountID: filled.accountID)
      try await body.append(pattern(1000))
      _ = try await filled.store.put("", for: .long, at: 0) { $0.body = .unfinished(body) }
    },
    Operation(name: "the program's own response") {
      _ = try await $0.store.put("own", for: .short, at: 9) {
        $0.head.version = StoredResponse.localVersion
      }
    },
    Operation(name: "a pin and tags for a row that was delivered") { filled in
      let row = try #require(try await filled.store.lookup(.short).rows.first)
      try await filled.store.mark(row, RowMarks(isPinned: true, tags: ["three"]))
    },
    Operation(
      name: "freshening to a variant that has a row", prepare: Filled.variant,
      perform: { filled in
        var wanted = freshening(filled.row, filled.body, at: 9)
        wanted.variant = ("v", "v: a")
        wanted.marks.tags = ["three"]
        wanted.marks.isPinned = true
        _ = try await filled.store.freshen(wanted)
      }),
    Operation(
      name: "another variant over the program's own row", prepare: Filled.ownRow,
      perform: { filled in
        _ = try await filled.store.put("theirs", for: .short, at: 9) {
          ($0.vary, $0.variant) = ("v", "v: a")
          $0.replaces = { _, _ in true }
        }
      }),
    Operation(
      name: "a variant that has a row, and the program's own row",
      prepare: { filled in
        try await Filled.variant(filled)
        try await Filled.ownRow(filled)
      },
      perform: { filled in
        _ = try await filled.store.put("theirs", for: .short, at: 9) {
          ($0.vary, $0.variant) = ("v", "v: a")
          $0.replaces = { _, _ in true }
        }
      }),
    Operation(name: "a download in place of one that was cut off") { filled in
      let partial = UnfinishedBody.Partial(
        key: .cutOff, url: RequestKey.cutOff.target, strongETag: "\"b\"", wholeLength: 3000)
      _ = try await filled.store.beginBody(accountID: filled.accountID, partial: partial)
    },
    Operation(
      name: "a download that was cut off and is damaged",
      prepare: {
        try $0.fixture.sql(
          "UPDATE chunk SET bytes = x'00' WHERE id >> 20 IN (SELECT body_id FROM partial)")
      },
      perform: { filled in
        _ = try await filled.store.partialBody(accountID: filled.accountID, key: .cutOff)
      }),
    Operation(name: "the rest of a download", isPiecewise: true) { filled in
      let partial = try #require(
        try await filled.store.partialBody(accountID: filled.accountID, key: .cutOff))
      try await partial.body.append(pattern(1000))
      _ = try await filled.store.put("", for: .cutOff, at: 9) { $0.body = .unfinished(partial.body) }
    },
  ]

  /// A store with something of everything, the same each time.
  struct Filled: Sendable {
    let fixture: StoreFixture
    let accountID: Int64
    let row: Int64
    let body: StoredResponse.Body
    private(set) var store: ResponseStore

    /// The same on another store object, which has prepared no statement yet.
    func reopened(vfs: String? = nil) -> Filled {
      var other = self
      other.store = fixture.another { $0.vfs = vfs }
      return other
    }

    init() async throws {
      let clock = TestClock()
      fixture = try StoreFixture {
        $0.chunkBytes = 1000
        $0.now = { clock.now }
      }
      store = fixture.store
      _ = try await store.put("short", for: .short)
      _ = try await store.put(pattern(3000), for: .long)
      _ = try await store.put("tagged", for: .tagged) {
        $0.marks.tags = ["one", "two"]
        $0.marks.isPinned = true
      }
      _ = try await store.put("hers", for: RequestKey(account: "alice", target: RequestKey.short.target))
      accountID = try await store.accountID(named: "")
      try await store.pause(
        accountID: accountID, responder: "https://example.org", Pause(heard: .at(1), milliseconds: 5))
      _ = try await store.put("gone", for: .other)
      _ = try await store.remove(
        rowID: try #require(try store.lookupNow(.other).rows.first).id, started: .at(2))
      let partial = UnfinishedBody.Partial(
        key: .cutOff, url: RequestKey.cutOff.target, strongETag: "\"a\"", wholeLength: 2000)
      try await store.beginBody(accountID: accountID, partial: partial).append(pattern(1000))
      let found = try #require(try store.lookupNow(.short).rows.first)
      (row, body) = (found.id, found.body)
    }

    /// A copy of a store that was closed, not opened yet: the sweeps need hundreds of them, and a disk is slow.
    init(copying template: Filled) throws {
      let clock = TestClock()
      fixture = try StoreFixture {
        $0.chunkBytes = 1000
        $0.now = { clock.now }
      }
      store = fixture.store
      (accountID, row, body) = (template.accountID, template.row, template.body)
      try fixture.files.write(template.fixture.files.bytes(of: "store.sqlite"), to: "store.sqlite")
    }

    /// Sets a limit by SQL, since whoever sets one by the store evicts at once.
    static func limit(_ name: String, _ value: Int) -> @Sendable (Filled) throws -> Void {
      { try $0.fixture.sql("INSERT INTO store_limit (id, \(name)) VALUES (1, \(value))") }
    }

    /// Stores another variant of the short row.
    static let variant: @Sendable (Filled) async throws -> Void = { filled in
      let other = filled.fixture.another()
      _ = try await other.put("variant", for: .short, at: 2) {
        ($0.vary, $0.variant, $0.marks.tags) = ("v", "v: a", ["one", "four"])
      }
      await other.close()
    }

    /// Makes the short row one that the program itself stored.
    static let ownRow: @Sendable (Filled) async throws -> Void = { filled in
      let other = filled.fixture.another()
      _ = try await other.put("own", for: .short, at: 3) {
        ($0.head.version, $0.marks.tags) = (StoredResponse.localVersion, ["own"])
      }
      await other.close()
    }

    func open() async throws { _ = try await store.accountID(named: "") }

    /// All that is in it, without what only counts.
    func rows() throws -> [String: [[SQLiteValue]]] {
      let database = try RawDatabase(fixture.path)
      return try StatementErrorTests.tables.reduce(into: [:]) {
        $0[$1] = try database.rows("SELECT * FROM \($1) ORDER BY 1, 2")
      }
    }
  }

  @Test(arguments: operations)
  func `where a statement fails, the operation does`(operation: Operation) async throws {
    let template = try await Filled()
    await template.store.close()
    let smooth = try Filled(copying: template)
    try await operation.prepare(smooth)
    try await smooth.open()
    let before = try smooth.rows()
    try await operation.perform(smooth)
    let done = try smooth.rows()
    await smooth.store.close()
    var failures = 0
    for table in Self.tables where done[table] != before[table] {
      for change in ["INSERT", "UPDATE", "DELETE"] {
        let filled = try Filled(copying: template)
        try await operation.prepare(filled)
        try await filled.open()
        try filled.fixture.sql(
          "CREATE TRIGGER broken BEFORE \(change) ON \(table) BEGIN SELECT RAISE(ABORT, 'broken'); END")
        let hasFailed: Bool
        do {
          try await operation.perform(filled)
          hasFailed = false
        } catch is CacheStoreError {
          hasFailed = true
          failures += 1
        }
        let after = try filled.rows()
        let expected = hasFailed ? before : done
        let looked = operation.isPiecewise && hasFailed ? ["last_request"] : Self.tables
        // A mark stays that was recorded before what failed.
        let isMarked = operation.isFenced && hasFailed && table != "removal"
        // By name alone: bodies are long.
        let wrong = looked.filter { after[$0] != expected[$0] && !(isMarked && $0 == "removal") }
        #expect(
          wrong.isEmpty, "\(operation.name), \(change) of \(table) \(hasFailed ? "failed" : "was not told")")
        try filled.fixture.sql("DROP TRIGGER broken")
        await filled.store.close()
      }
    }
    #expect(failures > 0, "\(operation.name) writes nothing")
  }

  /// What the housekeeping changes, and how to see that it is still to be done.
  struct Chore: Sendable, CustomTestStringConvertible {
    let testDescription: String
    /// The statement that is refused.
    let refused: String
    /// A number that is 0 once the chore is done.
    let left: String
    /// Only where it is what is tried: rows that go release their bodies, which may be what is refused.
    let maximumRows: Int?

    init(_ name: String, refused: String, left: String, maximumRows: Int? = nil) {
      (testDescription, self.refused, self.left, self.maximumRows) = (name, refused, left, maximumRows)
    }
  }

  @Test(arguments: [
    Chore(
      "a chunk of a replaced body", refused: "DELETE ON chunk",
      left: "SELECT count(*) FROM body WHERE released_at_ms IS NOT NULL"),
    Chore(
      "a replaced body", refused: "DELETE ON body",
      left: "SELECT count(*) FROM body WHERE released_at_ms IS NOT NULL"),
    Chore("a body that was cut off", refused: "UPDATE ON body", left: "SELECT count(*) FROM partial"),
    Chore("what can be resumed of it", refused: "DELETE ON partial", left: "SELECT count(*) FROM partial"),
    Chore("an old removal", refused: "DELETE ON removal", left: "SELECT count(*) FROM removal"),
    Chore(
      "a row over the limit", refused: "DELETE ON last_request",
      left: "SELECT max(0, count(*) - 1) FROM last_request", maximumRows: 1),
  ])
  func `housekeeping that is refused a statement says so, and does it the next time`(chore: Chore)
    async throws
  {
    let clock = TestClock()
    let fixture = try StoreFixture {
      $0.chunkBytes = 1000
      $0.now = { clock.now }
      $0.bootNow = { 172_800_000_000_000 }
    }
    let store = fixture.store
    _ = try await store.put("short", for: .short)
    _ = try await store.put("gone", for: .other)
    _ = try await store.remove(
      rowID: try #require(try store.lookupNow(.other).rows.first).id, started: .at(2))
    let partial = UnfinishedBody.Partial(
      key: .cutOff, url: RequestKey.cutOff.target, strongETag: "\"a\"", wholeLength: 2000)
    let account = try await store.accountID(named: "")
    try await store.beginBody(accountID: account, partial: partial).append(pattern(1000))
    // Last of all: the next write would delete the body that is replaced.
    for instant in 1...2 as ClosedRange<Int64> {
      _ = try await store.put(pattern(3000, seed: UInt8(instant)), for: .long, at: instant)
    }
    // By the shell, since whoever sets limits by the store trims at once.
    if let rows = chore.maximumRows {
      try fixture.sql("INSERT INTO store_limit (id, maximum_rows) VALUES (1, \(rows))")
    }
    let before = try #require(try fixture.number(chore.left))
    try #require(before > 0)
    // Longer than a part is kept.
    clock.now += 30 * 24 * 3_600_000
    try fixture.sql("CREATE TRIGGER broken BEFORE \(chore.refused) BEGIN SELECT RAISE(ABORT, 'broken'); END")
    #expect(await store.performMaintenance(budget: .seconds(3600)) != nil)
    #expect(try #require(try fixture.number(chore.left)) > 0)
    try fixture.sql("DROP TRIGGER broken")
    #expect(await store.performMaintenance(budget: .seconds(3600)) == nil)
    #expect(try fixture.number(chore.left) == 0)
    #expect(try fixture.remains() == 0)
  }

  @Test func `the chunks of a download that was cut off are told of too, when they cannot be deleted`()
    async throws
  {
    let clock = TestClock()
    let fixture = try StoreFixture {
      $0.chunkBytes = 1000
      $0.now = { clock.now }
    }
    let store = fixture.store
    let partial = UnfinishedBody.Partial(
      key: .cutOff, url: RequestKey.cutOff.target, strongETag: "\"a\"", wholeLength: 2000)
    let account = try await store.accountID(named: "")
    try await store.beginBody(accountID: account, partial: partial).append(pattern(1000))
    clock.now += 30 * 24 * 3_600_000
    try fixture.sql("CREATE TRIGGER broken BEFORE DELETE ON chunk BEGIN SELECT RAISE(ABORT, 'broken'); END")
    #expect(await store.performMaintenance(budget: .seconds(3600)) != nil)
    try fixture.sql("DROP TRIGGER broken")
    #expect(await store.performMaintenance(budget: .seconds(3600)) == nil)
    #expect(try fixture.remains() == 0)
  }
}

extension RequestKey {
  static let short = RequestKey(target: "https://example.org/short")
  static let long = RequestKey(target: "https://example.org/long")
  static let tagged = RequestKey(target: "https://example.org/tagged")
  static let other = RequestKey(target: "https://example.org/other")
  static let cutOff = RequestKey(target: "https://example.org/cut-off")
}
