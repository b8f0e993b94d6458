import DataService
import DataServiceTesting
import PlatformFoundation
import TestTurns
import Testing

/// What an application's tests rely on; how they look is in `Examples/NewsReader`.
@Suite("A service for tests", .inTurn) struct TestServiceTests {
  private static let url = "https://api.example.com/news"

  @Test func `an origin that does not answer is given up when its time is over, at once`() async throws {
    let test = try TestService()
    test.origin.answer(Self.url, with: .never)
    var request = DataService.Request(try #require(URL(string: Self.url)))
    request.limits.retries = 0
    request.limits.firstByteTimeout = .seconds(77)
    let service = test.service
    async let deliveries = service.deliveries(for: request).reduce(into: []) { $0.append($1) }
    await test.clock.whenPending(for: .seconds(77))
    test.clock.advance(by: .seconds(77))
    guard case .failure(let error, nil) = try #require(await deliveries.first) else {
      throw DataServiceError(.other, "there was an answer")
    }
    #expect(error.kind == .timeout(.firstByte))
    await test.close()
  }

  @Test func `an answer comes when the clock says so`() async throws {
    let test = try TestService()
    test.origin.answer(Self.url, with: .text("late").after(.seconds(9)))
    let request = DataService.Request(try #require(URL(string: Self.url)))
    let service = test.service
    async let response = service.response(for: request)
    await test.clock.whenPending(for: .seconds(9))
    test.clock.advance(by: .seconds(9))
    #expect(try await response.value == Data("late".utf8))
    await test.close()
  }

  @Test func `answers in sequence: each once, and the last one stays`() async throws {
    let test = try TestService()
    let busy = ScriptedOrigin.Answer.text("busy", status: 503)
    test.origin.answer(Self.url, with: busy, busy, .text("at last"))
    let request = DataService.Request(try #require(URL(string: Self.url)))
    for tries in [3, 4] {
      let (response, _) = try await test.clock.passing { try await test.service.response(for: request) }
      #expect(response.value == Data("at last".utf8) && test.origin.requests.count == tries)
    }
    await test.close()
  }

  @Test(
    "offline is asked once, what may pass three times",
    arguments: [(.offline, 1), (.refused, 3), (.dns, 3)] as [(DataServiceError.Kind, Int)])
  func tries(kind: DataServiceError.Kind, tries: Int) async throws {
    let test = try TestService()
    test.origin.answer(Self.url, with: .failure(kind))
    let request = DataService.Request(try #require(URL(string: Self.url)))
    await #expect(throws: DataServiceError.self) {
      try await test.clock.passing { try await test.service.response(for: request) }
    }
    #expect(test.origin.requests.count == tries)
    await test.close()
  }

  @Test func `a transport of the test's own runs on the virtual clock`() async throws {
    let transport = ScriptedTransport { _, number in
      TransportResponse(
        version: "1.1", status: number < 3 ? 503 : 200, fields: [:], body: .init(whole: Data("body".utf8)))
    }
    let test = try TestService(transport: transport)
    let request = DataService.Request(try #require(URL(string: Self.url)))
    let (response, passed) = try await test.clock.passing { try await test.service.response(for: request) }
    #expect(response.status == 200 && transport.requests.count == 3 && passed >= .milliseconds(750))
    #expect(test.origin.requests.isEmpty)
    await test.close()
  }

  @Test func `an entity tag that the program has is answered with 304`() async throws {
    let test = try TestService()
    let request = DataService.Request(try #require(URL(string: Self.url)))
    test.origin.answer(Self.url, with: .text("one", fields: ["ETag": "\"1\""]))
    _ = try await test.service.response(for: request)
    let second = try await test.service.response(for: request)
    #expect(second.wasValidated && second.value == Data("one".utf8))
    test.origin.answer(Self.url, with: .text("two", fields: ["ETag": "\"2\""]))
    #expect(try await test.service.response(for: request).value == Data("two".utf8))
    #expect(test.origin.requests.map { $0.fields["If-None-Match"] } == [nil, "\"1\"", "\"1\""])
    await test.close()
  }

  @Test(arguments: [204, 304]) func `a status without a body comes without one`(status: Int) async throws {
    let origin = ScriptedOrigin()
    origin.answer(Self.url, with: .text("a", status: status))
    let response = try await origin.response(
      to: TransportRequest(url: try #require(URL(string: Self.url))))
    #expect(response.status == status && response.body.length == 0)
    #expect(try await response.body.next() == nil)
  }

  @Test func `a request that no transport sends is refused, and does not count`() async throws {
    let origin = ScriptedOrigin()
    origin.answer(Self.url, with: .text("a"))
    let url = try #require(URL(string: Self.url))
    for request in [
      TransportRequest(url: url, method: .head, body: Data("b".utf8)),
      TransportRequest(url: url, method: "CONNECT"),
    ] {
      let error = await #expect(throws: DataServiceError.self, "\(request.method.rawValue)") {
        _ = try await origin.response(to: request)
      }
      #expect(error?.kind == .invalidRequest, "\(request.method.rawValue)")
    }
    #expect(origin.requests.isEmpty)
  }

  @Test func `the pauses between the tries of a load pass by default, however they fall`() async throws {
    let test = try TestService()
    let service = test.service
    // An origin for each load: what retries one may have is soon used up.
    for number in 1...50 {
      let url = "https://api\(number).example.com/news"
      test.origin.answer(url, with: .failure(.refused))
      let request = DataService.Request(try #require(URL(string: url)))
      _ = try await test.clock.passing { for await _ in service.deliveries(for: request) {} }
    }
    #expect(test.origin.requests.count == 150)
    await test.close()
  }

  @Test func `the clocks go on alike, however short the steps`() {
    let clock = VirtualClock(wallMilliseconds: 1_000, bootNanoseconds: 7)
    for number in 1...500 { _ = clock.after(.microseconds(1_999 * number)) {} }
    clock.advance(by: .seconds(1))
    #expect(clock.bootNanoseconds == 1_000_000_007 && clock.wallMilliseconds == 2_000)
    for _ in 1...3_000 { clock.advance(by: .microseconds(500)) }
    #expect(clock.bootNanoseconds == 2_500_000_007 && clock.wallMilliseconds == 3_500)
    clock.advance(by: .microseconds(700))
    clock.set(Date(timeIntervalSince1970: 60))
    clock.advance(by: .microseconds(999))
    #expect(clock.wallMilliseconds == 60_000)
    clock.advance(by: .microseconds(1))
    #expect(clock.wallMilliseconds == 60_001)
  }

  @Test func `a URL for which nothing is set is named`() async throws {
    let test = try TestService()
    let request = DataService.Request(try #require(URL(string: "https://api.example.com/other")))
    await #expect { _ = try await test.service.response(for: request) } throws: { error in
      (error as? DataServiceError)?.message.contains("https://api.example.com/other") == true
    }
    await test.close()
  }

  @Test func `the store lies in a folder of its own, which goes with the service`() async throws {
    let one = try TestService()
    let other = try TestService()
    #expect(one.folder != other.folder)
    for test in [one, other] {
      test.origin.answer(Self.url, with: .text("a"))
      _ = try await test.service.response(
        for: DataService.Request(try #require(URL(string: Self.url))))
      #expect(try await test.service.entries().count == 1, "\(test.folder)")
      #expect(FileManager.default.fileExists(atPath: test.folder), "\(test.folder)")
      await test.close()
      #expect(!FileManager.default.fileExists(atPath: test.folder), "\(test.folder)")
    }
  }

  @Test func `the clock says how old a response is`() async throws {
    let clock = VirtualClock(at: Date(timeIntervalSince1970: 1_000_000_000))
    let test = try TestService(clock: clock)
    test.origin.answer(Self.url, with: .text("a", fields: ["Cache-Control": "max-age=60"]))
    let request = DataService.Request(try #require(URL(string: Self.url)))
    #expect(try await test.service.response(for: request).receivedAt == clock.now)
    clock.advance(by: .seconds(59))
    let young = try await test.service.response(for: request, policy: .storedOnly)
    #expect(young.age == .seconds(59) && !young.isStale)
    clock.set(Date(timeIntervalSince1970: 1_000_000_060))
    #expect(try await test.service.response(for: request, policy: .storedOnly).isStale)
    await test.close()
  }
}
