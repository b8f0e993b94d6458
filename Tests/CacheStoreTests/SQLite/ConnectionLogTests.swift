import CSQLite
import PlatformC
import TestSupport
import TestTurns
import Testing

@testable import CacheStore

@Suite("The log of one connection", .inTurn) struct ConnectionLogTests {
  /// In place of a connection's own waiting: notes until when that would wait, and waits for less.
  private final class ShortWaiting {
    private unowned let connection: Connection
    private(set) var calls = 0
    private(set) var deadline: Int64 = 0
    private(set) var notedAt: Int64 = 0
    /// How long it waits, in nanoseconds.
    var left: Int64 = 0

    init(_ connection: Connection) { self.connection = connection }

    /// Must outlive the connection's work.
    func listen() {
      sqlite3_busy_handler(
        connection.handle,
        { context, _ in
          if let context { Unmanaged<ShortWaiting>.fromOpaque(context).takeUnretainedValue().note() }
          return 0
        }, Unmanaged.passUnretained(self).toOpaque())
    }

    func forget() { calls = 0 }

    private func note() {
      calls += 1
      guard calls == 1 else { return }
      deadline = connection.waiting.deadline
      notedAt = Platform.monotonicNanoseconds()
      connection.waiting.deadline = notedAt + left
    }
  }

  @Test func `who begins it anew waits for a reader the longer the log is, and rests between its attempts`()
    async throws
  {
    let fixture = try await StoreFixture.closedWithOneRow()
    let connection = try fixture.connection(for: .writing)
    let reader = try RawDatabase(fixture.path)
    try reader.execute("BEGIN; SELECT count(*) FROM account")
    try connection.transaction { () throws(CacheStoreError) in
      try connection.execute("UPDATE account SET name = name || 'x'")
    }
    let waiting = ShortWaiting(connection)
    waiting.listen()
    // Of 8 KiB each: one less than 10 MiB, 10 MiB, one less than 12 MiB, 12 MiB.
    for (frames, milliseconds) in [(1279, 100), (1280, 1_000), (1535, 1_000), (1536, 3_000)]
      as [(Int32, Int64)]
    {
      connection.logFrames = frames
      waiting.forget()
      let before = Platform.monotonicNanoseconds()
      try connection.restartLog()
      let limit = milliseconds * 1_000_000
      #expect(
        before + limit <= waiting.deadline && waiting.deadline <= waiting.notedAt + limit, "\(frames) pages")
      #expect(connection.waiting.deadline == 0, "\(frames) pages")
    }
    waiting.forget()
    waiting.left = 5_000_000
    try connection.restartLog()
    // Half a millisecond between each two.
    #expect((1...20).contains(waiting.calls), "\(waiting.calls)")
    try reader.execute("COMMIT")
    withExtendedLifetime(waiting) {}
  }

  @Test func `a look whether memory can be shared makes one part of the index, and takes none away`()
    async throws
  {
    let fixture = try await StoreFixture.closedWithOneRow()
    #expect(try fixture.sql("PRAGMA journal_mode = DELETE") == [["delete"]])
    #expect(!fixture.files.contains("store.sqlite-shm"))
    let connection = try fixture.connection(for: .writing)
    #expect(connection.canShareMemory)
    // A part has 32 KiB, and as many are made as fill a page of the system's.
    #expect(FileStatus(path: fixture.path + "-shm")?.bytes == max(32_768, Int64(getpagesize())))
  }

  @Test func `a log that a reader kept from being left goes when the connection is closed`() async throws {
    let fixture = try await StoreFixture.closedWithOneRow()
    try leaveInVain(fixture)
    #expect(!fixture.files.contains("store.sqlite-wal"))
    #expect(try fixture.number("SELECT count(*) FROM last_request") == 1)
  }

  /// With a connection that is closed after the reader's.
  private func leaveInVain(_ fixture: StoreFixture) throws {
    let connection = try fixture.connection(for: .writing)
    do {
      let reader = try RawDatabase(fixture.path)
      try reader.execute("BEGIN; SELECT count(*) FROM account")
      do throws(CacheStoreError) {
        try connection.leaveLog()
        Issue.record("it has been left")
      } catch {
        #expect(error.reason == .busy)
      }
      try reader.execute("COMMIT")
    }
    #expect(fixture.files.contains("store.sqlite-wal"))
    withExtendedLifetime(connection) {}
  }
}
