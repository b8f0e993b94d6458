/// The clock of a launch. It is injected, so that no test waits for real time.
public struct LaunchClock: Sendable {
  /// The time since the clock was made.
  let now: @Sendable () -> Duration
  /// Returns after a duration, or throws as soon as the task is cancelled.
  let sleep: @Sendable (Duration) async throws -> Void

  /// Wraps a clock of the standard library or of a test.
  public init<Base: Clock>(_ clock: Base) where Base.Duration == Duration {
    let origin = clock.now
    now = { origin.duration(to: clock.now) }
    // Of a century at most: the system's clock cannot count to the longest durations.
    sleep = {
      try await clock.sleep(until: clock.now.advanced(by: min($0, .seconds(1 << 32))), tolerance: nil)
    }
  }

  /// The system's clock, which advances while the machine sleeps.
  public static var continuous: LaunchClock { LaunchClock(ContinuousClock()) }

  /// The first element of a sequence; `nil` where it has none, or none in time, or as soon as the task is cancelled.
  func first<Element: Sendable>(of sequence: AsyncStream<Element>, within limit: Duration) async -> Element? {
    await withTaskGroup(of: Element?.self) { group in
      group.addTask { await sequence.first { _ in true } }
      group.addTask {
        try? await sleep(limit)
        return nil
      }
      defer { group.cancelAll() }
      return await group.next() ?? nil
    }
  }
}
