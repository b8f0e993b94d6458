internal import CacheStore
internal import DataService
internal import Guards
internal import PlatformC

/// Standard error: one line at a time, each in one `write(2)`, so that lines of threads and processes do not mix.
struct Diagnostics: Sendable {
  /// Whether only usage errors are reported (`-q`), or failures too (`-qS`).
  let isQuiet: Bool
  let saysFailures: Bool
  /// Whether the steps and their reasons are reported too (`-v`).
  let isVerbose: Bool
  /// The terminal, if there is one.
  let terminal: Terminal
  private let warned = Warned()
  /// The terminal's last line, for a bar.
  let status: RedrawnLine

  init(
    isQuiet: Bool = false, saysFailures: Bool = false, isVerbose: Bool = false,
    terminal: Terminal = Terminal(), status: RedrawnLine = RedrawnLine()
  ) {
    self.isQuiet = isQuiet
    self.saysFailures = saysFailures || !isQuiet
    self.isVerbose = isVerbose
    self.terminal = terminal
    self.status = status
  }

  /// Whether a bar may be drawn.
  var hasRedrawnLine: Bool { terminal.isError && terminal.redraws && !isQuiet }

  /// A line for a person about something that is not as it was wanted: `cachefetch: …`.
  func say(_ text: String) {
    if saysFailures {
      let text = Columns.shortened(text)
      status.write("cachefetch: \(terminal.isError ? TerminalText.visible(text) : Self.oneLine(text))\n")
    }
  }

  /// A line that one run says once.
  func sayOnce(_ text: String) {
    if warned.insert(text) { say(text) }
  }

  /// A line for `-v` only; lines of heads begin with `>` or `<`.
  func trace(_ text: String) {
    guard isVerbose else { return }
    let line = text.hasPrefix(">") || text.hasPrefix("<") ? text : "* " + text
    status.write((terminal.isError ? TerminalText.visible(line) : Self.oneLine(line)) + "\n")
  }

  /// Shows a heading or another complete line, where all is as it was wanted.
  func show(_ line: String) {
    if !isQuiet { status.write(line) }
  }

  /// Writes text that the user asked for unchanged, also under `-q`.
  func write(_ text: String) {
    let bytes = Array(text.utf8)
    status.write(terminal.isError ? String(decoding: TerminalText.body(bytes), as: UTF8.self) : text)
  }

  /// Reports a problem that did not prevent a delivery.
  func warn(_ warning: DataService.Warning) {
    let text = Self.joined(warning.message, warning.remedy?.words)
    warned.insert(text)
    if let remedy = warning.remedy { warned.insert(remedy.text) }
    say(text)
  }

  /// `message` with the remedy, unless a warning has given it already.
  func advised(_ message: String, _ remedy: Remedy?) -> String {
    guard let remedy, !warned.contains(remedy.text) else { return message }
    return Self.joined(message, remedy.words)
  }

  /// The message and its remedy, on one line.
  static func joined(_ message: String, _ hint: String?) -> String {
    hint.map { "\(message); \($0)" } ?? message
  }

  /// Reports a load's failure, unless it repeats a warning about the store.
  ///
  /// - Parameter standIn: What is there in place of a fresh response.
  func say(_ error: DataServiceError, of line: DeliveryLine, standIn: String? = nil) {
    let text = Self.joined(Self.joined(error.message, error.advice), standIn)
    if warned.contains(text) { return }
    // One line for one cause: the store and then the network ran out of descriptors.
    if error.remedy == .descriptors, warned.contains(Remedy.descriptors.text) {
      return
    }
    // For `notStored` the message itself names the URL.
    say(error.kind == .notStored ? text : "\(line.url): \(text)")
  }

  /// Reports a usage error, even under `-q`.
  static func fail(_ error: UsageError, status: RedrawnLine = RedrawnLine()) {
    status.write("cachefetch: \(TerminalText.visible(Columns.shortened(error.line)))\n")
  }

  /// Reports an output that could not be written.
  func say(_ error: OutputError) {
    guard case .failed(let number, let path) = error else { return }
    let what = path.map { "“\($0)”" } ?? "standard output"
    say(Self.joined("\(what) cannot be written: \(SystemError.text(number))", SystemError.remedy(number)))
  }

  private static func oneLine(_ text: String) -> String {
    text.utf8.contains { $0 == 0x0A || $0 == 0x0D } ? TerminalText.visible(text) : text
  }
}

/// The warnings reported so far, from any thread.
private final class Warned: Sendable {
  private let texts = Guarded<Set<String>>([])

  /// Returns whether it is new.
  @discardableResult func insert(_ text: String) -> Bool { texts.withLock { $0.insert(text).inserted } }
  func contains(_ text: String) -> Bool { texts.withLock { $0.contains(text) } }
}
