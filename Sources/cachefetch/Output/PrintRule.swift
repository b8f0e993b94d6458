internal import DataService

/// Decides what `--print` does with a delivery (docs/command.md, "What is printed"). A pure function.
enum PrintRule {
  /// What to do with a delivery's body or JSON object.
  enum Action: Hashable {
    case print
    /// Held until the load ends and decides whether it is needed (`--print last`).
    case hold
    case skip
  }

  /// For a stored delivery.
  ///
  /// - Parameter mayBecomeFresh: Whether a fresh one may follow: only the default policy delivers both. Under other
  ///   policies nothing follows, even if the load continues into the store.
  static func stored(_ mode: PrintMode, mayBecomeFresh: Bool) -> Action {
    switch mode {
    case .both, .stored: .print
    case .last: mayBecomeFresh ? .hold : .print
    case .fresh, .changed, .none: .skip
    }
  }

  /// Whether the stored body is shown in place of a fresh one that may not be.
  static func standsIn(_ mode: PrintMode) -> Bool { [.both, .stored, .last].contains(mode) }

  /// For a fresh delivery. No body is printed twice: an unchanged one only if the stored one was not printed.
  ///
  /// - Parameter isRecord: Whether heads or JSON objects are printed: these differ even if the body does not.
  static func fresh(
    _ mode: PrintMode, _ change: DataService.Change, isRecord: Bool, wasStoredPrinted: Bool
  ) -> Action {
    let isRepetition = change == .unchanged && wasStoredPrinted
    return switch mode {
    case .both: isRepetition && !isRecord ? .skip : .print
    case .fresh, .last: .print
    case .changed: change == .unchanged ? .skip : .print
    case .stored, .none: .skip
    }
  }

  /// For the JSON object of a failure. If only one object is wanted, a printed stored one is that object.
  static func failure(_ mode: PrintMode, wasStoredPrinted: Bool) -> Action {
    switch mode {
    case .both, .fresh, .changed: .print
    case .last, .stored: wasStoredPrinted ? .skip : .print
    case .none: .skip
    }
  }

  /// Whether a response may go into the file of `-o`, or be what `--one` prints: not an error page, and not one that a
  /// captive portal seems to have sent.
  static func isAnswer(status: Int, kept: DataService.Kept) -> Bool {
    status < 400 && kept != .no(.portal)
  }
}
