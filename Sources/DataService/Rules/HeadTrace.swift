internal import CacheStore

/// The heads of an exchange as lines of the trace, marked `>` and `<` as curl marks them.
///
/// Secrets are left out (law 12): the values of secret fields and query parameters, user-info, and the same where an
/// answer repeats them, for example in `Location`. The fields that the transport adds (`Accept`, `Accept-Encoding`,
/// `User-Agent`) are unknown here and not shown.
struct HeadTrace {
  let secrets: SecretList

  /// The request's head. Over TLS the server negotiates the HTTP version, unless the caller has fixed it, so only the
  /// answer shows it.
  func request(
    _ method: RequestMethod, _ url: NormalisedURL, _ fields: HTTPFields, isHTTP11Only: Bool = false
  ) -> [String] {
    let version = isHTTP11Only || !url.isSecure ? " HTTP/1.1" : ""
    let target = String(decoding: secrets.withoutSecrets(word: Array(url.target.utf8)[...]), as: UTF8.self)
    let host = fields.contains("Host") ? [] : ["> Host: \(url.authority)"]
    return ["> \(method.rawValue) \(target)\(version)"] + host + lines(">", fields)
      + [">"]
  }

  /// The answer's heads, interim 1xx responses first.
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

  /// Secret fields of answers, in addition to those of ``SecretList``.
  private static let alsoSecret: Set<String> = ["set-cookie", "set-cookie2", "authentication-info"]
}
