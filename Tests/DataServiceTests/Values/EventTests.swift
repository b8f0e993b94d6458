import CacheStore
import DataService
import DataServiceTesting
import PlatformFoundation
import Synchronization
import TestSupport
import TestTurns
import Testing

@Suite("Events for logs and metrics", .inTurn) struct EventTests {
  private static let address = "http://example.test/feed"

  private final class Log: Sendable {
    private let events = Mutex<[DataService.Event]>([])
    func add(_ event: DataService.Event) { events.withLock { $0.append(event) } }
    /// Removes and returns the events received so far.
    func taken() -> [DataService.Event] {
      events.withLock { events in
        defer { events = [] }
        return events
      }
    }
    /// The same, each as a short line.
    func lines() -> [String] { taken().map(EventTests.said) }
  }

  private static func said(_ event: DataService.Event) -> String {
    let exchange = event.exchange.map { "\($0) " } ?? ""
    switch event.kind {
    case .began: return exchange + "began"
    case .hop(let hop):
      return exchange + "hop \(hop.url) \(hop.status) \(hop.version) \(hop.isConditional)"
    case .retrying(let after, let kind, let status):
      return exchange + "retrying \(after > .zero) \(kind.name) \(status ?? 0)"
    case .followed: return exchange + "followed"
    case .answeredByTier: return exchange + "answered by tier"
    case .answered(let answered):
      let kept = if case .no(let reason) = answered.kept { "not kept: \(reason.name)" } else { "kept" }
      let validated = answered.wasValidated ? "validated " : ""
      return exchange
        + "answered \(answered.status) \(answered.bytes ?? -1) \(answered.redirects) \(validated)\(kept)"
    case .failed(let error): return exchange + "failed \(error.kind.name)"
    case .delivered(.stored(let age)): return exchange + "delivered stored \(age)"
    case .delivered(.fresh(let change)): return exchange + "delivered fresh \(change.rawValue)"
    case .delivered(.failure(let kind)): return exchange + "delivered failure \(kind.name)"
    }
  }

  private func request(_ url: String = address) throws -> DataService.Request {
    .init(try #require(URL(string: url)))
  }

  private func load(_ test: TestService, _ request: DataService.Request, _ policy: FetchPolicy) async {
    for await _ in test.service.deliveries(for: request, policy: policy) {}
  }

  @Test func `an exchange is told from beginning to end, with its hops, and what loads deliver of it`()
    async throws
  {
    let log = Log()
    let test = try TestService { $0.onEvent = { log.add($0) } }
    test.origin.answer(Self.address, with: .data(Data(), status: 302, fields: ["Location": "/other"]))
    let answer = ScriptedOrigin.Answer.text("body", fields: ["ETag": "\"1\""])
    test.origin.answer("http://example.test/other", with: answer.after(.seconds(3)))
    async let first: Void = load(test, try request(), .storedThenFresh)
    await test.clock.whenPending(for: .seconds(3))
    test.clock.advance(by: .seconds(3))
    try await first
    let events = log.taken()
    #expect(
      events.map(Self.said) == [
        "1 began", "1 hop \(Self.address) 302 1.1 false",
        "1 hop http://example.test/other 200 1.1 false", "1 answered 200 4 1 kept",
        "delivered fresh new",
      ])
    #expect(events.map(\.elapsed) == [.zero, .zero, .seconds(3), .seconds(3), .seconds(3)])
    let waits = events.compactMap { if case .hop(let hop) = $0.kind { hop.untilHead } else { nil } }
    #expect(waits == [.zero, .seconds(3)])
    #expect(events.allSatisfy { $0.url == Self.address && $0.method == .get })
    test.origin.answer("http://example.test/other", with: answer)
    test.clock.advance(by: .seconds(10))
    await load(test, try request("http://example.test/other"), .freshOnly)
    test.clock.advance(by: .seconds(10))
    await load(test, try request("http://example.test/other"), .storedThenFresh)
    let lines = log.lines()
    #expect(
      lines.filter { !$0.hasPrefix("delivered") } == [
        "2 began", "2 hop http://example.test/other 200 1.1 false", "2 answered 200 4 0 kept",
        "3 began", "3 hop http://example.test/other 304 1.1 true",
        "3 answered 200 4 0 validated kept",
      ])
    // The exchange begins while the stored response is delivered.
    #expect(
      lines.filter { $0.hasPrefix("delivered") } == [
        "delivered fresh new", "delivered stored 10.0 seconds", "delivered fresh unchanged",
      ])
    #expect(lines.last == "delivered fresh unchanged")
    await load(test, try request("http://example.test/other"), .storedOnly)
    #expect(log.lines() == ["delivered stored 0.0 seconds"])
    await test.close()
  }

  @Test func `a pause before a server is asked again is told with what it asked for, and no other`()
    async throws
  {
    let told = Mutex<[(url: String, delay: Duration, status: Int)]>([])
    let test = try TestService {
      $0.onWait = { url, delay, status in told.withLock { $0.append((url, delay, status)) } }
    }
    test.origin.answer(Self.address, with: .text("busy", status: 503, fields: ["Retry-After": "20"]))
    var request = try request()
    request.limits.retries = 1
    _ = try await test.clock.passing(longest: .seconds(60)) { [request] in
      await load(test, request, .freshOnly)
    }
    let waits = told.withLock { $0 }
    #expect(waits.count == 1 && waits.first?.url == Self.address && waits.first?.status == 503)
    #expect(waits.allSatisfy { $0.delay >= .seconds(20) && $0.delay < .seconds(26) })
    // One that has not answered has asked for nothing.
    test.origin.answer(Self.address, with: .failure(.refused))
    _ = try await test.clock.passing(longest: .seconds(60)) { [request] in
      await load(test, request, .freshOnly)
    }
    #expect(told.withLock { $0.count } == 1)
    await test.close()
  }

  @Test func `retries are told, and the failure in the end`() async throws {
    let log = Log()
    let test = try TestService { $0.onEvent = { log.add($0) } }
    test.origin.answer(Self.address, with: .text("busy", status: 503))
    let request = try request()
    _ = try await test.clock.passing(longest: .seconds(60)) { await load(test, request, .storedThenFresh) }
    #expect(
      log.lines() == [
        "1 began", "1 hop \(Self.address) 503 1.1 false", "1 retrying true status 503",
        "1 hop \(Self.address) 503 1.1 false", "1 retrying true status 503",
        "1 hop \(Self.address) 503 1.1 false", "1 answered 503 4 0 not kept: status",
        "delivered fresh new",
      ])
    test.origin.answer(Self.address, with: .failure(.refused))
    var twice = request
    twice.limits.retries = 1
    _ = try await test.clock.passing(longest: .seconds(60)) { [twice] in
      await load(test, twice, .freshOnly)
    }
    #expect(
      log.lines() == [
        "2 began", "2 retrying true refused 0", "2 failed refused", "delivered failure refused",
      ])
    await load(test, try self.request("mailto:a@example.test"), .freshOnly)
    #expect(log.lines() == [])
    await test.close()
  }

  @Test func `no lock is held, and no secret told`() async throws {
    let looked = Mutex<[String?]>([])
    let service = Mutex<DataService?>(nil)
    let log = Log()
    let asked = try request()
    let test = try TestService {
      $0.onEvent = { event in
        log.add(event)
        // A debug build traps where a lock is taken under another.
        let stored = service.withLock { $0 }?.storedResponse(for: asked)
        looked.withLock { $0.append(stored?.text) }
      }
    }
    service.withLock { $0 = test.service }
    test.origin.answer(Self.address, with: .text("body"))
    let secret = "http://example.test/feed?token=abcdef"
    test.origin.answer(secret, with: .data(Data(), status: 302, fields: ["Location": "/feed?token=ghijkl"]))
    test.origin.answer("http://example.test/feed?token=ghijkl", with: .text("mine"))
    await load(test, asked, .storedThenFresh)
    // Told before the delivery, and after the commit.
    #expect(looked.withLock { $0 } == [nil, nil, "body", "body"])
    _ = log.taken()
    var mine = try request(secret)
    mine.fields["Authorization"] = "Bearer xyzzy"
    await load(test, mine, .storedThenFresh)
    let all = log.taken()
    #expect(all.count == 5)
    for event in all {
      let said = "\(event)"
      for word in ["abcdef", "ghijkl", "xyzzy"] { #expect(!said.contains(word), "\(said)") }
    }
    service.withLock { $0 = nil }
    await test.close()
  }
}
