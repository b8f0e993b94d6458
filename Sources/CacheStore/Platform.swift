internal import PlatformC

/// The operating system's services the store uses, under one name on every system.
enum Platform {
  /// Milliseconds since 1970-01-01 UTC, by the wall clock.
  static func wallMilliseconds() -> Int64 {
    var time = timespec()
    clock_gettime(CLOCK_REALTIME, &time)
    return Int64(time.tv_sec) * 1000 + Int64(time.tv_nsec) / 1_000_000
  }

  /// Nanoseconds on a clock that cannot be set, for timeouts within the process.
  static func monotonicNanoseconds() -> Int64 {
    var time = timespec()
    clock_gettime(CLOCK_MONOTONIC, &time)
    return Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
  }

  /// Nanoseconds since boot, on the clock that start marks are taken from.
  static func bootNanoseconds() -> Int64 {
    var time = timespec()
    clock_gettime(bootClock, &time)
    return Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
  }

  /// Puts the calling thread to sleep; only called on the store's own queues.
  static func rest(nanoseconds: Int) {
    var time = timespec(tv_sec: nanoseconds / 1_000_000_000, tv_nsec: nanoseconds % 1_000_000_000)
    nanosleep(&time, nil)
  }

  /// The free bytes of a file system for this user; `nil` where it does not report them.
  static func freeBytes(at path: String) -> Int64? {
    var status = statvfs()
    guard path.withCString({ statvfs($0, &status) }) == 0, status.f_blocks > 0 else { return nil }
    let (free, overflow) = Int64(clamping: UInt64(status.f_bavail)).multipliedReportingOverflow(
      by: Int64(clamping: UInt64(status.f_frsize)))
    return overflow ? nil : free
  }

  /// The operating system's description of an error number.
  static func describe(_ number: Int32) -> String {
    isOfDescriptors(number) ? noDescriptors : String(cString: strerror(number))
  }

  /// The end of every message whose cause is the limit of open files.
  static let noDescriptors = "too many open files"

  /// Whether the process or the system has reached its limit of open files.
  static func isOfDescriptors(_ number: Int32) -> Bool { number == EMFILE || number == ENFILE }

  /// The value of an environment variable; `nil` where it is missing or empty.
  static func environment(_ name: String) -> String? {
    guard let value = getenv(name), value.pointee != 0 else { return nil }
    return String(cString: value)
  }

  /// The bundle's identifier, else the name of the executable file; distinguishes programs' files.
  static func programName() -> String {
    programName(executable: programIdentifier() ?? CommandLine.arguments.first ?? "")
  }

  /// The name in the path of an executable file.
  static func programName(executable path: String) -> String {
    // Linux appends this to the path of an executable that was replaced while it runs, as by an update.
    let replaced = " (deleted)"
    let path = path.hasSuffix(replaced) ? path.dropLast(replaced.count) : path[...]
    let name = path.split(separator: "/").last ?? ""
    return name.isEmpty || name == "." || name == ".." ? "program" : String(name)
  }

  /// The home folder by `$HOME`, else by the password file; `nil` where neither names one.
  static func homeFolder() -> String? {
    if let home = environment("HOME"), home.hasPrefix("/") { return home }
    guard let entry = getpwuid(geteuid()), let folder = entry.pointee.pw_dir, folder.pointee != 0 else {
      return nil
    }
    let home = String(cString: folder)
    return home.hasPrefix("/") && home != "/nonexistent" ? home : nil
  }
}
