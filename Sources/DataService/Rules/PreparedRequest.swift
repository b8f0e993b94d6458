package import CacheStore
internal import PlatformFoundation

/// A request, validated and parsed once on the caller's thread: the fields to send, the key in the store, and what
/// distinguishes exchanges. It is a class because it is immutable and passed along often.
final class PreparedRequest: Sendable {
  let request: DataService.Request
  /// The URL to send to, without user-info and fragment.
  let url: NormalisedURL
  /// The fields to send, including Basic credentials from the URL's user-info.
  let fields: HTTPFields
  let key: RequestKey
  /// Whether RFC 9111 decides: the policy is `http`.
  let isHTTP: Bool
  /// Whether the request bypasses the store.
  let isPassThrough: Bool
  /// Whether bodies in a content coding are decoded. Under `http` they stay as they come.
  var decodesContent: Bool { request.connection.isCompressed && !isHTTP }
  /// Whether its body comes decoded though no coding was asked for.
  var decodesUnasked: Bool {
    request.connection.isCompressed && isHTTP && !fields.contains("Accept-Encoding")
  }
  /// Whether it is a prefetch (`Sec-Purpose: prefetch`).
  var isPrefetch: Bool { fields["Sec-Purpose"] == "prefetch" }
  /// Digests values that distinguish keys but must never be written.
  let digest: KeyRule.Digest

  /// The fields that match whatever their value in a stored request, and where they are missing: within an account that
  /// the caller named, those that carry credentials, since the account stands for them. `nil` where each field counts,
  /// as under `http`.
  let credentials: SecretList?

  /// The URL for messages: without user-info, with secret query values replaced by digests.
  let shownURL: String

  /// - Throws: `invalidRequest`, naming the invalid part.
  init(
    _ request: consuming DataService.Request, policy: FetchPolicy, secrets: SecretList,
    digest: @escaping KeyRule.Digest, fileDigest: @escaping KeyRule.FileDigest
  ) throws(DataServiceError) {
    url = try NormalisedURL(request.spelling ?? request.url.absoluteString)
    self.digest = digest
    var fields = request.fields
    if url.userInfo != nil, !fields.contains("Authorization") {
      fields.append("Authorization", "Basic " + Self.basicCredentials(request.url))
    }
    if let refused = fields.refused {
      throw DataServiceError(.invalidRequest, refused, hint: "a header is one line, “Name: value”")
    }
    let method = request.method.rawValue
    guard !method.isEmpty, method.utf8.allSatisfy(\.isTokenByte) else {
      throw DataServiceError(
        .invalidRequest, "“\(method)” is not a method", hint: "a method is a word such as GET or POST")
    }
    if request.tags.contains(where: \.hasControlCharacter) {
      throw DataServiceError(.invalidRequest, "a tag has a control character in it", hint: "leave it out")
    }
    // A hop is sent without the field, so that no later check sees it.
    if fields.contradictLength(of: request.body) {
      throw DataServiceError(
        .invalidRequest, "Content-Length contradicts the body",
        hint: "leave it out: the body's own is stated")
    }
    self.fields = fields
    isHTTP = policy == .http
    isPassThrough = PassThrough.isPassThrough(
      method: request.method, fields: fields, isRead: request.isRead, keepsAnyway: request.keepsAnyway,
      underHTTP: policy == .http)
    let means = KeyRule.Means(secrets: secrets, digest: digest, fileDigest: fileDigest)
    key = try KeyRule.key(for: request, url: url, fields: fields, means: means)
    if case .named = request.account.kind, !isHTTP { credentials = secrets } else { credentials = nil }
    shownURL = request.key == nil ? key.target : KeyRule.redacted(url, secrets: secrets, digest: digest)
    self.request = request
  }

  private static func basicCredentials(_ url: URL) -> String {
    let user = url.user(percentEncoded: false) ?? ""
    let password = url.password(percentEncoded: false) ?? ""
    return Data("\(user):\(password)".utf8).base64EncodedString()
  }

  /// The key or URL that the response is stored under, for a message.
  var shownPlace: String { request.key.map { "under the key \($0)" } ?? "for \(shownURL)" }

  /// The host that the statistics count the response under; a caller's own key counts as a host of its own.
  var countedHost: String { request.key == nil ? url.authority : key.target }

  /// The name that pauses use for the responder at `url`, the request's own URL or that of a redirect.
  func responder(of url: NormalisedURL) -> String { reached(url.origin, at: url) }

  /// The name that cut-off downloads use for who sent them.
  var source: String { reached(shownURL, at: url) }

  private func reached(_ name: String, at url: NormalisedURL) -> String {
    var host = KeyRule.host(in: fields, url: self.url)
    // Elsewhere the caller's `Host` is not sent.
    if !url.isOfOrigin(of: self.url) { host = nil }
    return KeyRule.reached(
      name, isSecure: url.isSecure, by: request.connection, host: host, digest)
  }

  /// Whether the method is HEAD.
  var isHead: Bool { request.method == .head }

  /// Whether the request may be sent again after a failure.
  var isRepeatable: Bool { request.method == .get || request.method == .head || request.isRead }
}

extension PreparedRequest {
  /// Whether two loads may share an exchange (law 7): they agree in everything that shapes it.
  func isAlike(_ other: PreparedRequest) -> Bool {
    key == other.key && request.method == other.request.method && url == other.url && fields == other.fields
      && request.body == other.request.body && request.limits == other.request.limits
      && request.connection == other.request.connection && request.keepsAnyway == other.request.keepsAnyway
      && request.acceptedMediaTypes == other.request.acceptedMediaTypes
      && isHTTP == other.isHTTP && request.onlineWait == other.request.onlineWait
  }
}

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
    !fields.isEmpty
      && ["If-Match", "If-None-Match", "If-Modified-Since", "If-Unmodified-Since", "If-Range"].contains(
        where: fields.contains)
  }
}

extension PreparedRequest {
  /// A hash that all processes agree on, equal for loads that may share an exchange. Secret values enter as digests.
  ///
  /// - Parameter options: The `leaseText` of the request's limits and connection options.
  func leaseHash(secrets: SecretList, options: [UInt8]) -> UInt64 {
    var text: [UInt8] = []
    text.reserveCapacity(512)
    func add(_ part: String) {
      text.append(contentsOf: part.utf8)
      text.append(0)
    }
    for part in [key.account, key.target, key.method, key.extra, request.method.rawValue] { add(part) }
    // A redirect may lead from one to the other.
    for isSecure in [false, true] {
      add(KeyRule.road(isSecure: isSecure, by: request.connection, host: nil, digest))
    }
    // The caller's own key shows neither where the request goes nor what it sends.
    if request.key != nil {
      add(shownURL)
      if let body = request.body, !body.isEmpty { add(digest(Array(body))) }
    }
    for field in fields.exact.all {
      add(FieldList.lowercased(field.name))
      add(secrets.isSecretField(field.name) ? digest(Array(field.value.utf8)) : field.value)
    }
    text.append(contentsOf: options)
    text.append(request.keepsAnyway ? 1 : 0)
    text.append(isHTTP ? 1 : 0)
    for type in request.acceptedMediaTypes { add(type) }
    return ResponseStore.leaseHash(text)
  }
}

extension Limits {
  /// All limits as numbers. A test checks that none is missing.
  var leaseText: [UInt8] {
    let numbers = [
      bodyBytes, dataBytes, Int64(fieldSectionBytes), Int64(fieldCount), Int64(redirects), Int64(retries),
      connectTimeout.clampedNanoseconds, firstByteTimeout.clampedNanoseconds, idleTimeout.clampedNanoseconds,
      totalTimeout.clampedNanoseconds,
    ]
    return numbers.withUnsafeBytes { Array($0) }
  }
}

extension ConnectionOptions {
  /// The caller's options. A test checks that none is missing.
  var leaseText: [UInt8] {
    var text: [UInt8] = []
    for flag in [isInsecure, isHTTP11Only, isCompressed] { text.append(flag ? 1 : 0) }
    // Of the machine's own authorities the road says what matters.
    let trust = isMachineTrust ? [nil, nil] : [certificateAuthorityFile, certificateAuthorityFolder]
    for part in [unixSocket, proxy] + trust + [clientCertificateFile, clientKeyFile] {
      text.append(part == nil ? 0 : 1)
      text.append(contentsOf: (part ?? "").utf8)
      text.append(0)
    }
    for resolution in resolutions {
      text.append(contentsOf: "\(resolution.host) \(resolution.port) \(resolution.address)".utf8)
      text.append(0)
    }
    return text
  }
}
