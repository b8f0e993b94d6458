package import CacheStore

/// Decides whether and how the `http` policy may store a response (RFC 9111 section 3, for a private cache).
package enum HTTPStoring {
  /// How a response is stored.
  package enum Storability: Sendable, Hashable {
    /// As the last good response: a 2xx.
    case good
    /// As a variant for `http` only; the last good response stays.
    case forHTTPOnly
    /// Not at all.
    case no(DataService.KeptReason)
  }

  /// Decides for a final response to a request with these fields.
  ///
  /// `isNoStoreChain` says whether a redirect before the response said `no-store`.
  package static func decide(
    method: RequestMethod, requestFields: HTTPFields, isRead: Bool = false, status: Int, fields: HTTPFields,
    receivedAt: Int64, isNoStoreChain: Bool = false
  ) -> Storability {
    guard method == .get || isRead else { return .no(.method) }
    if isNoStoreChain || isForbidden(requestFields: requestFields, status: status, fields: fields) {
      return .no(.noStore)
    }
    guard isStatusStorable(status, fields: fields) else { return .no(.status) }
    guard isPermitted(status: status, fields: fields) else { return .no(.notStorable) }
    // No request could ever match it, so it could never replace a stored response either.
    guard Vary.names(in: fields) != "*" else { return .no(.vary) }
    if (200..<300).contains(status) { return .good }
    return isUseful(status: status, fields: fields, receivedAt: receivedAt) ? .forHTTPOnly : .no(.notStorable)
  }

  /// Whether `no-store` forbids storing: in the request, or in the response unless `must-understand` overrides it for
  /// a status that this cache understands (sections 5.2.1.5, 5.2.2.5 and 5.2.2.3).
  package static func isForbidden(requestFields: HTTPFields, status: Int, fields: HTTPFields) -> Bool {
    if CacheControl.forbidsStoring(requestFields) { return true }
    let control = CacheControl(fields: fields)
    return control.noStore && !(control.mustUnderstand && isUnderstood(status))
  }

  /// Whether the status allows storing: it is final, it does not answer the request's own range or precondition, which
  /// the key does not have, and it is understood if the response says `must-understand` (section 3).
  package static func isStatusStorable(_ status: Int, fields: HTTPFields) -> Bool {
    guard status >= 200, ![206, 304, 412, 416].contains(status) else { return false }
    return !CacheControl(fields: fields).mustUnderstand || isUnderstood(status)
  }

  /// Whether the response permits storing at all: by `public`, `max-age`, `Expires`, or a heuristically cacheable
  /// status (section 3); for a private cache by `private` too, and for a shared one by `s-maxage`.
  package static func isPermitted(status: Int, fields: HTTPFields, isShared: Bool = false) -> Bool {
    let control = CacheControl(fields: fields)
    return control.isPublic || control.has("max-age") || fields.contains("Expires")
      || (isShared ? control.has("s-maxage") : control.isPrivate)
      || Freshness.isHeuristicallyCacheable(status)
  }

  /// Whether this cache understands and obeys the caching requirements of a status: those that RFC 9110 defines.
  package static func isUnderstood(_ status: Int) -> Bool {
    switch status {
    case 200...205, 300...303, 305, 307, 308, 400...417, 421, 422, 426, 500...505: true
    default: false
    }
  }

  /// Whether a variant for `http` only could ever be reused or validated.
  private static func isUseful(status: Int, fields: HTTPFields, receivedAt: Int64) -> Bool {
    Freshness.lifetime(status: status, fields: fields, receivedAt: receivedAt).milliseconds > 0
      || fields.contains("ETag") || fields.contains("Last-Modified")
  }
}
