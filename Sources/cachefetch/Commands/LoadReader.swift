internal import DataService

/// Reads the loads of a command, which it knows by number: begins them, hands on what they deliver, in order and on the
/// main thread, and ends them together.
///
/// While it waits, a bar on the terminal shows the progress of the longer transfers.
final class LoadReader {
  typealias Delivery = LoadSource.Delivery

  /// An event of a load.
  enum Event: Sendable {
    case delivery(Int, Delivery)
    /// The load has ended; its row is committed.
    case ended(Int)
  }

  private enum Message: Sendable {
    case event(Event)
    case progress(Int, DataService.TransferProgress)
  }

  private struct Load {
    let number: Int
    /// `nil` while it is being begun.
    var cancel: (@Sendable () -> Void)?
    /// Whether its last delivery has arrived; it may still be writing to the store.
    var isAnswered = false
  }

  private let source: any LoadSource
  private let diagnostics: Diagnostics
  private let mailbox = Mailbox<Message>()
  private let standIn = StandIn()
  /// Those under way.
  private var loads: [Load] = []
  private var lastDelivery = ContinuousClock.now
  /// `nil` if no bar is shown.
  private var transfers: Transfers?
  private var isBarShown = false

  /// How long the command waits for the store after the last delivery (law 4).
  static let writing = Duration.seconds(5)
  /// How often the bar is redrawn while nothing arrives: the rate falls, and the window may have been resized.
  private static let redrawing = Duration.milliseconds(250)

  /// - Parameter showsBar: Whether the bar may use the terminal's last line. It must not if raw bytes may end in the
  ///   middle of a line.
  init(_ source: any LoadSource, diagnostics: Diagnostics, showsBar: Bool = true) {
    self.source = source
    self.diagnostics = diagnostics
    if showsBar, diagnostics.hasRedrawnLine { transfers = Transfers() }
  }

  /// The loads under way.
  var numbers: [Int] { loads.map(\.number) }

  /// When to stop waiting for the loads under way; `nil` while deliveries are outstanding.
  var deadline: ContinuousClock.Instant? {
    loads.allSatisfy(\.isAnswered) ? lastDelivery + Self.writing : nil
  }

  // MARK: - Reading

  /// Does `work`, which begins loads and reads their events, then ends the loads still under way.
  ///
  /// - Parameters:
  ///   - timeLimit: How long the store may take to end them.
  ///   - isResumable: Whether `work` begun anew on another thread goes on where the main thread was held up.
  /// - Returns: The exit status: of the work, or of the signal or output error that ended it.
  func run(
    timeLimit: Duration = writing, isResumable: Bool = false,
    _ work: @escaping () throws(OutputError) -> ExitStatus
  ) -> ExitStatus {
    if isResumable { standIn.goOn = { [self] in finish(work, timeLimit).endProcess() } }
    return finish(work, timeLimit)
  }

  private func finish(_ work: () throws(OutputError) -> ExitStatus, _ timeLimit: Duration) -> ExitStatus {
    let status: ExitStatus
    do throws(OutputError) {
      status = try work()
    } catch {
      cancel()
      return source.stop(after: error, diagnostics)
    }
    cancel()
    let left = max(.milliseconds(100), ContinuousClock.now.duration(to: lastDelivery + Self.writing))
    standIn.endProcess(after: left, status, source)
    source.close(within: min(timeLimit, left))
    return status
  }

  private func cancel() {
    diagnostics.status.clear()
    for load in loads { load.cancel?() }
  }

  /// Begins a load. Its stored delivery, if any, is there on return.
  func begin(_ number: Int, _ request: DataService.Request, _ policy: FetchPolicy) {
    let (mailbox, standIn) = (mailbox, standIn)
    var progress: LoadSource.Progress?
    if transfers != nil { progress = { mailbox.post(.progress(number, $0)) } }
    transfers?.begin(number)
    loads.append(Load(number: number))
    let place = loads.count - 1
    loads[place].cancel = standIn.watch {
      source.begin(request, policy, progress: progress) { delivery in
        mailbox.post(.event(.delivery(number, delivery)))
        standIn.noteDelivery()
      } ended: {
        mailbox.post(.event(.ended(number)))
      }
    }
  }

  /// The next event, if there is one.
  func poll() -> Event? {
    while let message = mailbox.next() {
      if let event = take(message) { return event }
    }
    return nil
  }

  /// Waits for the next event; `nil` at the deadline.
  /// - Throws: `interrupted` after a signal; `closed` once nobody reads what is written to `output`.
  func next(
    until deadline: ContinuousClock.Instant? = nil, watching output: OutputDescriptor? = nil
  ) throws(OutputError) -> Event? {
    while true {
      let now = ContinuousClock.now
      let nextBar = isBarShown ? now + Self.redrawing : transfers?.due(after: now)
      let due = [deadline, nextBar].compactMap { $0 }.min()
      let wait = due.map { max(0, now.duration(to: $0).milliseconds + 1) } ?? -1
      if let message = try mailbox.wait(milliseconds: Int32(clamping: wait), output: output) {
        if let event = take(message) { return event }
      } else {
        if Signals.pending != nil { throw .interrupted }
        if let deadline, deadline <= .now { return nil }
        draw()
      }
    }
  }

  /// What is stored for a request whose policy does not deliver it; `nil` where nothing is, or the store does not
  /// answer.
  func stored(
    _ request: DataService.Request
  ) throws(OutputError) -> DataService.Response<DataService.BodyStream>? {
    let (found, source) = (Mailbox<DataService.Response<DataService.BodyStream>?>(), source)
    // On another thread, as the store may not answer.
    Task {
      _ = source.begin(request, .storedOnly, progress: nil) { delivery in
        if case .stored(let response) = delivery { found.post(response) } else { found.post(nil) }
      } ended: {
      }
    }
    if let response = found.wait(milliseconds: Int32(clamping: Self.writing.milliseconds)) { return response }
    if Signals.pending != nil { throw .interrupted }
    return nil
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
        if let place = loads.firstIndex(where: { $0.number == number }) { loads[place].isAnswered = true }
        transfers?.end(number)
      case .ended(let number):
        transfers?.end(number)
        loads.removeAll { $0.number == number }
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
