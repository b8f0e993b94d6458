internal import Synchronization

/// A line at the foot of a terminal's standard error that is drawn over itself, and erased before anything else is
/// written there.
///
/// The cursor waits at its beginning: where a window made narrower breaks the line in two, erasing from there on takes
/// both away, and nothing that stands above.
final class StatusLine: Sendable {
  private let isShown = Mutex(false)
  private let output: OutputDescriptor
  private static let erased = "\r\u{1B}[J"

  init(on output: OutputDescriptor = .standardError) { self.output = output }

  /// Draws it anew.
  func show(_ text: String) {
    isShown.withLock { isShown in
      send("\r\(text)\u{1B}[J\r")
      isShown = true
    }
  }

  /// Takes it away.
  func clear() { write("") }

  /// Writes something else to standard error, in one piece.
  func write(_ text: String) {
    isShown.withLock { isShown in
      let whole = isShown ? Self.erased + text : text
      if !whole.isEmpty { send(whole) }
      isShown = false
    }
  }

  private func send(_ text: String) {
    // Nobody is left to be told that standard error is closed.
    try? output.write(Typography.fitting(text))
  }
}
