public import CacheStore

extension DataService {
  /// Trouble that does not stop a delivery: a store that cannot be used, a damaged row, a stored value that no longer
  /// decodes.
  public struct Warning: Sendable, Hashable {
    /// What went wrong.
    public let kind: DataServiceError.Kind
    /// One line for a person; never holds a secret of the request.
    public let message: String
    /// What the person can do about it, or `nil`.
    public let remedy: Remedy?
    /// The remedy's words, which hold in every program.
    public var hint: String? { remedy?.text }
    package init(kind: DataServiceError.Kind, message: String, remedy: Remedy?) {
      self.kind = kind
      self.message = message
      self.remedy = remedy
    }
  }
}
