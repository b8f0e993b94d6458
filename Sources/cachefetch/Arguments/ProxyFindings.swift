internal import CacheStore

/// The environment's proxy settings, as `doctor` reports them: libcurl reads these variables itself.
enum ProxyFindings {
  /// The variables libcurl reads, in its order. It accepts upper case too, except for `HTTP_PROXY`, which a client
  /// could set through a web server's CGI.
  private static let heeded = [
    "http_proxy", "https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY", "no_proxy", "NO_PROXY",
  ]
  static let schemes: Set<String> = ["http", "https", "socks4", "socks4a", "socks5", "socks5h"]

  /// - Parameter value: The value of an environment variable, `nil` if it is not set.
  static func all(_ value: (String) -> String?) -> [StoreFinding] {
    var found: [StoreFinding] = []
    for name in heeded {
      guard let text = value(name), !text.isEmpty else { continue }
      found.append(name.lowercased() == "no_proxy" ? exceptions(name, text) : proxy(name, text))
    }
    if let text = value("HTTP_PROXY"), !text.isEmpty, value("http_proxy") == nil {
      found.append(
        StoreFinding(
          "proxy", .fine,
          "HTTP_PROXY is set and not heeded: for http URLs only http_proxy, in lower case, is",
          remedy: "set http_proxy if \(shown(text)) is meant"))
    }
    return found.isEmpty ? [StoreFinding("proxy", .fine, "none is set in the environment")] : found
  }

  private static func proxy(_ name: String, _ text: String) -> StoreFinding {
    let parts = text.split(separator: "://", maxSplits: 1, omittingEmptySubsequences: false)
    let scheme = parts.count == 2 ? parts[0].lowercased() : "http"
    guard schemes.contains(scheme) else {
      return StoreFinding(
        "proxy", .wrong, "\(name) names a proxy with a scheme that is not supported: \(shown(text))",
        remedy: "write http://HOST:PORT, https://… or socks5h://…, or unset \(name)")
    }
    let host = authority(text).split(separator: ":", omittingEmptySubsequences: false).first ?? ""
    guard !host.isEmpty else {
      return StoreFinding(
        "proxy", .wrong, "\(name) names no host: \(shown(text))",
        remedy: "write http://HOST:PORT, or unset \(name)")
    }
    return StoreFinding("proxy", .fine, "\(name) leads requests through \(shown(text))")
  }

  private static func exceptions(_ name: String, _ text: String) -> StoreFinding {
    StoreFinding(
      "proxy", .fine,
      text == "*" ? "\(name) takes every host past the proxy" : "\(name) takes \(text) past the proxy")
  }

  /// The host and port, after the scheme and any credentials.
  static func authority(_ text: String) -> Substring {
    let rest = text.split(separator: "://", maxSplits: 1, omittingEmptySubsequences: false).last ?? ""
    let whole = rest.prefix { $0 != "/" }
    return whole.lastIndex(of: "@").map { whole[whole.index(after: $0)...] } ?? whole
  }

  /// The value without user name and password.
  private static func shown(_ text: String) -> String {
    let parts = text.split(separator: "://", maxSplits: 1, omittingEmptySubsequences: false)
    let scheme = parts.count == 2 ? "\(parts[0])://" : ""
    return scheme + authority(text) + (text.contains("@") ? " (its credentials are not shown)" : "")
  }
}
