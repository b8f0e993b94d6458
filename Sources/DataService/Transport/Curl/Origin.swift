/// Where an exchange goes, read from a URL's text: what is needed for limits and messages, and nothing decoded.
struct Origin: Hashable {
  /// `scheme://host:port` as the URL has it: what the limit for a host counts by.
  let key: String
  /// The host, without brackets, port and user-info.
  let host: String
  /// Whether the scheme is `https`.
  let isSecure: Bool

  /// `nil` unless the text is an absolute URL of the schemes `http` or `https` with a host.
  init?(_ url: String) {
    let url = Self.withLowerCaseScheme(url)
    let schemeLength: Int
    if url.hasPrefix("https://") {
      schemeLength = 8
    } else if url.hasPrefix("http://") {
      schemeLength = 7
    } else {
      return nil
    }
    let bytes = url.utf8
    let start = bytes.index(bytes.startIndex, offsetBy: schemeLength)
    let end = bytes[start...].firstIndex { $0 == 0x2F || $0 == 0x3F || $0 == 0x23 } ?? bytes.endIndex
    let authority = url[start..<end]
    let hostAndPort =
      authority.lastIndex(of: "@").map { authority[authority.index(after: $0)...] } ?? authority
    let host: Substring
    if hostAndPort.first == "[" {
      guard let close = hostAndPort.firstIndex(of: "]") else { return nil }
      host = hostAndPort[hostAndPort.index(after: hostAndPort.startIndex)..<close]
    } else {
      host = hostAndPort.prefix { $0 != ":" }
    }
    guard !host.isEmpty else { return nil }
    self.host = String(host)
    isSecure = schemeLength == 8
    key = (isSecure ? "https://" : "http://") + hostAndPort
  }

  private static func withLowerCaseScheme(_ url: String) -> String {
    // Nearly always in lower case already: look before copying.
    guard let colon = url.utf8.firstIndex(of: 0x3A),
      url.utf8[..<colon].contains(where: { $0 >= 0x41 && $0 <= 0x5A })
    else { return url }
    return url[..<colon].lowercased() + url[colon...]
  }
}
