internal import PlatformC

/// The terminal's properties, if there is one.
struct Terminal: Sendable, Equatable {
  /// Whether standard output is a terminal.
  var isOutput = false
  /// Whether standard error is a terminal.
  var isError = false
  /// Whether standard input is a terminal, so that the user can be asked.
  var isInput = false
  /// Whether a line can be redrawn in place: not with `TERM=dumb`.
  var redraws = false
  /// Whether colours are wanted: not with `NO_COLOR` (no-color.org) or `TERM=dumb`.
  var hasColour = false

  /// The terminal of this process.
  static func current() -> Terminal {
    var terminal = Terminal()
    terminal.isOutput = isatty(STDOUT_FILENO) == 1
    terminal.isError = isatty(STDERR_FILENO) == 1
    guard terminal.isOutput || terminal.isError else { return terminal }
    terminal.isInput = isatty(STDIN_FILENO) == 1
    let type = Environment.value("TERM") ?? "dumb"
    terminal.redraws = type != "dumb" && !type.isEmpty
    terminal.hasColour = terminal.redraws && (Environment.value("NO_COLOR") ?? "").isEmpty
    return terminal
  }

  /// Its width in columns, read each time, since windows are resized; 80 if unknown.
  static func width(of descriptor: Int32) -> Int {
    columns(of: descriptor) ?? wantedColumns ?? 80
  }

  /// The width for text that may go through a pager: that of standard output, else `$COLUMNS`, else that of standard
  /// error; 80 if neither is a terminal.
  static func pagedWidth() -> Int {
    columns(of: STDOUT_FILENO) ?? wantedColumns ?? columns(of: STDERR_FILENO) ?? 80
  }

  /// The columns of a terminal; `nil` if the descriptor is not a terminal or its size is unknown.
  private static func columns(of descriptor: Int32) -> Int? {
    var size = winsize()
    guard ioctl(descriptor, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0 else { return nil }
    return max(20, Int(size.ws_col))
  }

  private static var wantedColumns: Int? {
    Environment.value("COLUMNS").flatMap { Int($0) }.flatMap { $0 > 0 ? max(20, $0) : nil }
  }
}

/// The environment, read one variable at a time: reading all of it costs a tenth of the start-up time.
enum Environment {
  static func value(_ name: String) -> String? { getenv(name).map { String(cString: $0) } }
}
