extension DataService {
  /// Trouble that does not stop a delivery: a store that cannot be used, a damaged row, a stored value that no longer
  /// decodes.
  public struct Warning: Sendable, Hashable {
    /// What went wrong.
    public let kind: DataServiceError.Kind
    /// One line for a person; never holds a secret of the request.
    public let message: String
    /// What the person can do about it, or `nil`.
    public let hint: String?
    package init(kind: DataServiceError.Kind, message: String, hint: String? = nil) {
      self.kind = kind
      self.message = message
      self.hint = hint
    }
  }
}
