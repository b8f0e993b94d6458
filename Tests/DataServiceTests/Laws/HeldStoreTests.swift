import CacheStore
import DataService
import DataServiceTesting
import FixtureServer
import PlatformFoundation
import TestSupport
import Testing
import TestTurns

/// Law 3 with the store held by another process, in `locking_mode=EXCLUSIVE`.
@Suite("Law 3: a store that another process has for itself", .inTurn) struct HeldStoreTests {
  /// A store with `body 1` in it and nobody at it, and a transport whose next answer is `body 2`.
  private func filled(_ clock: VirtualClock) async throws -> (TemporaryStore, ScriptedTransport, URL) {
    let store = try TemporaryStore()
    let transport = ScriptedTransport { _, number in .answer("body \(number)", ["ETag": "\"\(number)\""]) }
    let url = try #require(URL(string: "http://origin.test/item"))
    let first = try ServiceFixture(store: store, transport: transport, timekeeper: clock)
    #expect(await first.outline(url) == ["fresh(body 1, new)"])
    await first.service.close()
    return (store, transport, url)
  }

  /// A service that would wait for the other process longer than any test machine is busy.
  private func fixture(
    _ store: TemporaryStore, _ transport: ScriptedTransport, _ clock: VirtualClock
  ) throws -> ServiceFixture {
    try ServiceFixture(store: store, transport: transport, timekeeper: clock) {
      $0.store.busyTimeout = .seconds(300)
      $0.timeouts = InternalTimeouts()
    }
  }

  @Test func `law 3: a fresh response complete while another process holds the store waits for it`()
    async throws
  {
    let clock = VirtualClock()
    let (store, transport, url) = try await filled(clock)
    let holder = try await StoreHolder(.exclusive, store.path)
    let fixture = try fixture(store, transport, clock)
    async let deliveries = fixture.deliveries(url)
    await clock.whenPending(for: .milliseconds(20))
    clock.advance(by: .milliseconds(20))
    await fixture.traced("no other process")
    // The exchange has begun; the commit waits for the other process, 250 ms of the clock.
    await clock.whenPending(for: .milliseconds(250))
    clock.advance(by: .milliseconds(250))
    // The answer is complete, and its delivery waits for the store, up to 250 ms more.
    await fixture.traced("waiting for the store")
    await holder.release()
    let all = await deliveries
    #expect(all.map(\.outline) == ["stored(body 1)", "fresh(body 2, changed)"])
    #expect(all.last?.kept == .no(.busy))
    #expect(transport.requests.last?.fields.contains("If-None-Match") == false)
    await holder.end()
    await fixture.service.close()
    #expect(try store.value("SELECT bytes FROM chunk") == .blob(Array("body 2".utf8)), "the write went on")
  }

  @Test
  func `law 3: where the other process holds it for 250 ms more, the fresh response is delivered alone`()
    async throws
  {
    let clock = VirtualClock()
    let (store, transport, url) = try await filled(clock)
    let holder = try await StoreHolder(.exclusive, store.path)
    let fixture = try fixture(store, transport, clock)
    async let deliveries = fixture.deliveries(url)
    for delay in [20, 250, 250] {
      await clock.whenPending(for: .milliseconds(delay))
      clock.advance(by: .milliseconds(delay))
      // Past the opening of the lock file, which the clock would else cut short.
      if delay == 20 { await fixture.traced("no other process") }
    }
    await fixture.traced("going on without the store")
    await holder.release()
    let all = await deliveries
    #expect(all.map(\.outline) == ["fresh(body 2, new)"])
    await holder.end()
    await fixture.service.close()
    #expect(try store.value("SELECT bytes FROM chunk") == .blob(Array("body 2".utf8)), "the write went on")
  }

  @Test func `law 3: the exchange begins without the store, and what it then has comes first`() async throws {
    let clock = VirtualClock()
    let (store, _, url) = try await filled(clock)
    let isAsked = Gate()
    let mayAnswer = Gate()
    let transport = ScriptedTransport { _, _ async throws(DataServiceError) in
      isAsked.open()
      await mayAnswer.wait()
      return .answer("body 2")
    }
    let holder = try await StoreHolder(.exclusive, store.path)
    let fixture = try fixture(store, transport, clock)
    var seen: [String] = []
    let deliveries = fixture.service.deliveries(for: fixture.request(url))
    async let moved: Void = {
      await clock.whenPending(for: .milliseconds(20))
      clock.advance(by: .milliseconds(20))
      await isAsked.wait()
      await holder.release()
    }()
    for await delivery in deliveries {
      seen.append(delivery.outline)
      mayAnswer.open()
    }
    await moved
    #expect(seen == ["stored(body 1)", "fresh(body 2, changed)"])
    await holder.end()
    await fixture.service.close()
  }
}
