/// A request method (RFC 9110 section 9); compared as written, since methods are case-sensitive.
public struct RequestMethod: Sendable, Hashable, RawRepresentable, ExpressibleByStringLiteral {
  /// The method as it is sent.
  public let rawValue: String
  /// Makes a method; one that is not a token makes the load fail with `invalidRequest`.
  public init(rawValue: String) { self.rawValue = rawValue }
  /// Makes a method from a literal.
  public init(stringLiteral value: String) { rawValue = value }

  /// GET.
  public static let get: Self = "GET"
  /// HEAD.
  public static let head: Self = "HEAD"
  /// POST.
  public static let post: Self = "POST"
  /// PUT.
  public static let put: Self = "PUT"
  /// PATCH.
  public static let patch: Self = "PATCH"
  /// DELETE.
  public static let delete: Self = "DELETE"
  /// OPTIONS.
  public static let options: Self = "OPTIONS"

  /// Whether the method is safe (RFC 9110 section 9.2.1): it asks and changes nothing.
  public var isSafe: Bool { ["GET", "HEAD", "OPTIONS", "TRACE"].contains(rawValue) }
}
