internal import CacheStore

/// The heads of an exchange as lines for `-v`, marked `>` and `<` as curl marks them. Pure.
///
/// Secrets are left out (law 12): the values of secret fields and query parameters, user-info, and both again
/// where an answer repeats them, in a `Location` say. What the connection adds by itself (`Accept`,
/// `Accept-Encoding`, `User-Agent`) is not the service's to show.
struct HeadTrace {
  let secrets: SecretList

  /// The request's head. Over TLS the server chooses the version of HTTP, unless the caller has: it is known from the
  /// answer alone.
  func request(
    _ method: RequestMethod, _ url: NormalisedURL, _ fields: HTTPFields, isHTTP11Only: Bool = false
  ) -> [String] {
    let version = isHTTP11Only || url.scheme == "http" ? " HTTP/1.1" : ""
    let target = url.path + (url.query.map { "?" + $0 } ?? "")
    let host = fields.contains("Host") ? [] : ["> Host: \(url.authority)"]
    return ["> \(method.rawValue) \(secrets.withoutSecrets(target))\(version)"] + host + lines(">", fields)
      + [">"]
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
      return "\(mark) \(field.name): \(isSecret ? "(not shown)" : secrets.withoutSecrets(field.value))"
    }
  }

  /// Answers give secrets too.
  private static let alsoSecret: Set<String> = ["set-cookie", "set-cookie2", "authentication-info"]
}
