package import CacheStore
internal import PlatformFoundation

/// Composes a request's key from everything that decides who answers, what the answer is, and for whom.
///
/// Leases and partial downloads use the whole key too, never a part of it, to distinguish requests.
enum KeyRule {
  /// What a file contains, which decides how it is digested.
  enum FileContent {
    /// Certificate authorities, which are public: without a key the digest is the same in every store, and a store that
    /// imports another's rows finds them.
    case authorities
    /// A client certificate, beside which the file may have its private key: the digest is keyed.
    case identity
  }

  /// A keyed digest of bytes.
  typealias Digest = @Sendable (_ bytes: [UInt8]) -> String

  /// The digest of a file's content; `nil` if the file cannot be read.
  typealias FileDigest = (_ path: String, _ content: FileContent) -> String?

  /// The inputs of the rule besides the request.
  struct Means {
    let secrets: SecretList
    let digest: Digest
    let fileDigest: FileDigest
  }

  /// The key: account, normalised URL with secret values replaced, method, and the other parts that decide who
  /// answers.
  /// - Throws: `invalidRequest` if the account's name is empty, or a client certificate that identifies it cannot be
  ///   read.
  static func key(
    for request: DataService.Request, url: NormalisedURL, fields: HTTPFields, means: Means
  ) throws(DataServiceError) -> RequestKey {
    let account = try account(of: request, fields: fields, means: means)
    var parts = parts(of: request, url: url, fields: fields, means: means)
    if let own = request.key {
      return RequestKey(account: account, target: "key:" + own, method: "GET", extra: parts.text)
    }
    if let body = request.body, !body.isEmpty { parts.put("body", means.digest(Array(body)), first: true) }
    return RequestKey(
      account: account, target: redacted(url, secrets: means.secrets, digest: means.digest),
      method: request.method == .head ? "GET" : request.method.rawValue, extra: parts.text)
  }

  // MARK: For whom

  private static func account(
    of request: DataService.Request, fields: HTTPFields, means: Means
  ) throws(DataServiceError) -> String {
    switch request.account.kind {
    case .named(let name):
      // Without a name are the responses that belong to nobody, which requests without credentials are given.
      guard !name.isEmpty else {
        throw DataServiceError(
          .invalidRequest, "the account's name is empty", hint: "name the account, or leave it automatic")
      }
      guard !name.hasControlCharacter else {
        throw DataServiceError(
          .invalidRequest, "the account's name has a control character in it", hint: "leave it out")
      }
      return name
    case .automatic: break
    }
    let certificate = request.connection.clientCertificateFile
    guard !fields.isEmpty || certificate != nil else { return "" }
    var credentials = fields.exact.all
      .filter { means.secrets.isSecretField($0.name) }
      .map { $0.name.lowercased() + ": " + $0.value }
    if let certificate {
      guard let digest = means.fileDigest(certificate, .identity) else {
        throw DataServiceError(
          .invalidRequest, "the client certificate \(certificate) cannot be read",
          hint: "name a PEM file that can, or an account")
      }
      // No field name contains a zero byte.
      credentials.append("\u{0}certificate: " + digest)
    }
    guard !credentials.isEmpty else { return "" }
    return "auto:" + means.digest(Array(credentials.sorted().joined(separator: "\n").utf8))
  }

  // MARK: Who answers

  /// The connection options that decide who answers; empty for most requests. A pause applies only to requests with
  /// the same route.
  static func route(
    of connection: ConnectionOptions, host: String?, means: Means
  ) -> String {
    var parts = Parts()
    put(connection, host: host, into: &parts, means)
    return parts.text
  }

  /// The caller's own `Host`, if it differs from the URL's authority.
  static func host(in fields: HTTPFields, url: NormalisedURL) -> String? {
    guard !fields.isEmpty, fields.contains("Host") else { return nil }
    let host = FieldList.lowercased(fields.exact.values(of: "Host").joined(separator: ", "))
    return host == url.authority ? nil : host
  }

  private static func parts(
    of request: DataService.Request, url: NormalisedURL, fields: HTTPFields, means: Means
  ) -> Parts {
    var parts = Parts()
    put(request.connection, host: host(in: fields, url: url), into: &parts, means)
    // The redirect itself is then the answer.
    if request.limits.redirects == 0 { parts.put("no-location") }
    return parts
  }

  private static func put(
    _ connection: ConnectionOptions, host: String?, into parts: inout Parts, _ means: Means
  ) {
    if let host { parts.put("host", host) }
    guard !connection.isUsual else { return }
    if connection.isInsecure { parts.put("insecure") }
    if let file = connection.certificateAuthorityFile {
      // The content counts, since it decides which servers are trusted. An unreadable file trusts none.
      parts.put("authorities", means.fileDigest(file, .authorities) ?? "")
    }
    if let folder = connection.certificateAuthorityFolder { parts.put("authority-folder", absolute(folder)) }
    if let socket = connection.unixSocket { parts.put("unix", absolute(socket)) }
    if let proxy = connection.proxy { parts.put("proxy", withoutCredentials(proxy, means)) }
    for resolution in connection.sortedResolutions {
      parts.put("resolve", "\(resolution.host.lowercased()):\(resolution.port):\(resolution.address)")
    }
  }

  private static func absolute(_ path: String) -> String {
    path.hasPrefix("/") ? path : FileManager.default.currentDirectoryPath + "/" + path
  }

  /// The proxy's URL with its user-info replaced by a digest.
  private static func withoutCredentials(_ proxy: String, _ means: Means) -> String {
    guard let at = proxy.lastIndex(of: "@") else { return proxy }
    let start = proxy.firstRange(of: "://").map(\.upperBound) ?? proxy.startIndex
    guard start <= at else { return proxy }
    return proxy[..<start] + "~" + means.digest(Array(proxy[start..<at].utf8)) + proxy[at...]
  }

  /// Names and values in the format that ``RequestKey/extraParts(_:)`` parses.
  private struct Parts {
    private(set) var text = ""

    mutating func put(_ name: StaticString, _ value: String? = nil, first: Bool = false) {
      let part = RequestKey.extraPart("\(name)", value)
      text = text.isEmpty ? part : first ? part + " " + text : text + " " + part
    }
  }

  // MARK: What is asked for

  /// The URL with every secret query value replaced by `~` and a keyed digest.
  static func redacted(
    _ url: NormalisedURL, secrets: SecretList, digest: Digest
  ) -> String {
    guard url.string.utf8.contains(UInt8(ascii: "=")) else { return url.string }
    let origin = url.origin
    let changed = QueryParts.replacing(Array(url.string.utf8)[origin.utf8.count...], secrets: secrets) {
      value in
      Array("~".utf8) + digest(Array(value)).utf8
    }
    return changed.map { origin + String(decoding: $0, as: UTF8.self) } ?? url.string
  }
}

extension ConnectionOptions {
  /// Whether no option decides who answers.
  fileprivate var isUsual: Bool {
    !isInsecure && unixSocket == nil && proxy == nil && certificateAuthorityFile == nil
      && certificateAuthorityFolder == nil && resolutions.isEmpty
  }

  /// Sorted by host and port. Entries for the same host and port keep their order, since the first one counts.
  fileprivate var sortedResolutions: [Resolution] {
    resolutions.enumerated().sorted {
      ($0.element.host.lowercased(), $0.element.port, $0.offset)
        < ($1.element.host.lowercased(), $1.element.port, $1.offset)
    }.map(\.element)
  }
}

extension String {
  /// Whether it has a control character, such as a line break, so that no list could show it as it is.
  var hasControlCharacter: Bool {
    unicodeScalars.contains { $0.value < 0x20 || (0x7F...0x9F).contains($0.value) }
  }
}

/// Finds the keyed digests in what a row is found by: those of a secret parameter, of the proxy's credentials, of the
/// request's body, and of a field that `Vary` names.
///
/// Another store digests the same values with its own key, so it would never find such a row.
package enum KeyedParts {
  /// Whether only the store that a row is in can find it.
  package static func areIn(_ key: RequestKey, variant: String) -> Bool {
    // A key of the caller's own is written as it is.
    if !key.target.hasPrefix("key:"), isDigest(in: key.target, after: "=~") { return true }
    let isInExtra = RequestKey.extraParts(key.extra).contains { part in
      part.name == "body" || part.name == "proxy" && isDigest(in: part.value ?? "", after: "~")
    }
    return isInExtra || isDigest(in: variant, after: ": ")
  }

  /// Whether a mark is followed by the digits of a digest, and no more of them.
  private static func isDigest(in text: String, after mark: String) -> Bool {
    text.split(separator: mark, omittingEmptySubsequences: false).dropFirst().contains { rest in
      rest.utf8.prefix { $0.hexDigitValue != nil && !(0x41...0x46).contains($0) }.count == DigestKey.digits
    }
  }
}
