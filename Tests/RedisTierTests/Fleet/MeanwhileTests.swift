import CacheStore
import DataServiceTesting
import FixtureServer
import PlatformFoundation
import RedisTier
import TestSupport
import Testing
import TestTurns

@testable import DataService

/// While a leader stores the tier's row, and after it, others begin.
@Suite("What begins while a row of the tier is stored", .inTurn) struct MeanwhileTests {
  private let url: URL
  private let other: URL
  init() throws {
    url = try #require(URL(string: "https://origin.test/item"))
    other = try #require(URL(string: "https://origin.test/other"))
  }

  /// Another process that holds the database makes the moment before the commit as long as the test wants.
  @Test func `law 8: they take no old row for the leader's answer`() async throws {
    let tier = try await FakeTier.with("old", at: url)
    tier.advance(by: 3600)
    let (store, clock) = (try TemporaryStore(), VirtualClock())
    let patient: @Sendable (inout DataService.Configuration) -> Void = {
      $0.store.busyTimeout = .seconds(3600)
      $0.timeouts = .endless
    }
    // Who waits for a leader looks every 5 ms, and at the end the clock moves as fast as they look: with the
    // usual limit of half a minute a leader that stands still for a moment would be given up. The same for
    // all, since loads of different limits share nothing.
    let waiting: @Sendable (inout DataService.Request) -> Void = {
      $0.limits.firstByteTimeout = .seconds(10_000_000)
      $0.limits.totalTimeout = .seconds(20_000_000)
    }
    let leader = try FleetMachine(tier, store: store, clock: clock, configure: patient) {
      [url] request, _ throws(DataServiceError) in
      guard request.url == url else { return .answer("other") }
      throw DataServiceError(.offline, "no network")
    }
    _ = await leader.outline(other)
    // Two that know the tier, and one on the same store that does not.
    let origin = ScriptedTransport { _, _ in .answer("fresh") }
    let followers = try [true, true, false].map { knowsTier in
      try ServiceFixture(store: store, transport: origin, timekeeper: clock) {
        if knowsTier { $0.tier = tier.machine() }
        patient(&$0)
      }
    }
    for follower in followers {
      #expect(await follower.outline(other, policy: .storedOnly) == ["stored(other)"])
    }

    let holder = try await StoreHolder(.writing, store.path)
    let led = Task { [url] in await leader.fixture.outline(url, configure: waiting) }
    await leader.fixture.traced("storing the tier's response")
    // What begins now looks before the commit.
    clock.advance(by: .seconds(1))
    let followed = followers.map { follower in
      Task { [url] in await follower.outline(url, configure: waiting) }
    }
    for follower in followers { await follower.traced("waiting for another process") }
    await holder.release()
    await leader.fixture.traced("stored from the tier")
    #expect(await led.value == ["tier(old)", "failure(offline, last old)"])

    let all = try await clock.passing(longest: .milliseconds(20)) {
      var all: [[String]] = []
      for load in followed { all.append(await load.value) }
      return all
    }.value
    for deliveries in all {
      #expect(deliveries.last?.hasPrefix("fresh(fresh, ") == true, "\(all)")
      #expect(!deliveries.contains { $0.hasPrefix("fresh(old") }, "\(all)")
    }
    // They go at once, as where any leader fails.
    #expect(origin.requests.count == 3)
    await holder.end()
  }

  @Test(arguments: [1_000_000_000_001, 1_000_000_000_002])
  func `an exchange's row is one whatever the instant, and a tier's row is one until an exchange confirms it`(
    instant: Int64
  ) async throws {
    let mark = StartMark(boot: "boot", nanoseconds: instant)
    #expect(!mark.even.isFromElsewhere && mark.odd.isFromElsewhere)
    #expect(mark.even.nanoseconds <= instant && mark.odd.nanoseconds <= instant)

    let (tier, store) = (FakeTier(), try TemporaryStore())
    let clock = VirtualClock(wallMilliseconds: 1_767_225_600_000, bootNanoseconds: instant)
    let (isAsked, mayAnswer) = (Gate(), Gate())
    let leader = try FleetMachine(tier, store: store, clock: clock) { _, _ in
      isAsked.open()
      await mayAnswer.wait()
      return .answer("answer")
    }
    let led = Task { [url] in await leader.outline(url) }
    await isAsked.wait()
    clock.advance(by: .seconds(1))
    let follower = try FleetMachine(tier, store: store, clock: clock, answer: "another")
    let followed = Task { [url] in await follower.outline(url) }
    await follower.fixture.traced("waiting for another process")
    mayAnswer.open()
    #expect(await led.value == ["fresh(answer, new)"])
    let deliveries = try await clock.passing(longest: .milliseconds(20)) { await followed.value }.value
    #expect(deliveries == ["fresh(answer, new)"] && follower.requests.isEmpty)

    #expect(try await Self.isFromElsewhere(leader) == [false])
    let alone = try FleetMachine.offline(tier)
    _ = await alone.outline(url)
    #expect(try await Self.isFromElsewhere(alone) == [true])
    let confirmed = try FleetMachine(tier, store: alone.fixture.store, answer: "answer")
    #expect(await confirmed.outline(url).last == "fresh(answer, unchanged)")
    #expect(try await Self.isFromElsewhere(confirmed) == [false])
  }

  private static func isFromElsewhere(_ machine: FleetMachine) async throws -> [Bool] {
    try await machine.fixture.service.entries().map(\.response.started.isFromElsewhere)
  }
}
