import PlatformC

/// System calls made safe for a test runner.
enum SystemCall {
  /// `write` to a pipe whose reader may be gone, without the SIGPIPE that would end the test run.
  static func writeQuietly(_ fd: Int32, _ bytes: UnsafeRawBufferPointer) -> Int {
    var pipe = sigset_t()
    sigemptyset(&pipe)
    sigaddset(&pipe, SIGPIPE)
    var earlier = sigset_t()
    pthread_sigmask(SIG_BLOCK, &pipe, &earlier)
    defer { pthread_sigmask(SIG_SETMASK, &earlier, nil) }
    let written = write(fd, bytes.baseAddress, bytes.count)
    // A write cut short because the reader ended returns a count, but the signal is pending nevertheless.
    if written < bytes.count { takePending(SIGPIPE) }
    return written
  }

  /// Consumes the thread's pending signal before it is unblocked.
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
