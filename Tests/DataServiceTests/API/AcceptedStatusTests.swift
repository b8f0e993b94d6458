import CacheStore
import DataService
import DataServiceTesting
import Dispatch
import FixtureServer
import PlatformFoundation
import Synchronization
import TestSupport
import Testing
import TestTurns

/// Which statuses are answers, and which are failures.
@Suite("Accepted statuses", .inTurn) struct AcceptedStatusTests {
  private struct Feed: Decodable, Sendable, Equatable {
    var items: [String]?
    var error: String?
  }

  private struct NoFeed: Error {}

  private let url = "http://origin.test/feed"

  /// A service whose origin gives these answers, the last one again and again.
  private func fixture(_ answers: (status: Int, body: String)...) throws -> ServiceFixture {
    let transport = ScriptedTransport { _, number in
      let answer = answers[min(number, answers.count) - 1]
      return .answer(answer.body, status: answer.status, ["Content-Type": "application/json"])
    }
    return try ServiceFixture(transport: transport) { $0.store.chunkBytes = 16_384 }
  }

  private func request(_ accepted: ClosedRange<Int>? = nil) throws -> DataService.Request {
    var request = DataService.Request(try #require(URL(string: url)))
    request.limits.retries = 0
    request.acceptedStatuses = accepted
    return request
  }

  private func feeds(
    _ fixture: ServiceFixture, _ request: DataService.Request, _ policy: FetchPolicy = .storedThenFresh
  ) async -> [DataService.Delivery<Feed>] {
    var all: [DataService.Delivery<Feed>] = []
    for await delivery in fixture.service.deliveries(for: request, as: Feed.self, policy: policy) {
      all.append(delivery)
    }
    return all
  }

  private func failure(_ work: @Sendable () async throws -> Void) async -> DataServiceError? {
    do { try await work() } catch { return error as? DataServiceError }
    return nil
  }

  @Test func `an error that would decode is a failure with status, head and body, and what is stored stays`()
    async throws
  {
    let fixture = try fixture((200, #"{"items":["a"]}"#), (401, #"{"error":"token expired"}"#))
    let request = try request()
    #expect(await feeds(fixture, request).map(\.value) == [Feed(items: ["a"])])
    let before = try fixture.store.rows("SELECT * FROM last_request")
    let second = await feeds(fixture, request)
    #expect(second.map(\.value) == [Feed(items: ["a"]), nil])
    let error = try #require(second.last?.error)
    #expect(error.kind == .status)
    #expect(error.status == 401)
    #expect(error.message.contains("answered 401"))
    #expect(error.response?.status == 401)
    #expect(error.response?.fields["Content-Type"] == "application/json")
    #expect(error.response?.text == #"{"error":"token expired"}"#)
    guard case .failure(_, let lastKnown?) = second.last else {
      Issue.record("no failure with what is stored: \(second)")
      return
    }
    #expect(lastKnown.value == Feed(items: ["a"]))
    #expect(try fixture.store.rows("SELECT * FROM last_request") == before)
    await fixture.service.close()
  }

  @Test("a decoder sees no status that is not accepted", arguments: [301, 404, 410, 503])
  func undecoded(status: Int) async throws {
    let fixture = try fixture((status, "<html>"))
    let calls = Mutex(0)
    let deliveries = fixture.service.deliveries(for: try request()) { response in
      calls.withLock { $0 += 1 }
      return response.text
    }
    var seen: [DataServiceError] = []
    for await delivery in deliveries { seen.append(try #require(delivery.error)) }
    #expect(seen.map(\.kind) == [.status])
    #expect(seen.first?.response?.text == "<html>")
    #expect(calls.withLock { $0 } == 0)
    await fixture.service.close()
  }

  @Test func `a decoder sees the statuses that are accepted besides`() async throws {
    let fixture = try fixture((404, "{}"))
    let seen = await feeds(fixture, try request(200...404))
    #expect(seen.map(\.value) == [Feed()])
    #expect(seen.first?.response?.status == 404)
    await fixture.service.close()
  }

  /// What comes when a load has already ended with the stored response.
  @Test(
    "law 5: what comes after the deadline is judged by the load that has left, before it replaces anything",
    arguments: [(200, "<html>", "body"), (203, "other", "body"), (200, "later", "later")])
  func afterDeadline(status: Int, late: String, stored: String) async throws {
    let (clock, isAsked, mayAnswer) = (VirtualClock(), Gate(), Gate())
    let transport = ScriptedTransport { _, number in
      guard number > 1 else { return .answer("body") }
      isAsked.open()
      await mayAnswer.wait()
      return .answer(late, status: status)
    }
    let answered = Mutex(0)
    let isOver = Gate()
    let fixture = try ServiceFixture(transport: transport, timekeeper: clock) {
      $0.onEvent = { event in
        guard case .answered = event.kind else { return }
        if answered.withLock({ count in
          count += 1
          return count == 2
        }) {
          isOver.open()
        }
      }
    }
    let request = try request(200...200)
    let decode: @Sendable (DataService.Response<Data>) throws -> String = { response in
      guard !response.text.hasPrefix("<") else { throw NoFeed() }
      return response.text
    }
    for await _ in fixture.service.deliveries(for: request, decode: decode) {}
    let seen = Mutex<[String?]>([])
    let isDelivered = Gate()
    let load = fixture.service.load(
      request, policy: .freshElseStored(within: .seconds(1)), queue: DispatchQueue(label: "callbacks"),
      decode: decode
    ) { delivery in
      seen.withLock { $0.append(delivery.value) }
      isDelivered.open()
    }
    await isAsked.wait()
    await clock.whenPending(for: .seconds(1))
    clock.advance(by: .seconds(1))
    await isDelivered.wait()
    mayAnswer.open()
    await isOver.wait()
    await load.finished()
    // And that the deadline has passed.
    #expect(seen.withLock { $0 } == ["body", nil])
    #expect(await fixture.outline(request.url, policy: .storedOnly) == ["stored(\(stored))"])
    await fixture.service.close()
  }

  @Test func `what a decoder has made of a 503 is not the value of the 304 that the next attempt brings`()
    async throws
  {
    let transport = ScriptedTransport { _, number in
      if number == 1 { return .answer("body", ["ETag": "\"1\""]) }
      return number == 2
        ? .answer("busy", status: 503) : .answer("", status: 304, ["ETag": "\"1\""])
    }
    let clock = VirtualClock()
    let fixture = try ServiceFixture(transport: transport, timekeeper: clock)
    var request = try request(200...599)
    request.limits.retries = 1
    let first = fixture.service.deliveries(for: request) { response in response.text }
    for await delivery in first { #expect(delivery.value == "body") }
    let second = fixture.service.deliveries(for: request) { response in response.text }
    let (seen, _) = try await clock.passing {
      var seen: [String] = []
      for await delivery in second { seen.append(delivery.value ?? "\(delivery)") }
      return seen
    }
    #expect(seen == ["body", "body"])
    #expect(transport.requests.map { $0.fields["If-None-Match"] } == [nil, "\"1\"", "\"1\""])
    await fixture.service.close()
  }

  @Test func `bodies as they are come with every status, unless the request says otherwise`() async throws {
    let fixture = try fixture((404, "none"))
    let strict = try request(200...299)
    #expect(try await fixture.service.response(for: request(), policy: .freshOnly).status == 404)
    let error = await failure { _ = try await fixture.service.response(for: strict, policy: .freshOnly) }
    #expect(error?.response?.text == "none")
    var streamed: [String] = []
    for await delivery in fixture.service.streams(for: strict, policy: .freshOnly) {
      streamed.append(delivery.error?.response?.text ?? "delivered")
    }
    #expect(streamed == ["none"])
    await fixture.service.close()
  }

  @Test func `the body of a failure comes along where it just keeps to the limit for Data`() async throws {
    let fixture = try fixture((404, "none"))
    var strict = try request(200...299)
    for (limit, text) in [(4, "none"), (3, "")] as [(Int64, String)] {
      strict.limits.dataBytes = limit
      let error = await failure { [strict] in
        _ = try await fixture.service.response(for: strict, policy: .freshOnly)
      }
      #expect(error?.status == 404 && error?.response?.text == text, "\(limit)")
    }
    await fixture.service.close()
  }

  @Test func `a 2xx that is not accepted replaces nothing, however long it is`() async throws {
    let long = String(repeating: "long ", count: 20_000)
    let fixture = try fixture((200, "good"), (203, long))
    let strict = try request(200...200)
    _ = try await fixture.service.response(for: request(), policy: .freshOnly)
    let before = try fixture.store.rows("SELECT * FROM last_request")
    let error = await failure { _ = try await fixture.service.response(for: strict, policy: .freshOnly) }
    #expect(error?.status == 203)
    #expect(error?.response?.text == long)
    #expect(error?.response?.kept == .no(.status))
    #expect(try fixture.store.rows("SELECT * FROM last_request") == before)
    await fixture.service.close()
  }

  @Test func `a stored response of a status that is not accepted counts as not stored`() async throws {
    let fixture = try fixture((203, "{}"))
    let strict = try request(200...200)
    _ = try await fixture.service.response(for: request(), policy: .freshOnly)
    #expect(try await fixture.service.response(for: request(), policy: .storedOnly).status == 203)
    let error = await failure { _ = try await fixture.service.response(for: strict, policy: .storedOnly) }
    #expect(error?.kind == .notStored)
    await fixture.service.close()
  }

  @Test func `under http a stored error is nothing to a form that decodes, and stays for those that take it`()
    async throws
  {
    let fixture = try ServiceFixture.scripted { _, _ in
      .answer("gone", status: 404, ["Cache-Control": "max-age=600"])
    }
    let request = try request()
    #expect(try await fixture.service.response(for: request, policy: .http).source == .fresh)
    let seen = await feeds(fixture, request, .http)
    #expect(seen.map { $0.error?.status } == [404])
    #expect(fixture.requests.count == 2)
    #expect(try await fixture.service.response(for: request, policy: .http).source == .stored)
    #expect(fixture.requests.count == 2)
    await fixture.service.close()
  }

  @Test func `loads that share an exchange judge its status each for itself`() async throws {
    let mayAnswer = Gate()
    let fixture = try ServiceFixture.scripted { _, _ async throws(DataServiceError) in
      await mayAnswer.wait()
      return .answer("nothing", status: 203)
    }
    let request = try request()
    let strict = try self.request(200...200)
    async let all = fixture.service.response(for: request, policy: .storedThenFresh)
    await fixture.traced("request to")
    async let one = failure { _ = try await fixture.service.response(for: strict, policy: .storedThenFresh) }
    await fixture.traced("joining")
    mayAnswer.open()
    #expect(try await all.status == 203)
    #expect(await one?.kind == .status)
    #expect(fixture.requests.count == 1)
    #expect(await fixture.outline(request.url, policy: .storedOnly) == ["stored(nothing)"])
    await fixture.service.close()
  }

  @Test func `a response says where it came from, and can be made into another`() async throws {
    let fixture = try fixture((200, "7"))
    let request = try request()
    let fresh = try await fixture.service.response(for: request, policy: .freshOnly)
    #expect(fresh.source == .fresh)
    let stored = try await fixture.service.response(for: request, policy: .storedOnly)
    #expect(stored.source == .stored)
    let number = stored.map { Int(String(decoding: $0, as: UTF8.self)) ?? 0 }
    #expect(number.value == 7)
    #expect(number.source == .stored)
    #expect(number.fields == stored.fields)
    await fixture.service.close()
  }

  @Test func `a delivery's response is what is delivered, never the last known one`() async throws {
    let fixture = try ServiceFixture.scripted { _, number throws(DataServiceError) in
      if number > 1 { throw DataServiceError(.refused, "refused") }
      return .answer("body")
    }
    let url = try #require(URL(string: url))
    let all = await fixture.deliveries(url) + fixture.deliveries(url)
    #expect(all.map(\.kind) == ["fresh", "stored", "failure"])
    #expect(all.map { $0.response?.text } == ["body", "body", nil])
    #expect(all.map { $0.value != nil } == [true, true, false])
    #expect(all.map { $0.error?.kind } == [nil, nil, .refused])
    await fixture.service.close()
  }
}
