import CacheStore
import DataService
import DataServiceTesting
import FixtureServer
import Guards
import PlatformFoundation
import TestSupport
import TestTurns
import Testing

@Suite("One sequence for a screen that stays open", .inTurn) struct LiveTests {
  private static let address = "http://example.test/feed"

  private func request() throws -> DataService.Request {
    var request = DataService.Request(try #require(URL(string: Self.address)))
    request.limits.retries = 0
    return request
  }

  private func answers(_ test: TestService, _ text: String) {
    test.origin.answer(Self.address, with: .text(text, fields: ["ETag": "\"\(text)\""]))
  }

  /// How long two services on a store wait for each other's commits: longer than any machine holds one up,
  /// since what is not stored is never observed.
  private static let longestWait = Duration.seconds(300)

  /// The service's store, seen from another process.
  private func writer(beside test: TestService) throws -> TestService {
    let path = test.folder + "/store.sqlite"
    return try TestService(clock: test.clock) {
      $0.store.path = path
      $0.store.busyTimeout = Self.longestWait
    }
  }

  /// Lets the short waits of the observers pass while the work is done, and no load's own.
  private func observing(
    _ test: TestService, _ work: @escaping @Sendable () async throws -> Void
  ) async throws {
    _ = try await test.clock.passing(longest: .milliseconds(500), work)
  }

  @Test func `stored, then fresh, then on demand: each once, and what is confirmed as unchanged`()
    async throws
  {
    let test = try TestService()
    let request = try request()
    answers(test, "one")
    _ = try await test.service.response(for: request)
    // Of two exchanges that begin at the same instant the store keeps the first.
    let tick = Duration.milliseconds(1)
    test.clock.advance(by: tick)
    answers(test, "two")
    try await observing(test) {
      let live = test.service.live(request)
      var deliveries = live.makeAsyncIterator()
      var changes = test.service.changes(to: request).makeAsyncIterator()
      #expect(await deliveries.next()?.outline == "stored(one)")
      #expect(await deliveries.next()?.outline == "fresh(two, changed)")
      // Observers have seen what the load has stored, and that is no news.
      while try await changes.next()??.text != "two" {}
      test.clock.advance(by: tick)
      live.refetch()
      #expect(await deliveries.next()?.outline == "fresh(two, unchanged)")
      answers(test, "three")
      test.clock.advance(by: tick)
      live.refetch()
      #expect(await deliveries.next()?.outline == "fresh(three, changed)")
      #expect(test.origin.requests.count == 4)
      await test.service.close()
      #expect(await deliveries.next() == nil)
    }
    await test.close()
  }

  @Test func `an interval asks again when it has passed since the last load, and no sooner than a second`()
    async throws
  {
    let test = try TestService()
    answers(test, "one")
    let live = test.service.live(try request(), refetch: [.every(.seconds(60)), .every(.seconds(90))])
    var deliveries = live.makeAsyncIterator()
    #expect(await deliveries.next()?.outline == "fresh(one, new)")
    await test.clock.whenPending(for: .seconds(60))
    test.clock.advance(by: .seconds(59))
    await test.clock.whenPending(for: .seconds(1))
    #expect(test.origin.requests.count == 1)
    test.clock.advance(by: .seconds(1))
    #expect(await deliveries.next()?.outline == "fresh(one, unchanged)")
    test.origin.answer(Self.address, with: .failure(.refused))
    await test.clock.whenPending(for: .seconds(60))
    test.clock.advance(by: .seconds(60))
    // A failure ends nothing.
    #expect(await deliveries.next()?.outline == "failure(refused, last one)")
    answers(test, "two")
    await test.clock.whenPending(for: .seconds(60))
    test.clock.advance(by: .seconds(60))
    #expect(await deliveries.next()?.outline == "fresh(two, changed)")
    let hurried = test.service.live(try request(), policy: .storedOnly, refetch: [.every(.zero)])
    var others = hurried.makeAsyncIterator()
    #expect(await others.next()?.outline == "stored(two)")
    await test.clock.whenPending(for: .seconds(1))
    test.clock.advance(by: .seconds(1))
    #expect(await others.next()?.outline == "fresh(two, unchanged)")
    await test.close()
  }

  @Test func `without a network it tries gently, says so once, and delivers what comes of it`() async throws {
    let test = try TestService()
    // With the store made, the observer waits for nothing as long as the pauses here.
    test.origin.answer("http://example.test/other", with: .text("other"))
    let other = DataService.Request(try #require(URL(string: "http://example.test/other")))
    _ = try await test.service.response(for: other)
    test.origin.answer(Self.address, with: .failure(.offline))
    let live = test.service.live(try request(), refetch: [.onReconnect, .every(.seconds(3600))])
    var deliveries = live.makeAsyncIterator()
    #expect(await deliveries.next()?.outline == "failure(offline)")
    for pause in [Duration.milliseconds(250), .milliseconds(500), .seconds(1)] {
      await test.clock.whenPending(for: pause)
      test.clock.advance(by: pause)
    }
    await test.clock.whenPending(for: .seconds(2))
    #expect(test.origin.requests.count == 5)
    // Who asks is told.
    live.refetch()
    #expect(await deliveries.next()?.outline == "failure(offline)")
    answers(test, "one")
    await test.clock.whenPending(for: .seconds(4))
    test.clock.advance(by: .seconds(4))
    #expect(await deliveries.next()?.outline == "fresh(one, new)")
    await test.clock.whenPending(for: .seconds(3600))
    await test.close()
  }

  @Test func `what another service stores comes as fresh, and what this program stores as stored`()
    async throws
  {
    let test = try TestService { $0.store.busyTimeout = Self.longestWait }
    let other = try writer(beside: test)
    let request = try request()
    answers(test, "one")
    answers(other, "two")
    try await observing(test) {
      var deliveries = test.service.live(request).makeAsyncIterator()
      #expect(await deliveries.next()?.outline == "fresh(one, new)")
      test.clock.advance(by: .seconds(1))
      _ = try await other.service.response(for: request, policy: .freshOnly)
      let change = try #require(await deliveries.next())
      #expect(change.outline == "fresh(two, changed)" && change.response?.source == .stored)
      test.clock.advance(by: .seconds(1))
      _ = try await other.service.response(for: request, policy: .freshOnly)
      #expect(await deliveries.next()?.outline == "fresh(two, unchanged)")
      test.clock.advance(by: .seconds(1))
      try await test.service.store(Data("mine".utf8), for: request)
      let mine = try #require(await deliveries.next())
      #expect(mine.outline == "stored(mine)" && mine.response?.isLocal == true)
      #expect(test.origin.requests.count == 1)
    }
    await test.close()
    await other.close()
  }

  @Test func `what is written while a load waits for its answer is delivered at once`() async throws {
    let test = try TestService()
    let request = try request()
    test.origin.answer(Self.address, with: .never)
    let task = Task {
      for await delivery in test.service.live(request) { return delivery.outline }
      return "nothing"
    }
    await test.clock.whenPending(for: .seconds(30))
    test.clock.advance(by: .milliseconds(500))
    try await test.service.store(Data("mine".utf8), for: request)
    try await observing(test) { #expect(await task.value == "stored(mine)") }
    await test.close()
  }

  @Test func `calls while a load is under way come to one, begun after them`() async throws {
    let (isAsked, mayAnswer) = (Gate(), Gate())
    let fixture = try ServiceFixture.scripted { _, number async throws(DataServiceError) in
      isAsked.open()
      await mayAnswer.wait()
      return .answer("body \(number)")
    }
    let live = fixture.service.live(try request())
    // Nobody reads it yet.
    live.refetch()
    let task = Task {
      var seen: [String] = []
      for await delivery in live {
        seen.append(delivery.outline)
        if seen.count == 2 { break }
      }
      return seen
    }
    await isAsked.wait()
    for _ in 1...3 { live.refetch() }
    mayAnswer.open()
    #expect(await task.value == ["fresh(body 1, new)", "fresh(body 2, changed)"])
    await fixture.service.close()
    #expect(fixture.requests.count == 2)
  }

  @Test func `the service's end is its end, and without words`() async throws {
    let test = try TestService()
    test.origin.answer(Self.address, with: .never)
    let live = test.service.live(try request())
    let task = Task {
      var all: [String] = []
      for await delivery in live { all.append(delivery.outline) }
      return all
    }
    await test.clock.whenPending(for: .seconds(30))
    await test.close()
    #expect(await task.value == [])
    var later = live.makeAsyncIterator()
    #expect(await later.next() == nil)
  }

  @Test func `a task that is cancelled, and a loop that is left, ask nothing more`() async throws {
    let test = try TestService()
    answers(test, "one")
    let live = test.service.live(try request(), refetch: [.every(.seconds(60))])
    let hasOne = Gate()
    let task = Task {
      var all: [String] = []
      for await delivery in live {
        all.append(delivery.outline)
        hasOne.open()
      }
      return all
    }
    await hasOne.wait()
    await test.clock.whenPending(for: .seconds(60))
    task.cancel()
    #expect(await task.value == ["fresh(one, new)"])
    while test.clock.pendingDelays.contains(.seconds(60)) { await Task.yield() }
    var left: [String] = []
    for await delivery in live {
      left.append(delivery.outline)
      guard left.count == 2 else { continue }
      await test.clock.whenPending(for: .seconds(60))
      break
    }
    #expect(left == ["stored(one)", "fresh(one, unchanged)"])
    while test.clock.pendingDelays.contains(.seconds(60)) { await Task.yield() }
    live.refetch()
    await test.close()
    #expect(test.origin.requests.count == 2)
  }

  @Test func `a load that hangs ends with its reader`() async throws {
    let (isAsked, isLeft) = (Gate(), Gate())
    let fixture = try ServiceFixture.scripted { _, _ async throws(DataServiceError) in
      await withTaskCancellationHandler {
        isAsked.open()
        await isLeft.wait()
      } onCancel: {
        isLeft.open()
      }
      throw DataServiceError(.cancelled, "cancelled")
    }
    let live = fixture.service.live(try request())
    let task = Task { for await _ in live {} }
    await isAsked.wait()
    task.cancel()
    await isLeft.wait()
    await task.value
    await fixture.service.close()
  }

  @Test func `an answer that does not decode is a failure, replaces nothing, and ends nothing`() async throws
  {
    struct Feed: Codable, Sendable, Equatable { var edition: Int }
    let test = try TestService()
    test.origin.answer(Self.address, with: try .json(Feed(edition: 1)))
    let live = test.service.live(try request(), as: Feed.self)
    var deliveries = live.makeAsyncIterator()
    #expect(await deliveries.next()?.value == Feed(edition: 1))
    test.origin.answer(Self.address, with: .text("sorry"))
    live.refetch()
    #expect(await deliveries.next()?.error?.kind == .undecodable)
    test.origin.answer(Self.address, with: try .json(Feed(edition: 2)))
    live.refetch()
    #expect(await deliveries.next()?.value == Feed(edition: 2))
    let lengths = test.service.live(try request(), policy: .storedOnly) { $0.value.count }
    var numbers = lengths.makeAsyncIterator()
    #expect(await numbers.next()?.value == #"{"edition":2}"#.utf8.count)
    await test.close()
  }

  @Test func `a request that can never be sent is a failure, and waits for the end`() async throws {
    let test = try TestService()
    let url = try #require(URL(string: "mailto:a@example.test"))
    var deliveries = test.service.live(.init(url)).makeAsyncIterator()
    #expect(await deliveries.next()?.error?.kind == .invalidRequest)
    await test.close()
    #expect(await deliveries.next() == nil)
  }

  // MARK: - Who is signed in

  @Test(
    "a sign-out is its last delivery, and nothing of the account is asked for or stored again",
    arguments: [false, true])
  func signedOut(isElsewhere: Bool) async throws {
    let test = try TestService { $0.store.busyTimeout = Self.longestWait }
    let other = try writer(beside: test)
    var request = try request()
    request.account = .named("ada")
    answers(test, "one")
    let asked = request
    try await observing(test) {
      let live = test.service.live(asked, refetch: [.every(.seconds(1)), .onReconnect])
      var deliveries = live.makeAsyncIterator()
      #expect(await deliveries.next()?.outline == "fresh(one, new)")
      // By then the observer has read whose account it is.
      var changes = test.service.changes(to: asked).makeAsyncIterator()
      while try await changes.next()??.text != "one" {}
      try await (isElsewhere ? other : test).service.signOut(.named("ada"))
      live.refetch()
      var last = await deliveries.next()
      // What was asked for before another process's sign-out may have been answered.
      while isElsewhere, last?.response != nil { last = await deliveries.next() }
      #expect(last?.outline == "failure(signedOut)")
      live.refetch()
      #expect(await deliveries.next() == nil)
      #expect(try await test.service.entries().isEmpty)
    }
    await test.close()
    await other.close()
  }

  @Test func `a sign-out while a load is under way is said once`() async throws {
    let (isAsked, never) = (Gate(), Gate())
    let fixture = try ServiceFixture.scripted { _, number async throws(DataServiceError) in
      if number > 1 {
        isAsked.open()
        await never.wait()
      }
      return .answer("body \(number)")
    }
    var request = try request()
    request.account = .named("ada")
    let live = fixture.service.live(request)
    let task = Task {
      var seen: [String] = []
      for await delivery in live {
        seen.append(delivery.outline)
        if seen.count == 1 { live.refetch() }
      }
      return seen
    }
    await isAsked.wait()
    try await fixture.service.signOut(.named("ada"))
    #expect(await task.value == ["fresh(body 1, new)", "failure(signedOut)"])
    never.open()
    await fixture.service.close()
  }

  // MARK: - What a further load is

  @Test(
    "an error page is a failure from the second load on too, while something is stored",
    arguments: [429, 502])
  func errorPage(status: Int) async throws {
    let test = try TestService()
    answers(test, "data")
    let live = test.service.live(try request())
    var deliveries = live.makeAsyncIterator()
    #expect(await deliveries.next()?.outline == "fresh(data, new)")
    test.origin.answer(Self.address, with: .text("<h1>no</h1>", status: status))
    for _ in 1...2 {
      live.refetch()
      #expect(await deliveries.next()?.outline == "failure(status, last data)")
    }
    // Under freshOnly it is an answer, in the first load and in every further one.
    let fresh = test.service.live(try request(), policy: .freshOnly)
    var answers = fresh.makeAsyncIterator()
    #expect(await answers.next()?.outline.hasPrefix("fresh(<h1>no</h1>") == true)
    await test.close()
  }

  @Test func `what others have invalidated is asked for again, once`() async throws {
    let test = try TestService { $0.store.busyTimeout = Self.longestWait }
    let other = try writer(beside: test)
    let request = try request()
    answers(test, "one")
    try await observing(test) {
      var deliveries = test.service.live(request).makeAsyncIterator()
      #expect(await deliveries.next()?.outline == "fresh(one, new)")
      for (service, text) in [(test, "two"), (other, "three")] {
        test.clock.advance(by: .seconds(1))
        answers(test, text)
        try await service.service.invalidate(test.service.selection(for: request))
        #expect(await deliveries.next()?.outline == "fresh(\(text), changed)")
      }
      #expect(test.origin.requests.count == 3)
    }
    await test.close()
    await other.close()
  }

  @Test func `each answer is decoded once`() async throws {
    let decoded = Guarded<[String]>([])
    let test = try TestService()
    answers(test, "0")
    let request = try request()
    _ = try await test.service.response(for: request)
    test.clock.advance(by: .seconds(1))
    try await observing(test) {
      let live = test.service.live(request) { response in
        decoded.withLock { $0.append(response.text) }
        return response.text
      }
      var deliveries = live.makeAsyncIterator()
      #expect(await deliveries.next()?.value == "0")
      #expect(await deliveries.next()?.value == "0")
      var changes = test.service.changes(to: request).makeAsyncIterator()
      for number in 1...5 {
        test.clock.advance(by: .seconds(1))
        answers(test, "\(number)")
        live.refetch()
        #expect(await deliveries.next()?.value == "\(number)")
        while try await changes.next()??.text != "\(number)" {}
      }
    }
    await test.close()
    #expect(decoded.withLock { $0 } == ["0", "0", "1", "2", "3", "4", "5"])
  }

  @Test func `ten of them make one exchange a beat`() async throws {
    let test = try TestService()
    answers(test, "one")
    let request = try request()
    let shown = Guarded([String?](repeating: nil, count: 10))
    try await observing(test) {
      let screens = (0..<10).map { index in
        let live = test.service.live(request, refetch: [.every(.seconds(60))])
        return Task { @Sendable in
          for await delivery in live {
            let text = delivery.response?.text
            shown.withLock { $0[index] = text }
          }
        }
      }
      var counts: [Int] = []
      for text in ["one", "two", "three"] {
        while shown.withLock({ $0.contains { $0 != text } }) { await Task.yield() }
        // Each waits for its next beat: the service's own timers are shorter, or longer.
        while test.clock.pendingDelays.count(where: { $0 > .seconds(50) && $0 <= .seconds(60) }) < 10 {
          await Task.yield()
        }
        counts.append(test.origin.requests.count)
        answers(test, text == "one" ? "two" : "three")
        if text != "three" { test.clock.advance(by: .seconds(60)) }
      }
      // Who looked just before the exchange of the others was over makes one more.
      let beats = [counts[1] - counts[0], counts[2] - counts[1]]
      #expect(beats.allSatisfy { (1...3).contains($0) }, "\(beats)")
      for screen in screens { screen.cancel() }
      for screen in screens { await screen.value }
    }
    await test.close()
  }
}
