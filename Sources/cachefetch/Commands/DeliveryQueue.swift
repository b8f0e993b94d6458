internal import DataService
internal import PlatformC
internal import Synchronization

/// The loads of a command, identified by number. It starts them, brings their deliveries to the main thread in order,
/// and ends them together.
///
/// While it waits, a bar on the terminal shows the progress of the longer transfers.
final class DeliveryQueue {
  typealias Delivery = DataService.Delivery<DataService.BodyStream>

  /// An event of a load.
  enum Event: Sendable {
    case delivery(Int, Delivery)
    /// The load has ended; its row is committed.
    case ended(Int)
  }

  private struct UnderWay {
    let number: Int
    let cancel: @Sendable () -> Void
    /// Whether its last delivery has arrived; the load may still be writing to the store.
    var isAnswered = false
  }

  private enum Message: Sendable {
    case event(Event)
    case progress(Int, DataService.TransferProgress)
  }

  private let loadStarter: LoadStarter
  private let diagnostics: Diagnostics
  private let mailbox = Mailbox<Message>()
  private var cancels: [UnderWay] = []
  /// `nil` if no bar is shown.
  private var transfers: Transfers?
  private var isBarShown = false
  /// How often the bar is redrawn while nothing arrives: the rate falls, and the window may have been resized.
  private static let redrawing = Duration.milliseconds(250)

  /// - Parameter showsBar: Whether the bar may use the terminal's last line. It must not if raw bytes may end in the
  ///   middle of a line.
  init(_ loadStarter: LoadStarter, diagnostics: Diagnostics, showsBar: Bool = true) {
    self.loadStarter = loadStarter
    self.diagnostics = diagnostics
    if showsBar, diagnostics.hasRedrawnLine { transfers = Transfers() }
  }

  /// How long the command waits for the store after the last delivery (law 4).
  static let writing = Duration.seconds(5)
  private var lastDelivery = ContinuousClock.now

  /// When to stop waiting for the loads under way; `nil` while deliveries are outstanding.
  var deadline: ContinuousClock.Instant? {
    cancels.allSatisfy(\.isAnswered) ? lastDelivery + Self.writing : nil
  }

  /// Which thread does the main thread's work.
  private enum Turn {
    static let main = 0
    /// The main thread, which is starting a load and may block in the store.
    static let starting = 1
    /// Another thread, since the main thread is blocked in the store.
    static let other = 2
  }
  private let turn = Atomic(Turn.main)
  private let starter = Atomic<UInt>(0)
  private var startingNumber = 0
  /// Continues the work in place of the main thread and ends the process; see ``takeOver()``.
  var goOn: (() -> Never)?

  /// The loads under way.
  var numbers: [Int] { cancels.map(\.number) }

  /// How many loads are under way.
  var underWay: Int { cancels.count }

  /// Starts a load. Its stored delivery, if any, is in the queue on return.
  func start(_ number: Int, _ request: DataService.Request, _ policy: FetchPolicy) {
    let mailbox = mailbox
    var tell: LoadStarter.Tell?
    if transfers != nil {
      transfers?.begin(number)
      tell = { mailbox.post(.progress(number, $0)) }
    }
    startingNumber = number
    starter.store(UInt(pthread_self()), ordering: .relaxed)
    turn.store(Turn.starting, ordering: .releasing)
    let standIn = StandIn(queue: self)
    let cancel = loadStarter.start(request, policy, tell) { delivery in
      mailbox.post(.event(.delivery(number, delivery)))
      standIn.noteDelivery()
    } _: {
      mailbox.post(.event(.ended(number)))
    }
    guard
      turn.compareExchange(
        expected: Turn.starting, desired: Turn.main, ordering: .acquiringAndReleasing
      ).exchanged
    else {
      // The store has answered too late: another thread has taken over this thread's work.
      while true { pause() }
    }
    cancels.append(UnderWay(number: number, cancel: cancel))
  }

  /// What is stored for a request whose policy does not deliver it; `nil` where nothing is, or the store does not
  /// answer.
  func stored(
    _ request: DataService.Request
  ) throws(OutputError) -> DataService.Response<DataService.BodyStream>? {
    let (found, loadStarter) = (Mailbox<DataService.Response<DataService.BodyStream>?>(), loadStarter)
    // On another thread, as the store may not answer.
    Task {
      _ = loadStarter.start(request, .storedOnly, nil) { delivery in
        if case .stored(let response) = delivery { found.post(response) } else { found.post(nil) }
      } _: {
      }
    }
    if let response = found.wait(milliseconds: Int32(clamping: Self.writing.milliseconds)) { return response }
    if Signals.pending != nil { throw .interrupted }
    return nil
  }

  /// The next event, without waiting.
  func next() -> Event? {
    while let message = mailbox.next() {
      if let event = take(message) { return event }
    }
    return nil
  }

  /// Waits for the next event; `nil` after a signal or at the deadline.
  func wait(until deadline: ContinuousClock.Instant? = nil) -> Event? {
    // Only an output that is watched throws.
    try? wait(until: deadline, output: nil)
  }

  /// Waits in the same way; throws `closed` once nobody reads what is written to `output`.
  func wait(
    until deadline: ContinuousClock.Instant?, output: OutputDescriptor?
  ) throws(OutputError) -> Event? {
    while true {
      let now = ContinuousClock.now
      let nextBar = isBarShown ? now + Self.redrawing : transfers?.due(after: now)
      let due = [deadline, nextBar].compactMap { $0 }.min()
      let wait = due.map { max(0, now.duration(to: $0).milliseconds + 1) } ?? -1
      if let message = try mailbox.wait(milliseconds: Int32(clamping: wait), output: output) {
        if let event = take(message) { return event }
      } else {
        if Signals.pending != nil { return nil }
        if let deadline, deadline <= .now { return nil }
        draw()
      }
    }
  }

  /// Runs `work`, which reads the events, then ends the loads still under way.
  /// - Returns: The exit status if a signal or an output error ended the work; otherwise `nil`.
  func run(
    timeLimit: Duration, status: (() -> ExitStatus)? = nil, _ work: () throws(OutputError) -> Void
  ) -> ExitStatus? {
    do throws(OutputError) {
      try work()
    } catch {
      cancel()
      return loadStarter.stop(after: error, diagnostics)
    }
    cancel()
    let left = max(.milliseconds(100), ContinuousClock.now.duration(to: lastDelivery + Self.writing))
    if let status { endAfter(left, status()) }
    _ = loadStarter.close(min(timeLimit, left))
    return nil
  }

  /// Ends the process after the time limit, whatever still blocks it.
  private func endAfter(_ timeLimit: Duration, _ status: ExitStatus) {
    guard turn.load(ordering: .relaxed) == Turn.other else { return loadStarter.endAfter(timeLimit, status) }
    // The store does not answer, and the service's own thread may be blocked in it too.
    StandIn.thread {
      usleep(UInt32(clamping: timeLimit.milliseconds * 1_000))
      _exit(status.rawValue)
    }
  }

  private func cancel() {
    diagnostics.status.clear()
    for load in cancels { load.cancel() }
  }

  /// Whether the main thread is inside the start of a load, called from another thread.
  fileprivate var isHeldUp: Bool {
    turn.load(ordering: .relaxed) == Turn.starting
      && starter.load(ordering: .relaxed) != UInt(pthread_self())
  }

  /// Continues in place of the main thread, unless it has returned from the store.
  fileprivate func takeOver() {
    guard let goOn,
      turn.compareExchange(
        expected: Turn.starting, desired: Turn.other, ordering: .acquiringAndReleasing
      ).exchanged
    else { return }
    cancels.append(UnderWay(number: startingNumber, cancel: {}))
    goOn()
  }

  private func take(_ message: Message) -> Event? {
    switch message {
    case .progress(let number, let progress):
      transfers?.take(progress, of: number, at: .now)
      draw()
      return nil
    case .event(let event):
      switch event {
      case .delivery(_, .stored): lastDelivery = .now
      case .delivery(let number, _):
        lastDelivery = .now
        if let place = cancels.firstIndex(where: { $0.number == number }) { cancels[place].isAnswered = true }
        transfers?.end(number)
      case .ended(let number):
        transfers?.end(number)
        cancels.removeAll { $0.number == number }
      }
      // The next text may go to standard output, on the same terminal.
      diagnostics.status.clear()
      isBarShown = false
      return event
    }
  }

  private func draw() {
    guard let bar = transfers?.bar(at: .now, width: Terminal.width(of: 2) - 1) else { return }
    diagnostics.status.show(bar)
    isBarShown = true
  }
}

/// Takes over if the main thread is blocked in the store, so that network responses are still printed.
///
/// The main thread reads the store, which is the fastest way to the first byte. If the store's disk or file server does
/// not answer, the system call cannot be interrupted; only another thread can continue.
// @unchecked: only the thread that has the queue's turn uses it.
private struct StandIn: @unchecked Sendable {
  let queue: DeliveryQueue

  /// Microseconds within which a main thread that is merely slow returns.
  private static let moment: UInt32 = 50_000

  /// Checks at each delivery whether the main thread can take it.
  func noteDelivery() {
    guard queue.isHeldUp else { return }
    Self.thread {
      usleep(Self.moment)
      queue.takeOver()
    }
  }

  static func thread(_ work: @escaping @Sendable () -> Void) {
    let context = Unmanaged.passRetained(Work(work))
    var thread = pthread_t()
    let result = pthread_create(&thread, nil, standInMain, context.toOpaque())
    if result == 0 { pthread_detach(thread) } else { context.release() }
  }

  fileprivate final class Work: Sendable {
    let work: @Sendable () -> Void
    init(_ work: @escaping @Sendable () -> Void) { self.work = work }
  }
}

private func standInMain(_ context: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
  guard let context else { return nil }
  Unmanaged<StandIn.Work>.fromOpaque(context).takeRetainedValue().work()
  return nil
}
