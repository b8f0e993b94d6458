import Dispatch
import FixtureServer
import DataServiceTesting
import PlatformFoundation
import Synchronization
import TestSupport
import Testing
import TestTurns

@testable import DataService

/// Law 2 where the caller's queue runs several blocks at a time.
@Suite("Callbacks on a concurrent queue", .inTurn) struct CallbackOrderTests {
  /// What callbacks did: in what order they ended, and whether two of them ever ran at once.
  private final class CallLog: Sendable {
    private struct State {
      var lines: [String] = []
      var running = 0
      var overlapped = false
    }
    private let state = Mutex(State())

    var lines: [String] { state.withLock { $0.lines } }
    var overlapped: Bool { state.withLock { $0.overlapped } }

    func call(_ line: String, _ work: () -> Void = {}) {
      state.withLock { state in
        state.running += 1
        if state.running > 1 { state.overlapped = true }
      }
      work()
      state.withLock { state in
        state.running -= 1
        state.lines.append(line)
      }
    }
  }

  private let url = "http://origin.test/item"
  private let queue = DispatchQueue(label: "callbacks", attributes: .concurrent)

  /// Two answers, the second of which waits for the gate.
  private func fixture(_ mayAnswer: Gate) throws -> ServiceFixture {
    let transport = ScriptedTransport { _, number async throws(DataServiceError) in
      if number > 1 { await mayAnswer.wait() }
      return .answer("body \(number)")
    }
    return try ServiceFixture(transport: transport)
  }

  /// Returns once everything that was submitted to the queue before has at least begun, and others have had their turn.
  private func lettingOthersRun() {
    for _ in 0..<50 {
      let hasRun = Gate()
      queue.async { hasRun.open() }
      hasRun.wait()
    }
  }

  @Test func `law 2: come in order and one at a time, and finished waits for the last of them`() async throws
  {
    let mayAnswer = Gate()
    let bothHaveIt = Gate()
    let fixture = try fixture(mayAnswer)
    let url = try #require(URL(string: url))
    _ = await fixture.outline(url)
    let log = CallLog()
    let load = fixture.service.load(.init(url), queue: queue) { delivery in
      log.call(delivery.outline) {
        guard case .stored = delivery else { return }
        bothHaveIt.wait()
        lettingOthersRun()
      }
    }
    // It shares the exchange and hears of the answer after the other load has.
    let other = fixture.service.start(
      .init(url), policy: .storedThenFresh,
      deliver: { delivery in if case .fresh = delivery { bothHaveIt.open() } }, ended: {})
    await fixture.traced("joining")
    mayAnswer.open()
    await load.finished()
    #expect(log.lines == ["stored(body 1)", "fresh(body 2, changed)"])
    #expect(!log.overlapped)
    await other.finished()
    await fixture.service.close()
  }

  @Test func `progress is told in turn with the deliveries`() async throws {
    let mayAnswer = Gate()
    let mayGoOn = Gate()
    let fixture = try fixture(mayAnswer)
    let url = try #require(URL(string: url))
    _ = await fixture.outline(url)
    let log = CallLog()
    let load = fixture.service.load(
      .init(url), queue: queue,
      progress: { update in log.call("progress \(update.received)") },
      deliver: { delivery in
        log.call(delivery.outline) {
          guard case .stored = delivery else { return }
          mayGoOn.wait()
          lettingOthersRun()
        }
      })
    mayAnswer.open()
    // The answer is in the store, so that its progress was told.
    await load.task.finished()
    mayGoOn.open()
    await load.finished()
    #expect(log.lines == ["stored(body 1)", "progress 6", "fresh(body 2, changed)"])
    #expect(!log.overlapped)
    await fixture.service.close()
  }

  @Test func `law 11: a cancel inside a callback keeps the next from starting`() async throws {
    let mayAnswer = Gate()
    let hasBegun = Gate()
    let fixture = try fixture(mayAnswer)
    let url = try #require(URL(string: url))
    _ = await fixture.outline(url)
    let begun = Mutex<DataService.Load?>(nil)
    let log = CallLog()
    let load = fixture.service.load(.init(url), queue: queue) { delivery in
      log.call(delivery.outline) {
        hasBegun.wait()
        begun.withLock { $0 }?.cancel()
      }
    }
    begun.withLock { $0 = load }
    mayAnswer.open()
    await load.task.finished()
    hasBegun.open()
    await load.finished()
    await withCheckedContinuation { continuation in
      queue.async(flags: .barrier) { continuation.resume() }
    }
    #expect(log.lines == ["stored(body 1)"])
    await fixture.service.close()
  }

  @Test func `law 11: a load that was refused calls back no more once it is cancelled`() async throws {
    let mayGoOn = Gate()
    let fixture = try fixture(Gate())
    let url = try #require(URL(string: "mailto:a@example.test"))
    let serial = DispatchQueue(label: "callbacks in turn")
    // The queue is in the middle of something else.
    serial.async { mayGoOn.wait() }
    let log = CallLog()
    let load = fixture.service.load(.init(url), queue: serial) { delivery in log.call(delivery.outline) }
    load.cancel()
    mayGoOn.open()
    await withCheckedContinuation { continuation in serial.async { continuation.resume() } }
    #expect(log.lines == [])
    let other = fixture.service.load(.init(url), queue: serial) { delivery in log.call(delivery.outline) }
    await other.finished()
    #expect(log.lines == ["failure(invalidRequest)"])
    await fixture.service.close()
  }
}
