import CacheStore
import DataServiceTesting
import Dispatch
import FixtureServer
import PlatformFoundation
import Synchronization
import TestSupport
import Testing
import TestTurns

@testable import DataService

/// What a store that is held back writes only once the delivery, or the load itself, is over.
@Suite("Writes that come late", .inTurn) struct LateWriteTests {
  private static let url = "http://origin.test/item"

  /// Stores a tagged body, and holds the store back before it confirms that.
  private static func confirming(_ hold: @escaping @Sendable () -> Void) -> ScriptedTransport {
    ScriptedTransport { _, number in
      guard number == 2 else { return .answer("body \(number)", ["ETag": "\"1\""]) }
      hold()
      return .answer("", status: 304, ["ETag": "\"1\""])
    }
  }

  @Test func `law 11: cancelled while it writes, it asks no more where the row of a 304 is gone`()
    async throws
  {
    let clock = VirtualClock()
    let hold = Mutex<(@Sendable () -> Void)?>(nil)
    let transport = Self.confirming { hold.withLock { $0 }?() }
    let fixture = try ServiceFixture(transport: transport, timekeeper: clock) {
      $0.timeouts = InternalTimeouts()
    }
    let url = try #require(URL(string: Self.url))
    _ = await fixture.outline(url)
    let store = fixture.service.store
    hold.withLock { $0 = { store.suspendForTesting() } }
    let load = fixture.service.load(
      fixture.request(url), policy: .freshOnly, queue: DispatchQueue(label: "callbacks"),
      deliver: { _ in Issue.record("delivered after its cancel") })
    // By now it writes, and a delivery would wait so long for that.
    await clock.whenPending(for: .milliseconds(250))
    try fixture.store.execute("DELETE FROM last_request")
    load.cancel()
    store.resumeForTesting()
    await load.finished()
    // The exchange may end later than its load.
    await fixture.service.close()
    #expect(transport.requests.count == 2)
  }

  @Test func `law 11: cancelled while it writes a 503 that http may reuse, it does not try again`()
    async throws
  {
    let clock = VirtualClock()
    let hold = Mutex<(@Sendable () -> Void)?>(nil)
    let transport = ScriptedTransport { _, number in
      guard number > 1 else { return .answer("other") }
      if number == 2 { hold.withLock { $0 }?() }
      return .answer("busy", status: 503, ["Cache-Control": "max-age=600"])
    }
    let fixture = try ServiceFixture(transport: transport, timekeeper: clock) {
      $0.timeouts = InternalTimeouts()
    }
    _ = await fixture.outline(try #require(URL(string: "http://origin.test/other")))
    let store = fixture.service.store
    hold.withLock { $0 = { store.suspendForTesting() } }
    var request = fixture.request(try #require(URL(string: Self.url)))
    request.limits.retries = 1
    let load = fixture.service.load(
      request, policy: .http, queue: DispatchQueue(label: "callbacks"),
      deliver: { _ in Issue.record("delivered after its cancel") })
    await clock.whenPending(for: .milliseconds(250))
    load.cancel()
    store.resumeForTesting()
    _ = try await clock.passing(longest: .seconds(1)) { await load.finished() }
    await fixture.service.close()
    #expect(transport.requests.count == 2)
    #expect(!fixture.hasTraced("retrying in"))
  }

  @Test(
    "the lease is held until a late write is over, which is told where it fails", arguments: [false, true])
  func late(fails: Bool) async throws {
    let clock = VirtualClock()
    let hold = Mutex<(@Sendable () -> Void)?>(nil)
    let fixture = try ServiceFixture(
      transport: Self.confirming { hold.withLock { $0 }?() }, timekeeper: clock
    ) {
      $0.timeouts = InternalTimeouts()
    }
    let url = try #require(URL(string: Self.url))
    _ = await fixture.outline(url, policy: .freshOnly)
    let (core, store) = (fixture.service.core, fixture.service.store)
    let hash = core.leaseHash(of: try core.prepare(fixture.request(url), policy: .freshOnly))
    // The load's own exchange gives its lease back on a queue.
    while try store.isLeased(hash) { await Task.yield() }
    #expect(
      try !store.leaseEndedWithoutRow(hash, since: 1, now: clock.bootNanoseconds),
      "the first answer is stored")
    hold.withLock { $0 = { store.suspendForTesting() } }
    let delivered = Gate()
    let kept = Mutex<DataService.Kept?>(nil)
    let load = fixture.service.load(
      fixture.request(url), policy: .freshOnly, queue: DispatchQueue(label: "callbacks")
    ) { delivery in
      kept.withLock { $0 = delivery.kept }
      delivered.open()
    }
    await clock.whenPending(for: .milliseconds(250))
    clock.advance(by: .milliseconds(250))
    await delivered.wait()
    #expect(kept.withLock { $0 } == .no(.busy))
    #expect(try store.isLeased(hash))
    #expect(fixture.warnings.isEmpty)
    if fails {
      try fixture.store.execute(
        "CREATE TRIGGER full BEFORE UPDATE ON last_request BEGIN SELECT RAISE(FAIL, 'no room'); END")
    }
    store.resumeForTesting()
    await load.finished()
    #expect(try await eventually { try !store.isLeased(hash) })
    #expect(try store.leaseEndedWithoutRow(hash, since: 1, now: clock.bootNanoseconds) == fails)
    let told: [DataServiceError.Kind] = fails ? [.store] : []
    #expect(fixture.warnings.map(\.kind) == told)
    await fixture.service.close()
  }
}
