import DataService
import DataServiceTesting
import PlatformFoundation
import TestSupport
import Testing
import TestTurns

/// What a person waits for, and what wears a disk, is the commit: one for each answer, and no more.
@Suite("An answer is stored by one commit", .inTurn) struct CommitTests {
  /// What a write-ahead log holds, by SQLite's file format.
  private struct Log {
    /// Others each time the log begins anew.
    let salts: ArraySlice<UInt8>
    /// Frames of these salts that say how long the database is after them.
    let commits: Int

    init(_ bytes: [UInt8]) throws {
      func number(at place: Int) -> Int { bytes[place..<(place + 4)].reduce(0) { $0 << 8 | Int($1) } }
      try #require(bytes.count > 32)
      let salts = bytes[16..<24]
      let step = 24 + number(at: 8)
      commits = stride(from: 32, through: bytes.count - step, by: step).count {
        bytes[($0 + 8)..<($0 + 16)].elementsEqual(salts) && number(at: $0 + 4) > 0
      }
      self.salts = salts
    }
  }

  @Test("whether it replaces the row or confirms it", arguments: [200, 304])
  func once(status: Int) async throws {
    let transport = ScriptedTransport { _, number in
      number == 2 && status == 304
        ? .answer("", status: 304, ["ETag": "\"1\""])
        : .answer(String(repeating: "\(number)", count: 64), ["ETag": "\"1\""])
    }
    // On a clock that stands still meanwhile nothing else is due, such as the times of use.
    let clock = VirtualClock()
    let fixture = try ServiceFixture(transport: transport, timekeeper: clock) {
      // The body just fills a chunk, which is no reason to commit that by itself.
      $0.store.chunkBytes = 64
    }
    let url = try #require(URL(string: "http://origin.test/item"))
    _ = await fixture.outline(url)
    clock.advance(by: .seconds(1))
    await fixture.service.store.performMaintenance(budget: .seconds(60))
    let log = { try Log(fixture.store.folder.bytes(of: "store.sqlite-wal")) }
    let before = try log()
    let deliveries = await fixture.deliveries(url, policy: .freshOnly)
    #expect(deliveries.map(\.kept) == [.yes])
    #expect(transport.requests.count == 2)
    let after = try log()
    #expect(after.commits - (after.salts.elementsEqual(before.salts) ? before.commits : 0) == 1)
    await fixture.service.close()
  }
}
