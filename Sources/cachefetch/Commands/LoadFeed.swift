internal import DataService

/// The loads of a command, told apart by number: started, brought to the main thread in order, and ended together.
///
/// While it waits, a bar on the terminal shows how far the longer transfers have come.
final class LoadFeed {
  typealias Delivery = DataService.Delivery<DataService.BodyStream>

  /// What comes of a load.
  enum Event: Sendable {
    case delivery(Int, Delivery)
    /// Nothing more comes; the row is committed.
    case ended(Int)
  }

  private struct UnderWay {
    let number: Int
    let cancel: @Sendable () -> Void
  }

  private enum Message: Sendable {
    case event(Event)
    case progress(Int, DataService.TransferProgress)
  }

  private let fetcher: Fetcher
  private let diagnostics: Diagnostics
  private let mailbox = Mailbox<Message>()
  private var cancels: [UnderWay] = []
  /// `nil` where no bar is shown.
  private var transfers: Transfers?
  private var isBarShown = false
  /// How often a bar is drawn anew while nothing comes: the rate sinks, and the window may be another size.
  private static let redrawing = Duration.milliseconds(250)

  /// - Parameter showsBar: Whether the terminal's last line is the bar's to draw on: not where bytes as they are end in
  ///   the middle of one.
  init(_ fetcher: Fetcher, diagnostics: Diagnostics, showsBar: Bool = true) {
    self.fetcher = fetcher
    self.diagnostics = diagnostics
    if showsBar, diagnostics.hasStatusLine { transfers = Transfers() }
  }

  /// How many loads are under way.
  var underWay: Int { cancels.count }

  /// Starts a load; a stored delivery at hand can be taken at once.
  func start(_ number: Int, _ request: DataService.Request, _ policy: FetchPolicy) {
    let mailbox = mailbox
    var tell: Fetcher.Tell?
    if transfers != nil {
      transfers?.begin(number)
      tell = { mailbox.post(.progress(number, $0)) }
    }
    let cancel = fetcher.start(request, policy, tell) { delivery in
      mailbox.post(.event(.delivery(number, delivery)))
    } _: {
      mailbox.post(.event(.ended(number)))
    }
    cancels.append(UnderWay(number: number, cancel: cancel))
  }

  /// What has come, without waiting.
  func next() -> Event? {
    while let message = mailbox.next() {
      if let event = take(message) { return event }
    }
    return nil
  }

  /// Waits for what comes next; `nil` when a signal has come, or the instant.
  func wait(until deadline: ContinuousClock.Instant? = nil) -> Event? {
    while true {
      let now = ContinuousClock.now
      let nextBar = isBarShown ? now + Self.redrawing : transfers?.due(after: now)
      let due = [deadline, nextBar].compactMap { $0 }.min()
      let wait = due.map { max(0, now.duration(to: $0).milliseconds + 1) } ?? -1
      if let message = mailbox.wait(milliseconds: Int32(clamping: wait)) {
        if let event = take(message) { return event }
      } else {
        if Signals.pending != nil { return nil }
        if let deadline, deadline <= .now { return nil }
        draw()
      }
    }
  }

  /// Does the work, which takes what comes, then ends what is still under way.
  /// - Returns: The exit status where a signal or an output that cannot be written ended the work; else `nil`.
  func run(patience: Duration, _ work: () throws(OutputError) -> Void) -> ExitStatus? {
    do throws(OutputError) {
      try work()
    } catch {
      cancel()
      return fetcher.stop(after: error, diagnostics)
    }
    cancel()
    _ = fetcher.close(patience)
    return nil
  }

  private func cancel() {
    diagnostics.status.clear()
    for load in cancels { load.cancel() }
  }

  private func take(_ message: Message) -> Event? {
    switch message {
    case .progress(let number, let progress):
      transfers?.take(progress, of: number, at: .now)
      draw()
      return nil
    case .event(let event):
      switch event {
      case .delivery(_, .stored): break
      case .delivery(let number, _): transfers?.end(number)
      case .ended(let number):
        transfers?.end(number)
        cancels.removeAll { $0.number == number }
      }
      // What is written next may go to standard output.
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
