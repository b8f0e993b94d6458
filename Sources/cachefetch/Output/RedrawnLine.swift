internal import Guards

/// The last line of a terminal's standard error, which is redrawn in place and erased before anything else is written.
///
/// The cursor stays at its beginning. If a narrower window wraps the line, erasing from there on removes both parts and
/// nothing above them.
final class RedrawnLine: Sendable {
  private let isShown = Guarded(false)
  private let output: OutputDescriptor
  private static let erased = "\r\u{1B}[J"

  init(on output: OutputDescriptor = .standardError) { self.output = output }

  /// Redraws the line.
  func show(_ text: String) {
    isShown.withLock { isShown in
      send("\r\(text)\u{1B}[J\r")
      isShown = true
    }
  }

  /// Erases the line.
  func clear() { write("") }

  /// Writes other text to standard error, in one piece.
  func write(_ text: String) {
    isShown.withLock { isShown in
      let whole = isShown ? Self.erased + text : text
      if !whole.isEmpty { send(whole) }
      isShown = false
    }
  }

  private func send(_ text: String) {
    // There is nowhere to report that standard error is closed.
    try? output.write(Typography.fitting(text))
  }
}
