import PlatformC
import PlatformFoundation
import TestSupport
import Testing
import TestTurns

@testable import CacheStore

@Suite("Limits of the store, met exactly and passed by one", .inTurn) struct ExactLimitTests {
  @Test func `what nobody has set is as docs/storage.md has it`() {
    let usual = StoreConfiguration(path: "store.sqlite")
    #expect(usual.busyTimeout == .seconds(5))
    #expect(usual.partialLifetime == .seconds(604_800))
    #expect(usual.maximumBytes == 2_147_483_648 && usual.maximumRows == nil && usual.maximumAge == nil)
    #expect(usual.chunkBytes == 262_144 && usual.pageBytes == 8_192)
  }

  @Test func `a shared transaction takes as many bytes as it may`() {
    let group = WriteGroup()
    for _ in 0..<9 {
      _ = group.add(
        GroupedWork(bytes: WriteGroup.mostBytes / 4, deadline: 0, work: { _ in }, completion: { _ in }))
    }
    let taken = [group.take(), group.take(), group.take()]
    #expect(taken.map(\.writes.count) == [4, 4, 1])
    #expect(taken.map(\.isMore) == [true, true, false])
  }

  @Test func `a shared transaction takes 64 writes, be they ever so small`() {
    let group = WriteGroup()
    for _ in 0..<66 {
      _ = group.add(GroupedWork(bytes: 1, deadline: 0, work: { _ in }, completion: { _ in }))
    }
    let taken = [group.take(), group.take()]
    #expect(taken.map(\.writes.count) == [64, 2] && taken.map(\.isMore) == [true, false])
  }

  @Test func `a body has as many chunks as it needs, and what it replaces goes or waits by its own length`()
    async throws
  {
    let size = 1000
    for (length, count) in [(0, 1), (1, 1), (size, 1), (size + 1, 2), (2 * size, 2), (2 * size + 1, 3)] {
      let fixture = try StoreFixture { $0.chunkBytes = size }
      _ = try await fixture.store.put(pattern(length), for: .page)
      #expect(try fixture.number("SELECT count(*) FROM chunk") == Int64(count), "\(length) bytes")
      let row = try #require(try fixture.store.lookupNow(.page).rows.first)
      #expect(try await fixture.store.wholeBody(row) == pattern(length), "\(length) bytes")

      let account = try await fixture.store.accountID(named: "")
      let other = RequestKey(target: "https://example.org/other")
      let another = fixture.store.write(pattern(length), for: other, at: 3, accountID: account)
      let isTaken = fixture.store.overwrite(another, completion: { _ in })
      #expect(isTaken == (count == 1), "\(length) bytes")

      // A body of one chunk has no reader left; a longer one may have, and is released.
      _ = try await fixture.store.put("short", for: .page, at: 4)
      let released = try fixture.number("SELECT count(*) FROM body WHERE released_at_ms IS NOT NULL")
      #expect(released == (count == 1 ? 0 : 1), "\(length) bytes")
      await fixture.store.close()
    }
  }

  @Test func `a body of half the store's limit is kept, one byte more is not`() async throws {
    let fixture = try StoreFixture {
      $0.maximumBytes = 1 << 20
      $0.chunkBytes = 100_000
    }
    let most = 1 << 19
    _ = try await fixture.store.put(pattern(most), for: .page)
    await #expect { try await fixture.store.put(pattern(most + 1), for: .page, at: 2) } throws: {
      ($0 as? CacheStoreError)?.reason == .full
    }
    let row = try #require(try await fixture.store.lookup(.page).rows.first)
    #expect(row.body.length == Int64(most))
  }

  @Test func `a checkpoint is due after as many bytes as one step, the log is very long beyond its limit`()
    async throws
  {
    let fixture = try StoreFixture()
    _ = try await fixture.store.put("x", for: .page)
    let files = StoreFiles(path: fixture.path)
    let database = try Connection(path: files.resolved(), named: files.database, for: .reading, nil)
    let step = Int32(LogPolicy.step / database.pageBytes)
    #expect(Int64(step) * database.pageBytes == LogPolicy.step)
    database.logFrames = step - 1
    #expect(!database.takeCheckpointTurn())
    database.logFrames = step
    #expect(database.takeCheckpointTurn())
    database.logFrames = 2 * step - 1
    #expect(!database.takeCheckpointTurn())
    database.logFrames = 2 * step
    #expect(database.takeCheckpointTurn() && !database.takeCheckpointTurn())
    // A log that has begun anew is counted from its beginning.
    database.logFrames = step - 1
    #expect(!database.takeCheckpointTurn())
    database.logFrames = step
    #expect(database.takeCheckpointTurn())

    database.logFrames = Int32(LogPolicy.veryLong / database.pageBytes)
    #expect(!database.isLogVeryLong)
    database.logFrames += 1
    #expect(database.isLogVeryLong)
  }

  @Test(arguments: [(16 << 20, false), (16 << 20 + 1, true)])
  func `doctor finds a log of more than 16 MiB`(bytes: Int, isFound: Bool) async throws {
    let fixture = try StoreFixture()
    _ = try await fixture.store.put("x", for: .page)
    try fixture.sql("PRAGMA wal_checkpoint(TRUNCATE)")
    #expect(truncate(fixture.path + "-wal", off_t(bytes)) == 0)
    let finding = try #require(await fixture.store.findings(repair: false).first { $0.subject == "log" })
    #expect((finding.severity == .wrong) == isFound, "\(finding)")
  }

  @Test func `a lease that ended without a row at an instant has ended since that instant`() async throws {
    let fixture = try StoreFixture()
    _ = try await fixture.store.put("x", for: .page)
    fixture.store.markLeaseEnded(7, storedRow: false, at: 100)
    #expect(try fixture.store.leaseEndedWithoutRow(7, since: 99, now: 200))
    #expect(try fixture.store.leaseEndedWithoutRow(7, since: 100, now: 200))
    #expect(try !fixture.store.leaseEndedWithoutRow(7, since: 101, now: 200))
    #expect(try !fixture.store.leaseEndedWithoutRow(8, since: 99, now: 200))
    // The number of slots is that of every release: they share the file.
    #expect(try fixture.store.leaseEndedWithoutRow(7 + 8_192, since: 100, now: 200))
  }

  @Test func `a lease that ended later than now is another boot's`() async throws {
    let fixture = try StoreFixture()
    _ = try await fixture.store.put("x", for: .page)
    fixture.store.markLeaseEnded(7, storedRow: false, at: 100)
    #expect(try fixture.store.leaseEndedWithoutRow(7, since: 50, now: 100))
    #expect(try !fixture.store.leaseEndedWithoutRow(7, since: 50, now: 99))
    fixture.store.markLeaseEnded(7, storedRow: false, at: .max / 2)
    #expect(try !fixture.store.leaseEndedWithoutRow(7, since: 50, now: 100))
  }

  @Test func `housekeeping is one process's at one instant`() async throws {
    let fixture = try StoreFixture()
    _ = try await fixture.store.put("x", for: .page)
    let minute = ResponseStore.maintenanceInterval
    #expect(!fixture.store.takeMaintenanceTurn(at: minute), "it was only just made")
    #expect(fixture.store.takeMaintenanceTurn(at: 2 * minute))
    #expect(!fixture.store.takeMaintenanceTurn(at: 2 * minute))
  }

  /// Nothing checks the marks in a lock file.
  @Test(arguments: [Int64.min, -1, .max])
  func `a mark of the housekeeping that no clock can have left is another boot's`(mark: Int64) async throws {
    let fixture = try StoreFixture()
    _ = try await fixture.store.put("x", for: .page)
    #expect(fixture.store.lockFile.isOpen)
    fixture.store.lockFile.setMark(-1, to: mark)
    let minute = ResponseStore.maintenanceInterval
    #expect(fixture.store.takeMaintenanceTurn(at: minute))
    #expect(!fixture.store.takeMaintenanceTurn(at: 2 * minute - 1))
  }

  @Test func `a duration has as many nanoseconds as a number of 64 bits may hold`() {
    let most: Int64 = 9_000_000_000_000_000_000
    #expect(Duration.seconds(8_999_999_999).wholeNanoseconds == most - 1_000_000_000)
    #expect((.seconds(9_000_000_000) + .nanoseconds(5)).wholeNanoseconds == most)
    #expect(Duration.seconds(Int64.max).wholeNanoseconds == most)
    #expect(Duration.nanoseconds(1).wholeNanoseconds == 1 && Duration.nanoseconds(-1).wholeNanoseconds == 0)
  }

  @Test(arguments: [(99, false), (100, true), (999, true), (1000, false)])
  func `a row's status has three digits`(status: Int, isRead: Bool) async throws {
    let fixture = try StoreFixture()
    _ = try await fixture.store.put("x", for: .page) { $0.head.status = status }
    #expect(try await fixture.store.lookup(.page).rows.count == (isRead ? 1 : 0))
  }

  @Test(arguments: [
    (2, "earlier"), (3, "earlier"), (5, "newer"), (9_999, "newer"), (10_000, "damaged"), (-1, "damaged"),
  ])
  func `a version that some release may have is earlier or newer, any other is damage`(
    version: Int, isTakenFor: String
  )
    async throws
  {
    let folder = try TemporaryFolder()
    let path = folder.file("store.sqlite")
    try RawDatabase(path, create: true).execute(
      "PRAGMA application_id = 0x43464348; PRAGMA user_version = \(version)")
    let files = StoreFiles(path: path)
    let connection = try Connection(path: files.resolved(), named: files.database, for: .reading, nil)
    #expect { try Schema.content(of: connection) } throws: { error in
      switch (error as? CacheStoreError)?.reason {
      case .newerSchema(version): isTakenFor == "newer"
      case .earlierSchema: isTakenFor == "earlier"
      case .corrupt: isTakenFor == "damaged"
      default: false
      }
    }
  }

  @Test func `an error names its statement where that is short`() async throws {
    let fixture = try StoreFixture()
    _ = try await fixture.store.put("x", for: .page)
    let files = StoreFiles(path: fixture.path)
    let database = try Connection(path: files.resolved(), named: files.database, for: .reading, nil)
    for (length, isNamed) in [(200, true), (201, false)] {
      let sql = "NONSENSE" + String(repeating: " ", count: length - 8)
      #expect("\(length)") { try database.execute(sql) } throws: {
        (($0 as? CacheStoreError)?.sql == sql) == isNamed
      }
    }
  }

  @Test func `a batch is small below 64, and gives up marks when half of them are of different rows`() {
    var batch = UsageBatch()
    for row in 0..<63 { batch.mark(Int64(row), at: 1) }
    #expect(batch.isSmall)
    batch.mark(63, at: 1)
    #expect(!batch.isSmall)

    for (rows, isKept) in [(UsageBatch.limit / 2, true), (UsageBatch.limit / 2 + 1, false)] {
      var batch = UsageBatch()
      // As many marks as are kept, of so many rows.
      for number in 0..<UsageBatch.limit { batch.mark(Int64(number % rows), at: 1) }
      batch.mark(-1, at: 1)
      #expect(batch.marks.contains { $0.row == -1 } == isKept, "\(rows) rows")
    }
  }

  @Test func `an error while the counts of a batch are written is told, whichever of them it is`() {
    var batch = UsageBatch()
    for host in ["a", "b", "c"] { batch.count(.id(1), host: host, UsageCount()) }
    for refused in ["a", "b", "c"] {
      #expect(throws: CacheStoreError.self, "\(refused)") {
        try batch.forEachCount { (_, host, _) throws(CacheStoreError) in
          if host == refused { throw CacheStoreError(.full, "no room") }
        }
      }
    }
  }

  @Test func `no more of a usage journal is read than sixteen times what is long`() throws {
    let fixture = try StoreFixture()
    let journal = UsageJournal(files: StoreFiles(path: fixture.path))
    let most = Int(UsageJournal.longest) * 16
    for (count, expected) in [(most - 1, most - 1), (most, most), (most + 1, most), (most * 2, most)] {
      try fixture.files.write([UInt8](repeating: 0x0A, count: count), to: "store.sqlite.uses")
      #expect(journal.take()?.bytes.count == expected, "\(count) bytes")
      journal.removeAll()
    }
  }

  @Test func `law 8: a start of this very instant is believed, and is not before itself`() async throws {
    let fixture = try StoreFixture { $0.bootNow = { 500 } }
    let writer = fixture.store.rowWriter
    #expect(writer.isBelieved(499) && writer.isBelieved(500) && !writer.isBelieved(501))
    #expect(StartMark.at(4).isBefore(.at(5)) && !StartMark.at(5).isBefore(.at(5)))
  }
}
