import CacheStore
import DataServiceTesting
import FixtureServer
import Synchronization
import TestSupport
import Testing
import TestTurns

@testable import DataService

@Suite("The door to a store that may not answer", .inTurn) struct StoreDoorTests {
  private let clock = VirtualClock()
  private let folder: TemporaryFolder
  private let door: StoreDoor

  init() throws {
    folder = try TemporaryFolder()
    door = StoreDoor(
      ResponseStore(configuration: StoreConfiguration(path: folder.file("store.sqlite"))), clock: clock,
      thread: NetworkThread(), timeouts: InternalTimeouts())
  }

  @Test func `a call that comes too late is handed on, and none behind it is waited for until it is over`()
    async throws
  {
    let door = door
    let mayReturn = Gate()
    let late = Mutex<[Int]>([])
    let note: @Sendable (Result<Int, CacheStoreError>) -> Void = { result in
      if case .success(let value) = result { late.withLock { $0.append(value) } }
    }
    let first = Task {
      await door.call(late: note) { _ in
        mayReturn.wait()
        return 1
      }
    }
    await clock.whenPending(for: .milliseconds(250))
    clock.advance(by: .milliseconds(250))
    let given = await first.value
    #expect(given.value == nil)
    #expect(late.withLock { $0 } == [])
    // It runs all the same, once its turn comes.
    let (second, passed) = try await clock.passing { await door.call(late: note) { _ in 2 } }
    #expect(second.value == nil && passed == .zero)
    mayReturn.open()
    #expect(await eventually { late.withLock { $0.sorted() } == [1, 2] })
    let third = await door.call(late: note) { _ in 3 }
    #expect(third.value == 3)
    #expect(late.withLock { $0.sorted() } == [1, 2], "what was waited for is not handed on")
  }

  @Test func `what the store answers too late is handed on, and what it answers in time is not`()
    async throws
  {
    let door = door
    let mayAnswer = Gate()
    let late = Mutex<[Int]>([])
    let note: @Sendable (Result<Int, CacheStoreError>) -> Void = { result in
      if case .success(let value) = result { late.withLock { $0.append(value) } }
    }
    let inTime = await door.ask(for: .commit, late: note) { (_) async throws(CacheStoreError) -> Int in 1 }
    #expect(inTime.value == 1)
    let tooLate = Task {
      await door.ask(for: .commit, late: note) { (_) async throws(CacheStoreError) -> Int in
        await mayAnswer.wait()
        return 2
      }
    }
    await clock.whenPending(for: .milliseconds(250))
    clock.advance(by: .milliseconds(250))
    guard case .silent(let pending) = await tooLate.value else {
      Issue.record("it has answered")
      return
    }
    #expect(late.withLock { $0 } == [])
    mayAnswer.open()
    #expect(try await pending.value.get() == 2)
    #expect(await eventually { late.withLock { $0 } == [2] })
  }

  @Test func `what goes on may be waited for again, for as long as another purpose allows`() async throws {
    let door = door
    let pending = Pending<Int>()
    for (purpose, milliseconds) in [(StoreDoor.Purpose.commit, 250), (.lockFile, 2_000)] {
      let waiting = Task { await door.reply(of: pending, for: purpose) }
      let limit = Duration.milliseconds(milliseconds)
      await clock.whenPending(for: limit)
      clock.advance(by: limit)
      guard case .silent = await waiting.value else {
        Issue.record("it has answered")
        continue
      }
    }
    let waiting = Task { await door.reply(of: pending, for: .reading) }
    await clock.whenPending(atLeast: 1)
    pending.set(.success(7))
    #expect(await waiting.value.value == 7)
    #expect(clock.pendingDelays.isEmpty, "its timer is gone")
  }
}
