import CacheStore
import DataServiceTesting
import PlatformFoundation
import TestSupport
import Testing
import TestTurns

@testable import DataService

/// `Retry-After`: heard of whoever says it, by those who ask in the same way, for an hour at most.
@Suite("Pauses", .inTurn) struct PauseTests {
  private let clock = VirtualClock()

  private func fixture(_ script: @escaping ScriptedTransport.Script) throws -> (
    ServiceFixture, ScriptedTransport
  ) {
    let transport = ScriptedTransport(script)
    return (try ServiceFixture(transport: transport, timekeeper: clock), transport)
  }

  private func url(_ text: String) throws -> URL { try #require(URL(string: text)) }

  @Test(
    "nobody is silenced for more than an hour",
    arguments: [
      "999999999999", "99999999999999999999999", "2147483648", "86400", "3601",
      "Fri, 31 Dec 9999 23:59:59 GMT",
      "Tue, 01 Jan 2319 00:00:00 GMT",
    ], [429, 503])
  func cap(value: String, status: Int) async throws {
    let (fixture, transport) = try fixture { _, number throws(DataServiceError) in
      number == 1 ? .answer("no", status: status, ["Retry-After": value]) : .answer("yes")
    }
    let item = try url("http://a.test/item")
    #expect(await fixture.outline(item) == ["fresh(no, new)"])
    clock.advance(by: .seconds(3_599))
    for other in [item, try url("http://a.test/other")] {
      let failed = await fixture.deliveries(other)
      #expect(failed.map(\.outline) == ["failure(paused)"], "\(other)")
    }
    #expect(transport.requests.count == 1)
    clock.advance(by: .seconds(2))
    #expect(await fixture.outline(item) == ["fresh(yes, new)"])
    await fixture.service.close()
  }

  @Test(
    "the failure says for how long, an hour at most, and the pause what is left",
    arguments: [
      (429, "120", .seconds(120)), (503, "86400", .seconds(3_600)), (500, "120", nil), (503, "soon", nil),
      (408, "120", nil),
    ] as [(Int, String, Duration?)])
  func said(status: Int, value: String, expected: Duration?) async throws {
    let (fixture, _) = try fixture { _, number throws(DataServiceError) in
      number == 1 ? .answer("yes") : .answer("no", status: status, ["Retry-After": value])
    }
    let item = try url("http://a.test/item")
    #expect(await fixture.outline(item) == ["fresh(yes, new)"])
    let failed = try #require(await fixture.deliveries(item).last?.error)
    #expect(failed.kind == .status && failed.status == status && failed.retryAfter == expected)
    clock.advance(by: .seconds(20))
    let next = try #require(await fixture.deliveries(item).last?.error)
    #expect(next.kind == (expected == nil ? .status : .paused))
    #expect(next.retryAfter == expected.map { $0 - .seconds(20) })
    await fixture.service.close()
  }

  @Test func `it is heard where the budget has no retry left`() async throws {
    let (fixture, transport) = try fixture { _, _ throws(DataServiceError) in
      .answer("busy", status: 503, ["Retry-After": "30"])
    }
    let item = try url("http://a.test/item")
    await spendRetries(of: "http://a.test", fixture.service.core)
    let retrying = { @Sendable (request: inout DataService.Request) in request.limits.retries = 2 }
    #expect(await fixture.outline(item, configure: retrying) == ["fresh(busy, new)"])
    #expect(await fixture.outline(item, configure: retrying) == ["failure(paused)"])
    #expect(transport.requests.count == 1)
    await fixture.service.close()
  }

  @Test func `ten exchanges earn their origin one retry, and no other origin`() async throws {
    let (fixture, _) = try fixture { _, _ throws(DataServiceError) in .answer("yes") }
    let core = fixture.service.core
    for origin in ["http://a.test", "http://b.test"] { await spendRetries(of: origin, core) }
    for number in 1...10 {
      #expect(await !takeRetry(of: "http://a.test", core), "\(number)")
      _ = await fixture.outline(try url("http://a.test/item"), policy: .freshOnly)
    }
    #expect(await !takeRetry(of: "http://b.test", core))
    #expect(await takeRetry(of: "http://a.test", core))
    #expect(await !takeRetry(of: "http://a.test", core))
    await fixture.service.close()
  }

  private func takeRetry(of origin: String, _ core: ServiceCore) async -> Bool {
    await core.engine.run { _ in core.takeRetry(origin: origin) }
  }

  private func spendRetries(of origin: String, _ core: ServiceCore) async {
    while await takeRetry(of: origin, core) {}
  }

  @Test(
    "the target of a redirect pauses itself, and not who led there",
    arguments: ["http://evil.test/x", "http://a.test:8080/x", "https://a.test/x"])
  func redirect(target: String) async throws {
    let (fixture, transport) = try fixture { request, _ throws(DataServiceError) in
      switch request.url.absoluteString {
      case "http://a.test/open": .answer("", status: 307, ["Location": target])
      case target: .answer("no", status: 503, ["Retry-After": "600"])
      default: .answer("yes")
      }
    }
    #expect(await fixture.outline(try url("http://a.test/open")) == ["fresh(no, new)"])
    #expect(await fixture.outline(try url("http://a.test/item")) == ["fresh(yes, new)"])
    let before = transport.requests.count
    #expect(await fixture.outline(try url("http://a.test/open")) == ["failure(paused)"])
    #expect(transport.requests.count == before + 1, "the target is not asked")
    #expect(await fixture.outline(try url(target)) == ["failure(paused)"])
    await fixture.service.close()
  }

  @Test func `a pause is heard by those who ask in the same way`() async throws {
    typealias Change = @Sendable (inout DataService.Request) -> Void
    let ways: [(String, Change)] = [
      ("directly", { _ in }), ("by a proxy", { $0.connection.proxy = "http://p:1" }),
      ("by a socket", { $0.connection.unixSocket = "/s" }),
      ("unverified", { $0.connection.isInsecure = true }),
      ("elsewhere", { $0.connection.resolutions = [.init(host: "a.test", port: 80, address: "127.0.0.2")] }),
      ("another host", { $0.fields = ["Host": "b.test"] }),
      ("other authorities", { $0.connection.certificateAuthorityFile = "/etc/passwd" }),
      ("other authorities still", { $0.connection.certificateAuthorityFile = "/etc/group" }),
      (
        "authorities of the environment",
        {
          $0.connection.certificateAuthorityFile = "/etc/hosts"
          $0.connection.isMachineTrust = true
        }
      ),
      ("with a certificate", { $0.connection.clientCertificateFile = "/etc/passwd" }),
      ("with credentials", { $0.fields = ["Authorization": "Basic YTpi"] }),
      ("as alice", { $0.account = .named("alice") }),
    ]
    let item = try url("https://a.test/item")
    for (name, way) in ways {
      let (fixture, _) = try fixture { _, number throws(DataServiceError) in
        number == 1 ? .answer("no", status: 503, ["Retry-After": "600"]) : .answer("yes")
      }
      #expect(await fixture.outline(item, configure: way) == ["fresh(no, new)"], "\(name)")
      #expect(await fixture.outline(item, configure: way) == ["failure(paused)"], "\(name)")
      #expect(
        await fixture.outline(try url("https://a.test/2"), configure: way) == ["failure(paused)"], "\(name)")
      for (other, change) in ways where other != name {
        // Some have one key, and so one row.
        let found = await fixture.outline(item, policy: .freshOnly, configure: change)
        #expect(found.count == 1 && found[0].hasPrefix("fresh(yes, "), "\(name), then \(other)")
      }
      await fixture.service.close()
    }
  }

  @Test("no wall clock decides", arguments: [-10, 10] as [Int64]) func clockStep(years: Int64) async throws {
    let right = clock.wallMilliseconds
    clock.setWall(milliseconds: right + years * 31_536_000_000)
    let (fixture, transport) = try fixture { _, number throws(DataServiceError) in
      number == 1
        ? .answer("no", status: 503, ["Retry-After": "120", "Date": "Thu, 01 Jan 2026 00:00:00 GMT"])
        : .answer("yes")
    }
    let item = try url("http://a.test/item")
    _ = await fixture.outline(item)
    clock.setWall(milliseconds: right)
    clock.advance(by: .seconds(119))
    #expect(await fixture.outline(item) == ["failure(paused)"])
    clock.advance(by: .seconds(2))
    #expect(await fixture.outline(item) == ["fresh(yes, new)"])
    #expect(transport.requests.count == 2)
    await fixture.service.close()
  }

  @Test func `a date counts from the response's own`() async throws {
    clock.setWall(milliseconds: 0)
    let (fixture, _) = try fixture { _, number throws(DataServiceError) in
      number == 1
        ? .answer(
          "no", status: 429,
          ["Retry-After": "Thu, 01 Jan 2026 00:05:00 GMT", "Date": "Thu, 01 Jan 2026 00:00:00 GMT"])
        : .answer("yes")
    }
    let item = try url("http://a.test/item")
    _ = await fixture.outline(item)
    clock.advance(by: .seconds(299))
    #expect(await fixture.outline(item) == ["failure(paused)"])
    clock.advance(by: .seconds(2))
    #expect(await fixture.outline(item) == ["fresh(yes, new)"])
    await fixture.service.close()
  }

  @Test func `another boot, or a start in the future, ends it`() async throws {
    let (fixture, _) = try fixture { _, _ throws(DataServiceError) in
      .answer("no", status: 503, ["Retry-After": "600"])
    }
    let item = try url("http://a.test/item")
    _ = await fixture.outline(item)
    let (wall, boot) = (clock.wallMilliseconds, clock.bootNanoseconds)
    for (name, other) in [
      ("another boot", VirtualClock(wallMilliseconds: wall, bootID: "next-boot")),
      ("a start in the future", VirtualClock(wallMilliseconds: wall, bootNanoseconds: boot - 1)),
    ] {
      let transport = ScriptedTransport { _, _ in .answer("yes") }
      let later = try ServiceFixture(store: fixture.store, transport: transport, timekeeper: other)
      let first = await later.outline(item, policy: .freshOnly).first
      #expect(first?.hasPrefix("fresh(yes") == true, "\(name)")
      await later.service.close()
    }
    await fixture.service.close()
  }

  @Test func `one that cannot be recorded is told, beside the answer that asked for it`() async throws {
    let (fixture, _) = try fixture { _, _ throws(DataServiceError) in
      .answer("no", status: 503, ["Retry-After": "600"])
    }
    _ = try await fixture.service.store.accountID(named: "")
    try fixture.store.execute(
      "CREATE TRIGGER full BEFORE INSERT ON pause BEGIN SELECT RAISE(FAIL, 'no room'); END")
    #expect(await fixture.outline(try url("http://a.test/item")) == ["fresh(no, new)"])
    #expect(fixture.warnings.map(\.kind) == [.store])
    await fixture.service.close()
  }

  @Test func `it is explained, listed and ended`() async throws {
    let (fixture, _) = try fixture { _, number throws(DataServiceError) in
      number == 1 ? .answer("no", status: 503, ["Retry-After": "600"]) : .answer("yes")
    }
    let item = try url("http://a.test/item")
    let request = DataService.Request(item)
    #expect(try await fixture.service.explain(request).pausedUntil == nil)
    _ = await fixture.outline(item)
    let explained = try await fixture.service.explain(request)
    #expect(explained.pausedUntil == "Thu, 01 Jan 2026 00:10:00 GMT")
    #expect(explained.text.contains("paused until Thu, 01 Jan 2026 00:10:00 GMT"))
    #expect(try await fixture.service.pauses().map(\.origin) == ["http://a.test"])
    #expect(try await fixture.service.endPauses { $0.origin == "http://b.test" } == 0)
    #expect(try await fixture.service.endPauses { $0.origin == "http://a.test" } == 1)
    #expect(try await fixture.service.explain(request).pausedUntil == nil)
    #expect(await fixture.outline(item) == ["fresh(yes, new)"])
    await fixture.service.close()
  }

  @Test("a store that was removed is not taken for a sign-out, and hears it", arguments: ["", "alice"])
  func removedStore(account: String) async throws {
    let store = try TemporaryStore()
    let transport = ScriptedTransport { _, number in
      guard number == 2 else { return .answer("yes") }
      for name in ["", "-wal", "-shm", ".lock"] {
        try? FileManager.default.removeItem(atPath: store.path + name)
      }
      return .answer("no", status: 503, ["Retry-After": "600"])
    }
    let fixture = try ServiceFixture(store: store, transport: transport, timekeeper: clock)
    let configure = { @Sendable (request: inout DataService.Request) in
      if !account.isEmpty { request.account = .named(account) }
    }
    let item = try url("http://a.test/item")
    #expect(await fixture.outline(item, configure: configure) == ["fresh(yes, new)"])
    #expect(await fixture.deliveries(item, policy: .freshOnly, configure: configure).last?.kind == "fresh")
    #expect(fixture.warnings.map(\.kind) == [])
    #expect(await fixture.outline(item, policy: .freshOnly, configure: configure) == ["failure(paused)"])
    #expect(transport.requests.count == 2)
    await fixture.service.close()
  }

  private static let patient: @Sendable (inout DataService.Request) -> Void = { $0.limits.retries = 2 }

  @Test(
    "a Retry-After beyond the deadline is a pause at once, and what there is is delivered",
    arguments: [false, true], [.freshElseStored(), .freshElseStored(within: .seconds(1))] as [FetchPolicy])
  func beyondTheDeadline(isStored: Bool, policy: FetchPolicy) async throws {
    let (fixture, transport) = try fixture { request, _ throws(DataServiceError) in
      request.url.path() == "/first" || request.url.path() == "/item" && request.fields["X"] == "first"
        ? .answer("yes") : .answer("busy", status: 429, ["Retry-After": "20"])
    }
    let item = try url("http://a.test/item")
    _ = await fixture.outline(try url("http://a.test/first"))
    if isStored { _ = await fixture.outline(item) { $0.fields["X"] = "first" } }
    // Nothing stored: only a policy whose deadline ends it anyway gives up at once.
    guard isStored || policy == .freshElseStored(within: .seconds(1)) else { return }
    let asked = transport.requests.count
    let first = await fixture.outline(item, policy: policy, configure: Self.patient)
    #expect(first == (isStored ? ["stored(yes)", "failure(status, last yes)"] : ["fresh(busy, new)"]))
    for _ in 0..<2 {
      let next = await fixture.outline(item, policy: policy, configure: Self.patient)
      #expect(next == (isStored ? ["stored(yes)", "failure(paused, last yes)"] : ["failure(paused)"]))
    }
    #expect(transport.requests.count == asked + 1)
    #expect(try await fixture.service.pauses().map(\.length) == [.seconds(20)])
    clock.advance(by: .seconds(20))
    #expect(
      await fixture.outline(item, policy: policy, configure: Self.patient).last?.contains("paused") == false)
    await fixture.service.close()
  }

  /// What ends a load's wait for the end of a `Retry-After`.
  enum Ending: CaseIterable, Sendable { case cancelled, closed }

  @Test("whoever ends the wait for a Retry-After leaves the pause to all", arguments: Ending.allCases)
  func endedWait(_ ending: Ending) async throws {
    let transport = ScriptedTransport { _, _ throws(DataServiceError) in
      .answer("busy", status: 503, ["Retry-After": "20"])
    }
    let fixture = try ServiceFixture(transport: transport, timekeeper: clock) {
      $0.finishesAfterDeadline = false
    }
    let item = try url("http://a.test/item")
    var request = fixture.request(item)
    Self.patient(&request)
    let load = fixture.service.start(request, policy: .storedThenFresh, deliver: { _ in }, ended: {})
    await fixture.traced("retrying in")
    // The exchange makes the account's row meanwhile.
    while try await fixture.service.store.knownAccountID(named: "") == nil { await Task.yield() }
    clock.advance(by: .seconds(5))
    #expect(try await fixture.service.pauses().isEmpty, "it is waited for")
    if ending == .cancelled { load.cancel() }
    await fixture.service.close()
    let later = try ServiceFixture(store: fixture.store, transport: transport, timekeeper: clock)
    let failed = try #require(await later.deliveries(item).last?.error)
    #expect(failed.kind == .paused)
    #expect(failed.retryAfter == .seconds(15))
    #expect(transport.requests.count == 1 && fixture.warnings.isEmpty)
    await later.service.close()
  }

  @Test func `who waits to its end asks again, and leaves no pause`() async throws {
    let (fixture, transport) = try fixture { _, number throws(DataServiceError) in
      number == 1 ? .answer("busy", status: 503, ["Retry-After": "20"]) : .answer("yes")
    }
    let item = try url("http://a.test/item")
    let load = Task { await fixture.outline(item, configure: Self.patient) }
    await fixture.traced("retrying in")
    await clock.whenPending(within: .seconds(21))
    clock.advance(by: .seconds(21))
    #expect(await load.value == ["fresh(yes, new)"])
    await fixture.service.close()
    #expect(try fixture.store.value("SELECT count(*) FROM pause") == 0)
    #expect(transport.requests.count == 2)
  }
}
