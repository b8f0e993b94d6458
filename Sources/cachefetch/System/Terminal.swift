internal import Glibc

/// What is known of the terminal, if there is one.
struct Terminal: Sendable, Equatable {
  /// Whether standard output is a terminal.
  var isOutput = false
  /// Whether standard error is a terminal.
  var isError = false
  /// Whether somebody can be asked.
  var isInput = false
  /// Whether a line can be drawn over itself: not with `TERM=dumb`.
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

  /// Its width in columns, asked anew each time, since windows are resized; 80 where it is not known.
  static func width(of descriptor: Int32) -> Int {
    columns(of: descriptor) ?? wantedColumns ?? 80
  }

  /// The width for text that may go through a pager: that of standard output, else `$COLUMNS`, else that of the terminal
  /// that standard error is; 80 where there is none.
  static func pagedWidth() -> Int {
    columns(of: STDOUT_FILENO) ?? wantedColumns ?? columns(of: STDERR_FILENO) ?? 80
  }

  /// The columns of a terminal; `nil` where it is none, or does not know.
  private static func columns(of descriptor: Int32) -> Int? {
    var size = winsize()
    guard ioctl(descriptor, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0 else { return nil }
    return max(20, Int(size.ws_col))
  }

  private static var wantedColumns: Int? {
    Environment.value("COLUMNS").flatMap { Int($0) }.flatMap { $0 > 0 ? max(20, $0) : nil }
  }
}

/// The environment, one variable at a time; reading it whole costs a tenth of the start.
enum Environment {
  static func value(_ name: String) -> String? { getenv(name).map { String(cString: $0) } }
}
