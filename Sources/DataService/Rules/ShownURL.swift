/// Makes a URL fit to be shown or logged: removes user-info and replaces secret query values by `~` (law 12). Accepts
/// text that is not a valid URL, since error messages quote such text.
public enum ShownURL {
  /// The text without its secrets.
  public static func text(_ text: String, secrets: SecretList = SecretList()) -> String {
    let bytes = Array(text.utf8)
    let start = authorityStart(bytes)
    let end = bytes[start...].firstIndex(where: endsAuthority) ?? bytes.count
    var userEnd: Int?
    if isWellFormed(bytes, authority: start) {
      userEnd = bytes[start..<end].lastIndex(of: UInt8(ascii: "@"))
      // `http://user:pass/word@host/`: an unescaped password can contain a slash, so it ends at the last `@`.
      if userEnd == nil, isCutOffPassword(bytes[start..<end]) {
        userEnd = bytes.lastIndex(of: UInt8(ascii: "@"))
      }
    } else {
      // `http:/user:pass@host/`: the parts of a malformed URL are unknown, so everything before the last `@` is
      // hidden.
      userEnd = bytes[start...].lastIndex(of: UInt8(ascii: "@"))
    }
    let rest = bytes[(userEnd.map { $0 + 1 } ?? start)...]
    let shown = QueryParts.replacing(rest, secrets: secrets) {
      isDigest($0) ? Array($0) : [UInt8(ascii: "~")]
    }
    return String(decoding: Array(bytes[..<start]) + (shown ?? Array(rest)), as: UTF8.self)
  }

  /// Where user-info would begin: after the scheme and any slashes.
  private static func authorityStart(_ bytes: [UInt8]) -> Int {
    var start = 0
    if let colon = bytes.firstIndex(of: UInt8(ascii: ":")), bytes[..<colon].allSatisfy(isOfScheme) {
      let isKnown = ["http", "https"].contains(String(decoding: bytes[..<colon], as: UTF8.self).lowercased())
      if isKnown || bytes[(colon + 1)...].starts(with: "//".utf8) { start = colon + 1 }
    }
    return bytes[start...].firstIndex { !isSlash($0) } ?? bytes.count
  }

  /// Whether a scheme, a colon and two slashes precede the authority, and the text contains no white space.
  private static func isWellFormed(_ bytes: [UInt8], authority start: Int) -> Bool {
    start > 3 && bytes[..<start].suffix(3).elementsEqual("://".utf8) && !bytes.contains { $0 <= 0x20 }
  }

  private static func isSlash(_ byte: UInt8) -> Bool {
    byte == UInt8(ascii: "/") || byte == UInt8(ascii: "\\")
  }

  private static func isOfScheme(_ byte: UInt8) -> Bool {
    byte < 0x80 && byte.isLetterOrDigit || [0x2B, 0x2D, 0x2E].contains(byte)
  }

  private static func endsAuthority(_ byte: UInt8) -> Bool {
    byte == UInt8(ascii: "/") || byte == UInt8(ascii: "?") || byte == UInt8(ascii: "#")
  }

  /// Whether the text after the colon in `host:port` is no port, so may be the beginning of a password.
  private static func isCutOffPassword(_ authority: ArraySlice<UInt8>) -> Bool {
    guard authority.first != UInt8(ascii: "["), let colon = authority.lastIndex(of: UInt8(ascii: ":")) else {
      return false
    }
    let text = authority[(colon + 1)...]
    guard !text.isEmpty else { return false }
    let isNumber = text.allSatisfy { (0x30...0x39).contains($0) }
    let port = isNumber ? UInt16(String(decoding: text, as: UTF8.self)) : nil
    return port ?? 0 == 0
  }

  /// Whether a value is already a digest with which ``KeyRule`` replaced a secret.
  private static func isDigest(_ value: ArraySlice<UInt8>) -> Bool {
    value.first == UInt8(ascii: "~") && value.count == 33
      && value.dropFirst().allSatisfy { (0x30...0x39).contains($0) || (0x61...0x66).contains($0) }
  }
}
