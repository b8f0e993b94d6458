internal import DataService
internal import PlatformC

/// SIGINT and SIGTERM end the command after it has cleaned up; a second one ends it at once.
///
/// The handler only stores the number and wakes the polling thread. It runs on the main thread, so that it interrupts
/// that thread's blocking system calls, whichever thread the kernel delivered the signal to.
enum Signals {
  /// The handler's state, allocated before the handler is installed, because a handler must not allocate.
  private struct State {
    var main: pthread_t
    var number: Int32 = 0
    /// Readable after a signal; made by the first wait.
    var wake: WakeupPipe?
  }

  // The handler may run at any instant, so no lock can guard this. `main` is written before it is installed and only
  // read afterwards; `number` and `wake` are plain words, the first written once by the handler on the main thread and
  // read on the main thread only, the second written once on the main thread.
  nonisolated(unsafe) private static let state = {
    let state = UnsafeMutablePointer<State>.allocate(capacity: 1)
    state.initialize(to: State(main: pthread_self()))
    return state
  }()

  /// Installs the handler; called once, on the main thread.
  static func install() {
    state.pointee = State(main: pthread_self())
    var action = sigaction()
    action.__sigaction_handler.sa_handler = { number in Signals.handle(number) }
    // A signal that this process inherited as ignored (`trap '' INT`, a background job of a script) stays ignored.
    for number in [SIGINT, SIGTERM] where !isIgnored(number) { sigaction(number, &action, nil) }
    // A closed pipe gives EPIPE on write. The command cleans up and then ends as the signal would have ended it.
    action.__sigaction_handler.sa_handler = SIG_IGN
    sigaction(SIGPIPE, &action, nil)
    // Beyond the limit of a file's size (`ulimit -f`) a write gives EFBIG, reported like a full disk.
    sigaction(SIGXFSZ, &action, nil)
  }

  private static func isIgnored(_ number: Int32) -> Bool {
    var action = sigaction()
    guard sigaction(number, nil, &action) == 0 else { return false }
    return unsafeBitCast(action.__sigaction_handler.sa_handler, to: Int.self)
      == unsafeBitCast(SIG_IGN, to: Int.self)
  }

  /// The signal received, if any.
  static var pending: Int32? { state.pointee.number == 0 ? nil : state.pointee.number }

  /// A descriptor for the main thread that becomes readable when a signal comes. Get it before reading ``pending``,
  /// since it does not report earlier signals. For other threads: -1.
  static var descriptor: Int32 {
    guard pthread_equal(pthread_self(), state.pointee.main) != 0 else { return -1 }
    if let wake = state.pointee.wake { return wake.readEnd }
    let wake = WakeupPipe()
    state.pointee.wake = wake
    return wake.readEnd
  }

  /// The signal of a closed pipe.
  static var brokenPipe: Int32 { SIGPIPE }

  /// Ends the process by the signal itself, so that the parent sees which.
  static func endProcess(by number: Int32) -> Never {
    signal(number, SIG_DFL)
    kill(getpid(), number)
    exit(128 + number)
  }

  /// Ends the process after ``cleanUpSeconds``, even if the main thread is still blocked.
  private static func boundCleanUp() {
    var action = sigaction()
    action.__sigaction_handler.sa_handler = { _ in _exit(128 + (Signals.pending ?? SIGTERM)) }
    sigaction(SIGALRM, &action, nil)
    alarm(cleanUpSeconds)
  }

  /// The time the store may take to finish a write.
  private static let cleanUpSeconds: UInt32 = 5

  private static func handle(_ number: Int32) {
    let saved = errno
    guard pthread_equal(pthread_self(), state.pointee.main) != 0 else {
      pthread_kill(state.pointee.main, number)
      errno = saved
      return
    }
    if state.pointee.number != 0 { _exit(128 + number) }
    state.pointee.number = number
    boundCleanUp()
    state.pointee.wake?.signal()
    errno = saved
  }
}
