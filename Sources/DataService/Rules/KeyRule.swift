package import CacheStore
internal import PlatformC
internal import PlatformFoundation

/// Composes a request's key from what the caller says of who answers, what the answer is, and for whom.
///
/// What the machine says is no part of it, so that a row is found for as long as the question stays the same. What is
/// joined besides, a pause, a cut-off download or an exchange, needs the same road too: ``road(isSecure:by:host:_:)``.
enum KeyRule {
  /// A keyed digest of bytes.
  typealias Digest = @Sendable (_ bytes: [UInt8]) -> String

  /// The keyed digest of a file's content; `nil` if the file cannot be read.
  typealias FileDigest = (_ path: String) -> String?

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
    let isSecure = url.isSecure
    let account = try account(of: request, isSecure: isSecure, fields: fields, means: means)
    var parts = Parts()
    put(request.connection, isSecure: isSecure, host: host(in: fields, url: url), into: &parts)
    // The redirect itself is then the answer.
    if request.limits.redirects == 0 { parts.put("no-location") }
    if let own = request.key {
      return RequestKey(account: account, target: "key:" + own, method: "GET", extra: parts.text)
    }
    if let body = request.body, !body.isEmpty {
      parts.put("body", means.digest(content(body, fields)), first: true)
    }
    return RequestKey(
      account: account, target: redacted(url, secrets: means.secrets, digest: means.digest),
      method: request.method == .head ? "GET" : request.method.rawValue, extra: parts.text)
  }

  // MARK: For whom

  private static func account(
    of request: DataService.Request, isSecure: Bool, fields: HTTPFields, means: Means
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
    // Without TLS nobody asks for it.
    let certificate = isSecure ? request.connection.clientCertificateFile : nil
    guard !fields.isEmpty || certificate != nil else { return "" }
    var credentials = fields.exact.all
      .filter { means.secrets.isSecretField($0.name) }
      .map { $0.name.lowercased() + ": " + $0.value }
    if let certificate {
      guard let digest = means.fileDigest(certificate) else {
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

  /// A name, followed by a space and the road where there is anything to say of it.
  static func reached(
    _ name: String, isSecure: Bool, by connection: ConnectionOptions = .init(), host: String? = nil,
    _ digest: Digest
  ) -> String {
    let road = road(isSecure: isSecure, by: connection, host: host, digest)
    return road.isEmpty ? name : name + " " + road
  }

  /// How a responder is reached over https or http: the connection options that decide who answers, the authorities
  /// that are trusted, and the proxy in force; empty for most requests. The environment is read anew each time, as
  /// libcurl does.
  static func road(
    isSecure: Bool, by connection: ConnectionOptions, host: String?, _ digest: Digest
  ) -> String {
    var parts = Parts()
    put(connection, isSecure: isSecure, host: host, into: &parts)
    if isSecure, !connection.trustsTheSystem {
      for path in [connection.certificateAuthorityFile, connection.certificateAuthorityFolder] {
        if let path { parts.put("trust", absolute(path)) }
      }
    }
    if let proxy = connection.proxyInForce(isSecure: isSecure) {
      parts.put("proxy", withoutCredentials(proxy.url, digest))
      if !proxy.exceptions.isEmpty { parts.put("no-proxy", proxy.exceptions) }
    }
    return parts.text
  }

  /// The caller's own `Host`, if it differs from the URL's authority.
  static func host(in fields: HTTPFields, url: NormalisedURL) -> String? {
    guard !fields.isEmpty, fields.contains("Host") else { return nil }
    let host = FieldList.lowercased(fields.exact.values(of: "Host").joined(separator: ", "))
    return host == url.authority ? nil : host
  }

  private static func put(
    _ connection: ConnectionOptions, isSecure: Bool, host: String?, into parts: inout Parts
  ) {
    if let host { parts.put("host", host) }
    if isSecure {
      if connection.isInsecure { parts.put("insecure") }
      // Whatever is in the file: it is the caller who trusts, before and after a change of it.
      if connection.namesAuthorities, !connection.isMachineTrust { parts.put("authorities") }
    }
    if let socket = connection.unixSocket { parts.put("unix", absolute(socket)) }
    guard !connection.resolutions.isEmpty else { return }
    for resolution in connection.sortedResolutions {
      parts.put("resolve", "\(resolution.host.lowercased()):\(resolution.port):\(resolution.address)")
    }
  }

  private static func absolute(_ path: String) -> String {
    path.hasPrefix("/") ? path : FileManager.default.currentDirectoryPath + "/" + path
  }

  /// The proxy's URL with its user-info replaced by a digest.
  private static func withoutCredentials(_ proxy: String, _ digest: Digest) -> String {
    guard let at = proxy.lastIndex(of: "@") else { return proxy }
    let start = proxy.firstRange(of: "://").map(\.upperBound) ?? proxy.startIndex
    guard start <= at else { return proxy }
    return proxy[..<start] + "~" + digest(Array(proxy[start..<at].utf8)) + proxy[at...]
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

  /// What a marked read says: the fields that describe its body, a line each, and the body.
  static func content(_ body: Data, _ fields: HTTPFields) -> [UInt8] {
    let lines = ["Content-Type", "Content-Encoding", "Content-Language"].map { fields.combined($0) ?? "" }
    return Array((lines.joined(separator: "\n") + "\n").utf8) + body
  }

  /// The URL with every secret query value, and the user-info of nested URLs, replaced by `~` and a keyed digest.
  static func redacted(
    _ url: NormalisedURL, secrets: SecretList, digest: Digest
  ) -> String {
    guard QueryParts.mayBeIn(url.string.utf8) else { return url.string }
    let origin = url.origin
    let changed = QueryParts.replacing(Array(url.string.utf8)[origin.utf8.count...], secrets: secrets) {
      value in
      Array("~".utf8) + digest(Array(value)).utf8
    }
    return changed.map { origin + String(decoding: $0, as: UTF8.self) } ?? url.string
  }
}

extension ConnectionOptions {
  /// Whether the caller or the environment names authorities.
  var namesAuthorities: Bool { certificateAuthorityFile != nil || certificateAuthorityFolder != nil }

  /// Whether the system's authorities, and they alone, judge the peer's certificate; also where the environment names
  /// them.
  var trustsTheSystem: Bool {
    guard !isInsecure, namesAuthorities else { return !isInsecure }
    return isMachineTrust && certificateAuthorityFile.map(Self.systemBundles.contains) ?? true
      && certificateAuthorityFolder.map(Self.systemFolders.contains) ?? true
  }

  /// Where the tools of the distributions write the system's bundle, and its folder of links by hash.
  private static let systemBundles = [
    "/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt", "/etc/ssl/ca-bundle.pem",
  ]
  private static let systemFolders = ["/etc/ssl/certs", "/etc/ssl/certs/"]

  /// The proxy of the caller, or else of a variable that libcurl reads, and the hosts that go past it, which only
  /// libcurl compares; `nil` where there is none.
  func proxyInForce(
    isSecure: Bool, environment: (StaticString) -> String? = Self.environment
  ) -> (url: String, exceptions: String)? {
    // Not in a loop over an array of names, which takes longer than the environment's answers.
    func value(_ name: StaticString) -> String? { environment(name).flatMap { $0.isEmpty ? nil : $0 } }
    var own: String? { isSecure ? value("https_proxy") ?? value("HTTPS_PROXY") : value("http_proxy") }
    guard unixSocket == nil, let url = proxy ?? own ?? value("all_proxy") ?? value("ALL_PROXY"), !url.isEmpty
    else { return nil }
    let exceptions = value("no_proxy") ?? value("NO_PROXY") ?? ""
    return exceptions == "*" ? nil : (url, exceptions)
  }

  private static func environment(_ name: StaticString) -> String? {
    getenv(UnsafeRawPointer(name.utf8Start).assumingMemoryBound(to: CChar.self)).map { String(cString: $0) }
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

/// Finds the keyed digests in what a row is found by: those of a secret parameter, of the request's body, and of a
/// field that `Vary` names.
///
/// Another store digests the same values with its own key, so it would never find such a row.
package enum KeyedParts {
  /// Whether only the store that a row is in can find it.
  package static func areIn(_ key: RequestKey, variant: String) -> Bool {
    // A key of the caller's own is written as it is.
    if !key.target.hasPrefix("key:"), isDigest(in: key.target, after: "~") { return true }
    return RequestKey.extraParts(key.extra).contains { $0.name == "body" }
      || isDigest(in: variant, after: ": ")
  }

  /// Whether a mark is followed by the digits of a digest, and no more of them.
  private static func isDigest(in text: String, after mark: String) -> Bool {
    text.split(separator: mark, omittingEmptySubsequences: false).dropFirst().contains { rest in
      rest.utf8.prefix { $0.hexDigitValue != nil && !(0x41...0x46).contains($0) }.count == DigestKey.digits
    }
  }
}
