internal import DataService
internal import Glibc

/// SIGINT and SIGTERM end the command after it has cleaned up; a second one ends it at once.
///
/// The handler only stores the number and wakes whoever polls; it runs on the main thread, whose blocking system calls
/// it interrupts, wherever the kernel delivered the signal.
enum Signals {
  /// What the handler touches; allocated before the handler is installed, so that it never allocates.
  private struct State {
    var main: pthread_t
    var number: Int32 = 0
    /// Readable once a signal has come; made by the first who waits.
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
    // What whoever started this process has it ignore (`trap '' INT`, a job in a script's background) stays ignored.
    for number in [SIGINT, SIGTERM] where !isIgnored(number) { sigaction(number, &action, nil) }
    // A closed pipe is met as EPIPE where it is written, cleaned up after, and then ends the process as the signal would.
    action.__sigaction_handler.sa_handler = SIG_IGN
    sigaction(SIGPIPE, &action, nil)
  }

  private static func isIgnored(_ number: Int32) -> Bool {
    var action = sigaction()
    guard sigaction(number, nil, &action) == 0 else { return false }
    return unsafeBitCast(action.__sigaction_handler.sa_handler, to: Int.self)
      == unsafeBitCast(SIG_IGN, to: Int.self)
  }

  /// The signal that came, if one has.
  static var pending: Int32? { state.pointee.number == 0 ? nil : state.pointee.number }

  /// Readable once a signal comes, for the main thread; it asks for it before ``pending``, since a signal that came
  /// before is not told this way. Others have none: -1.
  static var descriptor: Int32 {
    guard pthread_equal(pthread_self(), state.pointee.main) != 0 else { return -1 }
    if let wake = state.pointee.wake { return wake.readEnd }
    let wake = WakeupPipe()
    state.pointee.wake = wake
    return wake.readEnd
  }

  /// The signal of a closed pipe.
  static var brokenPipe: Int32 { SIGPIPE }

  /// The exit status of the signal that came.
  static var exitStatus: ExitStatus { pending == SIGTERM ? .terminated : .interrupted }

  /// Ends the process as a signal would have done: the parent sees which.
  static func endProcess(by number: Int32) -> Never {
    signal(number, SIG_DFL)
    kill(getpid(), number)
    exit(128 + number)
  }

  /// Ends the process some seconds from now, whatever still holds up the main thread then.
  private static func boundCleanUp() {
    var action = sigaction()
    action.__sigaction_handler.sa_handler = { _ in _exit(128 + (Signals.pending ?? SIGTERM)) }
    sigaction(SIGALRM, &action, nil)
    alarm(cleanUpSeconds)
  }

  /// As long as the store may take to end a write.
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
