/// The result of one check of a store.
package struct StoreFinding: Sendable, Hashable {
  /// How bad it is.
  package enum Severity: Sendable, Hashable {
    /// Nothing is wrong; the finding is for information.
    case fine
    /// Wrong.
    case wrong
    /// Was wrong, and is repaired.
    case repaired
  }

  /// The subject of the check: a short name that does not change between releases, such as `integrity`.
  package var subject: String
  /// How bad it is.
  package var severity: Severity
  /// What was found, in one line.
  package var message: String
  /// What a person can do about it, if anything.
  package var remedy: Remedy?

  /// Makes a finding.
  package init(_ subject: String, _ severity: Severity, _ message: String, remedy: Remedy? = nil) {
    self.subject = subject
    self.severity = severity
    self.message = message
    self.remedy = remedy
  }
}

/// An event in the store that a person should know of.
public enum StoreEvent: Sendable, Hashable {
  /// A damaged file was quarantined and replaced by a new one with the rows that could still be read.
  ///
  /// - Parameters:
  ///   - path: The store.
  ///   - keptAs: The damaged file's name now.
  ///   - carriedOver: Rows that were read completely and are in the new file.
  ///   - lost: Rows that were found but could not be read; others may not have been found.
  case quarantined(path: String, keptAs: String, carriedOver: Int, lost: Int)
  /// Rows that failed their checksum were removed.
  case removedDamagedRow(path: String)

  /// One line for a person.
  public var message: String {
    switch self {
    case .quarantined(let path, let keptAs, let carriedOver, let lost):
      "the store \(path) was damaged and is kept as \(keptAs); \(Counted.text(carriedOver, "response")) "
        + "\(Counted.were(carriedOver)) carried over, \(lost) that \(Counted.were(lost)) found could not be read"
    case .removedDamagedRow(let path): "a damaged response was removed from the store \(path)"
    }
  }
}

/// Numbers with their nouns, for messages: “1 response”, “2 responses”.
package enum Counted {
  /// - Parameter plural: The noun for any number other than one; by default the noun with an “s”.
  package static func text(
    _ count: some BinaryInteger, _ noun: String, _ plural: String? = nil
  ) -> String { "\(count) \(count == 1 ? noun : plural ?? noun + "s")" }

  /// “was” for one, “were” for any other number.
  package static func were(_ count: some BinaryInteger) -> String { count == 1 ? "was" : "were" }
}
