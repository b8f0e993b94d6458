/// A URL, or what was meant for one, fit to be shown or logged: user-info left out, secret query values replaced by `~`
/// (design law 12). Works on what cannot be parsed too, since errors name it.
public enum ShownURL {
  /// The text without its secrets.
  public static func text(_ text: String, secrets: SecretList = SecretList()) -> String {
    let bytes = Array(text.utf8)
    let start = authorityStart(bytes)
    var end = bytes[start...].firstIndex(where: endsAuthority) ?? bytes.count
    var hostStart = start
    if let at = bytes[start..<end].lastIndex(of: UInt8(ascii: "@")) {
      hostStart = at + 1
    } else if isCutOffPassword(bytes[start..<end]), let at = bytes[end...].lastIndex(of: UInt8(ascii: "@")) {
      // `http://user:pass/word@host/`: what a person meant ends at the last sign.
      hostStart = at + 1
      end = bytes[hostStart...].firstIndex(where: endsAuthority) ?? bytes.count
    }
    let query = bytes[end...].firstIndex { $0 == UInt8(ascii: "?") || $0 == UInt8(ascii: "#") } ?? bytes.count
    var shown = Array(bytes[..<start]) + bytes[hostStart..<query]
    appendParameters(bytes[query...], to: &shown, secrets)
    return String(decoding: shown, as: UTF8.self)
  }

  private static func authorityStart(_ bytes: [UInt8]) -> Int {
    if bytes.starts(with: "//".utf8) { return 2 }
    guard let colon = bytes.firstIndex(of: UInt8(ascii: ":")), bytes[(colon + 1)...].starts(with: "//".utf8),
      !bytes[..<colon].contains(UInt8(ascii: "@"))
    else { return 0 }
    return colon + 3
  }

  private static func endsAuthority(_ byte: UInt8) -> Bool {
    byte == UInt8(ascii: "/") || byte == UInt8(ascii: "?") || byte == UInt8(ascii: "#")
  }

  /// Whether `host:port` has something else than a port in it.
  private static func isCutOffPassword(_ authority: ArraySlice<UInt8>) -> Bool {
    guard authority.first != UInt8(ascii: "["), let colon = authority.lastIndex(of: UInt8(ascii: ":")) else {
      return false
    }
    return !authority[(colon + 1)...].allSatisfy { (0x30...0x39).contains($0) }
  }

  /// `name=value` between `?`, `&`, `;` and `#`; those characters and the names stay.
  private static func appendParameters(
    _ bytes: ArraySlice<UInt8>, to shown: inout [UInt8], _ secrets: SecretList
  ) {
    var part: [UInt8] = []
    func flush() {
      defer { part = [] }
      guard let equals = part.firstIndex(of: UInt8(ascii: "=")), !isDigest(part[(equals + 1)...]),
        secrets.isSecretParameter(decoded(part[..<equals]))
      else {
        shown += part
        return
      }
      shown += part[...equals] + [UInt8(ascii: "~")]
    }
    for byte in bytes {
      if byte == 0x3F || byte == 0x26 || byte == 0x3B || byte == 0x23 {
        flush()
        shown.append(byte)
      } else {
        part.append(byte)
      }
    }
    flush()
  }

  /// A name with its percent-encoded bytes decoded.
  private static func decoded(_ name: ArraySlice<UInt8>) -> String {
    var bytes: [UInt8] = []
    var rest = name
    while let byte = rest.popFirst() {
      if byte == UInt8(ascii: "%"),
        let value = UInt8(String(decoding: rest.prefix(2), as: UTF8.self), radix: 16)
      {
        rest = rest.dropFirst(2)
        bytes.append(value)
      } else {
        bytes.append(byte)
      }
    }
    return String(decoding: bytes, as: UTF8.self)
  }

  /// Whether a value is already what ``KeyRule`` puts in the place of a secret one.
  private static func isDigest(_ value: ArraySlice<UInt8>) -> Bool {
    value.first == UInt8(ascii: "~") && value.count == 33
      && value.dropFirst().allSatisfy { (0x30...0x39).contains($0) || (0x61...0x66).contains($0) }
  }
}
