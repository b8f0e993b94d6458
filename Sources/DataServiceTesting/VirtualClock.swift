public import DataService
internal import Guards
public import PlatformFoundation

/// The clocks of a service under test. They stand still until the test advances them; timers fire on the thread that
/// calls ``advance(by:)``. May be used from any thread.
///
/// Time-outs, retries, deadlines, ages and freshness depend on it. Nothing waits for real time, so a test of a
/// thirty-second time-out takes no time.
public final class VirtualClock: Timekeeper {
  private struct State {
    /// The wall clock when it was last set, and the time since boot at that instant: what it says follows from both,
    /// so that steps of less than a millisecond add up.
    var wallWhenSet: Int64
    var setAt: Int64
    var bootNanoseconds: Int64
    var timers = TimerHeap()
    var watchers:
      [(isMet: @Sendable (TimerHeap, Int64) -> Bool, continuation: CheckedContinuation<Void, Never>)] = []
    var passage: Passage?

    var wallMilliseconds: Int64 { wallWhenSet + (bootNanoseconds - setAt) / 1_000_000 }
  }

  /// A call of ``passing(longest:_:)`` that waits for the next timer.
  private struct Passage {
    let limit: Duration
    var hasEnded = false
    var continuation: CheckedContinuation<Duration?, Never>?
  }

  private let state: Guarded<State>
  package let bootID: String

  /// Starts at an instant, by default 2026-01-01 00:00:00 UTC.
  public convenience init(at date: Date = Date(timeIntervalSince1970: 1_767_225_600)) {
    self.init(wallMilliseconds: Int64((date.timeIntervalSince1970 * 1000).rounded()))
  }

  /// Starts at that time since boot, by default 1,000 seconds.
  package init(
    wallMilliseconds: Int64, bootNanoseconds: Int64 = 1_000_000_000_000,
    bootID: String = "test-boot"
  ) {
    state = Guarded(
      State(wallWhenSet: wallMilliseconds, setAt: bootNanoseconds, bootNanoseconds: bootNanoseconds))
    self.bootID = bootID
  }

  package var wallMilliseconds: Int64 { state.withLock { $0.wallMilliseconds } }
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

  package func letStoreRest(until hasAnswered: @Sendable () -> Bool) async {
    var tries = 40
    while !hasAnswered(), tries > 0 {
      try? await Task.sleep(for: .milliseconds(1))
      tries -= 1
    }
  }

  /// The current time.
  public var now: Date { Date(timeIntervalSince1970: Double(wallMilliseconds) / 1000) }

  /// Advances the clocks and fires the timers that are due, in order, each at its own instant.
  public func advance(by delay: Duration) {
    let end = state.withLock { $0.bootNanoseconds + delay.clampedNanoseconds }
    while fireNext(until: end) {}
    // Another caller may have moved them further; they never go back.
    state.withLock { $0.bootNanoseconds = max($0.bootNanoseconds, end) }
  }

  /// Sets the wall clock, as a user or a time server does. Timers and the clock since boot are unaffected.
  public func set(_ date: Date) {
    setWall(milliseconds: Int64((date.timeIntervalSince1970 * 1000).rounded()))
  }

  package func setWall(milliseconds: Int64) {
    state.withLock { ($0.wallWhenSet, $0.setAt) = (milliseconds, $0.bootNanoseconds) }
  }

  /// The delays until the pending timers fire, in order.
  package var pendingDelays: [Duration] {
    state.withLock { state in
      state.timers.pending.map { .nanoseconds($0.instant - state.bootNanoseconds) }
    }
  }

  /// Waits until at least `count` timers are pending; the barrier before ``advance(by:)``.
  package func whenPending(atLeast count: Int = 1) async {
    await when { timers, _ in timers.pending.count >= count }
  }

  /// Waits until a timer is pending that fires after exactly that delay. The barrier before ``advance(by:)``: the
  /// time-out, retry or delay under test has then begun.
  public func whenPending(for delay: Duration) async {
    await when { timers, now in timers.pending.contains { $0.instant - now == delay.clampedNanoseconds } }
  }

  /// Waits until a timer is pending that fires within that delay.
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

  /// Does the work while every timer within a limit fires as soon as it is set. For tests that are not about time but
  /// run into waits, such as the pause before a retry. Only one call at a time.
  ///
  /// - Parameter longest: The limit; later timers stay pending, and work that waits for one never returns. The default
  ///   covers the waits of the store and the pauses before a load's two retries, of up to 250 and 500 ms. The bound
  ///   doubles with each further retry, up to 5 s, and so does the pause of `onlineWait`; a `Retry-After` comes on top.
  ///   A larger limit also lets deadlines pass, such as the three seconds of ``FetchPolicy/freshElseStored()``.
  /// - Returns: The work's value, and the time that passed on these clocks.
  public func passing<Value: Sendable>(
    longest: Duration = .milliseconds(500), _ work: @escaping @Sendable () async throws -> Value
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

  /// Waits for a timer within the limit and returns its delay; `nil` at the end of the passage.
  private func nextDelay() async -> Duration? {
    await withCheckedContinuation { continuation in
      state.withLock { $0.passage?.continuation = continuation }
      resumePassage()
    }
  }

  /// Resumes ``nextDelay()`` if there is a timer within the limit, or at the end of the passage.
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
      state.bootNanoseconds = max(state.bootNanoseconds, next)
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
