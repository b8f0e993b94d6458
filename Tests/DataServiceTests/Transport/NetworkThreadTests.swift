import DataServiceTesting
import FixtureServer
import Foundation
import Synchronization
import TestSupport
import Testing
import TestTurns

@testable import DataService

@Suite("Network thread", .inTurn) struct NetworkThreadTests {
  @Test func `a task with the thread as its executor stays on it across suspensions`() async {
    let thread = NetworkThread()
    let task = Task(executorPreference: thread) {
      var seen = [thread.isCurrent]
      await Task.yield()
      seen.append(thread.isCurrent)
      await Self.nonisolatedStep()
      seen.append(thread.isCurrent)
      return seen
    }
    #expect(await task.value == [true, true, true])
    #expect(!thread.isCurrent)
    await thread.stop()
  }

  @Test func `actions handed over by many threads all run, each thread's in its order`() async {
    let thread = NetworkThread()
    let seen = Lanes()
    await withTaskGroup { group in
      for lane in 0..<4 {
        group.addTask {
          for number in 0..<500 { thread.perform { seen.lanes.withLock { $0[lane].append(number) } } }
          await withCheckedContinuation { continuation in thread.perform { continuation.resume() } }
        }
      }
    }
    #expect(seen.lanes.withLock { $0 } == [[Int]](repeating: Array(0..<500), count: 4))
    await thread.stop()
  }

  @Test func `work that comes after the end starts the thread again`() async {
    let thread = NetworkThread()
    for round in 0..<3 {
      let value = await Task(executorPreference: thread) { thread.isCurrent ? round : -1 }.value
      #expect(value == round)
      await thread.stop()
    }
  }

  @Test func `stopping a thread that never started returns`() async {
    await NetworkThread().stop()
  }

  @Test func `stopping a thread that has ended returns, for all who ask`() async {
    let thread = NetworkThread()
    await Task(executorPreference: thread) {}.value
    for _ in 0..<3 { await thread.stop() }
    #expect(await Task(executorPreference: thread) { thread.isCurrent }.value)
    await withTaskGroup { group in
      for _ in 0..<4 { group.addTask { await thread.stop() } }
    }
  }

  @Test func `the thread blocks SIGPIPE, so that a broken connection cannot end the process`() async {
    let thread = NetworkThread()
    let isBlocked = await withCheckedContinuation { continuation in
      thread.perform {
        var mask = sigset_t()
        pthread_sigmask(SIG_BLOCK, nil, &mask)
        continuation.resume(returning: sigismember(&mask, SIGPIPE) == 1)
      }
    }
    #expect(isBlocked)
    await thread.stop()
  }

  @Test func `whoever wakes the thread wakes it once`() async throws {
    let thread = NetworkThread()
    let engine = CountingEngine(until: 2)
    thread.perform { thread.attach(engine) }
    await engine.begins.wait()
    thread.perform {}
    await engine.isEnough.wait()
    #expect(engine.wasAwake.withLock { $0[1] } == false, "what has woken it is heard")
    await thread.stop()
  }

  @Test func `a signal that comes after the wait that another event has ended is heard once too`()
    async throws
  {
    let wakeup = WakeupPipe()
    let thread = NetworkThread(wakeup: { wakeup })
    let engine = CountingEngine(until: 2)
    thread.perform { thread.attach(engine) }
    await engine.begins.wait()
    // As from somebody who found the thread asleep, and was held up.
    wakeup.signal()
    await engine.isEnough.wait()
    #expect(engine.wasAwake.withLock { $0[1] } == false)
    await thread.stop()
  }

  @Test func `a thread that nothing can wake looks for work by itself`() async {
    let thread = NetworkThread(wakeup: { .unusable })
    // As a rule it sleeps again before the next piece of work comes.
    for _ in 0..<10 {
      await withCheckedContinuation { continuation in thread.perform { continuation.resume() } }
    }
    await thread.stop()
    #expect(!thread.isRunning)
  }

  @Test func `the thread ends with the last reference to it, and closes its engine`() async throws {
    let engine = CountingEngine(until: 1)
    do {
      let thread = NetworkThread()
      thread.perform { thread.attach(engine) }
      await engine.begins.wait()
    }
    await engine.isClosed.wait()
  }

  @Test func `timers fire in the order of their instants, and never early`() async {
    let thread = NetworkThread()
    let keeper = SystemTimekeeper(thread: thread)
    let begin = keeper.bootNanoseconds
    let fired = Mutex<[(Int, Int64)]>([])
    await withCheckedContinuation { continuation in
      // On the thread itself, so that none can fire before all are set. At instants, since a delay would
      // count from when its timer is set, and the thread may stand still between two of them.
      thread.perform {
        for milliseconds in [9, 3, 6] {
          let timer = TimerHandle {
            let count = fired.withLock { fired in
              fired.append((milliseconds, keeper.bootNanoseconds - begin))
              return fired.count
            }
            if count == 3 { continuation.resume() }
          }
          thread.schedule(timer, at: begin + Int64(milliseconds) * 1_000_000)
        }
      }
    }
    let seen = fired.withLock { $0 }
    #expect(seen.map(\.0) == [3, 6, 9])
    #expect(seen.allSatisfy { $0.1 >= Int64($0.0) * 1_000_000 })
    // A delay counts from the call.
    let set = keeper.bootNanoseconds
    await withCheckedContinuation { continuation in
      _ = keeper.after(.milliseconds(3)) { continuation.resume() }
    }
    #expect(keeper.bootNanoseconds - set >= 3_000_000)
    await thread.stop()
  }

  @Test func `a cancelled timer does not fire and releases what it holds`() async {
    let keeper = SystemTimekeeper()
    let held = Mutex<Witness?>(Witness())
    weak let witness = held.withLock { $0 }
    let timer = held.withLock { value in
      let captured = value
      value = nil
      return keeper.after(.seconds(3600)) { _ = captured }
    }
    #expect(witness != nil)
    timer.cancel()
    #expect(witness == nil)
    #expect(!timer.isPending)
  }

  @Test func `sleeping ends at once when the task is cancelled`() async {
    let keeper = VirtualClock()
    let task = Task { () async -> Bool in
      do {
        try await keeper.sleep(for: .seconds(3600))
        return false
      } catch {
        return true
      }
    }
    await keeper.whenPending()
    task.cancel()
    #expect(await task.value)
    #expect(keeper.pendingDelays.isEmpty)
  }

  @Test func `sleeping ends when the clock has moved far enough`() async throws {
    let keeper = VirtualClock()
    async let slept: Void = keeper.sleep(for: .seconds(5))
    await keeper.whenPending()
    keeper.advance(by: .seconds(4))
    #expect(keeper.pendingDelays == [.seconds(1)])
    keeper.advance(by: .seconds(1))
    try await slept
  }

  /// Waits for the thread's descriptor alone, and notes whether that was readable before.
  private final class CountingEngine: NetworkEngine, Sendable {
    let wasAwake = Mutex<[Bool]>([])
    let begins = Gate()
    let isEnough = Gate()
    let isClosed = Gate()
    private let enough: Int

    init(until enough: Int) { self.enough = enough }

    var needsAdvance: Bool { false }
    func advance() {}
    func close() { isClosed.open() }

    func wait(wakeDescriptor descriptor: Int32, milliseconds: Int32) -> Bool {
      var polled = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
      let isAwake = poll(&polled, 1, 0) > 0
      let count = wasAwake.withLock { all in
        all.append(isAwake)
        return all.count
      }
      begins.open()
      if count == enough { isEnough.open() }
      return poll(&polled, 1, milliseconds) > 0
    }
  }

  private static func nonisolatedStep() async { await Task.yield() }
  private final class Witness: Sendable {}
  private final class Lanes: Sendable { let lanes = Mutex([[Int]](repeating: [], count: 4)) }
}
