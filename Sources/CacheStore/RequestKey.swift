/// What makes two requests the same to the store.
///
/// The service composes it; the store only compares it. No part of it holds a secret: where a secret tells requests
/// apart, its keyed digest stands in its place.
public struct RequestKey: Hashable, Sendable {
  /// The partition: empty for none, the caller's name, or `auto:` and a keyed digest of the credentials.
  public var account: String
  /// The normalised URL, or `key:` and the caller's own key.
  public var target: String
  /// `GET` (which also answers HEAD), or the method of a request marked as a read.
  public var method: String
  /// What else tells requests apart: the digest of the body, `insecure`, a unix socket, `--resolve`.
  public var extra: String

  /// Makes a key of its four parts.
  public init(account: String = "", target: String, method: String = "GET", extra: String = "") {
    self.account = account
    self.target = target
    self.method = method
    self.extra = extra
  }
}
