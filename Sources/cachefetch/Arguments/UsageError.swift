/// Bad usage: one line that names the thing and the remedy.
struct UsageError: Error, Equatable {
  /// What is wrong.
  let message: String
  /// What to do about it.
  let remedy: String

  init(_ message: String, _ remedy: String) {
    self.message = message
    self.remedy = remedy
  }

  /// The line, without the program's name.
  var line: String { "\(message); \(remedy)" }
}
