internal import CacheStore

/// How a request's key is composed.
enum KeyRule {
  /// The key: account, normalised URL with secret values replaced, method, and what else decides who answers.
  static func key(
    for request: DataService.Request, url: NormalisedURL, fields: HTTPFields, secrets: SecretList,
    digest: PreparedRequest.Digest
  ) -> RequestKey {
    let account = account(of: request, url: url, fields: fields, secrets: secrets, digest: digest)
    let connection = extra(of: request.connection)
    if let own = request.key {
      return RequestKey(account: account, target: "key:" + own, method: "GET", extra: connection)
    }
    var extra = connection
    if let body = request.body, !body.isEmpty {
      extra = "body=" + (digest(Array(body))) + (extra.isEmpty ? "" : " " + extra)
    }
    return RequestKey(
      account: account, target: redacted(url, secrets: secrets, digest: digest),
      method: request.method == .head ? "GET" : request.method.rawValue, extra: extra)
  }

  private static func account(
    of request: DataService.Request, url: NormalisedURL, fields: HTTPFields, secrets: SecretList,
    digest: PreparedRequest.Digest
  ) -> String {
    switch request.account.kind {
    case .named(let name): return name
    case .automatic: break
    }
    guard !fields.isEmpty else { return "" }
    let credentials = fields.all
      .filter { secrets.isSecretField($0.name) }
      .map { $0.name.lowercased() + ": " + $0.value }
      .sorted()
    guard !credentials.isEmpty else { return "" }
    return "auto:" + (digest(Array(credentials.joined(separator: "\n").utf8)))
  }

  /// The URL with every secret query value replaced by `~` and a keyed digest.
  static func redacted(
    _ url: NormalisedURL, secrets: SecretList, digest: PreparedRequest.Digest
  ) -> String {
    guard let query = url.query, query.utf8.contains(UInt8(ascii: "=")) else { return url.string }
    var changed = false
    var parts: [String] = []
    for part in query.split(separator: "&", omittingEmptySubsequences: false) {
      guard let equals = part.firstIndex(of: "="), secrets.isSecretParameter(String(part[..<equals])) else {
        parts.append(String(part))
        continue
      }
      changed = true
      let value = part[part.index(after: equals)...]
      parts.append(part[...equals] + "~" + (digest(Array(value.utf8))))
    }
    return changed ? url.origin + url.path + "?" + parts.joined(separator: "&") : url.string
  }

  private static func extra(of connection: ConnectionOptions) -> String {
    guard connection.isInsecure || connection.unixSocket != nil || !connection.resolutions.isEmpty else {
      return ""
    }
    var parts: [String] = []
    if connection.isInsecure { parts.append("insecure") }
    if let socket = connection.unixSocket { parts.append("unix=" + socket) }
    for resolution in connection.resolutions.sorted(by: { ($0.host, $0.port) < ($1.host, $1.port) }) {
      parts.append("resolve=\(resolution.host):\(resolution.port):\(resolution.address)")
    }
    return parts.joined(separator: " ")
  }
}
