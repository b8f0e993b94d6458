/// The clock a launch runs by: what time it is, and how to wait. Injected, so that no test waits for real time.
public struct LaunchClock: Sendable {
  /// The time since the clock was made.
  let now: @Sendable () -> Duration
  /// Returns after a duration, or throws as soon as the task is cancelled.
  let sleep: @Sendable (Duration) async throws -> Void

  /// A clock of the standard library's, or of a test's.
  public init<Base: Clock>(_ clock: Base) where Base.Duration == Duration {
    let origin = clock.now
    now = { origin.duration(to: clock.now) }
    sleep = { try await clock.sleep(until: clock.now.advanced(by: $0), tolerance: nil) }
  }

  /// The system's clock, which goes on while the machine sleeps.
  public static var continuous: LaunchClock { LaunchClock(ContinuousClock()) }
}
