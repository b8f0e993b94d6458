#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

/// System calls made safe for a test runner.
enum SystemCall {
  /// `write` to a pipe whose reader may be gone, without the signal that would end the test run.
  static func writeQuietly(_ fd: Int32, _ bytes: UnsafeRawBufferPointer) -> Int {
    var pipe = sigset_t()
    sigemptyset(&pipe)
    sigaddset(&pipe, SIGPIPE)
    var earlier = sigset_t()
    pthread_sigmask(SIG_BLOCK, &pipe, &earlier)
    defer { pthread_sigmask(SIG_SETMASK, &earlier, nil) }
    let written = write(fd, bytes.baseAddress, bytes.count)
    // A write cut short by the reader's end returns a count and leaves the signal all the same.
    if written < bytes.count { takePending(SIGPIPE) }
    return written
  }

  /// Takes the thread's pending signal before it is unblocked again.
  private static func takePending(_ signal: Int32) {
    var pending = sigset_t()
    sigpending(&pending)
    guard sigismember(&pending, signal) == 1 else { return }
    var only = sigset_t()
    sigemptyset(&only)
    sigaddset(&only, signal)
    var taken: Int32 = 0
    sigwait(&only, &taken)
  }
}
