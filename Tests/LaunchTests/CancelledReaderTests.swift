import DataService
import DataServiceTesting
import FixtureServer
import Launch
import PlatformC
import PlatformFoundation
import Synchronization
import TestSupport
import TestTurns
import Testing

/// A task is not resumed while its cancellation handler runs. So whoever tells it something must hold no lock that the
/// handler may need.
@Suite("A reader that is cancelled while it is told something", .inTurn) struct CancelledReaderTests {
  /// Cancels a task on a thread of its own, since the handler waits for others.
  private func cancel<Value>(_ task: Task<Value, Never>) async -> Value {
    let cancelled = Gate()
    BackgroundThread.start {
      task.cancel()
      cancelled.open()
    }
    await cancelled.wait()
    return await task.value
  }

  @Test func `its session goes on to the next phase, and says so`() async throws {
    let fixture = try ServiceFixture(transport: ScriptedTransport { _, _ in .answer("body") })
    let session = Session(service: fixture.service, credentials: MemoryCredentials())
    await session.start()
    let isReading = Gate()
    let reader = Task<Void, Never> {
      await withTaskCancellationHandler {
        for await _ in session.phases { isReading.open() }
      } onCancel: {
        Task.detached { try await session.signIn(Credential(account: "alice", token: "t")) }
        while session.current != .signedIn(account: "alice") { sched_yield() }
      }
    }
    await isReading.wait()
    await cancel(reader)
    try await session.signOut()
    #expect(session.current.account == nil)
    await fixture.service.close()
  }

  @Test func `its flow goes on to the next root, and says so`() async throws {
    let fixture = try ServiceFixture(transport: ScriptedTransport.unanswered(Gate(), Gate()))
    let request = DataService.Request(try #require(URL(string: "http://origin.test/feed")))
    let flow = LaunchFlow(service: fixture.service) { _ in PreloadPlan([PreloadStep("feed", request)]) }
    flow.start()
    let isReading = Gate()
    let reader = Task<Void, Never> {
      await withTaskCancellationHandler {
        for await _ in flow.roots { isReading.open() }
      } onCancel: {
        BackgroundThread.start { flow.block(because: "update") }
        while flow.current != .blocked("update") { sched_yield() }
      }
    }
    await isReading.wait()
    await cancel(reader)
    flow.stop()
    await fixture.service.close()
  }

  @Test func `its preload ends when that, too, is cancelled from there`() async throws {
    let asked = Gate()
    let fixture = try ServiceFixture(transport: ScriptedTransport.unanswered(asked, Gate()))
    let request = DataService.Request(try #require(URL(string: "http://origin.test/feed")))
    let clock = AskedClock()
    let run = PreloadRun(
      PreloadPlan([PreloadStep("feed", request)]), on: fixture.service, clock: LaunchClock(clock))
    let reader = Task<LaunchOutcome.Verdict?, Never> {
      await withTaskCancellationHandler {
        await run.outcome()?.verdict
      } onCancel: {
        let before = clock.count
        BackgroundThread.start { run.cancel() }
        // The other one is about to tell the outcome.
        while clock.count == before { sched_yield() }
        run.cancel()
      }
    }
    await asked.wait()
    _ = await cancel(reader)
    await run.finished()
    await fixture.service.close()
  }
}

/// The system's clock, and how often it was asked.
private final class AskedClock: Clock, Sendable {
  private let asked = Atomic(0)
  var count: Int { asked.load(ordering: .acquiring) }
  var now: ContinuousClock.Instant {
    asked.wrappingAdd(1, ordering: .releasing)
    return ContinuousClock().now
  }
  var minimumResolution: Duration { ContinuousClock().minimumResolution }
  func sleep(until deadline: ContinuousClock.Instant, tolerance: Duration?) async throws {
    try await ContinuousClock().sleep(until: deadline, tolerance: tolerance)
  }
}
