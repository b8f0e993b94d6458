package import CacheStore

/// Checks an answer's media type against those that the caller accepts.
package enum MediaTypes {
  /// Whether `Content-Type` matches one of the accepted types; a type may be `*`, a subtype `*` or `*+suffix`.
  /// Parameters and case are ignored. An empty list accepts everything; otherwise an answer without a type is
  /// rejected.
  package static func accepts(_ fields: HTTPFields, accepted: [String]) -> Bool {
    guard !accepted.isEmpty else { return true }
    guard let field = fields["Content-Type"], let type = parts(field) else { return false }
    return accepted.contains { parts($0).map { matches(type, $0) } ?? false }
  }

  /// Whether a text is a type and subtype that ``accepts(_:accepted:)`` can compare.
  package static func isValid(_ text: String) -> Bool {
    guard let parts = parts(text) else { return false }
    return FieldList.isToken(parts.type) && FieldList.isToken(parts.subtype) && !text.contains(";")
  }

  private static func parts(_ text: String) -> (type: String, subtype: String)? {
    let essence = text.prefix { $0 != ";" }.split(separator: "/", omittingEmptySubsequences: false)
    guard essence.count == 2 else { return nil }
    return (trimmed(essence[0]), trimmed(essence[1]))
  }

  private static func trimmed(_ part: Substring) -> String {
    var part = part.drop { $0 == " " || $0 == "\t" }
    while part.last == " " || part.last == "\t" { part.removeLast() }
    return FieldList.lowercased(String(part))
  }

  private static func matches(
    _ found: (type: String, subtype: String), _ accepted: (type: String, subtype: String)
  ) -> Bool {
    guard accepted.type == "*" || accepted.type == found.type else { return false }
    if accepted.subtype.hasPrefix("*+") { return found.subtype.hasSuffix(accepted.subtype.dropFirst()) }
    return accepted.subtype == "*" || accepted.subtype == found.subtype
  }
}
