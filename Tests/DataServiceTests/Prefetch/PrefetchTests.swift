import CacheStore
import DataServiceTesting
import Dispatch
import FixtureServer
import Guards
import PlatformFoundation
import Synchronization
import Testing
import TestSupport
import TestTurns

@testable import DataService

@Suite("Anticipation: begun before it is wanted, and never in the way", .inTurn) struct PrefetchTests {
  private let url: URL

  init() throws { url = try #require(URL(string: "http://origin.test/item")) }

  private func request(_ path: String = "item", method: RequestMethod = .get) throws -> DataService.Request {
    var request = DataService.Request(
      try #require(URL(string: "http://origin.test/\(path)")), method: method)
    request.limits.retries = 0
    return request
  }

  private static let text: @Sendable (DataService.Response<Data>) throws -> String = { $0.text }

  private func outline(_ deliveries: DataService.Deliveries<String>) async -> [String] {
    var lines: [String] = []
    for await delivery in deliveries {
      switch delivery {
      case .stored(let response): lines.append("stored(\(response.value))")
      case .fresh(let response, let change): lines.append("fresh(\(response.value), \(change.rawValue))")
      case .failure(let error, _): lines.append("failure(\(error.kind.name))")
      }
    }
    return lines
  }

  @Test func `committing joins the exchange under way: one request, marked as a prefetch`() async throws {
    let asked = Gate()
    let mayAnswer = Gate()
    let fixture = try ServiceFixture.scripted { _, number async in
      if number == 2 {
        asked.open()
        await mayAnswer.wait()
      }
      return .answer("body \(number)")
    }
    _ = await fixture.outline(url)
    let anticipation = fixture.service.anticipate(try request(), holdFor: .seconds(3600), decode: Self.text)
    await asked.wait()
    let deliveries = anticipation.commit()
    mayAnswer.open()
    #expect(await outline(deliveries) == ["stored(body 1)", "fresh(body 2, changed)"])
    #expect(fixture.requests.map { $0.fields["Sec-Purpose"] } == [nil, "prefetch"])
    // The deliveries are a load like every other when they are iterated again.
    #expect(await outline(deliveries) == ["stored(body 2)", "fresh(body 3, changed)"])
    #expect(fixture.requests.last?.fields["Sec-Purpose"] == nil)
  }

  @Test func `the value is decoded before it is wanted`() async throws {
    let decoded = Gate()
    let fixture = try ServiceFixture.scripted { _, _ async in .answer("body") }
    let anticipation = fixture.service.anticipate(try request(), holdFor: .seconds(3600)) { response in
      decoded.open()
      return response.text
    }
    await decoded.wait()
    await anticipation.finished()
    #expect(await outline(anticipation.commit()) == ["fresh(body, new)"])
  }

  @Test("not committed in time: stopped, or finished into the store, as chosen", arguments: [true, false])
  func unused(isFinished: Bool) async throws {
    let clock = VirtualClock()
    let asked = Gate()
    let mayAnswer = Gate()
    let stopped = Gate()
    let fixture = try ServiceFixture.scripted(timekeeper: clock) { _, _ async throws(DataServiceError) in
      asked.open()
      await mayAnswer.wait()
      if Task.isCancelled {
        stopped.open()
        throw DataServiceError(.cancelled, "cancelled")
      }
      return .answer("late")
    }
    let anticipation = fixture.service.anticipate(
      try request(), whenUnused: isFinished ? .finished : .cancelled, decode: Self.text)
    await asked.wait()
    clock.advance(by: .seconds(2))
    if isFinished {
      mayAnswer.open()
      await anticipation.finished()
      #expect(await fixture.outline(url, policy: .storedOnly) == ["stored(late)"])
    } else {
      await stopped.wait()
      mayAnswer.open()
      #expect(await fixture.outline(url, policy: .storedOnly) == ["failure(notStored)"])
    }
    // It is over: committing makes a load like every other.
    let lines = await outline(anticipation.commit())
    #expect(lines.last?.hasPrefix("fresh(late") == true)
    #expect(fixture.requests.count == 2)
  }

  @Test("only safe methods are anticipated", arguments: ["POST", "PUT", "DELETE", "PATCH"])
  func unsafe(method: String) async throws {
    let fixture = try ServiceFixture.scripted { _, _ in .answer("done") }
    let anticipation = fixture.service.anticipate(
      try request(method: RequestMethod(rawValue: method)), decode: Self.text)
    // The same thread refuses the first before it begins this one.
    _ = await outline(
      fixture.service.anticipate(try request("other"), holdFor: .seconds(3600), decode: Self.text).commit())
    #expect(fixture.requests.map(\.method) == [.get])
    #expect(await outline(anticipation.commit()) == ["fresh(done, new)"])
    #expect(fixture.requests.last?.method.rawValue == method)
    #expect(fixture.requests.last?.fields["Sec-Purpose"] == nil)
  }

  @Test func `a new one of the same group replaces the held one, and one too many the oldest`() async throws {
    let never = Gate()
    let transport = ScriptedTransport { _, _ async throws(DataServiceError) in
      await never.wait()
      throw DataServiceError(.cancelled, "cancelled")
    }
    let fixture = try ServiceFixture(transport: transport) { $0.anticipation.count = 2 }
    let service = fixture.service
    let first = service.anticipate(
      try request("1"), group: "rows", holdFor: .seconds(3600), decode: Self.text)
    let second = service.anticipate(
      try request("2"), group: "rows", holdFor: .seconds(3600), decode: Self.text)
    #expect(!first.isHeld && second.isHeld)
    let third = service.anticipate(try request("3"), holdFor: .seconds(3600), decode: Self.text)
    #expect(second.isHeld && third.isHeld)
    let fourth = service.anticipate(try request("4"), holdFor: .seconds(3600), decode: Self.text)
    #expect(!second.isHeld && third.isHeld && fourth.isHeld)
    third.cancel()
    fourth.cancel()
    #expect(!third.isHeld && !fourth.isHeld)
  }

  @Test func `a body over the limit is given up, and committing asks for all of it`() async throws {
    let transport = ScriptedTransport { _, _ in .answer("0123456789") }
    let fixture = try ServiceFixture(transport: transport) { $0.anticipation.bytes = 5 }
    let anticipation = fixture.service.anticipate(try request(), holdFor: .seconds(3600), decode: Self.text)
    await anticipation.finished()
    #expect(await outline(anticipation.commit()) == ["fresh(0123456789, new)"])
    #expect(transport.requests.map { $0.fields["Sec-Purpose"] } == ["prefetch", nil])
  }

  @Test("committed before the body is over the limit: the load gets all of it", arguments: [false, true])
  func limitAfterCommit(isStored: Bool) async throws {
    let asked = Gate()
    let mayAnswer = Gate()
    let transport = ScriptedTransport { request, _ async in
      if request.fields["Sec-Purpose"] != nil {
        asked.open()
        await mayAnswer.wait()
      }
      return request.fields["Sec-Purpose"] == nil && isStored ? .answer("0123") : .answer("0123456789")
    }
    let fixture = try ServiceFixture(transport: transport) { $0.anticipation.bytes = 5 }
    if isStored { _ = await fixture.outline(url) }
    let anticipation = fixture.service.anticipate(try request(), holdFor: .seconds(3600), decode: Self.text)
    await asked.wait()
    let deliveries = anticipation.commit()
    mayAnswer.open()
    #expect(
      await outline(deliveries)
        == (isStored ? ["stored(0123)", "fresh(0123, unchanged)"] : ["fresh(0123456789, new)"]))
    await anticipation.finished()
    #expect(transport.requests.count == (isStored ? 3 : 2))
    await fixture.service.close()
  }

  @Test func `a body over a limit that is the request's own too is not asked for again`() async throws {
    let asked = Gate()
    let mayAnswer = Gate()
    let transport = ScriptedTransport { _, _ async in
      asked.open()
      await mayAnswer.wait()
      return .answer("0123456789")
    }
    let fixture = try ServiceFixture(transport: transport) { $0.anticipation.bytes = 5 }
    var request = try request()
    request.limits.bodyBytes = 5
    let anticipation = fixture.service.anticipate(request, holdFor: .seconds(3600), decode: Self.text)
    await asked.wait()
    let deliveries = anticipation.commit()
    mayAnswer.open()
    #expect(await outline(deliveries) == ["failure(tooLarge)"])
    #expect(transport.requests.count == 1)
    await fixture.service.close()
  }

  @Test func `those that go on into the store do not pile up`() async throws {
    let never = Gate()
    let asked = (0..<8).map { _ in Gate() }
    let fixture = try ServiceFixture.scripted { _, number async throws(DataServiceError) in
      if number <= asked.count { asked[number - 1].open() }
      await never.wait()
      throw DataServiceError(.cancelled, "cancelled")
    }
    for number in 0..<20 {
      _ = fixture.service.anticipate(
        try request("\(number)"), group: "rows", holdFor: .seconds(3600), whenUnused: .finished,
        decode: Self.text)
      await fixture.service.core.engine.run { _ in }
      if number < asked.count { await asked[number].wait() }
    }
    #expect(fixture.requests.count == 8)
    never.open()
    await fixture.service.close()
  }

  @Test func `with the usual limits one more than are held is asked for, whatever the oldest is doing`()
    async throws
  {
    let fourAsked = Gate()
    let allAsked = Gate()
    let never = Gate()
    let fixture = try ServiceFixture.scripted { _, number async throws(DataServiceError) in
      if number == 4 { fourAsked.open() }
      if number == 5 { allAsked.open() }
      await never.wait()
      throw DataServiceError(.cancelled, "cancelled")
    }
    var all = try (1...4).map {
      fixture.service.anticipate(try request("\($0)"), holdFor: .seconds(3600), decode: Self.text)
    }
    await fourAsked.wait()
    all.append(fixture.service.anticipate(try request("5"), holdFor: .seconds(3600), decode: Self.text))
    await allAsked.wait()
    #expect(all.map(\.isHeld) == [false, true, true, true, true])
    for anticipation in all { anticipation.cancel() }
    never.open()
    await fixture.service.close()
  }

  @Test func `a failure while held is not handed on: committing asks again`() async throws {
    let fixture = try ServiceFixture.scripted { _, number throws(DataServiceError) in
      if number == 1 { throw DataServiceError(.refused, "refused") }
      return .answer("second")
    }
    let anticipation = fixture.service.anticipate(try request(), holdFor: .seconds(3600), decode: Self.text)
    await anticipation.finished()
    #expect(await outline(anticipation.commit()) == ["fresh(second, new)"])
  }

  @Test("no exchange begins ahead that is unsafe, soon after a failure, or beside four others") func rule() {
    let second: Int64 = 1_000_000_000
    let now = 100 * second
    #expect(PrefetchRule.mayBegin(.init(now: now)))
    #expect(PrefetchRule.mayBegin(.init(method: .head, now: now)))
    #expect(!PrefetchRule.mayBegin(.init(method: .post, now: now)))
    #expect(!PrefetchRule.mayBegin(.init(isPassThrough: true, now: now)))
    #expect(!PrefetchRule.mayBegin(.init(failedAt: now - 29 * second, now: now)))
    #expect(PrefetchRule.mayBegin(.init(failedAt: now - 30 * second, now: now)))
    #expect(PrefetchRule.mayBegin(.init(now: now, exchanges: 3)))
    #expect(!PrefetchRule.mayBegin(.init(now: now, exchanges: 4)))
  }

  @Test func `off while the network fails, until an exchange succeeds again`() async throws {
    let fixture = try ServiceFixture.scripted { _, number throws(DataServiceError) in
      if number == 1 { throw DataServiceError(.offline, "there is no network") }
      return .answer("body \(number)")
    }
    #expect(await fixture.outline(url) == ["failure(offline)"])
    // Committed at once, so that its normal load tells that the refusal is over.
    #expect(
      await outline(
        fixture.service.anticipate(try request(), holdFor: .seconds(3600), decode: Self.text).commit()) == [
          "fresh(body 2, new)"
        ])
    _ = await outline(
      fixture.service.anticipate(try request(), holdFor: .seconds(3600), decode: Self.text).commit())
    #expect(fixture.requests.map { $0.fields["Sec-Purpose"] } == [nil, nil, "prefetch"])
  }

  @Test func `nothing read before a sign-out is handed out after it`() async throws {
    let asked = Gate()
    let never = Gate()
    let fixture = try ServiceFixture.scripted { _, number async throws(DataServiceError) in
      if number == 1 { return .answer("secret") }
      asked.open()
      await never.wait()
      throw DataServiceError(.cancelled, "cancelled")
    }
    var request = try request()
    request.account = .named("alice")
    for await _ in fixture.service.deliveries(for: request) {}
    let anticipation = fixture.service.anticipate(request, holdFor: .seconds(3600), decode: Self.text)
    await asked.wait()
    let deliveries = anticipation.commit()
    try await fixture.service.signOut(.named("alice"))
    #expect(await outline(deliveries) == ["failure(signedOut)"])
    never.open()
  }

  @Test func `what begins while a sign-out stops loads delivers nothing of the account either`() async throws
  {
    let (isAsked, never) = (Gate(), Gate())
    let transport = ScriptedTransport { _, number async throws(DataServiceError) in
      if number == 1 { return .answer("secret") }
      isAsked.open()
      await never.wait()
      throw DataServiceError(.cancelled, "cancelled")
    }
    let fixture = try ServiceFixture(transport: transport)
    var request = try request()
    request.account = .named("alice")
    for await _ in fixture.service.deliveries(for: request) {}
    let anticipation = fixture.service.anticipate(request, holdFor: .seconds(3600), decode: Self.text)
    await isAsked.wait()
    // Its load is none of those that the sign-out has stopped.
    await fixture.service.core.engine.run { _ in
      anticipation.prefetch?.signOut { $0.key.account == "alice" }
    }
    let deliveries = anticipation.commit()
    never.open()
    let lines = await outline(deliveries)
    #expect(lines.last?.hasPrefix("failure") == true && !lines.contains("fresh(secret, new)"), "\(lines)")
    await fixture.service.close()
  }

  @Test(
    "what was over before a sign-out is not handed out after it, wanted by then or not",
    arguments: [true, false])
  func overBeforeSignOut(isCommitted: Bool) async throws {
    let fixture = try ServiceFixture.scripted { _, number async in .answer(number == 1 ? "secret" : "new") }
    var request = try request()
    request.account = .named("alice")
    let anticipation = fixture.service.anticipate(request, holdFor: .seconds(3600), decode: Self.text)
    await anticipation.finished()
    let committed = isCommitted ? anticipation.commit() : nil
    try await fixture.service.signOut(.named("alice"))
    let deliveries = committed ?? anticipation.commit()
    #expect(await outline(deliveries) == ["failure(signedOut)"])
    #expect(fixture.requests.count == 1)
  }

  @Test(
    "what has not begun before a sign-out does not begin for that account, wanted by then or not",
    arguments: [true, false])
  func notBegunBeforeSignOut(isCommitted: Bool) async throws {
    let fixture = try ServiceFixture.scripted { _, _ async in .answer("new") }
    var request = try request()
    request.account = .named("alice")
    let (isBusy, mayGoOn) = (Gate(), DispatchSemaphore(value: 0))
    fixture.service.core.thread.perform {
      isBusy.open()
      mayGoOn.wait()
    }
    await isBusy.wait()
    let anticipation = fixture.service.anticipate(request, holdFor: .seconds(3600), decode: Self.text)
    let committed = isCommitted ? anticipation.commit() : nil
    // A sign-out but for its change of the store, which could begin only later.
    fixture.service.core.state.withLock { $0.leaving.append("alice") }
    mayGoOn.signal()
    await fixture.service.core.stop(.signedOut) { $0.key.account == "alice" }
    fixture.service.core.state.withLock { $0.end(leaving: "alice") }
    await anticipation.finished()
    #expect(await outline(committed ?? anticipation.commit()) == ["failure(signedOut)"])
    #expect(fixture.requests.isEmpty)
    #expect(await outline(anticipation.commit()) == ["fresh(new, new)"])
    #expect(fixture.requests.map { $0.fields["Sec-Purpose"] } == [nil])
    await fixture.service.close()
  }

  @Test func `a service that is closed releases what it holds, and is released`() async throws {
    let transport = ScriptedTransport { _, _ async in .answer("body") }
    weak var service: DataService?
    weak var core: ServiceCore?
    do {
      let fixture = try ServiceFixture(transport: transport)
      (service, core) = (fixture.service, fixture.service.core)
      let held = fixture.service.anticipate(try request(), holdFor: .seconds(3600), decode: Self.text)
      await held.finished()
      #expect(held.isHeld)
      await fixture.service.close()
      #expect(!held.isHeld)
      let late = fixture.service.anticipate(
        try request("late"), holdFor: .seconds(3600), decode: Self.text)
      #expect(!late.isHeld)
      #expect(await outline(late.commit()) == ["failure(closed)"])
    }
    // The network thread releases it when it has ended.
    _ = await eventually { core == nil }
    #expect(service == nil && core == nil)
  }

  /// 1,000 of them; `CACHEFETCH_ANTICIPATIONS=10000` for the full number.
  @Test func `anticipations with random commits and cancels leave nothing behind`() async throws {
    let total = wished("CACHEFETCH_ANTICIPATIONS", else: 1_000)
    let fixture = try ServiceFixture.scripted { _, _ async in
      await Task.yield()
      return .answer("body")
    }
    let service = fixture.service
    var generator = SeededGenerator(seed: 7)
    var delivered = 0
    var wanted = 0
    for number in 0..<total {
      let anticipation = service.anticipate(
        try request("\(number % 50)"), group: number % 3 == 0 ? "rows" : nil, decode: Self.text)
      switch Int.random(in: 0..<10, using: &generator) {
      case 0..<4:
        wanted += 1
        let lines = await outline(anticipation.commit())
        if lines.count <= 2, lines.last?.hasPrefix("fresh(body") == true { delivered += 1 }
      case 4..<7: anticipation.cancel()
      default: break
      }
    }
    #expect(delivered == wanted)
    await service.close()
    print("tried: \(total) anticipations, of which \(wanted) were committed and \(delivered) delivered")
  }
}
