internal import CacheStore
internal import PlatformFoundation

/// Computes the request that follows a redirect (RFC 9110 section 15.4).
enum RedirectRule {
  /// One hop of an exchange.
  struct Hop: Sendable, Equatable {
    var url: NormalisedURL
    var method: RequestMethod
    var fields: HTTPFields
    var body: Data?
  }

  /// The redirect statuses that are followed.
  static let statuses: Set<Int> = [301, 302, 303, 307, 308]

  /// Temporary redirects (RFC 9110 section 15.4).
  static let temporaryStatuses: Set<Int> = [302, 303, 307]

  /// The fields that describe a body or how it is sent, beside those whose names begin with `Content-`.
  private static let bodyFields: FieldNames = [
    "digest", "expect", "last-modified", "repr-digest", "trailer", "transfer-encoding",
  ]

  /// The hop after `hop`, or `nil` if the response is not a redirect that can be followed.
  ///
  /// Credentials are sent only to the origin that they were given for. A POST that becomes a GET loses its body.
  /// - Throws: `protocol` for a redirect from https to http, or to a scheme other than these two.
  static func next(
    after hop: Hop, from original: Hop, status: Int, fields: HTTPFields, secrets: SecretList
  ) throws(DataServiceError) -> Hop? {
    guard statuses.contains(status), let location = fields.exact["Location"], !location.isEmpty else {
      return nil
    }
    let url = try target(location, relativeTo: hop.url)
    guard url.isSecure || !hop.url.isSecure else {
      throw DataServiceError(
        .protocol, "\(hop.url.authority) redirects from https to http, which is not followed",
        hint: "ask for the http URL itself if that is what you want")
    }
    var next = Hop(url: url, method: hop.method, fields: original.fields, body: hop.body)
    let becomesGet =
      status == 303 ? hop.method != .head : (status == 301 || status == 302) && hop.method == .post
    if becomesGet, hop.method != .get {
      next.method = .get
      next.body = nil
    }
    if next.body == nil {
      next.fields.removeAll { $0.lowercased().hasPrefix("content-") || bodyFields.contains($0) }
    }
    if url.origin != original.url.origin {
      next.fields.removeAll { secrets.isSecretField($0) || $0.lowercased() == "host" }
    }
    return next
  }

  private static func target(
    _ location: String, relativeTo base: NormalisedURL
  ) throws(DataServiceError) -> NormalisedURL {
    do {
      return try NormalisedURL(HTTPFields.Exact.bytes(location), relativeTo: base)
    } catch {
      throw DataServiceError(
        .protocol, "\(base.authority) redirects to a URL that is not followed: \(error.message)",
        underlying: error)
    }
  }
}
