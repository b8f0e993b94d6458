public import DataService
public import PlatformFoundation
internal import Synchronization

/// The clocks of a service under test: they stand still until the test moves them, and timers fire on the thread that calls
/// ``advance(by:)``. May be used from any thread.
///
/// Time-outs, retries, deadlines, ages and freshness go by it. Nothing waits for real time, so that a test of a
/// thirty-second time-out ends at once.
public final class VirtualClock: Timekeeper {
  private struct State {
    var wallMilliseconds: Int64
    var bootNanoseconds: Int64
    var timers = TimerHeap()
    var watchers:
      [(isMet: @Sendable (TimerHeap, Int64) -> Bool, continuation: CheckedContinuation<Void, Never>)] = []
    var passage: Passage?
  }

  /// A caller that lets time pass and waits for the next timer.
  private struct Passage {
    let limit: Duration
    var hasEnded = false
    var continuation: CheckedContinuation<Duration?, Never>?
  }

  private let state: Mutex<State>
  package let bootID: String

  /// Clocks at an instant, by default 2026-01-01 00:00:00 UTC.
  public convenience init(at date: Date = Date(timeIntervalSince1970: 1_767_225_600)) {
    self.init(wallMilliseconds: Int64((date.timeIntervalSince1970 * 1000).rounded()))
  }

  /// Clocks at 1,000 seconds after boot, unless told otherwise.
  package init(
    wallMilliseconds: Int64, bootNanoseconds: Int64 = 1_000_000_000_000,
    bootID: String = "test-boot"
  ) {
    state = Mutex(State(wallMilliseconds: wallMilliseconds, bootNanoseconds: bootNanoseconds))
    self.bootID = bootID
  }

  package var wallMilliseconds: Int64 { state.withLock(\.wallMilliseconds) }
  package var bootNanoseconds: Int64 { state.withLock(\.bootNanoseconds) }

  package func after(_ delay: Duration, _ action: @escaping @Sendable () -> Void) -> TimerHandle {
    let timer = TimerHandle(action)
    let ready = state.withLock { state in
      let (instant, overflow) = state.bootNanoseconds.addingReportingOverflow(delay.clampedNanoseconds)
      state.timers.insert(timer, at: overflow ? .max : instant)
      return Self.takeReadyWatchers(&state)
    }
    for continuation in ready { continuation.resume() }
    resumePassage()
    return timer
  }

  /// What time it is.
  public var now: Date { Date(timeIntervalSince1970: Double(wallMilliseconds) / 1000) }

  /// Moves the clocks on and fires what has come due, in order, each at its own instant.
  public func advance(by delay: Duration) {
    let end = state.withLock { $0.bootNanoseconds + delay.clampedNanoseconds }
    while fireNext(until: end) {}
    state.withLock { state in
      // Another caller may have moved them further; they never go back.
      guard end > state.bootNanoseconds else { return }
      state.wallMilliseconds += (end - state.bootNanoseconds) / 1_000_000
      state.bootNanoseconds = end
    }
  }

  /// Sets the wall clock, as a person or a time server does; timers and the clock since boot do not care.
  public func set(_ date: Date) {
    setWall(milliseconds: Int64((date.timeIntervalSince1970 * 1000).rounded()))
  }

  package func setWall(milliseconds: Int64) { state.withLock { $0.wallMilliseconds = milliseconds } }

  /// How long from now the timers that are set would fire, in order.
  package var pendingDelays: [Duration] {
    state.withLock { state in
      state.timers.pending.map { .nanoseconds($0.instant - state.bootNanoseconds) }
    }
  }

  /// Returns as soon as at least `count` timers are set: the barrier before ``advance(by:)``.
  package func whenPending(atLeast count: Int = 1) async {
    await when { timers, _ in timers.pending.count >= count }
  }

  /// Returns as soon as something waits for exactly so long from now: the barrier before ``advance(by:)``, so that a test moves the
  /// clock when the time-out, the retry or the delay that it is about has begun, and not before.
  public func whenPending(for delay: Duration) async {
    await when { timers, now in timers.pending.contains { $0.instant - now == delay.clampedNanoseconds } }
  }

  /// Returns as soon as a timer is set that fires within so long from now.
  package func whenPending(within delay: Duration) async {
    await when { timers, now in timers.pending.contains { $0.instant - now <= delay.clampedNanoseconds } }
  }

  private func when(_ isMet: @escaping @Sendable (TimerHeap, Int64) -> Bool) async {
    await withCheckedContinuation { continuation in
      let isReady = state.withLock { state in
        if isMet(state.timers, state.bootNanoseconds) { return true }
        state.watchers.append((isMet, continuation))
        return false
      }
      if isReady { continuation.resume() }
    }
  }

  /// Lets time pass, from one timer to the next as soon as it is set, until the work is done: nothing that only waits
  /// holds the work up. For what is not about time, and waits all the same, such as the pause before a retry. One passage at a time.
  ///
  /// - Parameter longest: Timers further away than this are left alone. By default that is what the store's half waits for; a
  ///   load's own deadline is far longer.
  /// - Returns: What the work came to, and how much time has passed on these clocks.
  public func passing<Value: Sendable>(
    longest: Duration = .milliseconds(300), _ work: @escaping @Sendable () async throws -> Value
  ) async throws -> (value: Value, passed: Duration) {
    let began = bootNanoseconds
    state.withLock { $0.passage = Passage(limit: longest) }
    let moving = Task {
      while let delay = await nextDelay() { advance(by: delay) }
    }
    let result: Result<Value, any Error>
    do { result = .success(try await work()) } catch { result = .failure(error) }
    state.withLock { $0.passage?.hasEnded = true }
    resumePassage()
    await moving.value
    return (try result.get(), .nanoseconds(bootNanoseconds - began))
  }

  /// How far the next timer is, once there is one within the limit; `nil` when the passage has ended.
  private func nextDelay() async -> Duration? {
    await withCheckedContinuation { continuation in
      state.withLock { $0.passage?.continuation = continuation }
      resumePassage()
    }
  }

  /// Wakes whoever lets time pass, where there is something to pass it to, or an end.
  private func resumePassage() {
    let (continuation, delay) = state.withLock {
      state -> (CheckedContinuation<Duration?, Never>?, Duration?) in
      guard let passage = state.passage, let continuation = passage.continuation else { return (nil, nil) }
      var delay: Duration?
      if !passage.hasEnded {
        guard let next = state.timers.pending.first?.instant else { return (nil, nil) }
        let left = Duration.nanoseconds(next - state.bootNanoseconds)
        guard left <= passage.limit else { return (nil, nil) }
        delay = max(.zero, left)
      }
      state.passage?.continuation = nil
      return (continuation, delay)
    }
    continuation?.resume(returning: delay)
  }

  private func fireNext(until end: Int64) -> Bool {
    let timer: TimerHandle? = state.withLock { state in
      guard let next = state.timers.nextInstant, next <= end else { return nil }
      if next > state.bootNanoseconds {
        state.wallMilliseconds += (next - state.bootNanoseconds) / 1_000_000
        state.bootNanoseconds = next
      }
      return state.timers.removeDue(at: next)
    }
    timer?.fire()
    return timer != nil
  }

  private static func takeReadyWatchers(_ state: inout State) -> [CheckedContinuation<Void, Never>] {
    let (timers, now) = (state.timers, state.bootNanoseconds)
    let ready = state.watchers.filter { $0.isMet(timers, now) }.map(\.continuation)
    state.watchers.removeAll { $0.isMet(timers, now) }
    return ready
  }
}
