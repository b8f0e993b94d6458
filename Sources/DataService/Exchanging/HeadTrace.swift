internal import CacheStore

/// The heads of an exchange as lines for `-v`, marked `>` and `<` as curl marks them. Pure.
///
/// Secrets are left out (design law 12): the values of secret fields and query parameters, user-info, and both again
/// where an answer repeats them, in a `Location` say. What the connection adds by itself (`Accept`,
/// `Accept-Encoding`, `User-Agent`) is not the service's to show.
struct HeadTrace {
  let secrets: SecretList

  /// The request's head.
  func request(_ method: RequestMethod, _ url: NormalisedURL, _ fields: HTTPFields) -> [String] {
    let target = url.path + (url.query.map { "?" + $0 } ?? "")
    let host = fields.contains("Host") ? [] : ["> Host: \(url.authority)"]
    return ["> \(method.rawValue) \(withoutSecrets(target))"] + host + lines(">", fields) + [">"]
  }

  /// The answer's heads, those of 1xx first.
  func response(_ response: TransportResponse) -> [String] {
    var all: [String] = []
    for interim in response.interim {
      all += ["< HTTP/\(response.version) \(interim.status)"] + lines("<", interim.fields) + ["<"]
    }
    let reason = response.reason.isEmpty ? "" : " " + response.reason
    return all + ["< HTTP/\(response.version) \(response.status)\(reason)"] + lines("<", response.fields) + [
      "<"
    ]
  }

  private func lines(_ mark: String, _ fields: HTTPFields) -> [String] {
    fields.all.map { field in
      let isSecret = Self.alsoSecret.contains(field.name.lowercased()) || secrets.isSecretField(field.name)
      return "\(mark) \(field.name): \(isSecret ? "(not shown)" : withoutSecrets(field.value))"
    }
  }

  /// Answers give secrets too.
  private static let alsoSecret: Set<String> = ["set-cookie", "set-cookie2", "authentication-info"]

  /// Text with `~` in place of user-info and of the values of secret parameters, wherever in it a URL stands.
  func withoutSecrets(_ text: String) -> String {
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
    if let equals = part.firstIndex(of: "="), secrets.isSecretParameter(String(part[..<equals])) {
      return part[...equals] + "~"
    }
    guard let slashes = part.indices.first(where: { part[$0...].hasPrefix("//") }) else { return part }
    let start = part.index(slashes, offsetBy: 2)
    guard let at = part[start...].prefix(while: { $0 != "/" }).lastIndex(of: "@") else { return part }
    return part[..<start] + "~" + part[at...]
  }
}
