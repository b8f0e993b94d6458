internal import DataService
internal import FoundationEssentials

/// A URL as given on the command line.
enum URLArgument {
  /// The URL `text` says; only whole `http` and `https` URLs are taken, and for anything else a remedy is named.
  static func parse(_ text: String) throws(UsageError) -> URL {
    if text.isEmpty { throw UsageError("an empty URL is given", "write a whole URL: https://example.com/") }
    if let bad = text.unicodeScalars.first(where: { $0.value <= 0x20 || $0.value == 0x7F }) {
      let shown = bad == " " ? "a space" : bad == "\n" || bad == "\r" ? "a line break" : "a control character"
      let encoded = bad.value < 16 ? "%0\(hex(bad))" : "%\(hex(bad))"
      throw UsageError(
        "the URL “\(TerminalText.visible(ShownURL.text(text)))” has \(shown) in it",
        "write it as \(encoded), or leave it out")
    }
    guard let scheme = scheme(of: text) else {
      throw UsageError(
        "“\(TerminalText.visible(ShownURL.text(text)))” has no scheme", "did you mean \(proposal(for: text))?"
      )
    }
    guard scheme == "http" || scheme == "https" else {
      throw UsageError(
        "the scheme “\(TerminalText.visible(scheme))” is not one this program fetches",
        "write an http or https URL")
    }
    return try checked(text)
  }

  private static func checked(_ text: String) throws(UsageError) -> URL {
    let authority = text.drop { $0 != ":" }.dropFirst(3).prefix { !"/?#".contains($0) }
    let host = authority.split(separator: "@", omittingEmptySubsequences: false).last ?? ""
    if text.contains("://") == false || host.isEmpty || host.hasPrefix(":") {
      throw UsageError(
        "the URL “\(TerminalText.visible(ShownURL.text(text)))” names no host", "write https://HOST/PATH")
    }
    if !host.utf8.allSatisfy({ $0 < 0x80 }) {
      throw UsageError(
        "the host “\(TerminalText.visible(String(host)))” is not in ASCII",
        "write its encoded form, which begins with xn--")
    }
    if let port = port(in: host), !port.isEmpty, !(1...65535).contains(Int(port) ?? 0) {
      // Where it is no number it may be part of a password with a slash in it.
      let isNumber = port.utf8.allSatisfy { $0 >= 0x30 && $0 <= 0x39 }
      throw UsageError(
        isNumber
          ? "the port “\(port)” is not one"
          : "the port in “\(TerminalText.visible(ShownURL.text(text)))” is not a number",
        "write a number from 1 to 65535, or leave it out")
    }
    guard let url = URL(string: text), url.host() != nil else {
      throw UsageError(
        "“\(TerminalText.visible(ShownURL.text(text)))” is not a valid URL",
        "percent-encode what is not a letter, a digit or one of -._~")
    }
    return url
  }

  private static func port(in host: Substring) -> String? {
    let afterAddress = host.lastIndex(of: "]").map { host[host.index(after: $0)...] } ?? host
    return afterAddress.firstIndex(of: ":").map { String(afterAddress[afterAddress.index(after: $0)...]) }
  }

  /// The scheme in lower case; `nil` for `example.com:8080/x`, where what stands before the colon is a host.
  static func scheme(of text: String) -> String? {
    guard let colon = text.firstIndex(of: ":") else { return nil }
    let scheme = text[..<colon]
    guard let first = scheme.utf8.first, first | 0x20 >= 0x61, first | 0x20 <= 0x7A,
      scheme.utf8.allSatisfy({ $0.isSchemeByte })
    else { return nil }
    let rest = text[text.index(after: colon)...]
    if rest.hasPrefix("//") { return scheme.lowercased() }
    let port = rest.prefix { !"/?#".contains($0) }
    let looksLikePort = !port.isEmpty && port.utf8.allSatisfy { $0 >= 0x30 && $0 <= 0x39 }
    return looksLikePort || scheme.contains(".") ? nil : scheme.lowercased()
  }

  /// The URL with a scheme: `http` for this machine, `https` for all others.
  static func proposal(for text: String) -> String {
    let shown = ShownURL.text(text)
    let bare = shown.hasPrefix("//") ? String(shown.dropFirst(2)) : shown
    let host = bare.prefix { !"/:?#".contains($0) }
    let isLocal =
      host == "localhost" || host.hasSuffix(".localhost") || host.hasPrefix("127.") || bare.hasPrefix("[::1]")
    return TerminalText.visible("\(isLocal ? "http" : "https")://\(bare)")
  }

  private static func hex(_ scalar: Unicode.Scalar) -> String {
    String(scalar.value, radix: 16, uppercase: true)
  }
}

extension UInt8 {
  fileprivate var isSchemeByte: Bool {
    switch self {
    case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, 0x2B, 0x2D, 0x2E: true
    default: false
    }
  }
}
