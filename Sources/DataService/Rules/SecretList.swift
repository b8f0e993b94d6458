internal import CacheStore

/// The fields and query parameters that hold secrets. Their values in a request are never written, and different
/// values have separate cache entries (law 12). Of a response, the listed fields are not stored.
public struct SecretList: Sendable, Hashable {
  /// Field names in lower case. `Authorization`, `Cookie` and `Proxy-Authorization` are always secret, listed or not.
  public var fields: Set<String> {
    get { ownFields.names(usual: Self.commonFields) }
    set { ownFields.set(newValue, usual: Self.commonFields) }
  }
  /// Query parameter names in lower case.
  public var parameters: Set<String> {
    get { ownParameters.names(usual: Self.commonParameters) }
    set { ownParameters.set(newValue, usual: Self.commonParameters) }
  }

  /// Whether names that look secret count too in a request, such as names that contain `token`, `secret` or `password`,
  /// or end with `-key`. Which fields of a response are stored is decided by the list alone.
  public var includesPatterns = true

  private var ownFields = NameSet()
  private var ownParameters = NameSet()

  /// The default list: the names that common APIs give their keys and tokens.
  public init() {}

  private static let commonFields = [
    "x-api-key", "api-key", "apikey", "x-auth-token", "x-access-token", "x-csrf-token", "x-xsrf-token",
    "x-amz-security-token", "x-goog-api-key", "x-functions-key", "x-vault-token", "private-token",
    "ocp-apim-subscription-key", "x-session-token", "x-shopify-access-token", "x-auth-key", "x-auth",
    "x-plex-token", "dd-api-key", "dd-application-key", "circle-token", "x-gitlab-token", "token",
    "job-token",
    "x-github-token", "x-figma-token", "x-auth-user", "x-session-id", "x-forwarded-access-token",
  ]
  private static let commonParameters = [
    "access_token", "api_key", "apikey", "api-key", "auth", "auth_token", "client_secret", "code", "id_token",
    "jwt", "key", "passwd", "password", "refresh_token", "secret", "session", "sessionid", "sig", "signature",
    "subscription-key", "token", "private_token", "oauth_token", "api_token", "pass", "pwd", "pw",
    "x-plex-token",
    "awsaccesskeyid", "appid", "app_id", "appkey", "app_key", "key-pair-id", "ticket", "hdnts", "hdnea",
    "otp", "pin", "sid", "phpsessid", "jsessionid", "samlresponse", "code_verifier", "x-amz-credential",
    "x-amz-security-token", "x-amz-signature",
    "x-goog-credential", "x-goog-signature",
  ]

  /// The fields that are always credentials, whatever the list says.
  static let credentialFields = ["authorization", "cookie", "proxy-authorization"]

  /// Whether a field, in any case, is secret.
  package func isSecretField(_ name: String) -> Bool {
    let lower = name.lowercased()
    return Self.credentialFields.contains(lower)
      || ownFields.contains(lower, usual: Self.commonFields)
      || includesPatterns && !Self.harmlessFields.contains(lower) && SecretPattern.isField(name.utf8)
  }

  /// Whether a query parameter, in any case, is secret.
  package func isSecretParameter(_ name: String) -> Bool { isSecretParameter(encoded: Array(name.utf8)[...]) }

  /// Whether a query parameter is secret, given its name as encoded in a URL.
  ///
  /// Surrounding white space and brackets are ignored: some frameworks read `+token`, `%20token` and `token[]` as
  /// `token`.
  func isSecretParameter(encoded name: ArraySlice<UInt8>) -> Bool {
    let bytes = name.formDecoded.map(\.asciiLowercased)
    let core = bytes.drop { !$0.isLetterOrDigit }
    let end = core.lastIndex(where: \.isLetterOrDigit).map { $0 + 1 } ?? core.startIndex
    let word = String(decoding: core[..<max(end, core.startIndex)], as: UTF8.self)
    return isListed(word) || word.utf8.count < bytes.count && isListed(String(decoding: bytes, as: UTF8.self))
      || includesPatterns && SecretPattern.isParameter(bytes)
  }

  private func isListed(_ parameter: String) -> Bool {
    ownParameters.contains(parameter, usual: Self.commonParameters)
  }

  /// Whether the store may hold the plain value of a request field that `Vary` names. Only fields known to be
  /// harmless qualify; any other could hold a secret.
  package func isHarmlessField(_ name: String) -> Bool {
    let name = name.lowercased()
    return (name.hasPrefix("sec-") || Self.harmlessFields.contains(name)) && !isSecretField(name)
  }

  private static let harmlessFields = [
    "accept", "accept-charset", "accept-encoding", "accept-language", "accept-version", "content-type", "dnt",
    "host", "origin", "prefer", "range", "save-data", "te", "upgrade-insecure-requests", "user-agent",
    "x-requested-with",
  ]
}

/// Recognises names of fields and query parameters that look secret, in addition to the listed names.
///
/// The patterns match too much rather than too little. A false match such as `page_token` only costs a digest in a
/// key; a missed token would be written to disk.
enum SecretPattern {
  /// Runs of letters that hardly any harmless name contains.
  private static let parts: [StaticString] = [
    "token", "secret", "password", "passwd", "passphrase", "passcode", "credential", "apikey", "accesskey",
    "signature", "session", "sessid", "bearer", "jwt", "authoriz", "authentic", "authcode", "assertion",
    "saml",
    "cookie",
  ]
  /// Whole words, delimited by characters other than letters and digits.
  private static let words: [StaticString] = [
    "auth", "sig", "pass", "pwd", "pw", "otp", "pin", "hmac", "sid",
  ]
  /// Endings of words, as in `X-Auth-Key` and `subscription_key`. `sortKey` matches too.
  private static let endings: [StaticString] = ["key", "auth", "pwd", "pass"]

  /// Fields that look secret but are harmless.
  private static let harmless: [StaticString] = [
    "idempotency-key", "x-idempotency-key", "sec-websocket-key", "cache-key", "x-cache-key", "surrogate-key",
  ]

  /// Whether a field's name, in any case, looks secret.
  static func isField(_ name: some Sequence<UInt8>) -> Bool {
    let name = name.map(\.asciiLowercased)
    return looksSecret(name) && !harmless.contains { isSame(name[...], $0) }
  }

  /// Whether the decoded name of a query parameter looks secret.
  static func isParameter(_ name: [UInt8]) -> Bool { looksSecret(name) }

  /// - Parameter name: The name in lower case.
  private static func looksSecret(_ name: [UInt8]) -> Bool {
    var start = 0
    for end in 0...name.count where end == name.count || !name[end].isLetterOrDigit {
      let word = name[start..<end]
      start = end + 1
      guard word.count >= 2 else { continue }
      if words.contains(where: { isSame(word, $0) }) { return true }
      if endings.contains(where: { isSame(word.suffix($0.utf8CodeUnitCount), $0) }) { return true }
    }
    // `accessToken` and `apikey2` are single words here, so the parts are searched for anywhere in the name.
    return parts.contains { contains(name, $0) }
  }

  private static func isSame(_ bytes: ArraySlice<UInt8>, _ text: StaticString) -> Bool {
    bytes.count == text.utf8CodeUnitCount
      && bytes.elementsEqual(UnsafeBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount))
  }

  private static func contains(_ name: [UInt8], _ text: StaticString) -> Bool {
    let length = text.utf8CodeUnitCount
    guard name.count >= length else { return false }
    for start in 0...(name.count - length) where name[start] == text.utf8Start.pointee {
      if isSame(name[start..<(start + length)], text) { return true }
    }
    return false
  }
}

extension UInt8 {
  /// Whether the byte is a letter or digit; bytes outside ASCII count as letters.
  var isLetterOrDigit: Bool {
    switch self {
    case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, 0x80...0xFF: true
    default: false
    }
  }
}
