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
    sleep = { try await clock.sleep(until: clock.now.advanced(by: $0), tolerance: nil) }
  }

  /// The system's clock, which advances while the machine sleeps.
  public static var continuous: LaunchClock { LaunchClock(ContinuousClock()) }
}
