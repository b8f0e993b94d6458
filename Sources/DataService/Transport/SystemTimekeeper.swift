/// The real clocks, with timers on a network thread's heap: setting one costs a lock, no system object.
package struct SystemTimekeeper: Timekeeper {
  private let thread: NetworkThread

  /// A keeper whose timers run on `thread`.
  package init(thread: NetworkThread = NetworkThread()) { self.thread = thread }

  package var wallMilliseconds: Int64 { SystemClock.wallMilliseconds }
  package var bootNanoseconds: Int64 { SystemClock.bootNanoseconds }
  package var bootID: String { SystemClock.bootID }

  package func after(_ delay: Duration, _ action: @escaping @Sendable () -> Void) -> TimerHandle {
    let timer = TimerHandle(action)
    let (instant, overflow) = SystemClock.bootNanoseconds.addingReportingOverflow(delay.clampedNanoseconds)
    thread.schedule(timer, at: overflow ? .max : instant)
    return timer
  }
}
