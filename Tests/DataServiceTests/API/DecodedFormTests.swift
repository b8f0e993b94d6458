import DataService
import DataServiceTesting
import Dispatch
import FixtureServer
import PlatformFoundation
import Synchronization
import TestSupport
import Testing
import TestTurns

/// Every form of load takes a type or a decoder, and none lets a body that does not decode replace what is stored.
@Suite("Decoding in every form", .inTurn) struct DecodedFormTests {
  private struct Feed: Decodable, Sendable, Equatable { var items: [String] }
  typealias Progress = @Sendable (DataService.TransferProgress) -> Void

  /// A form of load: the names of the items it delivers, or kinds of failures.
  struct Form: Sendable, CustomTestStringConvertible {
    let testDescription: String
    let load: @Sendable (DataService, DataService.Request, FetchPolicy, @escaping Progress) async -> [String]
  }

  private static func said(_ delivery: DataService.Delivery<Feed>) -> String {
    delivery.value?.items.joined() ?? delivery.error?.kind.name ?? ""
  }

  private static func said(_ response: () async throws -> DataService.Response<Feed>) async -> [String] {
    do { return [try await response().value.items.joined()] } catch {
      return [(error as? DataServiceError)?.kind.name ?? "\(error)"]
    }
  }

  private static func said(_ deliveries: DataService.Deliveries<Feed>) async -> [String] {
    var all: [String] = []
    for await delivery in deliveries { all.append(said(delivery)) }
    return all
  }

  @Sendable private static func decode(_ response: DataService.Response<Data>) throws -> Feed {
    try JSONDecoder().decode(Feed.self, from: response.value)
  }

  /// Waits for a load that calls back.
  private static func called(
    _ begin: (@escaping @Sendable (DataService.Delivery<Feed>) -> Void) -> DataService.Load
  ) async -> [String] {
    let all = Mutex<[String]>([])
    let load = begin { delivery in all.withLock { $0.append(said(delivery)) } }
    await load.finished()
    return all.withLock { $0 }
  }

  private static let queue = DispatchQueue(label: "callbacks")

  static let forms: [Form] = [
    Form(testDescription: "deliveries as") { service, request, policy, progress in
      await said(service.deliveries(for: request, as: Feed.self, policy: policy, progress: progress))
    },
    Form(testDescription: "deliveries decode") { service, request, policy, progress in
      await said(service.deliveries(for: request, policy: policy, progress: progress, decode: decode))
    },
    Form(testDescription: "response as") { service, request, policy, progress in
      await said {
        try await service.response(for: request, as: Feed.self, policy: policy, progress: progress)
      }
    },
    Form(testDescription: "response decode") { service, request, policy, progress in
      await said {
        try await service.response(for: request, policy: policy, progress: progress, decode: decode)
      }
    },
    Form(testDescription: "load as, on a queue") { service, request, policy, progress in
      await called {
        service.load(request, as: Feed.self, policy: policy, queue: queue, progress: progress, deliver: $0)
      }
    },
    Form(testDescription: "load decode, on a queue") { service, request, policy, progress in
      await called {
        service.load(request, policy: policy, queue: queue, progress: progress, decode: decode, deliver: $0)
      }
    },
    Form(testDescription: "load as, on the main actor") { service, request, policy, progress in
      await called { deliver in
        service.load(
          request, as: Feed.self, policy: policy, progress: { progress($0) }, deliver: { deliver($0) })
      }
    },
    Form(testDescription: "load decode, on the main actor") { service, request, policy, progress in
      await called { deliver in
        service.load(
          request, policy: policy, progress: { progress($0) }, decode: decode, deliver: { deliver($0) })
      }
    },
  ]

  private static let good = #"{"items":["a"]}"#

  /// A service whose origin gives these bodies, one after the other.
  private func fixture(_ bodies: String...) throws -> (ServiceFixture, DataService.Request) {
    var request = DataService.Request(try #require(URL(string: "http://origin.test/feed")))
    request.limits.retries = 0
    return (try ServiceFixture.make(bodies: bodies), request)
  }

  @Test(
    "the value comes, progress is told, and a body that does not decode replaces nothing", arguments: forms)
  func form(_ form: Form) async throws {
    let (fixture, request) = try fixture(Self.good, "<html>")
    let received = Mutex<[Int64]>([])
    let progress: Progress = { update in received.withLock { $0.append(update.received) } }
    #expect(await form.load(fixture.service, request, .freshOnly, progress) == ["a"])
    #expect(received.withLock { $0 } == [Int64(Self.good.utf8.count)])
    let before = try fixture.store.rows("SELECT * FROM last_request")
    #expect(await form.load(fixture.service, request, .freshOnly, progress) == ["undecodable"])
    #expect(try fixture.store.rows("SELECT * FROM last_request") == before)
    #expect(await form.load(fixture.service, request, .storedOnly, progress) == ["a"])
    await fixture.service.close()
  }

  @Test
  func `the stored response is decoded at once, and one that does not decode is told of and counts as none`()
    async throws
  {
    let (fixture, request) = try fixture(Self.good, "<html>")
    _ = try await fixture.service.response(for: request, policy: .freshOnly)
    #expect(stored(fixture, request) == ["a", "a"])
    _ = try await fixture.service.response(for: request, policy: .freshOnly)
    #expect(stored(fixture, request) == [nil, nil])
    #expect(fixture.warnings.map(\.kind) == [.undecodable, .undecodable])
    var refusing = request
    refusing.acceptedStatuses = 201...299
    #expect(fixture.warnings.count == 2)
    #expect(look(fixture, refusing) == nil)
    await fixture.service.close()
  }

  private struct Old: Decodable, Sendable { var edition: Int }
  private struct New: Decodable, Sendable, Equatable {
    var edition: Int
    var headline: String
  }

  @Test(
    "a stored body that a load's decoder refuses lends it no validator",
    arguments: [
      .storedThenFresh, .storedThenFresh(ifOlderThan: .seconds(9)), .freshOnly, .freshElseStored(),
      .storedElseFresh(maxAge: .seconds(9)), .http,
    ] as [FetchPolicy])
  func changedType(policy: FetchPolicy) async throws {
    let body = Mutex(#"{"edition":1}"#)
    let fields: HTTPFields = ["ETag": "\"1\"", "Cache-Control": "max-age=0"]
    let fixture = try ServiceFixture.scripted { request, _ in
      request.fields["If-None-Match"] == "\"1\""
        ? .answer("", status: 304, fields) : .answer(body.withLock { $0 }, fields)
    }
    var request = DataService.Request(try #require(URL(string: "http://origin.test/news")))
    request.limits.retries = 0
    #expect(try await fixture.service.response(for: request, as: Old.self).value.edition == 1)
    // The new release of the program wants more of the record, whose validator is of its time of change.
    body.withLock { $0 = #"{"edition":1,"headline":"hi"}"# }
    let wanted = New(edition: 1, headline: "hi")
    #expect(try await fixture.service.response(for: request, as: New.self, policy: policy).value == wanted)
    #expect(fixture.requests.count <= 3 && fixture.requests.last?.fields["If-None-Match"] == nil)
    let stored = try await fixture.service.response(for: request, as: New.self, policy: .storedOnly)
    #expect(stored.value == wanted)
    // What it can use is validated as ever.
    _ = try await fixture.service.response(for: request, as: New.self, policy: .freshOnly)
    #expect(fixture.requests.last?.fields["If-None-Match"] == "\"1\"")
    await fixture.service.close()
  }

  private func stored(_ fixture: ServiceFixture, _ request: DataService.Request) -> [String?] {
    [
      fixture.service.storedResponse(for: request, as: Feed.self)?.value.items.joined(),
      fixture.service.storedResponse(for: request, decode: Self.decode)?.value.items.joined(),
    ]
  }

  private func look(_ fixture: ServiceFixture, _ request: DataService.Request) -> String? {
    fixture.service.storedResponse(for: request)?.text
  }

  @Test func `changes are decoded, and what does not decode counts as none`() async throws {
    let expected = [nil, "a", nil, "b"]
    #expect(try await changes { $0.changes(to: $1, as: Feed.self) } == expected)
    #expect(try await changes { $0.changes(to: $1, decode: Self.decode) } == expected)
  }

  /// What is observed while three bodies come one after the other.
  private func changes<Changes: AsyncSequence<DataService.Response<Feed>?, DataServiceError>>(
    _ observe: (DataService, DataService.Request) -> Changes
  ) async throws -> [String?] {
    let (fixture, request) = try fixture(Self.good, "<html>", #"{"items":["b"]}"#)
    var seen: [String?] = []
    for try await response in observe(fixture.service, request) {
      seen.append(response?.value.items.joined())
      if seen.count == 4 { break }
      _ = try await fixture.service.response(for: request, policy: .freshOnly)
    }
    await fixture.service.close()
    return seen
  }

  @Test func `what is anticipated is decoded, or comes as it is`() async throws {
    let (fixture, request) = try fixture(Self.good, Self.good, Self.good)
    let typed = fixture.service.anticipate(request, as: Feed.self, holdFor: .seconds(600))
    await typed.finished()
    #expect(await Self.said(typed.commit()).last == "a")
    let plain = fixture.service.anticipate(request, holdFor: .seconds(600))
    await plain.finished()
    var bodies: [String?] = []
    for await delivery in plain.commit() { bodies.append(delivery.response?.text) }
    #expect(bodies == [Self.good, Self.good])
    await fixture.service.close()
  }

  @Test func `an anticipation tells its progress once it is wanted`() async throws {
    let mayAnswer = Gate()
    let fixture = try ServiceFixture.scripted { _, _ async throws(DataServiceError) in
      await mayAnswer.wait()
      return .answer("body")
    }
    let url = try #require(URL(string: "http://origin.test/feed"))
    let anticipation = fixture.service.anticipate(.init(url), holdFor: .seconds(600))
    await fixture.traced("request to")
    let received = Mutex<[Int64]>([])
    let deliveries = anticipation.commit { update in received.withLock { $0.append(update.received) } }
    mayAnswer.open()
    var bodies: [String?] = []
    for await delivery in deliveries { bodies.append(delivery.response?.text) }
    #expect(bodies == ["body"])
    #expect(received.withLock { $0 } == [4])
    await fixture.service.close()
  }

  @Test func `callbacks on a queue: no decoder runs on the thread that began the load`() async throws {
    let fixture = try ServiceFixture.scripted { _, _ in .answer(#"{"items":["a"]}"#) }
    let url = try #require(URL(string: "http://origin.test/feed"))
    _ = await fixture.deliveries(url)
    let returned = DispatchSemaphore(value: 0)
    let threads = Mutex<[DispatchTimeoutResult]>([])
    let load = fixture.service.load(
      DataService.Request(url), policy: .storedOnly, queue: Self.queue,
      decode: { response in
        // Would wait in vain on the thread that calls `load`.
        let result = returned.wait(timeout: .now() + 20)
        threads.withLock { $0.append(result) }
        return try Self.decode(response)
      }, deliver: { _ in })
    returned.signal()
    await load.finished()
    #expect(threads.withLock { $0 } == [.success])
    await fixture.service.close()
  }
}
