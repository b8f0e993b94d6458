/// A dedicated thread for transfers, the tasks that depend on them, and timers.
///
/// As a task executor it runs the service's exchanges (`Task(executorPreference:)`), so a task that a transfer
/// resumes continues on the same thread. The thread starts with the first piece of work and ends after ``stop()`` or
/// with the last reference to this object; later work starts it again.
///
/// All signals are blocked on it, so that a broken connection cannot raise SIGPIPE in the process.
package final class NetworkThread: TaskExecutor {
  private let core: NetworkThreadCore

  /// A thread that starts on first use.
  /// - Parameters:
  ///   - preparation: What it runs first, each time that it starts.
  ///   - wakeup: Makes what wakes it, each time that it starts.
  package init(
    preparation: (@Sendable () -> Void)? = nil,
    wakeup: @escaping @Sendable () -> WakeupPipe = { WakeupPipe() }
  ) {
    core = NetworkThreadCore(preparation: preparation, makeWakeup: wakeup)
  }

  deinit { core.requestEnd(nil) }

  /// Whether the caller runs on this thread.
  package var isCurrent: Bool { core.isCurrent }

  /// Whether the thread has been started and not ended.
  package var isRunning: Bool { core.isRunning }

  package func enqueue(_ job: consuming ExecutorJob) {
    // The strong reference keeps the executor until the job has run.
    core.submit(.job(UnownedJob(job), self))
  }

  /// Runs `action` on the thread; never inside this call.
  package func perform(_ action: @escaping @Sendable () -> Void) { core.submit(.action(action)) }

  /// Runs `action` at once if the caller is on the thread, otherwise as soon as the thread is free.
  package func performHere(_ action: @escaping @Sendable () -> Void) {
    if core.isCurrent { action() } else { core.submit(.action(action)) }
  }

  /// Fires `timer` on the thread at an instant of the clock since boot.
  package func schedule(_ timer: TimerHandle, at instant: Int64) { core.schedule(timer, at: instant) }

  /// Makes `engine` wait for sockets in place of `poll(2)`. Called on the thread; a thread has one engine.
  func attach(_ engine: any NetworkEngine) { core.attach(engine) }

  /// Detaches and closes the engine. Called on the thread.
  func detach(_ engine: any NetworkEngine) { core.detach(engine) }

  /// Ends the thread once nothing is queued, and returns when it has ended. Pending timers do not keep it running;
  /// they fire if other work starts the thread again.
  ///
  /// Must not be awaited by a task that blocks this thread.
  package func stop() async {
    await withUnsafeContinuation { core.requestEnd($0) }
  }
}
