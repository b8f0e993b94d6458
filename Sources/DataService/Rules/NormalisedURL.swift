internal import CacheStore
package import PlatformFoundation

/// A URL, parsed from its bytes and normalised for the key (RFC 3986 sections 6.2.2 and 6.2.3).
///
/// Normalising lowercases scheme and host, encodes a host that is not in ASCII, drops a default port and the fragment,
/// turns an empty path into `/`, decodes percent-encoded unreserved characters, encodes what no URL may hold, uppercases
/// the hexadecimal digits, and removes dot segments. Two spellings of one URL are equal.
package struct NormalisedURL: Sendable, Equatable {
  /// The URL in its normal form, without user-info and fragment.
  package let string: String
  /// The path and query as they were spelt, where that is not the normal form.
  private let spelling: String?
  /// The user-info before `@`, percent-encoded as written.
  package let userInfo: String?
  /// The port, by default the scheme's own.
  package let port: Int
  // The byte offsets in `string` at which the parts end.
  private let schemeEnd: Int
  private let hostEnd: Int
  private let authorityEnd: Int
  private let pathEnd: Int

  /// `http` or `https`.
  package var scheme: String { part(0, schemeEnd) }
  /// Whether the scheme is `https`, and not `http`.
  var isSecure: Bool { schemeEnd == 5 }
  /// The host in lower case; an IPv6 address keeps its brackets.
  package var host: String { part(schemeEnd + 3, hostEnd) }
  /// The path, never empty.
  package var path: String { part(authorityEnd, pathEnd) }
  /// The query without its `?`; `nil` if the URL has no `?`.
  package var query: String? { hasQuery ? part(pathEnd + 1, string.utf8.count) : nil }
  /// Whether the URL has a `?`.
  package var hasQuery: Bool { pathEnd < string.utf8.count }
  /// `scheme://host[:port]`; the port only if it is not the scheme's own.
  package var origin: String { part(0, authorityEnd) }
  /// `host[:port]`.
  package var authority: String { part(schemeEnd + 3, authorityEnd) }
  /// Path and query as they are sent: as they were spelt, because an origin may have signed them (RFC 9110 section
  /// 4.2.3 asks nobody to respell them).
  package var target: String { spelling ?? part(authorityEnd, string.utf8.count) }
  /// The URL as it is sent.
  package var wire: String { spelling.map { origin + $0 } ?? string }

  /// Whether both have the same scheme, host and port.
  func isOfOrigin(of other: Self) -> Bool { self == other || origin == other.origin }

  /// Whether both have the same normal form.
  package static func == (one: Self, other: Self) -> Bool { one.string == other.string }

  private func part(_ start: Int, _ end: Int) -> String {
    let bytes = string.utf8
    return String(
      string[bytes.index(bytes.startIndex, offsetBy: start)..<bytes.index(bytes.startIndex, offsetBy: end)])
  }

  /// The URL as Foundation's type, which can hold characters that no URL may have only in the normal form.
  /// - Throws: `invalidRequest` if Foundation cannot parse it.
  package func foundationURL() throws(DataServiceError) -> URL {
    if let url = URL(string: wire, encodingInvalidCharacters: false) ?? URL(string: string) { return url }
    throw DataServiceError(.invalidRequest, "the URL of \(authority) cannot be read")
  }

  /// Parses and normalises a URL.
  /// - Throws: `invalidRequest`, naming the problem; for a missing scheme it suggests a URL.
  package init(_ text: String) throws(DataServiceError) {
    var copy = text
    if let parts = copy.withUTF8({ NormalParts($0) }) {
      self.init(copy, parts)
    } else {
      try self.init(takingApart: text)
    }
  }

  /// A URL that is already in normal form.
  private init(_ text: String, _ parts: NormalParts) {
    string = text
    spelling = nil
    userInfo = nil
    port = parts.port
    (schemeEnd, hostEnd) = (parts.schemeEnd, parts.hostEnd)
    (authorityEnd, pathEnd) = (parts.authorityEnd, parts.pathEnd)
  }

  /// Parses a URL in any form: the slow path that ``NormalParts`` avoids for URLs in normal form.
  init(takingApart text: String) throws(DataServiceError) {
    try self.init(Array(text.utf8), isReference: false)
  }

  /// Resolves a reference of an origin's, such as the bytes of `Location` (RFC 3986 section 5.2).
  /// - Throws: `invalidRequest`, naming the problem.
  init(_ reference: [UInt8], relativeTo base: NormalisedURL) throws(DataServiceError) {
    let reference = reference.prefix { $0 != UInt8(ascii: "#") }
    let (origin, target) = (Array(base.origin.utf8), Array(base.target.utf8))
    let path = target.prefix { $0 != UInt8(ascii: "?") }
    let mark = reference.first { Self.endsAuthority($0) || $0 == UInt8(ascii: ":") }
    var absolute: [UInt8] =
      if mark == UInt8(ascii: ":") { [] } else if reference.starts(with: "//".utf8) {
        Array("\(base.scheme):".utf8)
      } else {
        switch reference.first {
        case nil: origin + target
        case UInt8(ascii: "/"): origin
        case UInt8(ascii: "?"): origin + path
        default: origin + path.prefix(through: path.lastIndex(of: UInt8(ascii: "/")) ?? 0)
        }
      }
    for byte in reference {
      if byte <= 0x20 || byte == 0x7F { absolute.appendEncoded(byte) } else { absolute.append(byte) }
    }
    try self.init(absolute, isReference: true)
  }

  /// - Parameter isReference: Whether dot segments are resolved in what is sent too.
  private init(_ bytes: [UInt8], isReference: Bool) throws(DataServiceError) {
    let text = String(decoding: bytes, as: UTF8.self)
    guard let colon = bytes.firstIndex(of: UInt8(ascii: ":")), Self.hasSlashes(bytes, after: colon) else {
      throw Self.withoutScheme(text)
    }
    let isSecure = Self.isWord("https", bytes[..<colon])
    guard isSecure || Self.isWord("http", bytes[..<colon]) else {
      // Text that is not a scheme may be part of a password, so the message must not show it.
      guard bytes[..<colon].allSatisfy(\.isTokenByte) else { throw Self.withoutScheme(text) }
      let scheme = String(decoding: bytes[..<colon], as: UTF8.self).lowercased()
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
    let authority = try Authority(
      bytes[authorityStart..<authorityEnd], mayBeCutOff: bytes[authorityEnd...].contains(UInt8(ascii: "@")))
    let ownPort = isSecure ? 443 : 80

    var output: [UInt8] = []
    output.reserveCapacity(bytes.count + 8)
    output.append(contentsOf: isSecure ? "https".utf8 : "http".utf8)
    schemeEnd = output.count
    output.append(contentsOf: "://".utf8)
    output.append(contentsOf: authority.host)
    hostEnd = output.count
    port = authority.port ?? ownPort
    if port != ownPort { output.append(contentsOf: ":\(port)".utf8) }
    self.authorityEnd = output.count
    Self.appendPath(rest[rest.startIndex..<(question ?? rest.endIndex)], to: &output)
    pathEnd = output.count
    if let question {
      output.append(UInt8(ascii: "?"))
      Self.appendNormalised(rest[(question + 1)...], to: &output)
    }
    userInfo = authority.userInfo
    string = String(decoding: output, as: UTF8.self)
    let spelt = Self.spelling(rest, pathEnd: question ?? rest.endIndex, resolvesDots: isReference)
    spelling =
      spelt.elementsEqual(output[self.authorityEnd...]) ? nil : String(decoding: spelt, as: UTF8.self)
  }

  /// Path and query with nothing changed but bytes outside ASCII, which are encoded.
  private static func spelling(_ rest: ArraySlice<UInt8>, pathEnd: Int, resolvesDots: Bool) -> [UInt8] {
    let path = rest[..<pathEnd]
    var output: [UInt8] = []
    for byte in (resolvesDots || path.isEmpty ? removingDotSegments(path) : Array(path)) + rest[pathEnd...] {
      if byte >= 0x80 { output.appendEncoded(byte) } else { output.append(byte) }
    }
    return output
  }

  private static func isWord(_ word: StaticString, _ bytes: ArraySlice<UInt8>) -> Bool {
    guard bytes.count == word.utf8CodeUnitCount else { return false }
    return zip(bytes, UnsafeBufferPointer(start: word.utf8Start, count: bytes.count)).allSatisfy {
      $0 | 0x20 == $1
    }
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

  /// `[userinfo@]host[:port]`.
  private struct Authority {
    var userInfo: String?
    /// In lower case.
    var host: [UInt8]
    /// `nil` if the URL names no port.
    var port: Int?

    /// - Parameter mayBeCutOff: Whether the authority may end in the middle of a password.
    init(_ bytes: ArraySlice<UInt8>, mayBeCutOff: Bool) throws(DataServiceError) {
      var hostAndPort = bytes
      if let at = bytes.lastIndex(of: UInt8(ascii: "@")) {
        userInfo = String(decoding: bytes[..<at], as: UTF8.self)
        hostAndPort = bytes[(at + 1)...]
      }
      let bracket = hostAndPort.lastIndex(of: UInt8(ascii: "]"))
      let colon = hostAndPort.lastIndex(of: UInt8(ascii: ":")).flatMap { colon in
        bracket.map { colon > $0 } ?? true ? colon : nil
      }
      host = try Self.normalised(hostAndPort[..<(colon ?? hostAndPort.endIndex)])
      guard !host.isEmpty else { throw DataServiceError(.invalidRequest, "the URL has no host") }
      guard let colon, colon + 1 < hostAndPort.endIndex else { return }
      let text = String(decoding: hostAndPort[(colon + 1)...], as: UTF8.self)
      // `UInt16` would take a sign.
      let isNumber = text.utf8.allSatisfy { (0x30...0x39).contains($0) }
      guard isNumber, let number = UInt16(text), number > 0 else {
        let shown = isNumber && !mayBeCutOff ? "“\(text)”" : "what follows the host"
        throw DataServiceError(
          .invalidRequest, "\(shown) is not a port", hint: "a port is a number from 1 to 65535")
      }
      port = Int(number)
    }

    /// In lower case; encoded where it is not in ASCII, percent-encoded or not (RFC 3986 section 3.2.2).
    private static func normalised(_ bytes: ArraySlice<UInt8>) throws(DataServiceError) -> [UInt8] {
      let decoded = bytes.percentDecoded
      guard decoded.contains(where: { $0 >= 0x80 }) else { return bytes.map(\.asciiLowercased) }
      return try InternationalHost.encoded(String(decoding: decoded, as: UTF8.self)).utf8.map(
        \.asciiLowercased)
    }
  }

  private static func appendPath(_ bytes: ArraySlice<UInt8>, to output: inout [UInt8]) {
    guard !bytes.isEmpty else { return output.append(UInt8(ascii: "/")) }
    let start = output.count
    appendNormalised(bytes, to: &output)
    // Only a segment that begins with a dot can be a dot segment.
    let path = output[start...]
    guard zip(path, path.dropFirst()).contains(where: { $0 == UInt8(ascii: "/") && $1 == UInt8(ascii: ".") })
    else { return }
    let kept = removingDotSegments(path)
    output.removeSubrange(start...)
    output.append(contentsOf: kept)
  }

  /// RFC 3986 section 5.2.4.
  private static func removingDotSegments(_ path: ArraySlice<UInt8>) -> [UInt8] {
    var kept: [ArraySlice<UInt8>] = []
    let segments = path.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false).dropFirst()
    for (position, segment) in segments.enumerated() {
      let isLast = position == segments.count - 1
      let isUp = segment.elementsEqual("..".utf8)
      guard isUp || segment.elementsEqual(".".utf8) else {
        kept.append(segment)
        continue
      }
      if isUp { _ = kept.popLast() }
      if isLast { kept.append([]) }
    }
    return Array("/".utf8) + kept.joined(separator: "/".utf8)
  }

  /// RFC 3986 section 6.2.2: `%41` becomes `A`, `%2f` becomes `%2F`; bytes that no URL may hold are encoded.
  private static func appendNormalised(_ bytes: ArraySlice<UInt8>, to output: inout [UInt8]) {
    guard !bytes.allSatisfy(URLText.isPlain) else { return output.append(contentsOf: bytes) }
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
        if URLText.isPlain(byte) { output.append(byte) } else { output.appendEncoded(byte) }
        index += 1
      }
    }
  }
}

extension UInt8 {
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

extension NormalisedURL {
  /// Whether a text is a URL in normal form. `false` may be said of one that is.
  package static func isNormal(_ text: String) -> Bool {
    var copy = text
    return copy.withUTF8 { NormalParts($0) != nil }
  }
}
