package import CacheStore

extension DataService {
  /// Trouble that does not stop a delivery: a store that cannot be used, a damaged row, a stored value that no longer
  /// decodes.
  public struct Warning: Sendable, Hashable {
    /// What went wrong.
    public let kind: DataServiceError.Kind
    /// One line for a person; never holds a secret of the request.
    public let message: String
    /// What the person can do about it, or `nil`.
    package let remedy: Remedy?
    /// The remedy's words, which hold in every program.
    public var hint: String? { remedy?.text }
    /// Makes a warning by hand, for tests of programs that handle warnings.
    public init(_ kind: DataServiceError.Kind, _ message: String, hint: String? = nil) {
      self.init(kind: kind, message: message, remedy: hint.map { Remedy($0) })
    }

    package init(kind: DataServiceError.Kind, message: String, remedy: Remedy?) {
      self.kind = kind
      self.message = message
      self.remedy = remedy
    }
  }
}
