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

/// Sign-out stops a load while its answer is on the way: whatever the load hears of afterwards, it has failed.
@Suite("A load that is stopped while its answer arrives", .inTurn) struct StoppedLoadTests {
  /// What the load hears after it was stopped.
  enum Heard: String, CaseIterable, Sendable {
    case answer, endOfExchange, store, nothing
  }

  @Test("laws 1 and 2: it ends with that failure, once", arguments: Heard.allCases)
  func stopped(heard: Heard) async throws {
    let url = try #require(URL(string: "http://origin.test/item"))
    let (isAsked, mayAnswer) = (Gate(), Gate())
    let fixture = try ServiceFixture.scripted { _, _ async throws(DataServiceError) in
      isAsked.open()
      await mayAnswer.wait()
      return .answer("never")
    }
    let core = fixture.service.core
    let outputs = Mutex<[String]>([])
    let policy = heard == .store ? FetchPolicy.storedOnly : .freshOnly
    let port = Port<Data>(
      .init(
        queue: nil, deliver: { delivery in outputs.withLock { $0.append(delivery.outline) } },
        ended: { outputs.withLock { $0.append("end") } }))
    let load = Load<Data>(
      core: core, prepared: try core.prepare(fixture.request(url), policy: policy), policy: policy,
      form: .data, port: port, progress: nil)
    if heard != .store {
      load.start()
      await isAsked.wait()
    }
    await core.engine.run { _ in
      // On the network thread a load looks up on the store's queue, so the store answers after the stop.
      if heard == .store { load.start() }
      load.stop(with: .signedOut)
      switch heard {
      case .answer: load.waiter.answered(.answer(Answer(row: AnswerTests.stored, comparedWith: nil)))
      case .endOfExchange: load.waiter.committed()
      case .store, .nothing: break
      }
    }
    #expect(outputs.withLock { $0 } == ["failure(signedOut)", "end"])
    mayAnswer.open()
    await load.finished()
    await fixture.service.close()
    #expect(outputs.withLock { $0 } == ["failure(signedOut)", "end"])
  }

  @Test func `while an account is being signed out nothing of it begins, and then it does`() async throws {
    let (isAsked, never) = (Gate(), Gate())
    let fixture = try ServiceFixture.scripted { _, number async throws(DataServiceError) in
      if number == 2 {
        isAsked.open()
        // Passed by who is cancelled.
        await never.wait()
      }
      return .answer("body \(number)")
    }
    let url = try #require(URL(string: "http://origin.test/item"))
    let asAlice: @Sendable (inout DataService.Request) -> Void = { $0.account = .named("alice") }
    #expect(await fixture.outline(url, configure: asAlice) == ["fresh(body 1, new)"])
    async let stopped = fixture.outline(url, policy: .freshOnly, configure: asAlice)
    await isAsked.wait()
    // Another process keeps the sign-out from the store, which can be read all the same.
    let other = try RawDatabase(fixture.store.path)
    try other.execute("BEGIN IMMEDIATE")
    async let signedOut = fixture.service.signOut(.named("alice"))
    #expect(await stopped == ["failure(signedOut)"])
    // What it would look up now would be delivered after the sign-out.
    #expect(await fixture.outline(url, policy: .storedOnly, configure: asAlice) == ["failure(signedOut)"])
    try other.execute("COMMIT")
    #expect(try await signedOut)
    #expect(await fixture.outline(url, configure: asAlice) == ["fresh(body 3, new)"])
    await fixture.service.close()
  }

  @Test func `law 11: cancelled on its way to the network thread it marks nothing, and is over`() async throws
  {
    let fixture = try ServiceFixture.scripted { _, _ in .answer("body") }
    let url = try #require(URL(string: "http://origin.test/item"))
    #expect(await fixture.outline(url) == ["fresh(body, new)"])
    let (isBusy, mayGoOn) = (Gate(), DispatchSemaphore(value: 0))
    fixture.service.core.thread.perform {
      isBusy.open()
      mayGoOn.wait()
    }
    await isBusy.wait()
    var request = fixture.request(url)
    request.tags = ["news"]
    let load = fixture.service.load(
      request, policy: .storedElseFresh(maxAge: .seconds(3_600)), queue: DispatchQueue(label: "test")
    ) { _ in }
    load.cancel()
    mayGoOn.signal()
    await load.finished()
    await fixture.service.close()
    #expect(try fixture.store.rows("SELECT name FROM tag").isEmpty)
  }
}
