import CacheStore
import DataServiceTesting
import Dispatch
import FixtureServer
import Guards
import PlatformFoundation
import Synchronization
import TestSupport
import TestTurns
import Testing

@testable import DataService

/// An exchange that is stopped, as closing and sign-out do, and what comes of it afterwards.
@Suite("A stopped exchange", .inTurn) struct ExchangeStopTests {
  private static let url = "http://origin.test/item"
  private static let closed = DataServiceError(.closed, "stopped by the test")

  /// Stops them on the network thread, and waits for that: what this thread begins afterwards may go on there at once.
  private func stopAll(_ core: ServiceCore) {
    let areStopped = DispatchSemaphore(value: 0)
    core.thread.performHere {
      for exchange in core.engine.exchanges.all { exchange.stop(with: Self.closed) }
      areStopped.signal()
    }
    areStopped.wait()
  }

  @Test func `stopped between its body and the commit it writes nothing`() async throws {
    let fixture = try ServiceFixture.scripted { _, number in .answer("body \(number)") }
    let url = try #require(URL(string: Self.url))
    _ = await fixture.outline(url)
    let before = try fixture.store.rows("SELECT * FROM last_request")
    var seen: [String] = []
    // The decoder is asked once the body is whole.
    let deliveries = fixture.service.deliveries(for: .init(url), policy: .freshOnly) { response in
      stopAll(fixture.service.core)
      return response.text
    }
    for await delivery in deliveries {
      switch delivery {
      case .stored(let response): seen.append("stored \(response.value)")
      case .fresh(let response, _): seen.append("fresh \(response.value)")
      case .failure(let error, _): seen.append(error.kind.name)
      }
    }
    #expect(seen == ["closed"])
    let after = try fixture.store.rows("SELECT * FROM last_request")
    #expect(after == before)
    await fixture.service.close()
  }

  @Test func `law 11: cancelled while its decoder runs it writes nothing`() async throws {
    let mayAnswer = Gate()
    let fixture = try ServiceFixture.scripted { _, number async throws(DataServiceError) in
      if number > 1 { await mayAnswer.wait() }
      return .answer("body \(number)")
    }
    let url = try #require(URL(string: Self.url))
    _ = await fixture.outline(url)
    let before = try fixture.store.rows("SELECT * FROM last_request")
    let running = Mutex<DataService.Load?>(nil)
    let hasDecoded = Gate()
    let load = fixture.service.load(
      .init(url), policy: .freshOnly, queue: DispatchQueue(label: "test"),
      decode: { response in
        running.withLock { $0 }?.cancel()
        hasDecoded.open()
        return response.text
      }, deliver: { _ in Issue.record("delivered after its cancel") })
    running.withLock { $0 = load }
    mayAnswer.open()
    await hasDecoded.wait()
    await load.finished()
    await fixture.service.close()
    #expect(try fixture.store.rows("SELECT * FROM last_request") == before)
    running.withLock { $0 = nil }
  }

  @Test func `stopped before a 304 it freshens nothing`() async throws {
    let core = Mutex<ServiceCore?>(nil)
    let fixture = try ServiceFixture.scripted { _, number in
      guard number > 1 else { return .answer("body", ["ETag": "\"1\""]) }
      if let core = core.withLock({ $0 }) { stopAll(core) }
      return .answer("", status: 304, ["ETag": "\"1\"", "X-Age": "new"])
    }
    core.withLock { $0 = fixture.service.core }
    let url = try #require(URL(string: Self.url))
    _ = await fixture.outline(url)
    let before = try fixture.store.rows("SELECT * FROM last_request")
    #expect(await fixture.outline(url) == ["stored(body)", "failure(closed, last body)"])
    await fixture.service.close()
    #expect(try fixture.store.rows("SELECT * FROM last_request") == before)
    core.withLock { $0 = nil }
  }

  @Test func `law 11: cancelled while it asks again, as the row of a 304 is gone, it stops`() async throws {
    let store = try TemporaryStore()
    let removing = try ServiceFixture(store: store)
    let (isAskedAgain, isCancelled) = (Gate(), Gate())
    let transport = ScriptedTransport { _, number async throws(DataServiceError) in
      if number == 1 { return .answer("body", ["ETag": "\"1\""]) }
      if number == 2 {
        _ = try? await removing.service.remove(.all)
        return .answer("", status: 304, ["ETag": "\"1\""])
      }
      isAskedAgain.open()
      // A gate that nobody opens is passed by who is cancelled.
      await Gate().wait()
      isCancelled.open()
      throw DataServiceError(.cancelled, "cancelled")
    }
    let fixture = try ServiceFixture(store: store, transport: transport)
    let url = try #require(URL(string: Self.url))
    #expect(await fixture.outline(url) == ["fresh(body, new)"])
    let load = fixture.service.load(
      DataService.Request(url), policy: .freshOnly, queue: DispatchQueue(label: "test"),
      deliver: { _ in Issue.record("delivered after its cancel") })
    await isAskedAgain.wait()
    load.cancel()
    #expect(await eventually { isCancelled.isOpen })
    await load.finished()
    await fixture.service.close()
    await removing.service.close()
  }

  @Test("cancelled while it waits to ask again, or for a network, it asks no more", arguments: [false, true])
  func waiting(isForNetwork: Bool) async throws {
    let transport = ScriptedTransport { _, _ throws(DataServiceError) in
      throw DataServiceError(.refused, "down")
    }
    let fixture = try ServiceFixture(transport: transport, timekeeper: VirtualClock())
    var request = DataService.Request(try #require(URL(string: Self.url)))
    try #require(request.limits.retries > 0)
    if isForNetwork {
      request.limits.retries = 0
      request.onlineWait = .seconds(60)
    }
    let load = Task { [request] in
      for await _ in fixture.service.deliveries(for: request, policy: .freshOnly) {}
    }
    await fixture.traced("retrying in")
    load.cancel()
    await load.value
    await fixture.service.close()
    #expect(transport.requests.count == 1)
  }

  @Test func `stopped before it is started it is cancelled as soon as it is`() async throws {
    let (isAsked, isCancelled) = (Gate(), Gate())
    let fixture = try ServiceFixture.scripted { _, _ async throws(DataServiceError) in
      isAsked.open()
      // A gate that nobody opens is passed by who is cancelled.
      await Gate().wait()
      isCancelled.open()
      throw DataServiceError(.cancelled, "cancelled")
    }
    let exchange = try exchange(fixture)
    let listener = Listener()
    await fixture.service.core.engine.run { _ in
      #expect(exchange.join(listener.waiter))
      exchange.stop(with: Self.closed)
      exchange.start()
    }
    await isAsked.wait()
    #expect(await eventually { isCancelled.isOpen })
    #expect(listener.results.withLock { $0 } == ["closed"])
    await fixture.service.close()
  }

  /// A load that only listens.
  private final class Listener: AnyLoad {
    let results = Mutex<[String]>([])
    let settled = Mutex(0)
    let wanted = Wanted()
    var request: PreparedRequest? { nil }
    var isCancelled: Bool { wanted.isCancelled }
    func claim() -> Bool { wanted.claim() }
    func release() { wanted.release() }
    func cancel() {}
    func finished() async {}
    func stop(with error: DataServiceError) {}

    var waiter: ExchangeWaiter {
      ExchangeWaiter(
        load: self, acceptedStatuses: nil, decoder: nil, serve: { _ in }, received: nil,
        answered: { [self] result in
          let text =
            switch result {
            case .answer(let answer): "answer \(answer.head.status)"
            case .failure(let error): error.kind.name
            }
          results.withLock { $0.append(text) }
        }, committed: { [self] in settled.withLock { $0 += 1 } })
    }
  }

  private func exchange(_ fixture: ServiceFixture) throws -> Exchange {
    let core = fixture.service.core
    let request = DataService.Request(try #require(URL(string: Self.url)))
    let prepared = try core.prepare(request, policy: .storedThenFresh)
    return Exchange(plan: .init(prepared: prepared, isShared: false, mayFollow: false), core: core)
  }

  @Test func `its loads hear of one result, the first, and of one end`() async throws {
    let fixture = try ServiceFixture(transport: ScriptedTransport { _, _ in .answer("body") })
    let exchange = try exchange(fixture)
    let listeners = [Listener(), Listener()]
    await fixture.service.core.engine.run { _ in
      for listener in listeners { #expect(exchange.join(listener.waiter)) }
      exchange.stop(with: Self.closed)
      exchange.publish(.failure(DataServiceError(.refused, "late")))
      exchange.stop(with: DataServiceError(.signedOut, "again"))
      exchange.reportCommitted()
      #expect(!exchange.join(Listener().waiter), "nobody joins what is over")
      #expect(!exchange.beginWriting())
    }
    for listener in listeners {
      #expect(listener.results.withLock { $0 } == ["closed"])
      #expect(listener.settled.withLock { $0 } == 1)
    }
    await fixture.service.close()
  }

  @Test func `a body that is read while it arrives is one load's, and the others hear that they have none`()
    async throws
  {
    let fixture = try ServiceFixture(transport: ScriptedTransport { _, _ in .answer("body") })
    let listeners = [Listener(), Listener(), Listener()]
    var answer = Answer(row: Rule.row(), comparedWith: nil)
    for (isLive, outcome) in [(true, "other"), (false, "answer 200")] {
      if isLive {
        answer.body = .live(DataService.BodyStream(whole: Data("body".utf8)))
      } else {
        answer.body = .data(Data("body".utf8))
      }
      let exchange = try exchange(fixture)
      for listener in listeners { listener.results.withLock { $0 = [] } }
      await fixture.service.core.engine.run { [answer] _ in
        for listener in listeners { #expect(exchange.join(listener.waiter)) }
        exchange.publish(.answer(answer))
      }
      let results = listeners.map { listener in listener.results.withLock { $0 } }
      #expect(results == [["answer 200"], [outcome], [outcome]])
    }
    await fixture.service.close()
  }

  @Test("one that has given way keeps no lease, whenever it gets it", arguments: [true, false])
  func givingWay(isEarly: Bool) async throws {
    let fixture = try ServiceFixture(transport: ScriptedTransport { _, _ in .answer("body") })
    let core = fixture.service.core
    // The store is there, so that its lock file can be.
    _ = await fixture.outline(try #require(URL(string: Self.url)))
    let exchange = try exchange(fixture)
    let hash = core.leaseHash(of: exchange.prepared)
    // The load's own exchange gives its lease back on a queue.
    while try core.store.isLeased(hash) { await Task.yield() }
    let lease = ExchangeLease(
      lease: try #require(try core.store.tryLease(hash)), store: core.store, hash: hash)
    await core.engine.run { _ in
      if isEarly { exchange.releaseOutdated() }
      exchange.hold(lease)
    }
    if !isEarly {
      #expect(try core.store.isLeased(hash))
      await core.engine.run { _ in exchange.releaseOutdated() }
    }
    #expect(try await eventually { try !core.store.isLeased(hash) })
    await fixture.service.close()
  }

  @Test func `law 11: with all its loads cancelled it writes nothing, before it has heard of that`()
    async throws
  {
    let fixture = try ServiceFixture(transport: ScriptedTransport { _, _ in .answer("body") })
    let exchange = try exchange(fixture)
    let listeners = [Listener(), Listener()]
    await fixture.service.core.engine.run { _ in
      for listener in listeners { #expect(exchange.join(listener.waiter)) }
      _ = listeners[0].wanted.cancel()
      #expect(exchange.beginWriting(), "one wants it")
      // That one leaves during the write, which counts before the origin is asked again.
      _ = listeners[1].wanted.cancel()
      #expect(throws: DataServiceError.self) { try exchange.stopWriting() }
      #expect(!exchange.beginWriting())
    }
    await fixture.service.close()
  }

  @Test func `one that is writing when it is stopped has ended once that is done`() async throws {
    let fixture = try ServiceFixture(transport: ScriptedTransport { _, _ in .answer("body") })
    let exchange = try exchange(fixture)
    let listener = Listener()
    await fixture.service.core.engine.run { _ in
      #expect(exchange.join(listener.waiter))
      #expect(exchange.beginWriting())
      exchange.stop(with: Self.closed)
      // What the writing comes to is told to nobody any more.
      exchange.publish(.failure(DataServiceError(.refused, "late")))
      #expect(listener.results.withLock { $0 } == ["closed"] && listener.settled.withLock { $0 } == 0)
      exchange.reportCommitted()
    }
    #expect(listener.settled.withLock { $0 } == 1)
    await fixture.service.close()
  }
}
