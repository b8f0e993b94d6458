import PlatformC

/// The machine's time since boot, which the processes of one test share.
enum TestClockReading {
  static func sinceBoot() -> Int64 {
    var time = timespec()
    clock_gettime(CLOCK_MONOTONIC, &time)
    return Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
  }
}
