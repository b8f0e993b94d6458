import Dispatch
import Guards
import PlatformC
import Synchronization

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

  /// One that starts no thread: what it is given waits until a test runs it, piece by piece, on a thread of its own.
  package static func drivenForTesting() -> NetworkThread { NetworkThread(NetworkThreadCore(isDriven: true)) }

  private init(_ core: NetworkThreadCore) { self.core = core }

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
  package func attach(_ engine: any NetworkEngine) { core.attach(engine) }

  /// Detaches and closes the engine. Called on the thread.
  func detach(_ engine: any NetworkEngine) { core.detach(engine) }

  /// Ends the thread once nothing is queued, and returns when it has ended. Pending timers do not keep it running;
  /// they fire if other work starts the thread again.
  ///
  /// Must not be awaited by a task that blocks this thread.
  package func stop() async {
    await withUnsafeContinuation { core.requestEnd($0) }
  }

  /// What waits for a driven thread, the oldest first: whether it is an action, or else a task's job.
  package var waitingForTesting: [Bool] { core.waiting }

  /// Runs one of them on the calling thread, which counts as this thread meanwhile.
  package func runForTesting(at index: Int) { core.runWaiting(at: index) }

  /// Does something else likewise, as the firing of a timer.
  package func runForTesting(_ work: () -> Void) { core.runDriven(work) }
}

/// The loop of a ``NetworkThread``, and the work that other threads submit.
///
/// It has no reference to its owner, so that releasing the owner can end the loop.
final class NetworkThreadCore: @unchecked Sendable {
  enum Item {
    /// With the executor it runs on, which is kept until then.
    case job(UnownedJob, any TaskExecutor)
    case action(@Sendable () -> Void)
  }

  private struct Inbox {
    var items: [Item] = []
    var timers = TimerHeap()
    var isRunning = false
    var isEnding = false
    var isAsleep = false
    var endWaiters: [UnsafeContinuation<Void, Never>] = []
    /// Made when the thread starts, so that an unused one costs no descriptor.
    var wakeup: WakeupPipe?
  }

  private let preparation: (@Sendable () -> Void)?
  private let makeWakeup: @Sendable () -> WakeupPipe
  private let isDriven: Bool
  private let inbox = Guarded(Inbox())
  private let runningThread = Atomic<UInt>(0)
  // Accessed only by code that runs on the thread, which justifies `@unchecked Sendable`.
  private var local: [Item] = []
  private var spare: [Item] = []
  private var engine: (any NetworkEngine)?

  init(
    preparation: (@Sendable () -> Void)? = nil,
    makeWakeup: @escaping @Sendable () -> WakeupPipe = { WakeupPipe() }, isDriven: Bool = false
  ) {
    self.preparation = preparation
    self.makeWakeup = makeWakeup
    self.isDriven = isDriven
  }

  var isRunning: Bool { inbox.withLock { $0.isRunning } }

  var isCurrent: Bool { runningThread.load(ordering: .relaxed) == currentThread }

  func submit(_ item: Item) {
    if isCurrent {
      local.append(item)
      return
    }
    wakeAfter { $0.items.append(item) }
  }

  func schedule(_ timer: TimerHandle, at instant: Int64) {
    if isCurrent {
      inbox.withLock { $0.timers.insert(timer, at: instant) }
      return
    }
    wakeAfter { $0.timers.insert(timer, at: instant) }
  }

  func attach(_ engine: any NetworkEngine) { self.engine = engine }

  func detach(_ engine: any NetworkEngine) {
    engine.close()
    if self.engine === engine { self.engine = nil }
  }

  /// Asks the thread to end. `waiter` is resumed when it has ended, or at once if it is not running.
  func requestEnd(_ waiter: UnsafeContinuation<Void, Never>?) {
    let (isRunning, sleeping) = inbox.withLock { inbox -> (Bool, WakeupPipe?) in
      guard inbox.isRunning else { return (false, nil) }
      inbox.isEnding = true
      if let waiter { inbox.endWaiters.append(waiter) }
      defer { inbox.isAsleep = false }
      return (true, inbox.isAsleep ? inbox.wakeup : nil)
    }
    sleeping?.signal()
    if !isRunning { waiter?.resume() }
  }

  /// Changes the inbox, then starts or wakes the thread as needed.
  private func wakeAfter(_ change: (inout Inbox) -> Void) {
    if isDriven { return inbox.withLock { change(&$0) } }
    let (starts, sleeping) = inbox.withLock { inbox in
      change(&inbox)
      let result = (!inbox.isRunning, inbox.isAsleep ? inbox.wakeup : nil)
      inbox.isRunning = true
      // One signal is enough until the thread sleeps again.
      inbox.isAsleep = false
      return result
    }
    if starts { start() } else { sleeping?.signal() }
  }

  private func start() {
    // The process may be out of threads. Queued tasks must run all the same, so borrow a thread of the global queue.
    if startThread({ self.run() }) != 0 { DispatchQueue.global().async { self.run() } }
  }

  /// The thread's main function.
  func run() {
    blockSignals()
    // With one processor a new thread runs before the one that made it, which has a stored response to deliver; loading
    // libcurl takes several milliseconds.
    sched_yield()
    preparation?()
    let wakeup = makeWakeup()
    inbox.withLock { $0.wakeup = wakeup }
    runningThread.store(currentThread, ordering: .relaxed)
    ExitGuard.begin()
    defer { ExitGuard.rest() }
    while true {
      ExitGuard.check()
      runItems()
      fireTimers()
      if let engine, engine.needsAdvance { engine.advance() }
      if !local.isEmpty { continue }
      switch nextStep() {
      case .work: continue
      case .wait(let milliseconds): wait(milliseconds, wakeup)
      case .end:
        if finish() { return }
      }
    }
  }

  private enum Step {
    case work
    case wait(Int32)
    case end
  }

  private func nextStep() -> Step {
    inbox.withLock { inbox in
      if !inbox.items.isEmpty { return .work }
      if inbox.isEnding { return .end }
      guard let next = inbox.timers.nextInstant else {
        inbox.isAsleep = true
        return .wait(Self.longestWait)
      }
      let now = SystemClock.bootNanoseconds
      if next <= now { return .work }
      inbox.isAsleep = true
      // Rounded up, so that no timer fires early and the loop does not spin through the last millisecond.
      let milliseconds = min((next - now - 1) / 1_000_000 + 1, Int64(Self.longestWait))
      return .wait(Int32(milliseconds))
    }
  }

  private func wait(_ milliseconds: Int32, _ wakeup: WakeupPipe) {
    // Without a descriptor nothing can wake this thread, so it polls at a fixed interval.
    let milliseconds = wakeup.isUsable ? milliseconds : wakeup.blindWait(milliseconds)
    let isSignalled: Bool
    if let engine {
      isSignalled = engine.wait(wakeDescriptor: wakeup.readEnd, milliseconds: milliseconds)
    } else {
      ExitGuard.rest()
      defer { ExitGuard.resume() }
      var descriptor = pollfd(fd: wakeup.readEnd, events: Int16(POLLIN), revents: 0)
      isSignalled = poll(&descriptor, 1, milliseconds) > 0
    }
    inbox.withLock { $0.isAsleep = false }
    // Not by whether this thread was called: the signal may come after the wait that another event has ended.
    if isSignalled { wakeup.drain() }
  }

  /// Runs the queued items. Items that they add wait for the next round, so that transfers get their turn.
  private func runItems() {
    swap(&local, &spare)
    if !spare.isEmpty { run(&spare) }
    var items = inbox.withLock { inbox in
      let items = inbox.items
      inbox.items = []
      return items
    }
    if !items.isEmpty { run(&items) }
  }

  private func run(_ items: inout [Item]) {
    for item in items {
      switch item {
      case .job(let job, let executor): job.runSynchronously(on: executor.asUnownedTaskExecutor())
      case .action(let action): action()
      }
    }
    items.removeAll(keepingCapacity: true)
  }

  private func fireTimers() {
    guard let next = inbox.withLock({ $0.timers.nextInstant }) else { return }
    let now = SystemClock.bootNanoseconds
    guard next <= now else { return }
    // Collected first: an action may set timers, and one that reschedules itself for now must not block the loop.
    var due: [TimerHandle] = []
    inbox.withLock { inbox in
      while let timer = inbox.timers.removeDue(at: now) { due.append(timer) }
    }
    for timer in due { timer.fire() }
  }

  /// Closes the engine and ends the loop; `false` if closing, or another thread, has submitted new work.
  private func finish() -> Bool {
    engine?.close()
    engine = nil
    guard local.isEmpty else { return false }
    let waiters: [UnsafeContinuation<Void, Never>]? = inbox.withLock { inbox in
      guard inbox.items.isEmpty else { return nil }
      inbox.isEnding = false
      inbox.isRunning = false
      inbox.wakeup = nil
      runningThread.store(0, ordering: .relaxed)
      defer { inbox.endWaiters = [] }
      return inbox.endWaiters
    }
    guard let waiters else { return false }
    for waiter in waiters { waiter.resume() }
    return true
  }

  // MARK: Testing

  var waiting: [Bool] {
    inbox.withLock { inbox in
      inbox.items.map { if case .action = $0 { true } else { false } }
    }
  }

  func runWaiting(at index: Int) {
    var items = [inbox.withLock { $0.items.remove(at: index) }]
    runDriven { run(&items) }
  }

  func runDriven(_ work: () -> Void) {
    runningThread.store(currentThread, ordering: .relaxed)
    work()
    runningThread.store(0, ordering: .relaxed)
    inbox.withLock { $0.items += local }
    local = []
  }

  private func blockSignals() {
    var all = sigset_t()
    sigfillset(&all)
    pthread_sigmask(SIG_BLOCK, &all, nil)
  }

  private static let longestWait: Int32 = 3_600_000
}

/// Waits for sockets on a network thread, and advances their transfers.
///
/// Every function is called on the thread and nowhere else.
package protocol NetworkEngine: AnyObject {
  /// Whether ``advance()`` has something to do before the next wait.
  var needsAdvance: Bool { get }
  /// Advances the transfers as far as possible without waiting.
  func advance()
  /// Waits for the sockets, for `descriptor` to become readable, or until the time is over.
  /// - Returns: Whether `descriptor` is readable.
  func wait(wakeDescriptor descriptor: Int32, milliseconds: Int32) -> Bool
  /// Ends everything under way.
  func close()
}

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
