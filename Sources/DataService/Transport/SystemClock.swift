package import CacheStore
import PlatformC

/// The system's clocks, read without allocation.
package enum SystemClock {
  /// Computed without nanoseconds, whose 64-bit range of 292 years a wrongly set wall clock could exceed.
  package static var wallMilliseconds: Int64 {
    var time = timespec()
    clock_gettime(CLOCK_REALTIME, &time)
    return Int64(time.tv_sec) * 1000 + Int64(time.tv_nsec) / 1_000_000
  }

  static var bootNanoseconds: Int64 {
    var time = timespec()
    clock_gettime(bootClock, &time)
    return Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
  }

  /// The kernel's identifier of this boot; empty if it cannot be read, so that marks can still be compared.
  static let bootID = bootIdentifier()
}

extension StartMark {
  /// The mark of an exchange that begins now.
  package static var now: StartMark {
    StartMark(boot: SystemClock.bootID, nanoseconds: SystemClock.bootNanoseconds)
  }
}
