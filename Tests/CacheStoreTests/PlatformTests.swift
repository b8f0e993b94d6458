import PlatformC
import PlatformFoundation
import TestSupport
import TestTurns
import Testing

@testable import CacheStore

@Suite("The system's services", .inTurn) struct PlatformTests {
  private func nanoseconds(_ clock: clockid_t) -> Int64 {
    var time = timespec()
    clock_gettime(clock, &time)
    return Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
  }

  @Test func `each clock is the system's, in its unit`() {
    let beginning = nanoseconds(CLOCK_MONOTONIC)
    let monotonic = Platform.monotonicNanoseconds()
    #expect(beginning <= monotonic && monotonic <= nanoseconds(CLOCK_MONOTONIC))
    let before = nanoseconds(CLOCK_REALTIME)
    let wall = Platform.wallMilliseconds()
    #expect(before / 1_000_000 <= wall && wall <= nanoseconds(CLOCK_REALTIME) / 1_000_000)
    let booted = nanoseconds(CLOCK_BOOTTIME)
    let boot = Platform.bootNanoseconds()
    #expect(booted <= boot && boot <= nanoseconds(CLOCK_BOOTTIME))
  }

  @Test func `without HOME the home folder is that of the password file`() async {
    await #expect(processExitsWith: .success) {
      unsetenv("HOME")
      let folder = getpwuid(geteuid()).map { String(cString: $0.pointee.pw_dir) } ?? ""
      let isOne = folder.hasPrefix("/") && folder != "/nonexistent"
      try #require(Platform.homeFolder() == (isOne ? folder : nil))
    }
  }

  @Test func `a rest is as long as it is said to be`() {
    let beginning = nanoseconds(CLOCK_MONOTONIC)
    Platform.rest(nanoseconds: 1_000_000)
    #expect(nanoseconds(CLOCK_MONOTONIC) - beginning >= 1_000_000)
  }

  @Test func `free room is told where a file system reports any`() throws {
    let folder = try TemporaryFolder()
    #expect(Platform.freeBytes(at: folder.path) != nil)
    #expect(Platform.freeBytes(at: folder.file("none")) == nil)
    #expect(Platform.freeBytes(at: "/proc") == nil, "it has no blocks at all")
  }

  @Test func `a variable of the environment is read as it is, and one that is not there is none`() {
    let path = ProcessInfo.processInfo.environment["PATH"]
    #expect(Platform.environment("PATH") == (path?.isEmpty == true ? nil : path))
    #expect(Platform.environment("CACHEFETCH_NO_SUCH_VARIABLE") == nil)
  }
}
