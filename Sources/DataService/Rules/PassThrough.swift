package import CacheStore

/// Decides which requests bypass the store.
package enum PassThrough {
  /// Whether the request is an exchange of its own, never shared and never stored.
  ///
  /// Such requests are: a method other than GET and HEAD, unless marked as a read; the caller's own `Range` or
  /// precondition; and `no-store`, unless the caller wants the answer stored anyway. Under `http` only the method
  /// decides here; RFC 9111 decides the rest.
  package static func isPassThrough(
    method: RequestMethod, fields: HTTPFields, isRead: Bool, keepsAnyway: Bool = false,
    underHTTP: Bool = false
  ) -> Bool {
    guard method == .get || method == .head || isRead else { return true }
    guard !underHTTP, !fields.isEmpty else { return false }
    return hasRange(fields) || hasPrecondition(fields)
      || (!keepsAnyway && CacheControl.forbidsStoring(fields))
  }

  /// Whether the caller asks for a part of the body.
  package static func hasRange(_ fields: HTTPFields) -> Bool { fields.contains("Range") }

  /// Whether the caller sends a precondition of its own (RFC 9110 section 13.1).
  package static func hasPrecondition(_ fields: HTTPFields) -> Bool {
    ["If-Match", "If-None-Match", "If-Modified-Since", "If-Unmodified-Since", "If-Range"].contains(
      where: fields.contains)
  }
}
