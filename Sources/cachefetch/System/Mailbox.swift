internal import DataService
internal import Guards
internal import PlatformC

/// Messages for the main thread, in the order they were posted. A signal ends waiting.
final class Mailbox<Message: Sendable>: Sendable {
  private struct State {
    /// The newest last.
    var coming: [Message] = []
    /// The oldest last, so that removing one moves no others.
    var going: [Message] = []
    /// Made by the first wait; many commands never wait.
    var wake: WakeupPipe?
  }

  private let state = Guarded(State())

  init() {}

  /// Adds a message; from any thread.
  func post(_ message: Message) {
    let wake = state.withLock { state in
      state.coming.append(message)
      // A waiting reader drains the queue, so one wake-up is enough for all messages posted meanwhile.
      return state.coming.count == 1 ? state.wake : nil
    }
    wake?.signal()
  }

  /// The oldest message, if there is one.
  func next() -> Message? {
    state.withLock { state in
      if state.going.isEmpty {
        state.going = state.coming.reversed()
        state.coming.removeAll()
      }
      return state.going.popLast()
    }
  }

  /// Readable while there are messages, for a reader that waits for other descriptors too.
  var descriptor: Int32 { pipe().readEnd }

  /// All messages there are, for that reader.
  func all() -> [Message] {
    pipe().drain()
    var all: [Message] = []
    while let message = next() { all.append(message) }
    return all
  }

  /// Waits for a message; `nil` after a signal or after `milliseconds`.
  func wait(milliseconds: Int32 = -1, heedsSignals: Bool = true) -> Message? {
    // Only an output that is watched throws.
    try? wait(milliseconds: milliseconds, heedsSignals: heedsSignals, output: nil)
  }

  /// Waits in the same way; throws `closed` once nobody reads what is written to `output`. Without that only
  /// the next write would tell.
  func wait(
    milliseconds: Int32, heedsSignals: Bool = true, output: OutputDescriptor?
  ) throws(OutputError) -> Message? {
    // Both descriptors exist before the queue is checked, so that no wake-up is lost.
    let wake = pipe()
    let signals = heedsSignals ? Signals.descriptor : -1
    // Without both descriptors nothing can wake the reader, so it polls.
    let isBlind = !wake.isUsable || heedsSignals && signals < 0
    let end = milliseconds < 0 ? nil : SuspendingClock.now.advanced(by: .milliseconds(milliseconds))
    while true {
      if heedsSignals, Signals.pending != nil { return nil }
      Sandbox.confineMainThread()
      if let message = next() { return message }
      var polled = [
        pollfd(fd: wake.readEnd, events: Int16(POLLIN), revents: 0),
        pollfd(fd: signals, events: Int16(POLLIN), revents: 0),
        // Asked for nothing, it reports only that its other end is gone.
        pollfd(fd: output?.number ?? -1, events: 0, revents: 0),
      ]
      let ready = poll(&polled, 3, isBlind ? wake.blindWait(milliseconds) : milliseconds)
      if polled[2].revents != 0 { throw .closed }
      if ready == 0, !isBlind || end.map({ $0 <= .now }) ?? false { return nil }
      wake.drain()
    }
  }

  private func pipe() -> WakeupPipe {
    state.withLock { state in
      if let wake = state.wake { return wake }
      let made = WakeupPipe()
      state.wake = made
      return made
    }
  }
}

/// Waits on the main thread for asynchronous work.
enum Await {
  /// The result of `work`; `nil` when a signal came first.
  static func result<Value: Sendable, Failure: Error>(
    _ work: @escaping @Sendable () async throws(Failure) -> Value
  ) -> Result<Value, Failure>? {
    let mailbox = Mailbox<Result<Value, Failure>>()
    Task {
      do throws(Failure) { mailbox.post(.success(try await work())) } catch { mailbox.post(.failure(error)) }
    }
    return mailbox.wait()
  }
}
