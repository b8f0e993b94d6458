/// One thing that `doctor` looked at.
public struct StoreFinding: Sendable, Hashable {
  /// How bad it is.
  public enum Severity: Sendable, Hashable {
    /// As it should be, or only worth knowing.
    case fine
    /// Wrong.
    case wrong
    /// Was wrong, and is repaired.
    case repaired
  }

  /// What was looked at: a short name that does not change between releases, such as `integrity`.
  public var subject: String
  /// How bad it is.
  public var severity: Severity
  /// What was found, in one line.
  public var message: String
  /// What to do about it, where there is something.
  public var remedy: Remedy?

  /// Makes a finding.
  public init(_ subject: String, _ severity: Severity, _ message: String, remedy: Remedy? = nil) {
    self.subject = subject
    self.severity = severity
    self.message = message
    self.remedy = remedy
  }
}

/// Something that happened to the store and that a person should be told.
public enum StoreEvent: Sendable, Hashable {
  /// A damaged file was set aside and a new one made, with the rows that could still be read.
  ///
  /// - Parameters:
  ///   - path: The store.
  ///   - keptAs: What the damaged file is called now.
  ///   - carriedOver: Rows that were read whole and are in the new file.
  ///   - lost: Rows that were seen but could not be read; others may not even have been seen.
  case setAside(path: String, keptAs: String, carriedOver: Int, lost: Int)
  /// Rows that failed their checksum were removed.
  case removedDamagedRow(path: String)

  /// One line for a person.
  public var message: String {
    switch self {
    case .setAside(let path, let keptAs, let carriedOver, let lost):
      "the store \(path) was damaged and is kept as \(keptAs); \(Counted.text(carriedOver, "response")) "
        + "\(Counted.were(carriedOver)) carried over, \(lost) \(Counted.were(lost)) lost"
    case .removedDamagedRow(let path): "a damaged response was removed from the store \(path)"
    }
  }
}

/// Numbers with their nouns, for messages: “1 response”, “2 responses”.
package enum Counted {
  /// - Parameter plural: The noun for any other number than one; with an “s” unless it is said.
  package static func text(
    _ count: some BinaryInteger, _ noun: String, _ plural: String? = nil
  ) -> String { "\(count) \(count == 1 ? noun : plural ?? noun + "s")" }

  /// “was” for one, “were” for any other number.
  package static func were(_ count: some BinaryInteger) -> String { count == 1 ? "was" : "were" }
}
