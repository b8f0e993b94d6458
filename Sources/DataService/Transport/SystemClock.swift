package import CacheStore
import PlatformC
import PlatformFoundation

/// The system's clocks, read without allocation.
package enum SystemClock {
  /// Computed without nanoseconds, whose 64-bit range of 292 years a wrongly set wall clock could exceed.
  package static var wallMilliseconds: Int64 {
    var time = timespec()
    clock_gettime(CLOCK_REALTIME, &time)
    return Int64(time.tv_sec) * 1000 + Int64(time.tv_nsec) / 1_000_000
  }

  static var bootNanoseconds: Int64 {
    #if os(Linux)
      nanoseconds(of: CLOCK_BOOTTIME)
    #else
      // Counts through sleep on Apple's systems, as CLOCK_BOOTTIME does on Linux.
      nanoseconds(of: CLOCK_MONOTONIC)
    #endif
  }

  /// The kernel's identifier of this boot; empty if it cannot be read, so that marks can still be compared.
  static let bootID: String = {
    #if os(Linux)
      let path = "/proc/sys/kernel/random/boot_id"
      guard let text = try? String(contentsOfFile: path, encoding: .utf8) else { return "" }
      return String(text.prefix { !$0.isNewline })
    #else
      var size = 0
      guard sysctlbyname("kern.bootsessionuuid", nil, &size, nil, 0) == 0 else { return "" }
      var bytes = [UInt8](repeating: 0, count: size)
      guard sysctlbyname("kern.bootsessionuuid", &bytes, &size, nil, 0) == 0 else { return "" }
      return String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
    #endif
  }()

  private static func nanoseconds(of clock: clockid_t) -> Int64 {
    var time = timespec()
    clock_gettime(clock, &time)
    return Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
  }
}

extension StartMark {
  /// The mark of an exchange that begins now.
  package static var now: StartMark {
    StartMark(boot: SystemClock.bootID, nanoseconds: SystemClock.bootNanoseconds)
  }
}
