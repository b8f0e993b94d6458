internal import DataService
internal import PlatformC
internal import Synchronization

/// Another thread, which goes on in the place of the main thread where the disk holds that up, so that what the network has
/// brought is still printed (law 9).
///
/// The main thread looks up what is stored itself. On the store's reading queue a start takes 300 µs longer, and on a
/// thread of its own, on a busy machine, 100 µs more of the processor. If the disk or file server then does not answer,
/// the system call cannot be interrupted: only another thread can go on, and it ends the process itself.
// @unchecked: `goOn` is set before the first load begins, and used by the thread that takes over.
final class StandIn: @unchecked Sendable {
  /// Continues the work, and ends the process; `nil` where another thread cannot.
  var goOn: (() -> Never)?
  /// The thread that the disk may be holding up; 0 for none. Whoever sets it back to 0 goes on.
  private let held = Atomic<UInt>(0)
  private let main = pthread_self()

  /// How long, in microseconds, a thread may take that is merely slow.
  private static let moment: UInt32 = 50_000

  /// Does what the disk may hold up. Does not return once another thread has taken over.
  func watch<Result>(_ work: () -> Result) -> Result {
    let own = UInt(pthread_self())
    held.store(own, ordering: .releasing)
    let result = work()
    while !take(from: own) { pause() }
    return result
  }

  private func take(from thread: UInt) -> Bool {
    held.compareExchange(expected: thread, desired: 0, ordering: .acquiringAndReleasing).exchanged
  }

  /// Called on each delivery, from any thread: takes over where nobody can print it.
  func noteDelivery() {
    let held = held.load(ordering: .relaxed)
    guard goOn != nil, held != 0, held != UInt(pthread_self()) else { return }
    Self.thread { [self] in
      usleep(Self.moment)
      if take(from: held) { goOn?() }
    }
  }

  /// Ends the process with a status after a time, even if this thread is blocked by then.
  func endProcess(after timeLimit: Duration, _ status: ExitStatus, _ source: any LoadSource) {
    guard pthread_equal(pthread_self(), main) == 0 else {
      return source.endProcess(after: timeLimit, status)
    }
    // The disk may hold up the service's own thread too.
    Self.thread {
      usleep(UInt32(clamping: timeLimit.milliseconds * 1_000))
      _exit(status.rawValue)
    }
  }

  private static func thread(_ work: @escaping @Sendable () -> Void) {
    let context = Unmanaged.passRetained(Work(work: work))
    var thread = pthread_t()
    let result = pthread_create(
      &thread, nil,
      { context in
        if let context { Unmanaged<Work>.fromOpaque(context).takeRetainedValue().work() }
        return nil
      }, context.toOpaque())
    if result == 0 { pthread_detach(thread) } else { context.release() }
  }

  private final class Work: Sendable {
    let work: @Sendable () -> Void
    init(work: @escaping @Sendable () -> Void) { self.work = work }
  }
}
