package import FoundationEssentials

/// A URL taken apart for the key and for the wire, from its bytes (RFC 3986 section 6.2.2 and 6.2.3).
///
/// Scheme and host are lower case, a default port and the fragment are gone, an empty path is `/`, percent-encoded
/// unreserved characters are decoded, the hexadecimal digits of the others are upper case, dot segments are removed.
package struct NormalisedURL: Sendable, Hashable {
  /// `http` or `https`.
  package let scheme: String
  /// The host, lower case, an IPv6 address in its brackets.
  package let host: String
  /// The port, the scheme's own where none was written.
  package let port: Int
  /// The path, never empty.
  package let path: String
  /// What stood between `?` and `#`, without them; `nil` where there was no `?`.
  package let query: String?
  /// What stood before `@`, percent-encoded as written.
  package let userInfo: String?

  /// `scheme://host[:port]`, the port only where it is not the scheme's own.
  package var origin: String { scheme + "://" + authority }

  /// `host[:port]`.
  package var authority: String {
    port == (scheme == "https" ? 443 : 80) ? host : host + ":" + String(port)
  }

  /// The URL without user-info and fragment, as it is sent.
  package var string: String { origin + path + (query.map { "?" + $0 } ?? "") }

  /// The URL as Foundation's type.
  /// - Throws: `invalidRequest` where Foundation takes it for none.
  package func foundationURL() throws(DataServiceError) -> URL {
    if let url = URL(string: string) { return url }
    throw DataServiceError(.invalidRequest, "the URL of \(authority) cannot be read")
  }

  /// Takes a URL apart.
  /// - Throws: `invalidRequest`, naming what is wrong and, for a missing scheme, proposing a URL.
  package init(_ text: String) throws(DataServiceError) {
    let bytes = Array(text.utf8)
    guard let colon = bytes.firstIndex(of: UInt8(ascii: ":")), Self.hasSlashes(bytes, after: colon) else {
      throw Self.withoutScheme(text)
    }
    let scheme = String(decoding: bytes[..<colon], as: UTF8.self).lowercased()
    guard scheme == "http" || scheme == "https" else {
      throw DataServiceError(
        .invalidRequest, "the scheme “\(scheme)” is not supported", hint: "use an http or https URL")
    }
    guard !bytes.contains(where: { $0 <= 0x20 || $0 == 0x7F }) else {
      throw DataServiceError(
        .invalidRequest, "the URL has a space or control character in it",
        hint: "write a space as %20")
    }
    let authorityStart = colon + 3
    let authorityEnd = bytes[authorityStart...].firstIndex { Self.endsAuthority($0) } ?? bytes.count
    let rest = bytes[authorityEnd...].prefix { $0 != UInt8(ascii: "#") }
    let question = rest.firstIndex(of: UInt8(ascii: "?"))
    self.scheme = scheme
    (userInfo, host, port) = try Self.authority(bytes[authorityStart..<authorityEnd], scheme: scheme)
    path = Self.normalisedPath(rest[rest.startIndex..<(question ?? rest.endIndex)])
    query = question.map { Self.normalisedEncoding(rest[($0 + 1)...]) }
  }

  private static func hasSlashes(_ bytes: [UInt8], after colon: Int) -> Bool {
    colon > 0 && colon + 2 < bytes.count && bytes[colon + 1] == UInt8(ascii: "/")
      && bytes[colon + 2] == UInt8(ascii: "/")
  }

  private static func endsAuthority(_ byte: UInt8) -> Bool {
    byte == UInt8(ascii: "/") || byte == UInt8(ascii: "?") || byte == UInt8(ascii: "#")
  }

  private static func withoutScheme(_ text: String) -> DataServiceError {
    let scheme = text.prefix { $0 != ":" }
    let known = ["file", "ftp", "mailto", "data", "javascript", "ws", "wss"]
    if text.contains(":"), known.contains(scheme.lowercased()) {
      return DataServiceError(
        .invalidRequest, "the scheme “\(scheme)” is not supported", hint: "use an http or https URL")
    }
    let shown = ShownURL.text(text)
    return DataServiceError(
      .invalidRequest, "“\(shown)” is not a URL: it has no scheme",
      hint: shown.isEmpty ? "give an http or https URL" : "did you mean https://\(shown) ?")
  }

  private static func authority(
    _ bytes: ArraySlice<UInt8>, scheme: String
  ) throws(DataServiceError) -> (userInfo: String?, host: String, port: Int) {
    var hostAndPort = bytes
    var userInfo: String?
    if let at = bytes.lastIndex(of: UInt8(ascii: "@")) {
      userInfo = String(decoding: bytes[..<at], as: UTF8.self)
      hostAndPort = bytes[(at + 1)...]
    }
    let bracket = hostAndPort.lastIndex(of: UInt8(ascii: "]"))
    let colon = hostAndPort.lastIndex(of: UInt8(ascii: ":")).flatMap { colon in
      bracket.map { colon > $0 } ?? true ? colon : nil
    }
    let host = String(decoding: hostAndPort[..<(colon ?? hostAndPort.endIndex)], as: UTF8.self).lowercased()
    guard !host.isEmpty else { throw DataServiceError(.invalidRequest, "the URL has no host") }
    let portText = colon.map { String(decoding: hostAndPort[($0 + 1)...], as: UTF8.self) } ?? ""
    if portText.isEmpty { return (userInfo, host, scheme == "https" ? 443 : 80) }
    guard let port = UInt16(portText), port > 0 else {
      // Where it is no number it may be part of a password with a slash in it.
      let shown =
        portText.utf8.allSatisfy { (0x30...0x39).contains($0) } ? "“\(portText)”" : "what follows the host"
      throw DataServiceError(
        .invalidRequest, "\(shown) is not a port", hint: "a port is a number from 1 to 65535")
    }
    return (userInfo, host, Int(port))
  }

  private static func normalisedPath(_ bytes: ArraySlice<UInt8>) -> String {
    let path = bytes.isEmpty ? "/" : normalisedEncoding(bytes)
    guard path.utf8.contains(UInt8(ascii: ".")) else { return path }
    return removingDotSegments(path)
  }

  /// RFC 3986 section 5.2.4.
  private static func removingDotSegments(_ path: String) -> String {
    var output: [Substring] = []
    let segments = path.split(separator: "/", omittingEmptySubsequences: false).dropFirst()
    for (position, segment) in segments.enumerated() {
      let isLast = position == segments.count - 1
      switch segment {
      case ".":
        if isLast { output.append("") }
      case "..":
        _ = output.popLast()
        if isLast { output.append("") }
      default:
        output.append(segment)
      }
    }
    return "/" + output.joined(separator: "/")
  }

  /// RFC 3986 section 6.2.2: `%41` becomes `A`, `%2f` becomes `%2F`; bytes outside ASCII are encoded.
  private static func normalisedEncoding(_ bytes: ArraySlice<UInt8>) -> String {
    guard bytes.contains(where: { $0 == UInt8(ascii: "%") || $0 >= 0x80 }) else {
      return String(decoding: bytes, as: UTF8.self)
    }
    var output: [UInt8] = []
    var index = bytes.startIndex
    while index < bytes.endIndex {
      let byte = bytes[index]
      if byte == UInt8(ascii: "%"), index + 2 < bytes.endIndex, let high = bytes[index + 1].hexDigitValue,
        let low = bytes[index + 2].hexDigitValue
      {
        let decoded = high << 4 | low
        if decoded.isUnreserved { output.append(decoded) } else { output.appendEncoded(decoded) }
        index += 3
      } else {
        if byte >= 0x80 { output.appendEncoded(byte) } else { output.append(byte) }
        index += 1
      }
    }
    return String(decoding: output, as: UTF8.self)
  }
}

extension UInt8 {
  fileprivate var hexDigitValue: UInt8? {
    switch self {
    case 0x30...0x39: self - 0x30
    case 0x41...0x46: self - 0x41 + 10
    case 0x61...0x66: self - 0x61 + 10
    default: nil
    }
  }

  /// RFC 3986 section 2.3.
  fileprivate var isUnreserved: Bool {
    switch self {
    case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, 0x2D, 0x2E, 0x5F, 0x7E: true
    default: false
    }
  }
}

extension [UInt8] {
  fileprivate mutating func appendEncoded(_ byte: UInt8) {
    let digits = Array("0123456789ABCDEF".utf8)
    append(UInt8(ascii: "%"))
    append(digits[Int(byte >> 4)])
    append(digits[Int(byte & 15)])
  }
}
