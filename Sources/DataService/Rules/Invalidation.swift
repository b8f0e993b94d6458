package import CacheStore
package import PlatformFoundation

/// Invalidation of stored responses by an unsafe request (RFC 9111 section 4.4).
package enum Invalidation {
  /// The URLs whose rows the answer invalidates: the target and, if they have the same origin, the URLs in `Location`
  /// and `Content-Location`. Empty for a safe method and for an error (not 2xx or 3xx).
  package static func targets(method: RequestMethod, url: URL, status: Int, fields: HTTPFields) -> [URL] {
    guard !method.isRegisteredAsSafe, (200..<400).contains(status) else { return [] }
    var targets = [url]
    for name in ["Location", "Content-Location"] {
      guard let value = fields[name], !value.isEmpty,
        let other = URL(string: URLText.encoded(value), relativeTo: url)?.absoluteURL,
        isSameOrigin(other, url), !targets.contains(other)
      else { continue }
      targets.append(other)
    }
    return targets
  }

  /// Whether both URLs have the same scheme, host and port (RFC 9110 section 4.3.1).
  package static func isSameOrigin(_ one: URL, _ other: URL) -> Bool {
    guard let scheme = one.scheme, let host = one.host() else { return false }
    return FieldList.lowercased(scheme) == other.scheme.map(FieldList.lowercased)
      && FieldList.lowercased(host) == other.host().map(FieldList.lowercased) && port(one) == port(other)
  }

  private static func port(_ url: URL) -> Int? {
    if let port = url.port { return port }
    switch url.scheme.map(FieldList.lowercased) {
    case "http": return 80
    case "https": return 443
    default: return nil
    }
  }
}
