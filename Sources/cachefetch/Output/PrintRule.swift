internal import DataService

/// What `--print` says of a delivery (docs/what-is-printed.md). Depends only on its arguments.
enum PrintRule {
  /// What becomes of a delivery's body, or of its JSON object.
  enum Verdict: Hashable {
    case print
    /// Kept until the load is over, which says whether it is needed (`--print last`).
    case hold
    case skip
  }

  /// For a stored delivery.
  ///
  /// - Parameter mayBecomeFresh: Whether a fresh one may follow: only the default policy delivers both. Under the others
  ///   there is nothing to wait for, also where the load goes on for the store's sake.
  static func stored(_ mode: PrintMode, mayBecomeFresh: Bool) -> Verdict {
    switch mode {
    case .both, .stored, .changed: .print
    case .last: mayBecomeFresh ? .hold : .print
    case .fresh, .none: .skip
    }
  }

  /// For a fresh delivery. No body is printed twice: an unchanged one only where the stored one was not.
  ///
  /// - Parameter isRecord: Whether heads or JSON objects are printed: these differ though the body does not.
  static func fresh(
    _ mode: PrintMode, _ change: DataService.Change, isRecord: Bool, wasStoredPrinted: Bool
  ) -> Verdict {
    let isRepetition = change == .unchanged && wasStoredPrinted
    return switch mode {
    case .both: isRepetition && !isRecord ? .skip : .print
    case .fresh, .last: .print
    case .changed: isRepetition ? .skip : .print
    case .stored, .none: .skip
    }
  }

  /// For the JSON object of a failure; where one object is wanted, the stored one's is it.
  static func failure(_ mode: PrintMode, wasStoredPrinted: Bool) -> Verdict {
    switch mode {
    case .both, .fresh, .changed: .print
    case .last, .stored: wasStoredPrinted ? .skip : .print
    case .none: .skip
    }
  }

  /// Whether the file of `-o` takes a response: not an error's page, nor one that somebody else seems to have sent.
  static func fileTakes(status: Int, kept: DataService.Kept) -> Bool {
    status < 400 && kept != .no(.portal)
  }
}
