internal import DataService

/// What `--print` says of a delivery. Depends only on its arguments.
enum PrintRule {
  /// What becomes of a delivery's body, or of its JSON object.
  enum Verdict: Hashable {
    case print
    /// Kept until the terminal delivery says whether it is needed (`--print last`).
    case hold
    case skip
  }

  /// For a stored delivery.
  static func stored(_ mode: PrintMode) -> Verdict {
    switch mode {
    case .both, .stored, .changed: .print
    case .last: .hold
    case .fresh, .none: .skip
    }
  }

  /// For a fresh delivery. An unchanged body is not shown twice on a terminal, where its heading says so.
  static func fresh(_ mode: PrintMode, _ change: DataService.Change, isTerminal: Bool, wasStoredPrinted: Bool)
    -> Verdict
  {
    switch mode {
    case .both: change == .unchanged && isTerminal && wasStoredPrinted ? .skip : .print
    case .fresh, .last: .print
    case .changed: change == .unchanged && wasStoredPrinted ? .skip : .print
    case .stored, .none: .skip
    }
  }

  /// For the JSON object of a failure; under `last` the held stored one is printed in its place.
  static func failure(_ mode: PrintMode, holdsStored: Bool) -> Verdict {
    switch mode {
    case .both, .fresh, .changed: .print
    case .last: holdsStored ? .skip : .print
    case .stored, .none: .skip
    }
  }

  /// Whether the file of `-o` is replaced by a fresh answer.
  static func replacesFile(status: Int, change: DataService.Change, wasWritten: Bool) -> Bool {
    status < 400 && !(change == .unchanged && wasWritten)
  }
}
