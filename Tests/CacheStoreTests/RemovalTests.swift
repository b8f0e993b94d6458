import PlatformFoundation
import Synchronization
import TestSupport
import TestTurns
import Testing

@testable import CacheStore

@Suite("What is removed, and told of", .inTurn) struct RemovalTests {
  private final class Events: Sendable {
    private let noted = Mutex<[StoreEvent]>([])
    var all: [StoreEvent] { noted.withLock { $0 } }
    func note(_ event: StoreEvent) { noted.withLock { $0.append(event) } }
  }

  @Test func `a row that is found to be damaged is removed, and that is told once`() async throws {
    let events = Events()
    let fixture = try StoreFixture { $0.onEvent = { events.note($0) } }
    let store = fixture.store
    _ = try await store.put("damaged", for: .page)
    _ = try await store.put("sound", for: .other)
    try fixture.sql(
      "UPDATE last_request SET status = status + 1 WHERE target = '\(RequestKey.page.target)'")
    for key in [RequestKey.other, .page, .page] {
      _ = try await store.lookup(key)
      await store.whenIdle()
    }
    #expect(events.all == [.removedDamagedRow(path: fixture.path)])
    #expect(try await store.entries().map(\.key) == [.other])
  }

  @Test func `a damaged row that names another's body is removed by a repair without that`() async throws {
    let fixture = try StoreFixture()
    let store = fixture.store
    _ = try await store.put("damaged", for: .page)
    _ = try await store.put("sound", for: .other)
    try fixture.sql(
      """
      UPDATE last_request
      SET body_id = (SELECT body_id FROM last_request WHERE target = '\(RequestKey.other.target)')
      WHERE target = '\(RequestKey.page.target)'
      """)
    let found = await store.findings(repair: true)
    #expect(found.contains { $0.subject == "checksums" && $0.severity == .repaired }, "\(found)")
    #expect(try await store.entries().map(\.key) == [.other])
    #expect(try await store.body(of: .other) == "sound")
    // A body that is released is collected ten minutes later.
    let released = """
      SELECT count(*) FROM body JOIN last_request ON body_id = body.id WHERE released_at_ms IS NOT NULL
      """
    #expect(try fixture.number(released) == 0)
    await store.close()
  }

  @Test func `of the downloads that were cut off those that are meant go, are counted, and none is in use`()
    async throws
  {
    let fixture = try StoreFixture()
    let store = fixture.store
    let account = try await store.accountID(named: "")
    let keys = ["a", "b", "c"].map { RequestKey(target: "https://example.org/\($0)") }
    for key in keys {
      let partial = UnfinishedBody.Partial(key: key, url: key.target, strongETag: "\"1\"", wholeLength: nil)
      let body = try await store.beginBody(accountID: account, partial: partial)
      try await body.append(pattern(10))
      body.end()
    }
    await store.whenIdle()
    let kept = keys[1]
    let removed = try await store.removeCutOff(.all) { $0 != kept }
    #expect(removed == 2)
    #expect(try fixture.number("SELECT count(*) FROM body") == 1)
    // While it is received, and with nothing to do for a store that may not be written.
    let held = try #require(try await store.partialBody(accountID: account, key: kept))
    #expect(try await store.removeCutOff(.all) == 0)
    held.body.end()
    await store.whenIdle()
    let others = EntrySelection.all
    let none = try await fixture.another { $0.isReadOnly = true }.removeCutOff(others) { $0 != kept }
    #expect(none == 0)
    #expect(try await store.removeCutOff(others) == 1)
    #expect(try fixture.number("SELECT count(*) FROM chunk") == 0)
  }
}
