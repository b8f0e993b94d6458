/// A run of the table of docs/command.md, "What is printed": what is asked, the state of store and server.
struct PrintedCase: Sendable, CustomStringConvertible {
  enum Policy: String, CaseIterable, Sendable {
    case standard, offline, freshOnly, deadline, maxAge, http
  }

  /// `one` stands for `--one`, without `--print`.
  enum Print: String, CaseIterable, Sendable { case both, stored, fresh, last, changed, none, one }

  enum Form: String, CaseIterable, Sendable { case pipe, file, json, include, fail, terminal }

  /// What is stored.
  enum Row: String, Sendable { case nothing, fresh, stale }

  /// What the server says when it is asked.
  enum Answer: String, Sendable {
    case notModified, same, changed, notFound, unavailable, noStore, redirect, portal, down, cutOff, slow,
      otherType
  }

  struct State: Sendable {
    let row: Row
    let answer: Answer

    init(_ row: Row, _ answer: Answer) {
      self.row = row
      self.answer = answer
    }

    /// The path that stands for it.
    var path: String { "/\(row.rawValue)/\(answer.rawValue)" }
  }

  static let states: [State] = [
    State(.nothing, .changed), State(.nothing, .notFound), State(.nothing, .unavailable),
    State(.nothing, .noStore),
    State(.nothing, .down), State(.nothing, .cutOff), State(.nothing, .otherType), State(.fresh, .changed),
    State(.fresh, .down), State(.stale, .notModified), State(.stale, .same), State(.stale, .changed),
    State(.stale, .notFound), State(.stale, .unavailable), State(.stale, .noStore), State(.stale, .redirect),
    State(.stale, .portal), State(.stale, .down), State(.stale, .cutOff), State(.stale, .slow),
    State(.stale, .otherType),
  ]

  /// Every combination, so that a fixed stride through them passes through every value of everything.
  static let all: [PrintedCase] = states.flatMap { state in
    Policy.allCases.flatMap { policy in
      Print.allCases.flatMap { print in
        Form.allCases.map { PrintedCase(policy: policy, print: print, form: $0, state: state) }
      }
    }
  }

  let policy: Policy
  let print: Print
  let form: Form
  let state: State

  var description: String {
    "\(words.filter { $0 != "--retry" && $0 != "0" }.joined(separator: " ")) [\(form), \(state.row) row, \(state.answer)]"
  }

  /// The options, without the URL.
  var words: [String] {
    var words = ["--retry", "0"]
    let time = state.answer == .slow ? "150ms" : "60s"
    switch policy {
    case .standard: words += ["-m", time]
    case .offline: words += ["--offline"]
    case .freshOnly: words += ["--policy", "fresh-only", "-m", time]
    case .deadline: words += ["--deadline", time]
    // What was stored a moment ago is younger than an hour and older than nothing.
    case .maxAge: words += ["--max-age", state.row == .fresh ? "1h" : "0s", "-m", time]
    case .http: words += ["--policy", "http", "-m", time]
    }
    if print == .one {
      words += ["-1"]
    } else if print != .both || form == .json {
      words += ["--print", print.rawValue]
    }
    switch form {
    case .pipe, .terminal: break
    case .file: words += ["-o", "out"]
    case .json: words += ["--json"]
    case .include: words += ["-i"]
    case .fail: words += ["-f"]
    }
    if state.answer == .otherType { words += ["--accept", "text/plain"] }
    return words
  }
}

/// The bodies of the table. None ends in a line feed, so that it shows what is put between them.
enum PrintedBody {
  static let stored = "the stored body"
  static let fresh = "the fresh body"
  static let error = "an error's page"
  static let portal = "<html>log in</html>"
  /// What stands in the file before.
  static let before = "what was in the file"
}
