import CacheStore
import PlatformFoundation
import Synchronization
import TestSupport
import Testing
import TestTurns

/// Where in the store's files a damage falls.
enum DamagePlace: String, CaseIterable, Sendable {
  case header, interior, leaf, overflow, freelist, indexInterior, indexLeaf, pointerMap
  case logHeader, logFrame, sharedMemory, truncation, logTruncation, foreignFile, emptyFile
}

extension DamagePlace {
  /// How many rows are there afterwards, whatever exactly is damaged; 0 where that cannot be said. What a lost page of
  /// rows, bodies or an index costs, `SalvageTests` says page by page.
  fileprivate func leastSurvivors(of original: DamageableStore) -> Int {
    switch self {
    // Nothing that is stored lies there.
    case .freelist, .pointerMap, .sharedMemory: original.contents.count
    // The log ends before the damage; all but what only it has is in the database.
    case .logHeader, .logFrame, .logTruncation: original.contents.count - original.rowsInLog
    case .header, .interior, .leaf, .overflow, .indexInterior, .indexLeaf, .truncation, .foreignFile,
      .emptyFile:
      0
    }
  }
}

@Suite("A damaged store", .inTurn) struct CorruptionTests {
  /// 3 of each place; `CACHEFETCH_DAMAGES=350` for 5,250 in all.
  @Test(
    "law 10: no damage makes a wrong byte, a hang or a store that cannot be used",
    arguments: DamagePlace.allCases)
  func damage(place: DamagePlace) async throws {
    var random = SeededGenerator(for: "damage \(place)")
    let original = try await DamageableStore.shared.get()
    let pages = original.pages[place] ?? []
    if original.pages.keys.contains(place) { #expect(!pages.isEmpty, "no page of this kind") }
    var carriedOver = 0
    let least = place.leastSurvivors(of: original)
    let total = wished("CACHEFETCH_DAMAGES", else: 3)
    for number in 0..<total {
      let comment: Comment = "damage \(number), seed \(random.seed)"
      let survivors = try await damageOnce(original, place, pages, &random, comment)
      #expect(survivors >= least, comment)
      if place == .emptyFile { #expect(survivors == 0, comment) }
      carriedOver += survivors
    }
    let rows = total * original.contents.count
    print("tried: \(total) damages of \(place), after which \(carriedOver) of \(rows) rows were there")
  }

  private func damageOnce(
    _ original: DamageableStore, _ place: DamagePlace, _ pages: [Int], _ random: inout SeededGenerator,
    _ comment: Comment
  ) async throws -> Int {
    let events = Mutex<[StoreEvent]>([])
    let fixture = try StoreFixture {
      $0.chunkBytes = DamageableStore.chunkBytes
      $0.onEvent = { event in events.withLock { $0.append(event) } }
    }
    try original.copy(to: fixture.files, place, pages, &random)
    let store = fixture.store
    let other = fixture.another { $0.onEvent = nil }
    var found = try await exactRows(original, store, comment)
    _ = try? await other.lookup(.page)
    // A fresh answer can be stored, but for a file that is somebody else's now: it is refused, and left alone.
    do {
      do {
        _ = try await store.put("fresh", for: .page, at: 1_000_000)
      } catch let error as CacheStoreError where error.reason == .signedOut || error.reason == .missing {
        // The account was asked for before the file was replaced, and could not be carried over; or, where it is
        // `missing`, a damaged index had given an identifier that none has. An exchange asks for it anew, too.
        _ = try await store.put("fresh", for: .page, at: 1_000_000)
      }
      #expect(try await store.body(of: .page) == "fresh", comment)
      #expect(try await other.body(of: .page) == "fresh", "the other process has not noticed: \(comment)")
    } catch let error as CacheStoreError {
      #expect(place == .foreignFile || place == .header, "\(error) \(comment)")
      #expect(error.reason != .corrupt, "\(error) \(comment)")
    }
    found = max(found, try await exactRows(original, store, comment))
    await store.close()
    await other.close()
    let aside = try fixture.files.names().filter { $0.contains(".damaged-") && !$0.hasSuffix("-wal") }
    #expect(aside.count <= 2)
    if events.withLock({ $0.contains { if case .quarantined = $0 { true } else { false } } }) {
      #expect(aside.count >= 1, comment)
    }
    return found
  }

  /// Looks everything up; what is found must be what was stored, byte for byte.
  private func exactRows(
    _ original: DamageableStore, _ store: ResponseStore, _ comment: Comment
  ) async throws -> Int {
    var found = 0
    for (key, body) in original.contents {
      guard let rows = try? await store.lookup(key).rows, let row = rows.first else { continue }
      #expect(rows.count == 1, comment)
      #expect(row.status == 200 && row.fields["X-Target"] == key.target, comment)
      if let bytes = try? await store.wholeBody(row) {
        #expect(bytes == body, "\(key.target) \(comment)")
        found += 1
      } else {
        #expect(body.starts(with: row.body.firstChunk), comment)
      }
    }
    return found
  }

  @Test func `a damaged file is quarantined, its rows carried over, and at most two such files are kept`()
    async throws
  {
    let clock = TestClock()
    let events = Mutex<[StoreEvent]>([])
    let fixture = try StoreFixture {
      $0.chunkBytes = DamageableStore.chunkBytes
      $0.now = { clock.now }
      $0.onEvent = { event in events.withLock { $0.append(event) } }
    }
    let original = try await DamageableStore.shared.get()
    var random = SeededGenerator(seed: 1)
    for round in 1...4 {
      clock.now += 1000
      try original.copy(to: fixture.files, .emptyFile, [], &random, isDamaged: false)
      let store = fixture.another()
      let alice = RequestKey(account: "alice", target: "https://example.org/tagged")
      _ = try await store.put("x", for: alice, at: 9) {
        $0.marks.tags = ["t"]
        $0.marks.isPinned = true
      }
      await store.close()
      try RawDatabase(fixture.path).execute("PRAGMA wal_checkpoint(TRUNCATE)")
      let leaf = try #require(original.pages[.indexLeaf]?.last)
      try fixture.files.overwrite(
        "store.sqlite", at: (leaf - 1) * DamageableStore.pageBytes,
        with: Array(repeating: 0xFF, count: DamageableStore.pageBytes))
      let after = fixture.another()
      _ = try await after.put("after", for: .page, at: Int64(round))
      _ = try? await after.remove(.all, started: .at(99))
      await after.close()
      let event = try #require(events.withLock { $0.last })
      guard case .quarantined(_, let keptAs, let carriedOver, _) = event else {
        Issue.record("\(event)")
        return
      }
      #expect(FileStatusProbe.exists(keptAs))
      #expect(carriedOver > 0)
    }
    let kept = try fixture.files.names().filter { $0.contains(".damaged-") && !$0.hasSuffix("-wal") }
    #expect(kept.count == 2)
    #expect(
      !FileStatusProbe.exists(fixture.path + ".new") && !FileStatusProbe.exists(fixture.path + ".repaired"))
  }

  /// A store as a repair leaves it that ended between its two renames.
  private func betweenRenames() async throws -> StoreFixture {
    let fixture = try StoreFixture()
    _ = try await fixture.store.put("a", for: .page)
    await fixture.store.close()
    try RawDatabase(fixture.path).execute("PRAGMA wal_checkpoint(TRUNCATE)")
    for name in ["-wal", "-shm"] { try? FileManager.default.removeItem(atPath: fixture.path + name) }
    try FileManager.default.moveItem(atPath: fixture.path, toPath: fixture.path + ".repaired")
    return fixture
  }

  @Test func `a file that was repaired but not yet put in place is found by the next process`() async throws {
    let fixture = try await betweenRenames()
    let store = fixture.another()
    _ = try await store.accountID(named: "")
    #expect(try await store.body(of: .page) == "a")
  }

  @Test func `a read between the two renames of a repair waits for its end, and does not find nothing`()
    async throws
  {
    let fixture = try await betweenRenames()
    let store = fixture.another()
    #expect { _ = try store.lookupNow(.page) } throws: { ($0 as? CacheStoreError)?.reason == .corrupt }
    #expect(try await store.body(of: .page) == "a")
  }

  @Test func `between the two renames a sign-out leaves what is not the account's`() async throws {
    let fixture = try await betweenRenames()
    let store = fixture.another()
    try await store.signOut(accountName: "somebody")
    #expect(try await store.body(of: .page) == "a")
  }

  @Test func `between the two renames the check of the store does not say that there is none`() async throws {
    let fixture = try await betweenRenames()
    let store = fixture.another()
    #expect(await !store.findings().contains { $0.message.contains("there is no store") })
    #expect(try await store.body(of: .page) == "a")
  }
}

/// A store of known content with pages of every kind, and rows that are still in the log.
final class DamageableStore: Sendable {
  static let chunkBytes = 20_000
  static let pageBytes = 8192
  static let shared = Shared()

  let contents: [RequestKey: Data]
  let pages: [DamagePlace: [Int]]
  /// Few enough that closing leaves them there.
  let rowsInLog = 3
  private let files: TemporaryFolder

  /// Made by whichever test comes first.
  actor Shared {
    private var task: Task<DamageableStore, any Error>?

    func get() async throws -> DamageableStore {
      let task = task ?? Task { try await DamageableStore() }
      self.task = task
      return try await task.value
    }
  }

  private init() async throws {
    let fixture = try StoreFixture { $0.chunkBytes = Self.chunkBytes }
    var contents: [RequestKey: Data] = [:]
    func put(_ numbers: Range<Int>) async throws {
      for number in numbers {
        let key = RequestKey(
          account: number % 5 == 0 ? "alice" : "",
          target: "https://example.org/a/rather/long/path/so/that/the/index/has/interior/pages/\(number)")
        let body = pattern([10, 300, 900, 15_000, 45_000][number % 5], seed: UInt8(number))
        contents[key] = body
        _ = try await fixture.store.put(body, for: key) { $0.head.fields = ["X-Target": key.target] }
      }
    }
    try await put(0..<160)
    var some = EntrySelection.all
    some.minimumBytes = 15_000
    some.accounts = [""]
    let removed = try await fixture.store.entries(some).prefix(8)
    for entry in removed {
      _ = try await fixture.store.remove(rowID: entry.rowID, started: .at(2))
      contents[entry.key] = nil
    }
    await fixture.store.close()
    pages = try Self.pages(of: fixture.path)
    let second = fixture.another()
    for number in 200..<(200 + rowsInLog) {
      let key = RequestKey(target: "https://example.org/in/the/log/\(number)")
      contents[key] = pattern(700, seed: UInt8(number))
      _ = try await second.put(pattern(700, seed: UInt8(number)), for: key) {
        $0.head.fields = ["X-Target": key.target]
      }
    }
    await second.close()
    self.contents = contents
    files = fixture.files
  }

  private static func pages(of path: String) throws -> [DamagePlace: [Int]] {
    let database = try RawDatabase(path)
    try database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    var found: [DamagePlace: [Int]] = [
      .interior: [], .leaf: [], .overflow: [], .freelist: [], .indexInterior: [], .indexLeaf: [],
      .pointerMap: [2],
    ]
    var used: Set<Int> = [1, 2]
    let rows = try database.rows(
      """
      SELECT d.pageno, d.pagetype, coalesce(s.type, 'table') FROM dbstat d
      LEFT JOIN sqlite_schema s ON s.name = d.name WHERE d.pageno > 2
      """)
    for row in rows {
      guard let page = row[0].integer.map(Int.init) else { continue }
      used.insert(page)
      let isIndex = row[2].text == "index"
      switch row[1].text {
      case "internal": found[isIndex ? .indexInterior : .interior]?.append(page)
      case "leaf": found[isIndex ? .indexLeaf : .leaf]?.append(page)
      default: found[.overflow]?.append(page)
      }
    }
    let count = Int(try database.rows("PRAGMA page_count")[0][0].integer ?? 0)
    found[.freelist] = (3...count).filter { !used.contains($0) }
    return found
  }

  func copy(
    to folder: TemporaryFolder, _ place: DamagePlace, _ pages: [Int], _ random: inout SeededGenerator,
    isDamaged: Bool = true
  ) throws {
    var database = try files.bytes(of: "store.sqlite")
    var log = try files.bytes(of: "store.sqlite-wal")
    if isDamaged { damage(&database, &log, place, pages, &random) }
    try folder.write(database, to: "store.sqlite")
    try folder.write(log, to: "store.sqlite-wal")
    try folder.write("", to: "store.sqlite.lock")
    try? FileManager.default.removeItem(atPath: folder.file("store.sqlite-shm"))
    if place == .sharedMemory { try folder.write(random.bytes(32_768), to: "store.sqlite-shm") }
  }

  private func damage(
    _ database: inout [UInt8], _ log: inout [UInt8], _ place: DamagePlace, _ pages: [Int],
    _ random: inout SeededGenerator
  ) {
    switch place {
    case .header: Self.spoil(&database, 0..<100, &random)
    case .interior, .leaf, .overflow, .freelist, .indexInterior, .indexLeaf, .pointerMap:
      let page = pages.randomElement(using: &random) ?? 1
      Self.spoil(
        &database, (page - 1) * DamageableStore.pageBytes..<page * DamageableStore.pageBytes, &random)
    case .logHeader: Self.spoil(&log, 0..<32, &random)
    case .logFrame: Self.spoil(&log, 32..<log.count, &random)
    case .sharedMemory: break
    case .truncation: database.removeLast(Int.random(in: 1..<database.count, using: &random))
    case .logTruncation: log.removeLast(Int.random(in: 1..<log.count, using: &random))
    case .foreignFile: database = random.bytes(Int.random(in: 1...20_000, using: &random))
    case .emptyFile:
      database = []
      log = []
    }
  }

  /// One bit, one byte, a few bytes, a run of zeros, or a run of random bytes.
  private static func spoil(_ bytes: inout [UInt8], _ range: Range<Int>, _ random: inout SeededGenerator) {
    let start = Int.random(in: range, using: &random)
    let end = min(range.upperBound, start + Int.random(in: 1...600, using: &random))
    switch Int.random(in: 0..<5, using: &random) {
    case 0: bytes[start] ^= 1 << UInt8.random(in: 0..<8, using: &random)
    case 1: bytes[start] = UInt8.random(in: 0...255, using: &random)
    case 2:
      for _ in 0..<8 {
        bytes[Int.random(in: range, using: &random)] = UInt8.random(in: 0...255, using: &random)
      }
    case 3: bytes.replaceSubrange(start..<end, with: Array(repeating: 0, count: end - start))
    default: bytes.replaceSubrange(start..<end, with: random.bytes(end - start))
    }
  }
}
