import CacheStore
import DataService
import DataServiceTesting
import FixtureServer
import PlatformFoundation
import TestSupport
import Testing
import TestTurns

/// RFC 9110 section 9.2.2: what changes something is sent once.
@Suite("A request that changes something is sent once", .inTurn) struct UnsafeRequestTests {
  private let url = URL(string: "http://origin.test/pay")

  /// A POST that waits a minute for the network, with the clock moving on as soon as anything waits for it.
  private func outline(
    _ transport: ScriptedTransport, isRead: Bool = false
  ) async throws -> (outline: [String], sent: Int) {
    let clock = VirtualClock()
    let fixture = try ServiceFixture(transport: transport, timekeeper: clock)
    let url = try #require(url)
    let (outline, _) = try await clock.passing(longest: .seconds(6)) {
      await fixture.outline(url, policy: .freshOnly) {
        $0.method = .post
        $0.body = Data("pay 10".utf8)
        $0.onlineWait = .seconds(60)
        $0.isRead = isRead
        $0.limits.retries = 2
      }
    }
    await fixture.service.close()
    return (outline, transport.requests.count)
  }

  /// Fails a few times, then answers.
  private func transport(failing kind: DataServiceError.Kind, times: Int = 3) -> ScriptedTransport {
    ScriptedTransport { _, number throws(DataServiceError) in
      if number <= times { throw DataServiceError(kind, kind.name) }
      return .answer("paid", status: 201)
    }
  }

  @Test(
    "What failed before it was sent is sent when the network is back",
    arguments: [DataServiceError.Kind.offline, .dns, .refused, .unreachable, .timeout(.connect)])
  func beforeSending(kind: DataServiceError.Kind) async throws {
    let (outline, sent) = try await outline(transport(failing: kind))
    #expect(outline == ["fresh(paid, new)"])
    #expect(sent == 4)
  }

  @Test(
    "What may have been sent is not sent again, with all the time in the world",
    arguments: [DataServiceError.Kind.disconnected, .truncated, .timeout(.firstByte), .protocol])
  func afterSending(kind: DataServiceError.Kind) async throws {
    let (outline, sent) = try await outline(transport(failing: kind))
    #expect(outline == ["failure(\(kind.name))"])
    #expect(sent == 1)
  }

  @Test(
    "Where it may have been carried out the remedy is to look there, and not to send it again",
    arguments: [
      (DataServiceError.Kind.disconnected, false), (.truncated, false), (.timeout(.firstByte), false),
      (.timeout(.connect), true), (.refused, true), (.dns, true),
    ])
  func remedy(kind: DataServiceError.Kind, isOfTransport: Bool) async throws {
    let transport = ScriptedTransport { _, _ throws(DataServiceError) in
      throw DataServiceError(kind, kind.name, hint: "try again")
    }
    let fixture = try ServiceFixture(transport: transport, timekeeper: VirtualClock())
    for (method, isSentOnce) in [(RequestMethod.post, true), (.get, false)] {
      var request = DataService.Request(try #require(url), method: method)
      request.limits.retries = 0
      let last = await fixture.service.deliveries(for: request, policy: .freshOnly).reduce(into: [String?]())
      {
        $0.append($1.error?.hint)
      }
      let isTold = isSentOnce && !isOfTransport
      #expect(
        last == [
          isTold ? "the server may have carried it out: look there before it is sent again" : "try again"
        ])
    }
    await fixture.service.close()
  }

  @Test(
    "Where the deadline passes, too",
    arguments: [(RequestMethod.post, false), (.post, true), (.get, false)])
  func deadline(method: RequestMethod, isRead: Bool) async throws {
    let (clock, mayAnswer) = (VirtualClock(), Gate())
    let transport = ScriptedTransport { _, _ in
      await mayAnswer.wait()
      return .answer("late")
    }
    let fixture = try ServiceFixture(transport: transport, timekeeper: clock)
    var request = DataService.Request(try #require(url), method: method)
    request.isRead = isRead
    let loading = Task { [request] in
      await fixture.service.deliveries(for: request, policy: .freshElseStored(within: .seconds(1)))
        .reduce(into: [String?]()) { $0.append($1.error?.hint) }
    }
    #expect(await eventually { !transport.requests.isEmpty && clock.pendingDelays.contains(.seconds(1)) })
    clock.advance(by: .seconds(1))
    let isTold = method == .post && !isRead
    #expect(
      await loading.value == [
        isTold
          ? "the server may have carried it out: look there before it is sent again"
          : "allow more time until the deadline"
      ])
    mayAnswer.open()
    await fixture.service.close()
  }

  @Test func `a read is asked for again even where it may have been sent`() async throws {
    let (outline, sent) = try await outline(transport(failing: .disconnected), isRead: true)
    #expect(outline == ["fresh(paid, new)"])
    #expect(sent == 4)
  }

  @Test func `what was answered by a redirect that leads nowhere is not sent again`() async throws {
    let transport = ScriptedTransport { request, _ throws(DataServiceError) in
      guard request.url.path == "/pay" else { throw DataServiceError(.refused, "refused") }
      return .answer("", status: 307, ["Location": "http://origin.test/elsewhere"])
    }
    let (outline, _) = try await outline(transport)
    #expect(outline == ["failure(refused)"])
    #expect(transport.requests.map(\.url.path) == ["/pay", "/elsewhere"])
  }

  @Test func `an origin that reads it and closes has it once`() async throws {
    let origin = try FixtureServer { request, connection in
      if request.method == "GET" { return try connection.send(.ok("open")) }
      connection.close()
    }
    let fixture = try ServiceFixture()
    // A connection that is open already, which libcurl would use, and send again where it is closed.
    _ = await fixture.outline(origin.url("/"))
    let outline = await fixture.outline(origin.url("/pay"), policy: .freshOnly) {
      $0.method = .post
      $0.body = Data("pay 10".utf8)
      $0.limits = .unhurried
      $0.limits.retries = 0
      // Long enough for another try, if there were one.
      $0.onlineWait = .seconds(1)
    }
    #expect(outline == ["failure(disconnected)"])
    #expect(origin.requests().map(\.method) == ["GET", "POST"])
    await fixture.service.close()
  }
}
