import CacheStore
import DataService
import Dispatch
import PlatformC
import PlatformFoundation
import Synchronization
import TestSupport

/// A service whose network thread, clock and origin are a driver's, over a real store: one thread takes one step after
/// the other, and random numbers choose which. The store, the door to it and the decoders run between two steps alone, so
/// that a seed is an interleaving, and always the same one.
// All of it is used on the driver's thread, and on the store's queues while that waits for them.
final class Stage: @unchecked Sendable {
  private struct Event {
    let time: Int64
    /// `nil` for what is not a timer's.
    let timer: TimerHandle?
    let action: () -> Void
  }

  let folder: TemporaryFolder
  private var open: (service: DataService, other: ResponseStore)?
  private let thread: NetworkThread
  private let clock: Clock
  private var queues: [DispatchQueue]
  /// The queues that a slow disk holds up, by their places among them.
  private(set) var held: Set<Int> = []
  private var events: [Event] = []
  /// Whether nothing has happened since ``rest()`` that may give the queues something to do.
  private var isAtRest = false
  private(set) var steps = 0
  /// How often the network thread has done something.
  private(set) var turnsOfThread = 0
  /// How often the store could write what it had been given.
  private(set) var turnsOfWriter = 0
  /// A caller's thread beside the driver's.
  let otherCaller = OtherCaller()
  var random = SeededGenerator(seed: 0)
  var scene: Scene? {
    didSet { (clock.scene, isAtRest) = (scene, false) }
  }

  init() throws {
    folder = try TemporaryFolder()
    let clock = Clock()
    self.clock = clock
    thread = .drivenForTesting()
    var configuration = DataService.Configuration(
      store: StoreConfiguration(path: folder.file("store.sqlite")))
    configuration.timekeeper = clock
    configuration.thread = thread
    configuration.random = { Double(clock.stage?.below(1_000) ?? 0) / 1_000 }
    configuration.onEvent = { event in clock.scene?.heard(event) }
    configuration.store.now = { clock.wallMilliseconds }
    configuration.store.onWrite = { body in clock.scene?.handedOver(body) }
    configuration.store.busyTimeout = .seconds(60)
    let other = ResponseStore(configuration: configuration.store)
    let service = DataService(configuration: configuration, transport: Origin(clock: clock))
    queues = service.queuesForTesting
    open = (service, other)
    clock.stage = self
    for queue in queues { queue.suspend() }
  }

  /// Closes the service, and looks at what it has left open: for a second, where it is not known to be broken.
  func close(isPatient: Bool) throws -> Bool {
    isAtRest = false
    Task(executorPreference: thread) { [service] in await service.close() }
    while step() {}
    for queue in queues { queue.resume() }
    let closed = DispatchSemaphore(value: 0)
    Task.detached { [other] in
      await other.close()
      closed.signal()
    }
    closed.wait()
    (open, queues) = (nil, [])
    // The threads on which the two have closed may not have let go of them yet.
    for _ in 0..<(isPatient ? 200 : 4) {
      if try openFiles(below: folder.path).isEmpty { return true }
      usleep(5_000)
    }
    return false
  }

  var service: DataService {
    guard let open else { preconditionFailure("the stage is closed") }
    return open.service
  }

  /// Another process's access to the store.
  var other: ResponseStore {
    guard let open else { preconditionFailure("the stage is closed") }
    return open.other
  }

  // MARK: Chance

  func below(_ limit: Int) -> Int { Int(random.next() >> 33) % limit }
  func chance(_ percent: Int) -> Bool { below(100) < percent }
  func oneOf<Value>(_ values: [Value]) -> Value { values[below(values.count)] }

  // MARK: Time

  /// A new instant, later than all before.
  var instant: Int64 { clock.bootNanoseconds }
  var now: Int64 { clock.now }
  func advance(by nanoseconds: Int64) { clock.now += nanoseconds }
  /// A seed begins at a full span of so many nanoseconds, so that what is due by then is the same whatever came before.
  func advanceToFull(_ span: Int64) { clock.now = (now / span + 2) * span }

  func at(_ time: Int64, timer: TimerHandle? = nil, _ action: @escaping () -> Void = {}) {
    events.append(Event(time: time, timer: timer, action: action))
  }

  /// Returns after a time, or once the task is cancelled.
  nonisolated(nonsending) func wait(_ nanoseconds: Int64) async {
    let over = Once()
    at(now + nanoseconds) { over.set() }
    await withTaskCancellationHandler {
      await over.wait()
    } onCancel: {
      over.set()
    }
  }

  // MARK: What happens next

  /// Begins a task on the service's thread.
  func perform(_ work: @escaping @Sendable () async -> Void) -> Task<Void, Never> {
    Task(executorPreference: thread) { await work() }
  }

  /// Holds one of the store's queues up for a time.
  func hold(_ queue: Int, for nanoseconds: Int64) {
    guard held.insert(queue).inserted else { return }
    at(now + nanoseconds) { [unowned self] in
      held.remove(queue)
      isAtRest = false
    }
  }

  var queueCount: Int { queues.count }
  var isThreadIdle: Bool { thread.waitingForTesting.isEmpty && held.isEmpty }
  /// Whether the caller is the driver and no part of a step of the service's thread.
  var isAtCaller: Bool { !thread.isCurrent && clock.isDriver }

  /// Lets the store do what it was asked for.
  private func rest() {
    if isAtRest { return }
    isAtRest = true
    for place in queues.indices where !held.contains(place) {
      let queue = queues[place]
      if place == queues.count - 1 { turnsOfWriter += 1 }
      queue.resume()
      // The first alone is concurrent, and a barrier costs more.
      if place == 0 { queue.sync(flags: .barrier) {} } else { queue.sync {} }
      queue.suspend()
    }
  }

  /// Lets a caller act between two steps, or in the middle of one.
  func act(_ action: () -> Void) {
    isAtRest = false
    action()
    isAtRest = false
  }

  /// Lets a caller act on a thread of its own, until it stops in the middle of its call or returns. It goes on in so
  /// many nanoseconds, unless somebody has let it go on before.
  func actBeside(for nanoseconds: Int64, _ action: @escaping () -> Void) {
    act { otherCaller.begin(action) }
    at(now + nanoseconds) { [unowned self] in letOtherGoOn() }
  }

  func letOtherGoOn() {
    guard otherCaller.isStopped else { return }
    act { otherCaller.goOn() }
  }

  /// Takes a step.
  /// - Returns: Whether anything was left to do.
  func step() -> Bool {
    rest()
    scene?.checkLease()
    steps += 1
    let waiting = thread.waitingForTesting
    events.removeAll { $0.timer?.isPending == false }
    let due = events.indices.filter { events[$0].time <= now }
    let all = (waiting.isEmpty ? 0 : 2) + (due.isEmpty ? 0 : 1)
    let callbacks = scene?.callbackQueues ?? []
    if !callbacks.isEmpty, chance(10) {
      act(oneOf(callbacks).run)
      return true
    }
    // A timer that fires although replies wait is what a slow store looks like.
    if all == 0 || chance(scene?.slowness ?? 0) {
      guard let next = events.indices.min(by: { events[$0].time < events[$1].time }) else {
        if all > 0 { return true }
        act { for queue in callbacks { queue.run() } }
        return !thread.waitingForTesting.isEmpty || !events.isEmpty
      }
      clock.now = max(now, events[next].time)
      if all == 0 { return true }
      fire(next)
      return true
    }
    let choice = below(all)
    if choice < 2, !waiting.isEmpty {
      let isOrdered = scene?.isOrdered ?? true
      let firstAction = waiting.firstIndex(of: true)
      let places = isOrdered ? [0] : waiting.indices.filter { !waiting[$0] || $0 == firstAction }
      turnsOfThread += 1
      act { thread.runForTesting(at: oneOf(places)) }
    } else {
      fire(oneOf(due))
    }
    return true
  }

  private func fire(_ index: Int) {
    let event = events.remove(at: index)
    guard let timer = event.timer else { return event.action() }
    act { thread.runForTesting { timer.fire() } }
  }
}

/// The clocks, which stand still but for a few nanoseconds at each look of the driver's thread, so that no two instants
/// are the same.
final class Clock: Timekeeper, @unchecked Sendable {
  private let time = Atomic<Int64>(1_000_000_000_000)
  private let driver = pthread_self()
  weak var stage: Stage?
  var scene: Scene?

  var isDriver: Bool { pthread_equal(pthread_self(), driver) != 0 }
  var now: Int64 {
    get { time.load(ordering: .relaxed) }
    set { time.store(newValue, ordering: .relaxed) }
  }

  var bootID: String { "driven" }
  var bootNanoseconds: Int64 {
    if isDriver || stage?.otherCaller.isCurrent == true { now += 4 }
    return now
  }
  var wallMilliseconds: Int64 { 1_767_225_600_000 + now / 1_000_000 }

  func after(_ delay: Duration, _ action: @escaping @Sendable () -> Void) -> TimerHandle {
    let timer = TimerHandle(action)
    let (time, overflow) = now.addingReportingOverflow(delay.clampedNanoseconds)
    if !overflow { stage?.at(time, timer: timer) }
    return timer
  }
}

/// A signal for one task.
final class Once: @unchecked Sendable {
  private var isSet = false
  private var waiter: UnsafeContinuation<Void, Never>?

  func set() {
    isSet = true
    waiter?.resume()
    waiter = nil
  }

  nonisolated(nonsending) func wait() async {
    await withUnsafeContinuation { waiter in
      if isSet { waiter.resume() } else { self.waiter = waiter }
    }
  }
}

/// A caller's thread that takes turns with the driver's: one of the two always waits for the other.
final class OtherCaller: @unchecked Sendable {
  private let queue = DispatchQueue(label: "interleavings.caller")
  private let turn = DispatchSemaphore(value: 0)
  private let back = DispatchSemaphore(value: 0)
  private var thread: pthread_t?
  /// Whether it waits in the middle of its call.
  private(set) var isStopped = false

  /// Whether it is the caller's own thread that asks.
  var isCurrent: Bool { thread.map { pthread_equal($0, pthread_self()) != 0 } ?? false }
  /// Whether it has returned from its last call.
  private(set) var isFree = true

  /// Returns once it has returned, or stopped.
  func begin(_ action: @escaping () -> Void) {
    let action = UncheckedAction(run: action)
    isFree = false
    queue.async { [self] in
      thread = pthread_self()
      action.run()
      (thread, isFree) = (nil, true)
      back.signal()
    }
    back.wait()
  }

  /// Stops in the middle of a call; on its own thread.
  func stop() {
    isStopped = true
    back.signal()
    turn.wait()
  }

  /// Returns once it has returned, or stopped once more.
  func goOn() {
    isStopped = false
    turn.signal()
    back.wait()
  }
}

private struct UncheckedAction: @unchecked Sendable {
  let run: () -> Void
}

/// A queue of a caller's, whose callbacks wait until the driver runs them.
final class CallbackQueue: Sendable {
  let queue = DispatchQueue(label: "interleavings.callbacks")

  init() { queue.suspend() }
  deinit { queue.resume() }

  /// Lets all callbacks run that wait.
  func run() {
    queue.resume()
    // What they have put behind themselves is run too.
    for _ in 0..<2 { queue.sync {} }
    queue.suspend()
  }
}
