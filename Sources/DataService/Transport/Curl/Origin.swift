/// The origin of a URL, parsed from its text without decoding, for limits and messages.
struct Origin: Hashable {
  /// `scheme://host:port` as written in the URL; the limit per host counts by this key.
  let key: String
  /// The host, without brackets, port and user-info.
  let host: String
  /// The port, by default the scheme's own; 0 if it is not a number.
  var port: Int {
    let authority = key.dropFirst(isSecure ? 8 : 7)
    let behind = authority[(authority.lastIndex(of: "]") ?? authority.startIndex)...]
    guard let colon = behind.firstIndex(of: ":"), !behind.hasSuffix(":") else { return isSecure ? 443 : 80 }
    return Int(behind[behind.index(after: colon)...]) ?? 0
  }
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
    var authority = bytes[start..<end]
    if let at = authority.lastIndex(of: 0x40) { authority = authority[bytes.index(after: at)...] }
    let host: Substring.UTF8View
    if authority.first == 0x5B {
      guard let close = authority.firstIndex(of: 0x5D) else { return nil }
      host = authority[..<close].dropFirst()
    } else {
      host = authority[..<(authority.firstIndex(of: 0x3A) ?? authority.endIndex)]
    }
    guard !host.isEmpty else { return nil }
    isSecure = schemeLength == 8
    self.host = String(Substring(host))
    key = (isSecure ? "https://" : "http://") + Substring(authority)
  }

  private static func withLowerCaseScheme(_ url: String) -> String {
    guard let colon = url.utf8.firstIndex(of: 0x3A) else { return url }
    return url[..<colon].lowercased() + url[colon...]
  }
}
