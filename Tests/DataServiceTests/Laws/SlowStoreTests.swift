import CacheStore
import DataService
import DataServiceTesting
import FixtureServer
import PlatformFoundation
import Synchronization
import TestSupport
import Testing
import TestTurns

@Suite("Laws 3, 4 and 9: a store that does not answer", .inTurn.serially, .serialized)
struct SlowStoreTests {
  private static let url = "http://origin.test/item"

  @Test func `law 7: a follower goes alone once it has waited for its leader as long as for a first byte`()
    async throws
  {
    let (isAsked, mayAnswer) = (Gate(), Gate())
    let transport = ScriptedTransport { _, number async throws(DataServiceError) in
      guard number == 2 else { return .answer("body \(number)") }
      isAsked.open()
      // As long as a process that was stopped.
      await mayAnswer.wait()
      return .answer("late")
    }
    // On a clock that nobody moves it has its lease before it asks, however long the machine takes.
    let leader = try ServiceFixture(transport: transport, timekeeper: VirtualClock())
    let clock = VirtualClock()
    let follower = try ServiceFixture(store: leader.store, transport: transport, timekeeper: clock) {
      $0.timeouts = InternalTimeouts()
    }
    let other = try #require(URL(string: "http://origin.test/other"))
    _ = await leader.outline(other)
    let url = try #require(URL(string: Self.url))
    async let led = leader.outline(url, configure: Self.impatient)
    await isAsked.wait()
    async let followed = follower.outline(url, configure: Self.impatient)
    // Past the opening of store and lock file, which the clock would else cut short.
    await follower.traced("waiting for another")
    let (_, passed) = try await clock.passing { await follower.traced("goes alone") }
    #expect(await followed == ["fresh(body 3, new)"])
    #expect(passed >= .seconds(2) && passed < .seconds(3), "\(passed)")
    mayAnswer.open()
    #expect(await led == ["fresh(late, new)"], "law 8: it began earlier, and is delivered all the same")
    await follower.service.close()
    await leader.service.close()
  }

  private static func impatient(_ request: inout DataService.Request) {
    request.limits.firstByteTimeout = .seconds(2)
  }

  /// What somebody removes while a request is under way.
  static let removals: [String] = [
    "the folder", "the database", "the log", "the database and its log", "all files",
  ]

  @Test(
    "law 9: a store that is removed while it is in use is not taken for a sign-out, and is made anew",
    arguments: removals, [100, 900_000])
  func removed(what: String, count: Int) async throws {
    for (account, place) in [
      (Account.automatic, 0), (.named("alice"), 0), (.automatic, ArrivingBody.pieces / 2),
      (.named("alice"), ArrivingBody.pieces),
    ] {
      let folder = try TemporaryFolder()
      let inner = folder.file("cache")
      let path = inner + "/store.sqlite"
      let new = distinctBytes(count, seed: 3)
      let transport = ScriptedTransport { _, number in
        if number == 1 { return .answer("old") }
        return ArrivingBody(bytes: new, place: number == 2 ? place : -1) {
          Self.remove(what, inner)
        }.response
      }
      let fixture = try ServiceFixture(transport: transport) { $0.store = .unhurried(path: path) }
      let url = try #require(URL(string: Self.url))
      let configure = { (request: inout DataService.Request) in request.account = account }
      #expect(await fixture.outline(url, configure: configure) == ["fresh(old, new)"], "\(account)")
      let fresh = await fixture.deliveries(url, policy: .freshOnly, configure: configure)
      guard case .fresh(let response, _)? = fresh.last else {
        Issue.record("\(what), \(account), before piece \(place): \(fresh.map(\.outline))")
        continue
      }
      #expect([UInt8](response.value) == new, "\(what), \(account), before piece \(place)")
      // The next load finds a store, or makes one.
      let next = await fixture.deliveries(url, policy: .freshOnly, configure: configure)
      #expect(next.last?.kept == .yes, "\(what), \(account), before piece \(place): \(next.map(\.outline))")
      let stored = await fixture.deliveries(url, policy: .storedOnly, configure: configure)
      guard case .stored(let row)? = stored.last else {
        Issue.record("\(what), \(account): \(stored.map(\.outline))")
        continue
      }
      #expect([UInt8](row.value) == new, "\(account)")
      await fixture.service.close()
      #expect(fixture.warnings.allSatisfy { $0.kind != .signedOut }, "\(fixture.warnings)")
    }
  }

  private static func remove(_ what: String, _ folder: String) {
    let names: [String]
    switch what {
    case "the folder":
      try? FileManager.default.removeItem(atPath: folder)
      return
    case "the database": names = [""]
    case "the log": names = ["-wal"]
    case "the database and its log": names = ["", "-wal"]
    default: names = ["", "-wal", "-shm", ".lock", ".key", ".uses"]
    }
    for name in names { try? FileManager.default.removeItem(atPath: folder + "/store.sqlite" + name) }
  }

  @Test func `law 4: shared commits that take longer than 250 ms hold no delivery, and go on`() async throws {
    let clock = VirtualClock()
    let (allAreHere, mayAnswer) = (Gate(), Gate())
    let count = 6
    let transport = ScriptedTransport { request, number async throws(DataServiceError) in
      if number > 1 {
        if number == 1 + count { allAreHere.open() }
        await mayAnswer.wait()
      }
      return .answer("for \(request.url.path())")
    }
    let fixture = try ServiceFixture(transport: transport, timekeeper: clock) {
      $0.timeouts = InternalTimeouts()
    }
    _ = await fixture.outline(try #require(URL(string: Self.url)))
    let urls = (1...count).compactMap { URL(string: "http://origin.test/\($0)") }
    let kept = Mutex<[DataService.Kept?]>([])
    let allAreDelivered = Gate()
    let loads = urls.map { url in
      fixture.service.start(fixture.request(url), policy: .freshOnly) { delivery in
        guard case .fresh(let response, _) = delivery else { return }
        let delivered = kept.withLock { kept in
          kept.append(response.kept)
          return kept.count
        }
        if delivered == count { allAreDelivered.open() }
      } ended: {
      }
    }
    await allAreHere.wait()
    fixture.service.store.suspendForTesting()
    mayAnswer.open()
    // All wait for the store, each with a timer.
    await clock.whenPending(atLeast: count)
    clock.advance(by: .milliseconds(249))
    #expect(kept.withLock { $0.isEmpty })
    clock.advance(by: .milliseconds(1))
    await allAreDelivered.wait()
    #expect(kept.withLock { $0 } == Array(repeating: .no(.busy), count: count))
    fixture.service.store.resumeForTesting()
    for load in loads { await load.finished() }
    for url in urls {
      #expect(await fixture.outline(url, policy: .storedOnly) == ["stored(for \(url.path()))"], "\(url)")
    }
    await fixture.service.close()
  }

  @Test func `a 304 for a row that went with its store is asked again without a condition`() async throws {
    let store = try TemporaryStore()
    let transport = ScriptedTransport { request, number in
      guard number == 2 else { return .answer("body \(number)", ["ETag": "\"1\""]) }
      for name in ["", "-wal", "-shm", ".lock"] {
        try? FileManager.default.removeItem(atPath: store.path + name)
      }
      return .answer("", status: 304, ["ETag": "\"1\""])
    }
    let fixture = try ServiceFixture(store: store, transport: transport)
    let url = try #require(URL(string: Self.url))
    let configure = { (request: inout DataService.Request) in request.account = .named("alice") }
    _ = await fixture.outline(url, configure: configure)
    #expect(
      await fixture.outline(url, policy: .freshOnly, configure: configure).first?.hasPrefix("fresh(body 3")
        == true)
    #expect(await fixture.outline(url, policy: .storedOnly, configure: configure) == ["stored(body 3)"])
    await fixture.service.close()
  }
}
