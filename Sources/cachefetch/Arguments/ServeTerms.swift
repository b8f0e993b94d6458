internal import CacheStore
internal import PlatformC

/// The way to the network, whom to trust there and what is secret. A refresh is handed over only to a process on the same
/// terms, which asks as its command would.
struct ServeTerms: Sendable {
  /// The options that say so; every request of a `serve` is made with them.
  let options: [Arguments.Given]
  /// A digest of the proxy in force.
  let road: String
  /// A digest of the rest.
  let trust: String

  private static let named: [OptionName] = [
    .proxy, .insecure, .resolve, .cacert, .cert, .keyFile, .secretField, .secretParameter,
  ]

  init(_ arguments: Arguments, _ key: DigestKey) {
    options = arguments.options.filter { Self.named.contains($0.name) }
    func digest(_ parts: [String]) -> String { key.digest(Array(parts.joined(separator: "\0").utf8)) }
    func variables(_ names: String) -> [String] {
      names.split(separator: " ").flatMap { name in
        Environment.value(String(name)).map { [name + "=", $0] } ?? []
      }
    }
    road = digest(
      [arguments.text(.proxy) ?? ""]
        + variables("http_proxy https_proxy HTTPS_PROXY all_proxy ALL_PROXY no_proxy NO_PROXY"))
    let rest = options.filter { $0.name != .proxy }
    let machine = variables("CURL_CA_BUNDLE SSL_CERT_FILE SSL_CERT_DIR")
    trust = digest(
      rest.flatMap { [$0.name.rawValue, $0.text ?? ""] } + machine
        + (rest.compactMap(\.text) + machine).map(Self.stamp) + [arguments.server() ?? ""])
  }

  /// Tells one version of a file from another; empty for what is none.
  private static func stamp(_ path: String) -> String {
    var status = stat()
    guard stat(path, &status) == 0 else { return "" }
    return
      "\(status.st_dev) \(status.st_ino) \(status.st_size) \(status.st_mtim.tv_sec) \(status.st_mtim.tv_nsec)"
  }
}
