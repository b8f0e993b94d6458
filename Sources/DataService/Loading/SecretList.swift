/// The fields and query parameters that hold secrets: never written anywhere, and each of them partitions
/// (design law 12).
public struct SecretList: Sendable, Hashable {
  /// Field names, lower case. `Authorization`, `Cookie` and `Proxy-Authorization` are always secret besides.
  public var fields: Set<String> {
    get { ownFields ?? Set(Self.commonFields) }
    set { ownFields = newValue == Set(Self.commonFields) ? nil : newValue }
  }
  /// Query parameter names, lower case.
  public var parameters: Set<String> {
    get { ownParameters ?? Set(Self.commonParameters) }
    set { ownParameters = newValue == Set(Self.commonParameters) ? nil : newValue }
  }

  // `nil` for the defaults: to make the first set of all costs a program that starts 100 µs (docs/performance.md).
  private var ownFields: Set<String>?
  private var ownParameters: Set<String>?

  /// The defaults: what common APIs call their keys and tokens.
  public init() {}

  private static let commonFields = [
    "x-api-key", "api-key", "apikey", "x-auth-token", "x-access-token", "x-csrf-token", "x-xsrf-token",
    "x-amz-security-token", "x-goog-api-key", "x-functions-key", "x-vault-token", "private-token",
    "ocp-apim-subscription-key", "x-session-token", "x-shopify-access-token",
  ]
  private static let commonParameters = [
    "access_token", "api_key", "apikey", "api-key", "auth", "auth_token", "client_secret", "code", "id_token",
    "jwt", "key", "passwd", "password", "refresh_token", "secret", "session", "sessionid", "sig", "signature",
    "subscription-key", "token", "x-amz-credential", "x-amz-security-token", "x-amz-signature",
    "x-goog-credential", "x-goog-signature",
  ]

  /// The fields that are credentials whatever the list says.
  static let credentialFields = ["authorization", "cookie", "proxy-authorization"]

  /// Whether a field, in any case, is secret.
  package func isSecretField(_ name: String) -> Bool {
    let name = name.lowercased()
    return Self.credentialFields.contains(name)
      || ownFields?.contains(name) ?? Self.commonFields.contains(name)
  }

  /// Whether a query parameter, in any case, is secret.
  package func isSecretParameter(_ name: String) -> Bool {
    let name = name.lowercased()
    return ownParameters?.contains(name) ?? Self.commonParameters.contains(name)
  }
}

extension SecretList {
  /// Text with `~` in place of user-info and of the values of secret parameters, wherever in it a URL stands.
  package func withoutSecrets(_ text: String) -> String {
    guard text.contains("=") || text.contains("@") else { return text }
    var shown = ""
    var part = ""
    func isBorder(_ character: Character) -> Bool { "?&;,# \t\"'<>".contains(character) }
    for character in text {
      guard isBorder(character) else {
        part.append(character)
        continue
      }
      shown += withoutSecret(part: part)
      shown.append(character)
      part = ""
    }
    return shown + withoutSecret(part: part)
  }

  /// One `name=value`, or one URL up to its query.
  private func withoutSecret(part: String) -> String {
    if let equals = part.firstIndex(of: "="), isSecretParameter(String(part[..<equals])) {
      return part[...equals] + "~"
    }
    guard let slashes = part.indices.first(where: { part[$0...].hasPrefix("//") }) else { return part }
    let start = part.index(slashes, offsetBy: 2)
    guard let at = part[start...].prefix(while: { $0 != "/" }).lastIndex(of: "@") else { return part }
    return part[..<start] + "~" + part[at...]
  }
}
