internal import DataService
internal import PlatformC
internal import Synchronization

/// The deadline for reading files that options name: the time of `-m`, counted from the start. Loads have their own
/// limits.
enum CommandDeadline {
  /// Nanoseconds on the monotonic clock.
  private static let instant = Atomic(Int64.max)

  /// Sets it; called once, before any file is read.
  static func set(_ limit: Duration) {
    let (end, overflow) = now.addingReportingOverflow(limit.clampedNanoseconds)
    instant.store(overflow ? .max : end, ordering: .relaxed)
  }

  /// The time left, for `poll(2)`: -1 if there is no limit.
  static var remainingMilliseconds: Int32 {
    let instant = instant.load(ordering: .relaxed)
    return instant == .max ? -1 : Int32(clamping: max(0, (instant - now + 999_999) / 1_000_000))
  }

  static var isOver: Bool { remainingMilliseconds == 0 }

  private static var now: Int64 {
    var time = timespec()
    clock_gettime(CLOCK_MONOTONIC, &time)
    return Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
  }
}
