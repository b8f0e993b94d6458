/// One thing that `doctor` looked at.
public struct StoreFinding: Sendable, Hashable {
  /// How bad it is.
  public enum Severity: Sendable, Hashable {
    /// As it should be, or only worth knowing.
    case fine
    /// Wrong.
    case wrong
    /// Was wrong, and is mended.
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
