internal import DataService
internal import Glibc
internal import Synchronization

/// Messages for the main thread, in the order they were posted; waiting ends when a signal comes.
final class Mailbox<Message: Sendable>: Sendable {
  private let messages = Mutex<[Message]>([])
  private let wake = WakeupPipe()

  init() {}

  /// Adds a message; from any thread.
  func post(_ message: Message) {
    messages.withLock { $0.append(message) }
    wake.signal()
  }

  /// The oldest message, if there is one.
  func next() -> Message? { messages.withLock { $0.isEmpty ? nil : $0.removeFirst() } }

  /// Waits for a message; `nil` when a signal has come, or `milliseconds` are over.
  func wait(milliseconds: Int32 = -1, heedsSignals: Bool = true) -> Message? {
    while true {
      if heedsSignals, Signals.pending != nil { return nil }
      if let message = next() { return message }
      var polled = [
        pollfd(fd: wake.readEnd, events: Int16(POLLIN), revents: 0),
        pollfd(fd: heedsSignals ? Signals.descriptor : -1, events: Int16(POLLIN), revents: 0),
      ]
      let ready = poll(&polled, 2, milliseconds)
      if ready == 0 { return nil }
      wake.drain()
    }
  }
}
