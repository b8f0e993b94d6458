import DataService
import DataServiceTesting
import Dispatch
import FixtureServer
import Launch
import PlatformC
import PlatformFoundation
import Synchronization
import TestSupport
import TestTurns
import Testing

/// A task is not resumed while its cancellation handlers run, and one of them may need a lock of whoever resumes it. So
/// nobody is told anything under such a lock. Whether the two meet is a matter of chance, hence many rounds.
@Suite("A reader that is cancelled while it is told something", .inTurn) struct CancelledReaderTests {
  /// Every reader is told of every change, hence not all at once.
  private static let (batches, readers) = (30, 100)

  /// Does both at once, on threads of their own, once for every value; returns after the last.
  private func atOnce<Value: Sendable>(
    _ values: [Value], _ one: @escaping @Sendable (Value) -> Void,
    _ other: @escaping @Sendable (Value) -> Void
  ) async {
    let meeting = Meeting()
    let done = [Gate(), Gate()]
    for (gate, work) in zip(done, [one, other]) {
      BackgroundThread.start {
        for value in values {
          meeting.meet()
          work(value)
        }
        gate.open()
      }
    }
    for gate in done { await gate.wait() }
  }

  @Test func `its session goes on to the next phase`() async throws {
    let fixture = try ServiceFixture(transport: ScriptedTransport { _, _ in .answer("body") })
    let session = Session(service: fixture.service, credentials: MemoryCredentials())
    await session.start()
    for batch in 0..<Self.batches {
      let readers = (0..<Self.readers).map { _ in Task { for await _ in session.phases {} } }
      await atOnce(Array(readers.indices)) {
        readers[$0].cancel()
      } _: { number in
        let isSignedIn = DispatchSemaphore(value: 0)
        Task {
          try await session.signIn(Credential(account: "\(batch) \(number)", token: "t"))
          isSignedIn.signal()
        }
        isSignedIn.wait()
      }
      for reader in readers { await reader.value }
    }
    await fixture.service.close()
  }

  @Test func `its flow goes on to the next root`() async throws {
    let fixture = try ServiceFixture(transport: ScriptedTransport.unanswered(Gate(), Gate()))
    let request = DataService.Request(try #require(URL(string: "http://origin.test/feed")))
    let flow = LaunchFlow(service: fixture.service) { _ in PreloadPlan([PreloadStep("feed", request)]) }
    flow.block(because: "first")
    for batch in 0..<Self.batches {
      let readers = (0..<Self.readers).map { _ in Task { for await _ in flow.roots {} } }
      await atOnce(Array(readers.indices)) {
        readers[$0].cancel()
      } _: {
        flow.block(because: "\(batch) \($0)")
      }
      for reader in readers { await reader.value }
    }
    flow.stop()
    await fixture.service.close()
  }

  @Test func `its preload ends when that is cancelled from there, too`() async throws {
    let fixture = try ServiceFixture(transport: ScriptedTransport.unanswered(Gate(), Gate()))
    let request = DataService.Request(try #require(URL(string: "http://origin.test/feed")))
    let plan = PreloadPlan([PreloadStep("feed", request)])
    let runs = (0..<3 * Self.readers).map { _ in fixture.service.preload(plan) }
    let readers = runs.map { run in
      Task {
        await withTaskCancellationHandler {
          for await _ in run.events {}
        } onCancel: {
          run.cancel()
        }
      }
    }
    await atOnce(Array(runs.indices)) {
      readers[$0].cancel()
    } _: {
      runs[$0].cancel()
    }
    for (reader, run) in zip(readers, runs) {
      await reader.value
      await run.finished()
    }
    await fixture.service.close()
  }
}

/// Where two threads wait for each other, again and again.
private final class Meeting: Sendable {
  private let arrivals = Atomic(0)

  func meet() {
    let number = arrivals.wrappingAdd(1, ordering: .acquiringAndReleasing).newValue
    let both = (number + 1) / 2 * 2
    while arrivals.load(ordering: .acquiring) < both { sched_yield() }
  }
}
