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

/// Laws 1 to 3: what is delivered, in what order, and what it waits for.
@Suite("Laws 1 to 3: stored first, in order, together", .inTurn) struct LawsOfDeliveryTests {
  @Test func `law 1: stored first, while the network says nothing at all`() async throws {
    let mayAnswer = Gate()
    let fixture = try ServiceFixture.scripted { _, number async throws(DataServiceError) in
      if number > 1 { await mayAnswer.wait() }
      return .answer(number == 1 ? "old" : "new")
    }
    let url = try #require(URL(string: "http://origin.test/item"))
    #expect(await fixture.outline(url) == ["fresh(old, new)"])

    var seen: [String] = []
    for await delivery in fixture.service.deliveries(for: fixture.request(url)) {
      seen.append(delivery.outline)
      // Only once the stored response is in the caller's hands does the network get to answer.
      mayAnswer.open()
    }
    #expect(seen == ["stored(old)", "fresh(new, changed)"])
  }

  @Test func `law 1: the synchronous look answers without any exchange`() async throws {
    let fixture = try ServiceFixture.scripted { _, _ in .answer("kept") }
    let url = try #require(URL(string: "http://origin.test/item"))
    #expect(look(fixture, url) == nil)
    _ = await fixture.outline(url)
    #expect(look(fixture, url) == "kept")
    #expect(fixture.requests.count == 1)
  }

  private func look(_ fixture: ServiceFixture, _ url: URL) -> String? {
    fixture.service.storedResponse(for: .init(url))?.text
  }

  @Test func `law 1: the stored delivery is made before a package load returns`() async throws {
    let mayAnswer = Gate()
    let fixture = try ServiceFixture.scripted { _, number async throws(DataServiceError) in
      if number > 1 { await mayAnswer.wait() }
      return .answer("body")
    }
    let url = try #require(URL(string: "http://origin.test/item"))
    _ = await fixture.outline(url)
    let seen = Mutex<[String]>([])
    let load = fixture.service.start(
      fixture.request(url), policy: .storedThenFresh,
      deliver: { delivery in
        if case .stored(let response) = delivery {
          seen.withLock { $0.append(String(decoding: response.value.whole ?? Data(), as: UTF8.self)) }
        }
      }, ended: {})
    #expect(seen.withLock { $0 } == ["body"])
    mayAnswer.open()
    await load.finished()
  }

  @Test func `law 2: in order, once, on the main actor, on a queue and as a sequence`() async throws {
    let fixture = try ServiceFixture.scripted { _, number in .answer("body \(number)") }
    let url = try #require(URL(string: "http://origin.test/item"))
    #expect(await fixture.outline(url) == ["fresh(body 1, new)"])
    #expect(await fixture.outline(url) == ["stored(body 1)", "fresh(body 2, changed)"])

    let onQueue = Mutex<[String]>([])
    let queue = DispatchQueue(label: "callbacks")
    let load = fixture.service.load(fixture.request(url), queue: queue) { delivery in
      onQueue.withLock { $0.append(delivery.outline) }
    }
    await load.finished()
    await drained(queue)
    #expect(onQueue.withLock { $0 } == ["stored(body 2)", "fresh(body 3, changed)"])

    let onMain = MainActorLog()
    let mainLoad = fixture.service.load(fixture.request(url)) { delivery in onMain.add(delivery.outline) }
    await mainLoad.finished()
    #expect(await onMain.drained() == ["stored(body 3)", "fresh(body 4, changed)"])
  }

  @Test func `law 2: a failure ends the deliveries and carries the last known response`() async throws {
    let fixture = try ServiceFixture.scripted { _, number throws(DataServiceError) in
      if number > 1 { throw DataServiceError(.refused, "refused") }
      return .answer("body")
    }
    let url = try #require(URL(string: "http://origin.test/item"))
    _ = await fixture.outline(url)
    #expect(await fixture.outline(url) == ["stored(body)", "failure(refused, last body)"])
    #expect(await fixture.outline(url, policy: .freshOnly) == ["failure(refused, last body)"])
    #expect(
      await fixture.outline(url, policy: .freshElseStored(within: nil)) == [
        "stored(body)", "failure(refused, last body)",
      ])
    #expect(await fixture.outline(url, policy: .storedOnly) == ["stored(body)"])
    let response = try await fixture.service.response(
      for: fixture.request(url), policy: .freshElseStored(within: nil))
    #expect(response.text == "body")
  }

  @Test func `law 3: the exchange does not wait for the caller to take the stored delivery`() async throws {
    let asked = Gate()
    let fixture = try ServiceFixture.scripted { _, number in
      if number == 2 { asked.open() }
      return .answer("body \(number)")
    }
    let url = try #require(URL(string: "http://origin.test/item"))
    _ = await fixture.outline(url)
    let queue = DispatchQueue(label: "callbacks")
    let seen = Mutex<[String]>([])
    // The stored callback does not return before the origin has been asked.
    let load = fixture.service.load(fixture.request(url), queue: queue) { delivery in
      if case .stored = delivery { asked.wait() }
      seen.withLock { $0.append(delivery.outline) }
    }
    await load.finished()
    await drained(queue)
    #expect(seen.withLock { $0 } == ["stored(body 1)", "fresh(body 2, changed)"])
  }

  @Test func `law 3: a fresh response complete before the store has answered waits for it`() async throws {
    let clock = VirtualClock()
    let transport = ScriptedTransport { _, number in .answer("body \(number)") }
    let fixture = try ServiceFixture(transport: transport, timekeeper: clock) {
      $0.timeouts = InternalTimeouts()
    }
    let url = try #require(URL(string: "http://origin.test/item"))
    _ = await fixture.outline(url)

    fixture.service.store.suspendForTesting()
    async let outline = fixture.outline(url)
    await clock.whenPending(for: .milliseconds(20))
    clock.advance(by: .milliseconds(20))
    // Past the opening of the lock file, whose wait the clock would else cut short.
    await fixture.traced("no other process", times: 2)
    // The exchange is unconditional; its row waits for the store, 250 ms of the clock.
    await clock.whenPending(for: .milliseconds(250))
    clock.advance(by: .milliseconds(250))
    // Now the answer is complete, and its delivery waits for the store, up to 250 ms more.
    await fixture.traced("waiting for the store")
    fixture.service.store.resumeForTesting()
    #expect(await outline == ["stored(body 1)", "fresh(body 2, changed)"])
    #expect(transport.requests.last?.fields.contains("If-None-Match") == false)
  }

  @Test func `law 3: after 250 ms more the fresh response is delivered alone`() async throws {
    let clock = VirtualClock()
    let transport = ScriptedTransport { _, number in .answer("body \(number)") }
    let fixture = try ServiceFixture(transport: transport, timekeeper: clock) {
      $0.timeouts = InternalTimeouts()
    }
    let url = try #require(URL(string: "http://origin.test/item"))
    _ = await fixture.outline(url)

    fixture.service.store.suspendForTesting()
    let seen = Mutex<[String]>([])
    let fresh = Gate()
    let load = fixture.service.load(fixture.request(url), queue: DispatchQueue(label: "callbacks")) {
      delivery in
      seen.withLock { $0.append(delivery.outline) }
      fresh.open()
    }
    let advancing = Task {
      while !fresh.isOpen {
        await clock.whenPending()
        clock.advance(by: .milliseconds(20))
      }
    }
    await fresh.wait()
    // A last timer, so that the task that moves the clock sees that it is done.
    _ = clock.after(.milliseconds(1)) {}
    await advancing.value
    fixture.service.store.resumeForTesting()
    await load.finished()
    #expect(seen.withLock { $0 } == ["fresh(body 2, new)"])
  }

  private func drained(_ queue: DispatchQueue) async {
    await withCheckedContinuation { continuation in queue.async { continuation.resume() } }
  }
}

/// What callbacks on the main actor said.
@MainActor private final class MainActorLog {
  private var lines: [String] = []
  nonisolated init() {}
  func add(_ line: String) { lines.append(line) }
  func drained() async -> [String] {
    await withCheckedContinuation { continuation in
      DispatchQueue.main.async { continuation.resume() }
    }
    return lines
  }
}
