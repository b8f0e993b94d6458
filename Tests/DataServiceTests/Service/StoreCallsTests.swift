import CacheStore
import DataServiceTesting
import FixtureServer
import Synchronization
import TestSupport
import Testing
import TestTurns

@testable import DataService

@Suite("Calls of a store that may not answer", .inTurn) struct StoreCallsTests {
  private let clock = VirtualClock()

  private func waiting() -> StoreWaiting {
    StoreWaiting(clock: clock, thread: NetworkThread(), timeLimit: .milliseconds(250))
  }

  @Test func `a call that comes too late is handed on, and none behind it is waited for until it is over`()
    async throws
  {
    let calls = StoreCalls()
    let waiting = waiting()
    let mayReturn = Gate()
    let late = Mutex<[Int]>([])
    let first = Task {
      await calls.result(waiting, late: { (value: Int) in late.withLock { $0.append(value) } }) {
        mayReturn.wait()
        return 1
      }
    }
    await clock.whenPending(for: .milliseconds(250))
    clock.advance(by: .milliseconds(250))
    let given = await first.value
    #expect(given == nil)
    #expect(late.withLock { $0 } == [])
    // It runs all the same, once its turn comes.
    let (second, passed) = try await clock.passing {
      await calls.result(waiting, late: { (value: Int) in late.withLock { $0.append(value) } }) { 2 }
    }
    #expect(second == nil && passed == .zero)
    mayReturn.open()
    #expect(await eventually { late.withLock { $0 } == [1, 2] })
    let third = await calls.result(waiting) { 3 }
    #expect(third == 3)
    #expect(late.withLock { $0 } == [1, 2], "what was waited for is not handed on")
  }

  @Test func `what the store answers too late is handed on, and what it answers in time is not`() async {
    let waiting = waiting()
    let mayAnswer = Gate()
    let late = Mutex<[Int]>([])
    let note: @Sendable (Result<Int, CacheStoreError>) -> Void = { result in
      if case .success(let value) = result { late.withLock { $0.append(value) } }
    }
    let inTime = await waiting.result(late: note) { () async throws(CacheStoreError) -> Int in 1 }
    if case .success(let value)? = inTime { #expect(value == 1) } else { Issue.record("no answer") }
    let tooLate = Task {
      await waiting.result(late: note) { () async throws(CacheStoreError) -> Int in
        await mayAnswer.wait()
        return 2
      }
    }
    await clock.whenPending(for: .milliseconds(250))
    clock.advance(by: .milliseconds(250))
    #expect(await tooLate.value == nil)
    #expect(late.withLock { $0 } == [])
    mayAnswer.open()
    #expect(await eventually { late.withLock { $0 } == [2] })
  }
}
