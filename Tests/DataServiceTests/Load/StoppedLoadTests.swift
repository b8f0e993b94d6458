import CacheStore
import DataServiceTesting
import FixtureServer
import Guards
import PlatformFoundation
import Synchronization
import TestSupport
import TestTurns
import Testing

@testable import DataService

/// Sign-out stops a load on one thread while another brings the answer: whichever the load hears of first, it fails.
@Suite("A load that is stopped while its answer arrives", .inTurn) struct StoppedLoadTests {
  /// What the load hears before it hears that it was stopped.
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
    let load = LoadTask<Data>(
      core: core, prepared: try core.prepare(fixture.request(url), policy: policy), policy: policy,
      form: .data, port: port, progress: nil)
    if heard != .store {
      load.start()
      await isAsked.wait()
    }
    // What ``LoadTask/stop(with:)`` does under the lock, before the machine hears of it.
    _ = load.state.withLock { $0.stop(with: .signedOut) }
    switch heard {
    case .answer: load.waiter.answered(.answer(Answer(row: AnswerTests.stored, comparedWith: nil)))
    case .endOfExchange: load.handle(.exchangeFinished(isFresh: true))
    case .store: load.handle(.storeAnswered(.nothing))
    case .nothing: break
    }
    load.handle(.stopped)
    #expect(outputs.withLock { $0 } == ["failure(signedOut)", "end"])
    mayAnswer.open()
    await load.finished()
    await fixture.service.close()
  }
}
