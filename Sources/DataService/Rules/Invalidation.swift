package import CacheStore

/// Invalidation of stored responses by an unsafe request (RFC 9111 section 4.4).
package enum Invalidation {
  /// The URLs whose rows the answer invalidates: the target and, if they have the same origin, the URLs in `Location`
  /// and `Content-Location`. Empty for a safe method and for an error (not 2xx or 3xx).
  package static func targets(
    method: RequestMethod, url: NormalisedURL, status: Int, fields: HTTPFields
  ) -> [NormalisedURL] {
    guard !method.isRegisteredAsSafe, (200..<400).contains(status) else { return [] }
    var targets = [url]
    for name in ["Location", "Content-Location"] {
      guard let value = fields.exact[name], !value.isEmpty,
        let other = try? NormalisedURL(HTTPFields.Exact.bytes(value), relativeTo: url),
        other.origin == url.origin, !targets.contains(other)
      else { continue }
      targets.append(other)
    }
    return targets
  }
}
