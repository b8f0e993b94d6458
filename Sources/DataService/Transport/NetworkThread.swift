/// One dedicated thread for everything of the network: transfers, the tasks that follow them, and timers.
///
/// As a task executor it runs the service's exchanges (`Task(executorPreference:)`), so that what a transfer wakes up
/// runs on the thread that moved the transfer, without a hop. The thread starts with the first piece of work and ends
/// after ``stop()`` or with the last reference to this object; work that comes later starts it again.
///
/// All signals are blocked on it, so that a broken connection cannot raise SIGPIPE in the process.
package final class NetworkThread: TaskExecutor {
  private let core: NetworkThreadCore

  private static let preparation = Guarded<(@Sendable () -> Void)?>(nil)

  /// What every network thread of the process does first, from now on.
  package static func setPreparation(_ action: @escaping @Sendable () -> Void) {
    preparation.withLock { $0 = action }
  }

  static func prepareCurrent() { preparation.withLock { $0 }?() }

  /// A thread that is started by its first use.
  package init() { core = NetworkThreadCore() }

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

  /// Runs `action` at once where the caller is on the thread already, else as soon as the thread gets to it.
  package func performHere(_ action: @escaping @Sendable () -> Void) {
    if core.isCurrent { action() } else { core.submit(.action(action)) }
  }

  /// Fires `timer` on the thread at an instant of the clock since boot.
  package func schedule(_ timer: TimerHandle, at instant: Int64) { core.schedule(timer, at: instant) }

  /// Lets `engine` wait for sockets in place of `poll(2)`. Called on the thread; a thread has one engine.
  func attach(_ engine: any NetworkEngine) { core.attach(engine) }

  /// Takes the engine off and closes it. Called on the thread.
  func detach(_ engine: any NetworkEngine) { core.detach(engine) }

  /// Ends the thread once nothing is queued, and returns when it has ended. Timers that are set do not keep it;
  /// they fire if the thread is started again by other work.
  ///
  /// Must not be awaited by a task that runs on this thread alone while it holds the thread up.
  package func stop() async {
    await withUnsafeContinuation { core.requestEnd($0) }
  }
}

/// What waits for sockets on a network thread, and moves what they bring.
///
/// Every function is called on the thread and nowhere else.
protocol NetworkEngine: AnyObject {
  /// Whether ``advance()`` has something to do before the next wait.
  var needsAdvance: Bool { get }
  /// Moves the transfers as far as they go without waiting.
  func advance()
  /// Waits for the sockets, for `descriptor` to become readable, or until the time is over.
  func wait(wakeDescriptor descriptor: Int32, milliseconds: Int32)
  /// Ends everything under way.
  func close()
}
