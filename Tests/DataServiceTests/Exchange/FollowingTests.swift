import CacheStore
import FixtureServer
import DataServiceTesting
import PlatformFoundation
import Synchronization
import TestSupport
import Testing
import TestTurns

@testable import DataService

/// Law 7 across processes, seen from the one that follows.
@Suite("Following: another process's exchange answers", .inTurn) struct FollowingTests {
  /// Answers the first request at once, and the others when it may.
  private func transport(_ isAsked: Gate, _ mayAnswer: Gate) -> ScriptedTransport {
    ScriptedTransport { _, number async throws(DataServiceError) in
      if number > 1 {
        isAsked.open()
        await mayAnswer.wait()
      }
      return .answer("body \(number)")
    }
  }

  /// A service that is to have its lease before it asks. On a clock that nobody moves no call to its store is
  /// given up, however long the machine takes; on the system's it would ask without it after two seconds.
  private func leader(
    _ transport: ScriptedTransport, _ clock: VirtualClock = VirtualClock()
  ) throws -> ServiceFixture {
    try ServiceFixture(transport: transport, timekeeper: clock)
  }

  @Test func `who follows delivers the leader's answer, and then gives way to others for a moment`()
    async throws
  {
    let (isAsked, mayAnswer) = (Gate(), Gate())
    let transport = transport(isAsked, mayAnswer)
    let leader = try leader(transport)
    let clock = VirtualClock()
    let told = Mutex<[DataService.Event]>([])
    let follower = try ServiceFixture(store: leader.store, transport: transport, timekeeper: clock) {
      $0.onEvent = { event in told.withLock { $0.append(event) } }
    }
    // With the store made, no look-up has to wait and the follower sets no timer but the one it waits by.
    let other = try #require(URL(string: "http://origin.test/other"))
    #expect(await leader.outline(other) == ["fresh(body 1, new)"])
    let url = try #require(URL(string: "http://origin.test/item"))
    async let led = leader.outline(url)
    await isAsked.wait()
    let followed = Task { await follower.outline(url) }
    await follower.traced("waiting for another")
    await clock.whenPending(within: .milliseconds(5))
    mayAnswer.open()
    #expect(await led == ["fresh(body 2, new)"])
    #expect(!follower.service.hasJustFollowed)
    // The leader gives its lease back on a queue of the store's, for which no delivery waits.
    let hash = try leaseHash(of: url, in: leader)
    while try follower.service.store.isLeased(hash) { await Task.yield() }
    #expect(try !follower.service.store.leaseEndedWithoutRow(hash, since: 1, now: .max))
    // At its next look it finds the lease free. One that is never released costs all the time that it has,
    // and then an exchange of its own.
    let (outline, passed) = try await clock.passing(longest: .milliseconds(20)) { await followed.value }
    #expect(outline == ["fresh(body 2, new)"])
    #expect(passed <= .milliseconds(20), "\(passed)")
    #expect(transport.requests.count == 2)
    let kinds = told.withLock { $0 }.map { event in
      switch event.kind {
      case .began: "began"
      case .followed: "followed"
      case .answered(let answered): "answered, kept \(answered.kept)"
      case .delivered: "delivered"
      default: "another"
      }
    }
    #expect(kinds == ["began", "followed", "answered, kept yes", "delivered"])
    #expect(follower.hasTraced("done: another process has refreshed the entry"))
    #expect(follower.service.hasJustFollowed && !leader.service.hasJustFollowed)
    clock.advance(by: .milliseconds(50))
    #expect(!follower.service.hasJustFollowed)
    await follower.service.close()
    await leader.service.close()
  }

  @Test(
    "law 7: who looks before a leader's commit and takes the lease after it does not ask once more",
    arguments: [false, true])
  func overtaken(isLeaderFirst: Bool) async throws {
    let (isAsked, mayAnswer) = (Gate(), Gate())
    let transport = transport(isAsked, mayAnswer)
    let clock = VirtualClock()
    let leader = try leader(transport, clock)
    // It has looked when its exchange begins, and stands still there on its own thread.
    let (hasLooked, mayGoOn) = (Gate(), Gate())
    let follower = try ServiceFixture(store: leader.store, transport: transport, timekeeper: clock) {
      $0.onEvent = { event in
        guard case .began = event.kind else { return }
        hasLooked.open()
        mayGoOn.wait()
      }
    }
    _ = await leader.outline(try #require(URL(string: "http://origin.test/other")))
    let url = try #require(URL(string: "http://origin.test/item"))
    var led: Task<[String], Never>?
    if isLeaderFirst {
      led = Task { await leader.outline(url) }
      await isAsked.wait()
      clock.advance(by: .milliseconds(1))
    }
    let followed = Task { await follower.outline(url) }
    await hasLooked.wait()
    clock.advance(by: .milliseconds(1))
    mayAnswer.open()
    let outline = if let led { await led.value } else { await leader.outline(url) }
    #expect(outline == ["fresh(body 2, new)"])
    let hash = try leaseHash(of: url, in: leader)
    while try follower.service.store.isLeased(hash) { await Task.yield() }
    mayGoOn.open()
    #expect(await followed.value == ["fresh(body 2, new)"])
    #expect(transport.requests.count == 2)
    #expect(follower.hasTraced("done: another process has refreshed the entry"))
    await follower.service.close()
    await leader.service.close()
  }

  @Test(arguments: [false, true])
  func `under http a HEAD that follows is delivered without the body of the row`(isAtOneInstant: Bool)
    async throws
  {
    let (isAsked, mayAnswer) = (Gate(), Gate())
    let transport = ScriptedTransport { request, _ async throws(DataServiceError) in
      let fields: HTTPFields = ["ETag": "\"1\"", "Cache-Control": "max-age=0"]
      guard request.fields.contains("If-None-Match") else { return .answer("body", fields) }
      isAsked.open()
      await mayAnswer.wait()
      return .answer("", status: 304, fields)
    }
    let (leadersClock, clock) = (VirtualClock(), VirtualClock())
    let leader = try leader(transport, leadersClock)
    let follower = try ServiceFixture(store: leader.store, transport: transport, timekeeper: clock)
    let url = try #require(URL(string: "http://origin.test/item"))
    #expect(await leader.outline(url, policy: .http) == ["fresh(body, new)"])
    // The row tells by its times that it was refreshed, be it by that of its receipt alone.
    for each in [leadersClock, clock] {
      if isAtOneInstant {
        each.setWall(milliseconds: each.wallMilliseconds + 1)
      } else {
        each.advance(by: .milliseconds(1))
      }
    }
    async let led = leader.outline(url, policy: .http) { $0.method = .head }
    await isAsked.wait()
    let followed = Task { await follower.outline(url, policy: .http) { $0.method = .head } }
    await follower.traced("waiting for another")
    await clock.whenPending(within: .milliseconds(5))
    mayAnswer.open()
    #expect(await led == ["fresh(, unchanged)"])
    let hash = try leaseHash(of: url, in: leader, method: .head, policy: .http)
    while try follower.service.store.isLeased(hash) { await Task.yield() }
    let (outline, _) = try await clock.passing(longest: .milliseconds(20)) { await followed.value }
    #expect(outline == ["fresh(, unchanged)"])
    #expect(follower.hasTraced("done: another process has refreshed the entry"))
    #expect(transport.requests.count == 2)
    await follower.service.close()
    await leader.service.close()
  }

  @Test(
    "law 7: what no origin sent, stored or imported meanwhile, is not the leader's answer",
    arguments: [false, true])
  func meanwhile(isImported: Bool) async throws {
    let transport = ScriptedTransport { _, number in .answer("body \(number)") }
    let leader = try ServiceFixture(transport: transport)
    let url = try #require(URL(string: "http://origin.test/item"))
    _ = await leader.outline(try #require(URL(string: "http://origin.test/other")))
    let (lease, hash) = try await lease(url, in: leader)
    let clock = VirtualClock()
    let follower = try ServiceFixture(store: leader.store, transport: transport, timekeeper: clock)
    let followed = Task { await follower.outline(url) }
    await follower.traced("waiting for another")
    await clock.whenPending(within: .milliseconds(5))
    let store = leader.service.store
    if isImported {
      let key = try leader.service.core.prepare(DataService.Request(url), policy: .storedOnly).key
      let write = ResponseStore.Write(
        accountID: try await store.accountID(named: ""), key: key, started: .imported, status: 200,
        fields: [:], receivedAt: clock.wallMilliseconds, body: .bytes(Data("theirs".utf8)))
      _ = try await store.overwrite(write)
    } else {
      #expect(try await leader.service.store(Data("mine".utf8), for: .init(url)) == .yes)
    }
    ExchangeLease(lease: lease, store: store, hash: hash).end(
      storedRow: false, at: clock.bootNanoseconds)
    let (outline, passed) = try await clock.passing(longest: .milliseconds(20)) { await followed.value }
    #expect(outline == ["fresh(body 2, new)"])
    #expect(passed <= .milliseconds(20), "\(passed)")
    #expect(transport.requests.count == 2)
    await follower.service.close()
    await leader.service.close()
  }

  /// A load whose store is suspended when its exchange begins, which it does without the row.
  private func begunWithoutRow(
    _ url: URL, _ follower: ServiceFixture, _ clock: VirtualClock
  ) async -> Task<[String], Never> {
    follower.service.store.suspendForTesting()
    let followed = Task { await follower.outline(url) }
    await clock.whenPending(for: .milliseconds(20))
    clock.advance(by: .milliseconds(20))
    return followed
  }

  /// Holds the lease of a request, as another process does that is fetching it. An exchange of the fixture's own gives its
  /// lease back on a queue.
  private func lease(
    _ url: URL, in fixture: ServiceFixture, policy: FetchPolicy = .storedThenFresh, fields: HTTPFields = [:]
  ) async throws -> (lease: Lease, hash: UInt64) {
    let hash = try leaseHash(of: url, in: fixture, policy: policy, fields: fields)
    while try fixture.service.store.isLeased(hash) { await Task.yield() }
    return (try #require(try fixture.service.store.tryLease(hash)), hash)
  }

  private func leaseHash(
    of url: URL, in fixture: ServiceFixture, method: RequestMethod = .get,
    policy: FetchPolicy = .storedThenFresh, fields: HTTPFields = [:]
  ) throws -> UInt64 {
    let core = fixture.service.core
    var request = fixture.request(url)
    request.method = method
    request.fields = fields
    return core.leaseHash(of: try core.prepare(request, policy: policy))
  }

  /// A load that waits for another process, which holds the lease of its request and says nothing.
  private struct Waiting {
    let transport = ScriptedTransport { _, number in .answer("body \(number)") }
    let clock = VirtualClock()
    let leader: ServiceFixture
    let follower: ServiceFixture
    let request: PreparedRequest
    let lease: Lease
    let followed: Task<[String], Never>

    init(configure: @escaping @Sendable (inout DataService.Request) -> Void = { _ in }) async throws {
      leader = try ServiceFixture(transport: transport)
      let url = try #require(URL(string: "http://origin.test/item"))
      _ = await leader.outline(try #require(URL(string: "http://origin.test/other")))
      var asked = leader.request(url)
      configure(&asked)
      let core = leader.service.core
      request = try core.prepare(asked, policy: .storedThenFresh)
      lease = try #require(try leader.service.store.tryLease(core.leaseHash(of: request)))
      follower = try ServiceFixture(store: leader.store, transport: transport, timekeeper: clock)
      followed = Task { [follower] in await follower.outline(url, configure: configure) }
      await follower.traced("waiting for another")
      await clock.whenPending(within: .milliseconds(5))
    }

    func outline() async throws -> (outline: [String], passed: Duration) {
      let (outline, passed) = try await clock.passing(longest: .milliseconds(20)) { [followed] in
        await followed.value
      }
      return (outline, passed)
    }

    func close() async {
      await follower.service.close()
      await leader.service.close()
    }
  }

  @Test
  func `law 7: a leader that is killed is replaced at the next look, which is a few milliseconds later`()
    async throws
  {
    let waiting = try await Waiting()
    // All that the system does with what a killed process held.
    waiting.lease.release()
    let (outline, passed) = try await waiting.outline()
    #expect(outline == ["fresh(body 2, new)"])
    #expect(passed <= .milliseconds(20), "\(passed)")
    #expect(waiting.follower.hasTraced("no other process is fetching this"), "it leads now")
    await waiting.close()
  }

  @Test func `who leads after a leader that is killed heeds what that one was asked to wait for`()
    async throws
  {
    let waiting = try await Waiting()
    let (store, clock, request) = (waiting.leader.service.store, waiting.clock, waiting.request)
    try await store.pause(
      accountID: try await store.accountID(named: ""), responder: request.responder(of: request.url),
      Pause(
        heard: StartMark(boot: clock.bootID, nanoseconds: clock.bootNanoseconds), milliseconds: 60_000))
    waiting.lease.release()
    #expect(try await waiting.outline().outline == ["failure(paused)"])
    #expect(waiting.transport.requests.count == 1, "nobody asks")
    await waiting.close()
  }

  @Test
  func `law 7: where a leader's answer may not be stored, all who wait go at once, none behind another`()
    async throws
  {
    let count = 4
    let allAreHere = Gate()
    let transport = ScriptedTransport { _, number async throws(DataServiceError) in
      if number == 1 + count { allAreHere.open() }
      if number > 1 { await allAreHere.wait() }
      return .answer("body")
    }
    let leader = try ServiceFixture(transport: transport)
    let url = try #require(URL(string: "http://origin.test/item"))
    _ = await leader.outline(try #require(URL(string: "http://origin.test/other")))
    let (lease, hash) = try await lease(url, in: leader)
    let clock = VirtualClock()
    var followers: [ServiceFixture] = []
    var tasks: [Task<[String], Never>] = []
    for _ in 0..<count {
      let follower = try ServiceFixture(store: leader.store, transport: transport, timekeeper: clock)
      followers.append(follower)
      tasks.append(Task { await follower.outline(url) })
      await follower.traced("waiting for another")
      await clock.whenPending(atLeast: tasks.count)
    }
    try #require(clock.pendingDelays.allSatisfy { $0 <= .milliseconds(5) })
    ExchangeLease(lease: lease, store: leader.service.store, hash: hash).end(
      storedRow: false, at: clock.bootNanoseconds)
    let (outlines, passed) = try await clock.passing(longest: .milliseconds(20)) { [tasks] in
      var outlines: [[String]] = []
      for task in tasks { outlines.append(await task.value) }
      return outlines
    }
    #expect(outlines == Array(repeating: ["fresh(body, new)"], count: count))
    #expect(passed <= .milliseconds(20), "\(passed)")
    #expect(transport.requests.count == 1 + count)
    for follower in followers {
      #expect(follower.hasTraced("fetching alone: the response of the other process was not stored"))
      await follower.service.close()
    }
    await leader.service.close()
  }

  @Test func `law 7: a leader that ends without an answer leaves the row, which is not taken for one`()
    async throws
  {
    let transport = ScriptedTransport { _, number in .answer("body \(number)") }
    let leader = try ServiceFixture(transport: transport)
    let url = try #require(URL(string: "http://origin.test/item"))
    #expect(await leader.outline(url) == ["fresh(body 1, new)"])
    let (lease, _) = try await lease(url, in: leader)
    let clock = VirtualClock()
    let follower = try ServiceFixture(store: leader.store, transport: transport, timekeeper: clock)
    let followed = Task { await follower.outline(url) }
    await follower.traced("waiting for another")
    await clock.whenPending(within: .milliseconds(5))
    lease.release()
    let (outline, passed) = try await clock.passing(longest: .milliseconds(20)) { await followed.value }
    #expect(outline == ["stored(body 1)", "fresh(body 2, changed)"])
    #expect(passed <= .milliseconds(20), "\(passed)")
    #expect(transport.requests.count == 2)
    await follower.service.close()
    await leader.service.close()
  }

  @Test(
    "law 8: who begins before its store has answered takes no older row for the leader's answer",
    arguments: [true, false])
  func beforeTheStore(isAnswered: Bool) async throws {
    let (isAsked, mayAnswer) = (Gate(), Gate())
    let transport = ScriptedTransport { _, number async throws(DataServiceError) in
      guard number == 2 else { return .answer("body \(number)") }
      isAsked.open()
      await mayAnswer.wait()
      return .answer("body 2", status: isAnswered ? 200 : 503)
    }
    let clock = VirtualClock()
    let leader = try ServiceFixture(transport: transport, timekeeper: clock)
    let follower = try ServiceFixture(store: leader.store, transport: transport, timekeeper: clock) {
      $0.timeouts.slowStore = .milliseconds(20)
    }
    let url = try #require(URL(string: "http://origin.test/item"))
    #expect(await leader.outline(url) == ["fresh(body 1, new)"])
    clock.advance(by: .seconds(1))
    async let led = leader.outline(url)
    await isAsked.wait()
    clock.advance(by: .seconds(1))
    // Though after its leader's.
    let followed = await begunWithoutRow(url, follower, clock)
    follower.service.store.resumeForTesting()
    await follower.traced("a response is stored")
    await follower.traced("waiting for another")
    await clock.whenPending(within: .milliseconds(5))
    mayAnswer.open()
    #expect(
      await led == ["stored(body 1)", isAnswered ? "fresh(body 2, changed)" : "failure(status, last body 1)"])
    let (outline, _) = try await clock.passing(longest: .milliseconds(20)) { await followed.value }
    #expect(outline == ["stored(body 1)", "fresh(body \(isAnswered ? 2 : 3), changed)"])
    #expect(transport.requests.count == (isAnswered ? 2 : 3))
    await follower.service.close()
    await leader.service.close()
  }

  @Test func `law 7: where the store is silent when the waiting begins, each goes alone`() async throws {
    let transport = ScriptedTransport { _, number in .answer("body \(number)") }
    let clock = VirtualClock()
    let leader = try ServiceFixture(transport: transport, timekeeper: clock)
    let follower = try ServiceFixture(store: leader.store, transport: transport, timekeeper: clock) {
      $0.timeouts.slowStore = .milliseconds(20)
      $0.timeouts.lockFile = .seconds(2)
    }
    let url = try #require(URL(string: "http://origin.test/item"))
    #expect(await leader.outline(url) == ["fresh(body 1, new)"])
    // With its lock file open, it waits for nothing else.
    let other = try #require(URL(string: "http://origin.test/other"))
    #expect(await follower.outline(other) == ["fresh(body 2, new)"])
    let (lease, _) = try await lease(url, in: leader)
    clock.advance(by: .seconds(1))
    let followed = await begunWithoutRow(url, follower, clock)
    await clock.whenPending(within: .seconds(2))
    clock.advance(by: .seconds(2))
    await follower.traced("goes alone: the store does not answer")
    await follower.traced("request to origin.test")
    follower.service.store.resumeForTesting()
    #expect(await followed.value == ["stored(body 1)", "fresh(body 3, changed)"])
    lease.release()
    await follower.service.close()
    await leader.service.close()
  }

  @Test func `law 7: a silent store is waited for no longer than half of the time that the load has`()
    async throws
  {
    let transport = ScriptedTransport { _, number in .answer("body \(number)") }
    let clock = VirtualClock()
    let leader = try ServiceFixture(transport: transport, timekeeper: clock)
    let follower = try ServiceFixture(store: leader.store, transport: transport, timekeeper: clock) {
      $0.timeouts = InternalTimeouts()
    }
    let url = try #require(URL(string: "http://origin.test/item"))
    #expect(await leader.outline(url) == ["fresh(body 1, new)"])
    // With its lock file open, it waits for nothing else.
    let other = try #require(URL(string: "http://origin.test/other"))
    #expect(await follower.outline(other) == ["fresh(body 2, new)"])
    let (lease, _) = try await lease(url, in: leader)
    follower.service.store.suspendForTesting()
    let followed = Task { await follower.outline(url, policy: .freshElseStored(within: .seconds(2))) }
    await clock.whenPending(for: .milliseconds(20))
    clock.advance(by: .milliseconds(20))
    // Half of what is left, or all the time that the lock file has.
    let (half, all) = (Duration.milliseconds(990), InternalTimeouts().lockFile)
    while !clock.pendingDelays.contains(where: { [half, all].contains($0) }) { await Task.yield() }
    try #require(clock.pendingDelays.contains(half), "\(clock.pendingDelays)")
    clock.advance(by: half)
    await follower.traced("goes alone: the store does not answer")
    await follower.traced("request to origin.test", times: 2)
    // Its deliveries end once its row is written.
    follower.service.store.resumeForTesting()
    #expect(await followed.value == ["fresh(body 3, changed)"])
    lease.release()
    await follower.service.close()
    await leader.service.close()
  }

  @Test func `law 8: under http a row is not the answer to a precondition that only the origin may judge`()
    async throws
  {
    let transport = ScriptedTransport { _, number in
      .answer("body \(number)", ["ETag": "\"1\"", "Cache-Control": "max-age=0"])
    }
    let clock = VirtualClock()
    let leader = try ServiceFixture(transport: transport, timekeeper: clock)
    let follower = try ServiceFixture(store: leader.store, transport: transport, timekeeper: clock)
    let url = try #require(URL(string: "http://origin.test/item"))
    #expect(await leader.outline(url, policy: .http) == ["fresh(body 1, new)"])
    let fields: HTTPFields = ["If-Match": "\"1\""]
    let (lease, _) = try await lease(url, in: leader, policy: .http, fields: fields)
    clock.advance(by: .seconds(1))
    let followed = Task { await follower.outline(url, policy: .http) { $0.fields = fields } }
    await follower.traced("waiting for another")
    await clock.whenPending(within: .milliseconds(5))
    lease.release()
    let (outline, _) = try await clock.passing(longest: .milliseconds(20)) { await followed.value }
    #expect(outline == ["fresh(body 2, new)"])
    #expect(transport.requests.count == 2)
    await follower.service.close()
    await leader.service.close()
  }

  @Test func `law 8: an older variant that is left when the row is evicted is not the leader's answer`()
    async throws
  {
    let transport = ScriptedTransport { _, number in
      .answer("body \(number)", number == 1 ? ["Vary": "Accept-Language"] : [:])
    }
    let clock = VirtualClock()
    let leader = try ServiceFixture(transport: transport, timekeeper: clock)
    let follower = try ServiceFixture(store: leader.store, transport: transport, timekeeper: clock)
    let url = try #require(URL(string: "http://origin.test/item"))
    let fields: HTTPFields = ["Accept-Language": "en"]
    #expect(await leader.outline(url) { $0.fields = fields } == ["fresh(body 1, new)"])
    clock.advance(by: .seconds(1))
    // The answer to another request, which does not replace the variant, matches this one too.
    let newer = await leader.outline(url, policy: .freshOnly) { $0.fields = ["Accept-Language": "de"] }
    #expect(newer == ["fresh(body 2, new)"])
    clock.advance(by: .seconds(1))
    let (lease, _) = try await lease(url, in: leader, fields: fields)
    let followed = Task { await follower.outline(url) { $0.fields = fields } }
    await follower.traced("waiting for another")
    await clock.whenPending(within: .milliseconds(5))
    try leader.store.execute("DELETE FROM last_request WHERE vary = ''")
    #expect(try leader.store.value("SELECT count(*) FROM last_request") == 1)
    lease.release()
    let (outline, _) = try await clock.passing(longest: .milliseconds(20)) { await followed.value }
    #expect(outline == ["stored(body 2)", "fresh(body 3, changed)"])
    await follower.service.close()
    await leader.service.close()
  }

  @Test func `law 7: what a lease came to before the machine began anew says nothing of this leader`()
    async throws
  {
    let transport = ScriptedTransport { _, number in .answer("body \(number)") }
    let clock = VirtualClock()
    let leader = try ServiceFixture(transport: transport, timekeeper: clock)
    let follower = try ServiceFixture(store: leader.store, transport: transport, timekeeper: clock)
    let url = try #require(URL(string: "http://origin.test/item"))
    _ = await leader.outline(try #require(URL(string: "http://origin.test/other")))
    let (lease, hash) = try await lease(url, in: leader)
    leader.service.store.markLeaseEnded(hash, storedRow: false, at: .max / 2)
    let followed = Task { await follower.outline(url) }
    await follower.traced("waiting for another")
    lease.release()
    let (outline, _) = try await clock.passing(longest: .milliseconds(20)) { await followed.value }
    #expect(outline == ["fresh(body 2, new)"])
    #expect(!follower.hasTraced("fetching alone") && follower.hasTraced("no other process is fetching this"))
    await follower.service.close()
    await leader.service.close()
  }

  @Test func `law 7: who follows waits for half of the time that it has, and then goes alone`() async throws {
    let waiting = try await Waiting { $0.limits.totalTimeout = .seconds(2) }
    let (outline, passed) = try await waiting.outline()
    #expect(outline == ["fresh(body 2, new)"])
    #expect(passed >= .milliseconds(990) && passed <= .milliseconds(1_010), "\(passed)")
    #expect(waiting.follower.hasTraced("goes alone: the process that leads does not answer"))
    waiting.lease.release()
    await waiting.close()
  }

  @Test func `law 13: who follows has no time left at the very end of its total time`() async throws {
    let waiting = try await Waiting { $0.limits.totalTimeout = .milliseconds(5) }
    #expect(try await waiting.outline().outline == ["failure(timeout(total))"])
    #expect(waiting.transport.requests.count == 1, "nobody asks")
    waiting.lease.release()
    await waiting.close()
  }

  /// What a tier had has an odd mark.
  @Test(
    "who follows takes what came from a tier for the answer, if it is no older than its own question",
    arguments: [(0, true), (2, false)] as [(Int64, Bool)])
  func fromTier(earlier: Int64, isAnswer: Bool) async throws {
    let transport = ScriptedTransport { _, number in .answer("body \(number)") }
    let leader = try ServiceFixture(transport: transport)
    let url = try #require(URL(string: "http://origin.test/item"))
    _ = await leader.outline(try #require(URL(string: "http://origin.test/other")))
    let (lease, _) = try await lease(url, in: leader)
    let now: Int64 = 1_000_000_000_001
    let clock = VirtualClock(wallMilliseconds: 1_767_225_600_000, bootNanoseconds: now)
    let follower = try ServiceFixture(store: leader.store, transport: transport, timekeeper: clock)
    let followed = Task { await follower.outline(url) }
    await follower.traced("waiting for another")
    await clock.whenPending(within: .milliseconds(5))
    let store = leader.service.store
    let write = ResponseStore.Write(
      accountID: try await store.accountID(named: ""),
      key: try leader.service.core.prepare(DataService.Request(url), policy: .storedOnly).key,
      started: StartMark(boot: clock.bootID, nanoseconds: now - earlier), status: 200, fields: [:],
      receivedAt: clock.wallMilliseconds, body: .bytes(Data("theirs".utf8)))
    _ = try await store.overwrite(write)
    lease.release()
    let (outline, _) = try await clock.passing(longest: .milliseconds(20)) { await followed.value }
    #expect(outline == [isAnswer ? "fresh(theirs, new)" : "fresh(body 2, new)"])
    await follower.service.close()
    await leader.service.close()
  }

  @Test func `who follows and is cancelled waits no longer, and asks nobody`() async throws {
    let waiting = try await Waiting()
    waiting.followed.cancel()
    #expect(await waiting.followed.value == [])
    #expect(await eventually { waiting.follower.service.isIdle })
    #expect(waiting.transport.requests.count == 1)
    waiting.lease.release()
    await waiting.close()
  }

  @Test func `who follows is not given what was stored for the account after it was signed out`()
    async throws
  {
    let transport = ScriptedTransport { _, number in .answer("body \(number)") }
    let leader = try ServiceFixture(transport: transport)
    let url = try #require(URL(string: "http://origin.test/item"))
    let named = { @Sendable (request: inout DataService.Request) in request.account = .named("ci") }
    // The account has a row.
    _ = await leader.outline(try #require(URL(string: "http://origin.test/other")), configure: named)
    var request = leader.request(url)
    named(&request)
    let (core, store) = (leader.service.core, leader.service.store)
    let prepared = try core.prepare(request, policy: .storedThenFresh)
    let lease = try #require(try store.tryLease(core.leaseHash(of: prepared)))
    let clock = VirtualClock()
    let follower = try ServiceFixture(store: leader.store, transport: transport, timekeeper: clock)
    let followed = Task { await follower.outline(url, configure: named) }
    await follower.traced("waiting for another")
    await clock.whenPending(within: .milliseconds(5))
    #expect(try await leader.service.signOut(.named("ci")))
    // Who is signed in next has a load of other limits, which waits for nobody.
    let next = await leader.outline(url) {
      named(&$0)
      $0.limits.redirects = 3
    }
    #expect(next == ["fresh(body 2, new)"])
    lease.release()
    let (outline, _) = try await clock.passing(longest: .milliseconds(20)) { await followed.value }
    #expect(outline == ["failure(signedOut)"])
    #expect(transport.requests.count == 2)
    await follower.service.close()
    await leader.service.close()
  }

  @Test func `law 7: who follows need not wait for the body of an answer that may not be stored`()
    async throws
  {
    let (isReading, mayEnd) = (Gate(), Gate())
    let transport = ScriptedTransport { _, number in
      guard number > 1 else { return .answer("other") }
      let body = DataService.BodyStream(length: nil) { () async throws(DataServiceError) -> Data? in
        isReading.open()
        await mayEnd.wait()
        return nil
      }
      return TransportResponse(
        version: "1.1", status: 200, reason: "OK", fields: ["Cache-Control": "no-store"], body: body)
    }
    let leader = try leader(transport)
    let url = try #require(URL(string: "http://origin.test/item"))
    _ = await leader.outline(try #require(URL(string: "http://origin.test/other")))
    let hash = try leaseHash(of: url, in: leader)
    let led = Task { await leader.outline(url) }
    await isReading.wait()
    let store = leader.service.store
    #expect(try await eventually { try !store.isLeased(hash) })
    #expect(try store.leaseEndedWithoutRow(hash, since: 1, now: .max))
    mayEnd.open()
    #expect(await led.value == ["fresh(, new)"])
    await leader.service.close()
  }

  @Test
  func `law 7: of those that want nothing older and wait behind another process, one asks and all share it`()
    async throws
  {
    let (isAsked, mayAnswer) = (Gate(), Gate())
    let transport = ScriptedTransport { _, number async throws(DataServiceError) in
      if number == 2 {
        isAsked.open()
        await mayAnswer.wait()
      }
      return .answer("body \(number)")
    }
    let clock = VirtualClock()
    let leader = try leader(transport, clock)
    let url = try #require(URL(string: "http://origin.test/item"))
    #expect(await leader.outline(url) == ["fresh(body 1, new)"])
    clock.advance(by: .seconds(1))
    async let led = leader.outline(url, policy: .freshOnly)
    await isAsked.wait()
    var followers: [ServiceFixture] = []
    var tasks: [Task<[String], Never>] = []
    for _ in 0..<4 {
      clock.advance(by: .milliseconds(1))
      let follower = try ServiceFixture(store: leader.store, transport: transport, timekeeper: clock)
      followers.append(follower)
      tasks.append(Task { await follower.outline(url, policy: .freshOnly) })
      await follower.traced("waiting for another")
    }
    clock.advance(by: .milliseconds(1))
    mayAnswer.open()
    #expect(await led == ["fresh(body 2, changed)"])
    let (outlines, _) = try await clock.passing(longest: .seconds(20)) { [tasks] in
      var outlines: [[String]] = []
      for task in tasks { outlines.append(await task.value) }
      return outlines
    }
    #expect(outlines == Array(repeating: ["fresh(body 3, changed)"], count: 4))
    #expect(transport.requests.count == 3)
    for follower in followers { await follower.service.close() }
    await leader.service.close()
  }
}
