package import CacheStore

/// Whether the `http` policy may store a response, and as what (RFC 9111 section 3, for a private cache).
package enum HTTPStoring {
  /// What becomes of a response.
  package enum Verdict: Sendable, Hashable {
    /// It becomes the last good response: a 2xx.
    case good
    /// It is kept for this policy only, beside the last good response.
    case beside
    /// It is not stored.
    case no(DataService.KeptReason)
  }

  /// Decides for a final response to a request with these fields.
  ///
  /// `isNoStoreChain` says whether a redirect before the response forbade storing.
  package static func decide(
    method: RequestMethod, requestFields: HTTPFields, isRead: Bool = false, status: Int, fields: HTTPFields,
    receivedAt: Int64, isNoStoreChain: Bool = false
  ) -> Verdict {
    guard method == .get || isRead else { return .no(.method) }
    if isNoStoreChain || isForbidden(requestFields: requestFields, status: status, fields: fields) {
      return .no(.noStore)
    }
    guard isStatusStorable(status, fields: fields) else { return .no(.status) }
    guard isPermitted(status: status, fields: fields) else { return .no(.notStorable) }
    // Nothing could ever match it, so that nothing stored could be replaced by it either.
    guard Vary.names(in: fields) != "*" else { return .no(.vary) }
    if (200..<300).contains(status) { return .good }
    return isUseful(status: status, fields: fields, receivedAt: receivedAt) ? .beside : .no(.notStorable)
  }

  /// Whether `no-store` forbids storing: on the request, or on the response unless `must-understand` lifts it for a
  /// status that is understood (sections 5.2.1.5, 5.2.2.5 and 5.2.2.3).
  package static func isForbidden(requestFields: HTTPFields, status: Int, fields: HTTPFields) -> Bool {
    if CacheControl.forbidsStoring(requestFields) { return true }
    let control = CacheControl(fields: fields)
    return control.noStore && !(control.mustUnderstand && isUnderstood(status))
  }

  /// Whether the status lets a response be stored: final, no part and no 304, and understood where the response
  /// says `must-understand` (section 3).
  package static func isStatusStorable(_ status: Int, fields: HTTPFields) -> Bool {
    guard status >= 200, status != 206, status != 304 else { return false }
    return !CacheControl(fields: fields).mustUnderstand || isUnderstood(status)
  }

  /// Whether the response permits storing it at all: by `public`, `private`, `max-age`, `Expires`, or a status whose
  /// lifetime may be worked out (section 3). `Authorization` and `s-maxage` concern shared caches only.
  package static func isPermitted(status: Int, fields: HTTPFields) -> Bool {
    let control = CacheControl(fields: fields)
    return control.isPublic || control.isPrivate || control.has("max-age") || fields.contains("Expires")
      || Freshness.isHeuristicallyCacheable(status)
  }

  /// Whether this cache knows and keeps the caching requirements of a status: those of RFC 9110.
  package static func isUnderstood(_ status: Int) -> Bool {
    switch status {
    case 200...205, 300...303, 305, 307, 308, 400...417, 421, 422, 426, 500...505: true
    default: false
    }
  }

  /// Whether a variant that is kept for `http` only could ever be reused or validated.
  private static func isUseful(status: Int, fields: HTTPFields, receivedAt: Int64) -> Bool {
    Freshness.lifetime(status: status, fields: fields, receivedAt: receivedAt).milliseconds > 0
      || fields.contains("ETag") || fields.contains("Last-Modified")
  }
}
