extension DataService {
  /// How a fresh body compares with the stored one.
  public enum Change: String, Sendable, Hashable {
    /// Nothing was stored.
    case new
    /// It differs.
    case changed
    /// It is the same by the request's ``ChangeRule``.
    case unchanged
  }
}

/// When a fresh body counts as unchanged.
public enum ChangeRule: Sendable, Hashable {
  /// Only when the origin said 304.
  case notModified
  /// When the origin said 304 or the bytes are the same.
  case bytes
  /// When, read as JSON, they differ at most below these JSON Pointers (RFC 6901). Text that is no JSON Pointer is
  /// ignored.
  ///
  /// The bytes decide where either body is not JSON, is nested deeper than 512 levels or has more than 4,194,304
  /// values, and in a load also where a body in the store is longer than one chunk, 256 KiB.
  case json(ignoring: [String])
}
