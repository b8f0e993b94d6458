/// Bad usage, or bad input data: one line that names the problem and the remedy.
struct UsageError: Error, Equatable {
  /// What is wrong.
  let message: String
  /// What to do about it.
  let remedy: String
  /// The command's exit status.
  let status: ExitStatus

  init(_ message: String, _ remedy: String, status: ExitStatus = .usage) {
    self.message = message
    self.remedy = remedy
    self.status = status
  }

  /// The line, without the program's name.
  var line: String { "\(message); \(remedy)" }
}
