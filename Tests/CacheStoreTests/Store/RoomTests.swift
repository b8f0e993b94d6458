import PlatformFoundation
import Synchronization
import TestSupport
import Testing
import TestTurns

@testable import CacheStore
import PlatformC

@Suite("Room in the store, and what goes for it", .inTurn) struct RoomTests {
  private func filled(_ configure: (inout StoreConfiguration) -> Void = { _ in }) async throws -> StoreFixture
  {
    let fixture = try StoreFixture {
      $0.maximumBytes = 4 << 20
      $0.chunkBytes = 64 << 10
      configure(&$0)
    }
    for number in 0..<180 {
      _ = try await fixture.store.put(
        Data(count: 20_000), for: RequestKey(target: "https://example.org/\(number)"))
    }
    return fixture
  }

  /// The pages that hold something.
  private func bytesInUse(_ fixture: StoreFixture) throws -> Int64 {
    let pages = try fixture.number(
      "SELECT (SELECT page_count FROM pragma_page_count) - freelist_count FROM pragma_freelist_count")
    return try #require(pages) * 8192
  }

  @Test func `what belongs to no row goes chunk by chunk`() async throws {
    let fixture = try StoreFixture { $0.chunkBytes = 1000 }
    let long = try #require(try await fixture.store.put(pattern(3000), for: .page).row).body.id
    _ = try await fixture.store.put("short", for: .page)
    let writer = fixture.store.writer
    for left in [2, 1, 0, 0] as [Int64] {
      let isMore = try await writer.perform { (connection) throws(CacheStoreError) in
        try connection.transaction { () throws(CacheStoreError) in
          try writer.room.collectRemains(connection)
        }
      }
      #expect(isMore, "\(left)")
      #expect(
        try fixture.number("SELECT count(*) FROM chunk WHERE id & 1048575 > 0 OR id >> 20 = \(long)") == left,
        "\(left)")
    }
  }

  @Test func `where room is given back the log is emptied, free pages or not`() async throws {
    let fixture = try StoreFixture()
    _ = try await fixture.store.put("a", for: .page)
    #expect(try #require(FileStatus(path: fixture.path + "-wal")).bytes > 0)
    let writer = fixture.store.writer
    try await writer.perform { (connection) throws(CacheStoreError) in
      #expect(try connection.value(.freePages) == 0)
      writer.room.giveBack(connection)
    }
    #expect(try #require(FileStatus(path: fixture.path + "-wal")).bytes == 0)
  }

  @Test func `law 5: a body that is refused in the end costs no row its place, and its room is free at once`()
    async throws
  {
    let fixture = try await filled()
    let store = fixture.store
    let before = try await store.entries().count
    let account = try await store.accountID(named: "")
    let body = try await store.beginBody(accountID: account)
    for _ in 0..<28 { try await body.append(pattern(64 << 10)) }
    #expect(try await store.entries().count == before)
    // Nor do what else is written meanwhile, by another process too, and the housekeeping evict for it.
    let other = fixture.another()
    for (store, target) in [(store, "ours"), (other, "theirs")] {
      _ = try await store.put("small", for: RequestKey(target: target))
      #expect(await store.performMaintenance(budget: .seconds(60)) == nil)
      #expect(try bytesInUse(fixture) > 4 << 20)
    }
    body.remove()
    body.end()
    _ = try await store.accountID(named: "")
    #expect(try await store.entries().count == before + 2)
    await other.close()
    #expect(try fixture.number("SELECT count(*) FROM chunk WHERE id >> 20 = \(body.id)") == 0)
    #expect(try fixture.number("SELECT count(*) FROM body WHERE id = \(body.id)") == 0)
    await store.close()
  }

  @Test func `a body that becomes a row makes its room then, and the file is within its limit again`()
    async throws
  {
    let fixture = try await filled()
    let store = fixture.store
    let before = try await store.entries().count
    let account = try await store.accountID(named: "")
    let body = try await store.beginBody(accountID: account)
    for _ in 0..<28 { try await body.append(pattern(64 << 10)) }
    _ = try await store.overwrite(
      store.write(Data(), for: .page, at: 2, accountID: account) { $0.body = .unfinished(body) })
    #expect(try await store.entries().count < before)
    #expect(try bytesInUse(fixture) <= 4 << 20)
    let row = try #require(try store.lookupNow(.page).rows.first)
    #expect(row.body.length == 28 * 64 << 10)
    await store.close()
  }

  @Test func `a body that nothing can refuse any more makes room for each of its chunks`() async throws {
    let fixture = try await filled()
    let store = fixture.store
    let before = try await store.entries().count
    let account = try await store.accountID(named: "")
    let body = try await store.beginBody(accountID: account, partial: nil, makingRoom: true)
    for _ in 0..<28 {
      try await body.append(pattern(64 << 10))
      #expect(try bytesInUse(fixture) <= 4 << 20)
    }
    #expect(try await store.entries().count < before)
    body.end()
    await store.close()
  }

  @Test func `law 5: a whole body that is too late costs no row its place`() async throws {
    let fixture = try await filled()
    let store = fixture.store
    _ = try await store.put("later", for: .page, at: 10)
    let before = try await store.entries().count
    let long = pattern(28 * 64 << 10)
    #expect(long.count > store.configuration.chunkBytes)
    #expect(try await store.put(long, for: .page, at: 9) == .superseded)
    #expect(try await store.entries().count == before)
    #expect(try await store.body(of: .page) == "later")
    _ = try await store.put(long, for: .page, at: 11)
    #expect(try await store.entries().count < before)
    #expect(try bytesInUse(fixture) <= 4 << 20)
    await store.close()
  }

  @Test(
    "some free pages are left for the next rows",
    arguments: [
      (0, 0, false), (256, 1_000, false), (257, 1_000, true), (5, 10, false), (6, 10, true), (6, 11, true),
    ] as [(Int64, Int64, Bool)])
  func spare(free: Int64, pages: Int64, areGivenBack: Bool) {
    #expect(Eviction.hasPagesToGiveBack(free: free, of: pages) == areGivenBack)
  }

  @Test func `bodies that arrive together do not make the file larger without measure`() async throws {
    let fixture = try await filled()
    let store = fixture.store
    let before = try await store.entries().count
    let account = try await store.accountID(named: "")
    var bodies: [UnfinishedBody] = []
    await #expect {
      for _ in 0..<8 {
        let body = try await store.beginBody(accountID: account)
        bodies.append(body)
        for _ in 0..<28 { try await body.append(pattern(64 << 10)) }
      }
    } throws: { ($0 as? CacheStoreError)?.reason == .full }
    #expect(try await store.entries().count == before)
    #expect(try fixture.number("SELECT page_count * 8192 FROM pragma_page_count") ?? 0 <= 7 << 20)
    await store.close()
  }

  private static let canMount = geteuid() == 0 && system("unshare -m true 2>/dev/null") == 0

  /// In a mount namespace of the child's own, so that nothing stays behind.
  @Test(
    "a store that has filled its disk can be removed from, and accounts signed out",
    .enabled(if: canMount, "only the administrator can mount a disk"), arguments: ["4m", "6m", "12m"])
  func fullDisk(size: String) async throws {
    let folder = try TemporaryFolder()
    let script = "mount -t tmpfs -o size=\(size) none \"$1\" && exec \"$0\" fill \"$1/store.sqlite\""
    let finished = try await ChildProcess.run(
      "/usr/bin/env",
      ["unshare", "-m", "sh", "-c", script, try BuiltProduct.path("StoreDriver"), folder.path])
    let lines = finished.outputText.split(separator: "\n")
    #expect(lines.first?.hasPrefix("full after ") == true, "\(lines) \(finished.errorText)")
    #expect(lines.dropFirst() == ["removed", "signed out", "stored again", "ok"], "\(lines)")
  }

  @Test func `law 8: a removal holds for a day of the clock since boot, whatever the wall clock says`()
    async throws
  {
    let wall = Mutex(Int64(1_000_000_000))
    let boot = Mutex(Int64(10_000_000_000_000))
    let fixture = try StoreFixture {
      $0.now = { wall.withLock { $0 } }
      $0.bootNow = { boot.withLock { $0 } }
    }
    let store = fixture.store
    let began = boot.withLock { $0 }
    _ = try await store.put("a", for: .page, at: began - 100)
    #expect(try await store.remove(.all, started: .at(began)) == 1)
    let hour: Int64 = 3_600_000_000_000
    // Of the wall clock, in milliseconds; of the clock since boot; whether the removal is remembered then.
    let steps: [(wall: Int64, boot: Int64, isKept: Bool)] = [
      (7_200_000, 0, true), (-86_400_000, 2 * hour, true), (0, 22 * hour, true), (0, 1, false),
    ]
    for (step, hours, isKept) in steps {
      wall.withLock { $0 += step }
      boot.withLock { $0 += hours }
      await store.performMaintenance(budget: .seconds(60))
      let marks = try fixture.number("SELECT count(*) FROM removal")
      // Of the row's target, of everything, and that there is a mark which is no target's.
      #expect(marks == (isKept ? 3 : 0), "\(step)")
      guard isKept else { continue }
      #expect(try await store.put("late", for: .page, at: began - 50) == .superseded, "\(step)")
    }
    await store.close()
  }

  @Test func `a host of which everything was removed is gone from the counts, its neighbours are not`()
    async throws
  {
    let fixture = try StoreFixture()
    let store = fixture.store
    var count = UsageCount()
    count.stored = 1
    for target in [
      "https://a.example/1", "https://a.example/2", "https://a.example.org/1", "http://b.example?x",
    ] {
      _ = try await store.put("x", for: RequestKey(target: target))
    }
    let account = try await store.accountID(named: "")
    for host in ["a.example", "a.example.org", "b.example"] {
      store.count(accountID: account, host: host, count)
    }
    #expect(try await store.statistics().parts.count == 3)
    for (prefix, left) in [
      ("https://a.example/1", ["a.example", "a.example.org", "b.example"]),
      ("https://a.example/", ["a.example.org", "b.example"]), ("http://b.example", ["a.example.org"]),
    ] {
      var selection = EntrySelection.all
      selection.prefix = prefix
      try await store.remove(selection, started: .at(5))
      #expect(try await store.statistics().parts.map(\.host) == left, "\(prefix)")
    }
    await store.close()
  }
}
