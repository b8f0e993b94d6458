/// One row as a list shows it: everything but the body.
public struct StoredEntry: Sendable, Hashable {
  /// The row's identifier.
  public var rowID: Int64
  /// What it answers.
  public var key: RequestKey
  /// The row; its body's first chunk is left out.
  public var response: StoredResponse
  /// Whether the row's checksum matches; where it does not, nothing else here can be relied on.
  public var isSound: Bool
  /// When it was last delivered, in milliseconds since 1970-01-01 UTC.
  public var usedAt: Int64?
  /// Its tags, sorted.
  public var tags: [String]
}
