import DataService
import DataServiceTesting
import Dispatch
import FixtureServer
import Launch
import PlatformFoundation
import Synchronization
import TestSupport
import TestTurns
import Testing

@Suite("The forms of a load in an account's name", .inTurn) struct SessionFormsTests {
  private struct Feed: Codable, Sendable, Equatable { var edition: Int }

  private let url = URL(string: "http://origin.test/feed")

  private func request() throws -> DataService.Request {
    var request = DataService.Request(try #require(url))
    request.limits.retries = 0
    return request
  }

  /// The origin renews what it refuses, and numbers its editions.
  private func session(on fixture: ServiceFixture) async -> Session {
    var configuration = Session.Configuration()
    configuration.renew = { _ in SessionTests.new }
    let session = Session(
      service: fixture.service, credentials: MemoryCredentials(SessionTests.old), configuration: configuration
    )
    await session.start()
    return session
  }

  private func fixture() throws -> ServiceFixture {
    try .scripted { request, number in
      request.fields["Authorization"] == "Bearer new"
        ? .answer(#"{"edition":\#(number)}"#) : .answer("who are you?", status: 401)
    }
  }

  @Test func `a sequence, one response and a look, raw and decoded, with the token and a renewed one`()
    async throws
  {
    let fixture = try fixture()
    let session = await session(on: fixture)
    var editions: [Int?] = []
    for await delivery in session.deliveries(for: try request(), as: Feed.self) {
      editions.append(delivery.value?.edition)
    }
    for await delivery in session.deliveries(for: try request(), decode: { $0.text.count }) {
      editions.append(delivery.value)
    }
    editions.append(try await session.response(for: try request(), as: Feed.self).value.edition)
    editions.append(try await session.response(for: try request(), decode: { $0.text.count }).value)
    #expect(editions == [2, 13, 13, 4, 13])
    #expect(try await session.response(for: try request(), policy: .storedOnly).text == #"{"edition":5}"#)
    #expect(look(try request(), in: session) == [5, 5])
    #expect(
      fixture.requests.map { $0.fields["Authorization"] } == ["Bearer old"]
        + .init(repeating: "Bearer new", count: 4))
    try await session.signOut()
    #expect(look(try request(), in: session) == [nil, nil])
    await #expect { try await session.response(for: try request()) } throws: {
      ($0 as? DataServiceError)?.kind == .signedOut
    }
    await fixture.service.close()
  }

  private func look(_ request: DataService.Request, in session: Session) -> [Int?] {
    [
      session.storedResponse(for: request).flatMap {
        try? JSONDecoder().decode(Feed.self, from: $0.value).edition
      },
      session.storedResponse(for: request, as: Feed.self)?.value.edition,
    ]
  }

  @Test func `callbacks on a queue, with the token and a renewed one`() async throws {
    let fixture = try fixture()
    let session = await session(on: fixture)
    let editions = Mutex<[Int?]>([])
    let load = session.load(try request(), as: Feed.self, queue: DispatchQueue(label: "callbacks")) {
      delivery in
      editions.withLock { $0.append(delivery.value?.edition) }
    }
    await load.finished()
    #expect(editions.withLock { $0 } == [2])
    await fixture.service.close()
  }

  @Test func `what is anticipated is sent with the token, and is the load's`() async throws {
    let fixture = try fixture()
    let session = await session(on: fixture)
    // The old token is refused, so that the load repeats with a new one what the prefetch has brought.
    let first = session.anticipate(try request(), as: Feed.self)
    var editions: [Int?] = []
    for await delivery in first.commit() { editions.append(delivery.value?.edition) }
    let second = session.anticipate(try request(), as: Feed.self)
    for await delivery in second.commit() { editions.append(delivery.value?.edition) }
    #expect(editions == [2, 2, 3])
    #expect(
      fixture.requests.map { $0.fields["Sec-Purpose"] } == ["prefetch", nil, "prefetch"])
    try await session.signOut()
    let none = session.anticipate(try request(), as: Feed.self)
    #expect(!none.isHeld)
    var last: [DataServiceError.Kind?] = []
    for await delivery in none.commit() { last.append(delivery.error?.kind) }
    #expect(last == [.signedOut])
    #expect(fixture.requests.count == 3)
    await fixture.service.close()
  }

  @Test func `what is anticipated for one account is not the next one's`() async throws {
    let fixture = try ServiceFixture.scripted { request, _ in
      .answer(request.fields["Authorization"] == "Bearer b" ? "bob's" : "alice's")
    }
    let session = await session(on: fixture)
    let anticipation = session.anticipate(try request())
    await fixture.settled()
    try await session.signIn(Credential(account: "bob", token: "b"))
    var texts: [String?] = []
    for await delivery in anticipation.commit() { texts.append(delivery.response?.text) }
    #expect(texts == ["bob's"])
    await fixture.service.close()
  }

  @Test func `what a live screen has not read is not handed out after the sign-out`() async throws {
    let fixture = try ServiceFixture.scripted { _, number in .answer("\(number)") }
    var mine = try request()
    mine.account = .named("alice")
    _ = try await fixture.service.response(for: mine)
    let live = fixture.service.live(mine)
    var iterator = live.makeAsyncIterator()
    #expect(await iterator.next()?.response?.text == "1")
    // The fresh one waits to be read.
    await fixture.settled()
    try await fixture.service.signOut(.named("alice"))
    #expect(await iterator.next()?.error?.kind == .signedOut)
    #expect(await iterator.next() == nil)
    #expect(fixture.requests.count == 2)
    await fixture.service.close()
  }

  @Test func `a live screen waits for the launch, renews, sends later tokens, and ends at the sign-out`()
    async throws
  {
    let fixture = try fixture()
    var configuration = Session.Configuration()
    configuration.renew = { _ in SessionTests.new }
    let session = Session(
      service: fixture.service, credentials: MemoryCredentials(SessionTests.old), configuration: configuration
    )
    let live = session.live(try request(), as: Feed.self)
    var iterator = live.makeAsyncIterator()
    async let started: Void = session.start()
    #expect(await iterator.next()?.value?.edition == 2)
    await started
    live.refetch()
    #expect(await iterator.next()?.value?.edition == 3)
    try await session.signOut()
    #expect(await iterator.next()?.error?.kind == .signedOut)
    #expect(await iterator.next() == nil)
    #expect(
      fixture.requests.map { $0.fields["Authorization"] } == ["Bearer old", "Bearer new", "Bearer new"])
    #expect(try await fixture.service.entries().isEmpty)
    await fixture.service.close()
  }

  @Test func `a live screen of an account that another replaces ends with what is stored next`() async throws
  {
    let fixture = try fixture()
    let session = await session(on: fixture)
    var iterator = session.live(try request(), as: Feed.self).makeAsyncIterator()
    #expect(await iterator.next()?.value?.edition == 2)
    let stored = try #require(session.requestAsStored(try request()))
    try await session.signIn(Credential(account: "bob", token: "b"))
    try await fixture.service.store(Data(#"{"edition":9}"#.utf8), for: stored)
    #expect(await iterator.next()?.error?.kind == .signedOut)
    #expect(await iterator.next() == nil)
    await fixture.service.close()
  }

  @Test func `changes wait for the launch, and are the account's`() async throws {
    let fixture = try fixture()
    let session = Session(service: fixture.service, credentials: MemoryCredentials(SessionTests.new))
    var stored = try request()
    stored.account = .named("alice")
    try await fixture.service.store(Data(#"{"edition":7}"#.utf8), for: stored)
    var iterator = session.changes(to: try request(), as: Feed.self).makeAsyncIterator()
    async let started: Void = session.start()
    let first = try await iterator.next()
    #expect(first??.value.edition == 7)
    await started
    await fixture.service.close()
  }

  @Test func `a plan is loaded with the token and a renewed one`() async throws {
    let fixture = try fixture()
    let session = await session(on: fixture)
    let run = session.preload(PreloadPlan([PreloadStep("feed", try request(), as: Feed.self)]))
    #expect(await run.outcome()?.value("feed", as: Feed.self)?.edition == 2)
    await run.finished()
    await fixture.service.close()
  }

  @Test func `changes of nobody are refused`() async throws {
    let fixture = try fixture()
    let session = Session(service: fixture.service, credentials: MemoryCredentials(nil))
    await session.start()
    let changes = session.changes(to: try request())
    await #expect { for try await _ in changes {} } throws: {
      ($0 as? DataServiceError)?.kind == .signedOut
    }
    await fixture.service.close()
  }

  @Test func `a sequence that is left, and a task that is cancelled, cancel the load`() async throws {
    let (isAsked, isLeft) = (Gate(), Gate())
    let fixture = try ServiceFixture.scripted { request, _ async throws(DataServiceError) in
      await withTaskCancellationHandler {
        isAsked.open()
        await isLeft.wait()
      } onCancel: {
        isLeft.open()
      }
      throw DataServiceError(.cancelled, "cancelled")
    }
    let session = await session(on: fixture)
    let asked = try request()
    let task = Task { try await session.response(for: asked) }
    await isAsked.wait()
    task.cancel()
    await isLeft.wait()
    let result = await task.result
    #expect { try result.get() } throws: { ($0 as? DataServiceError)?.isCancelled == true }
    await fixture.service.close()
  }

  @Test func `the service itself has its own forms where both are seen`() async throws {
    let fixture = try ServiceFixture.scripted { _, _ in .answer("body") }
    let source: any DeliverySource = fixture.service
    #expect(try await source.response(for: try request()).text == "body")
    #expect(try await fixture.service.response(for: try request()).text == "body")
    await fixture.service.close()
  }
}
