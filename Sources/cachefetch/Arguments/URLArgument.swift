internal import DataService
internal import PlatformFoundation

/// A URL as given on the command line.
enum URLArgument {
  /// Parses an absolute `http` or `https` URL; the error for anything else names a remedy.
  static func parse(_ text: String) throws(UsageError) -> URL {
    // Most URLs have nothing to refuse or to encode.
    if NormalisedURL.isNormal(text), !text.utf8.contains(where: { $0 == UInt8(ascii: "[") }),
      let url = URL(string: text, encodingInvalidCharacters: false)
    {
      return url
    }
    if text.isEmpty { throw UsageError("an empty URL is given", "write a whole URL: https://example.com/") }
    if let remedy = mistaken(text) {
      throw UsageError("“\(TerminalText.visible(Shown.url(text)))” is not a URL", remedy)
    }
    if let bad = text.unicodeScalars.first(where: { $0.value <= 0x20 || $0.value == 0x7F }) {
      let shown = bad == " " ? "a space" : bad == "\n" || bad == "\r" ? "a line break" : "a control character"
      let encoded = bad.value < 16 ? "%0\(hex(bad))" : "%\(hex(bad))"
      throw UsageError(
        "the URL “\(TerminalText.visible(Shown.url(text)))” has \(shown) in it",
        "write it as \(encoded), or leave it out")
    }
    if text.utf8.contains(where: { $0 == UInt8(ascii: "[") || $0 == UInt8(ascii: "{") }),
      hasPattern(text)
    {
      throw UsageError(
        "the URL “\(TerminalText.visible(Shown.url(text)))” has a pattern in it, which curl would expand",
        "let the shell expand it ({1..3} or {a,b}, without quotes), or percent-encode the brackets")
    }
    guard let scheme = scheme(of: text) else {
      throw UsageError(
        "“\(TerminalText.visible(Shown.url(text)))” has no scheme", "did you mean \(proposal(for: text))?"
      )
    }
    guard scheme == "http" || scheme == "https" else {
      throw UsageError(
        "the scheme “\(TerminalText.visible(scheme))” is not supported",
        "write an http or https URL")
    }
    return try checked(text)
  }

  private static func checked(_ text: String) throws(UsageError) -> URL {
    let authority = text.drop { $0 != ":" }.dropFirst(3).prefix { !"/?#".contains($0) }
    let host = authority.split(separator: "@", omittingEmptySubsequences: false).last ?? ""
    if text.contains("://") == false || host.isEmpty || host.hasPrefix(":") {
      throw UsageError(
        "the URL “\(TerminalText.visible(Shown.url(text)))” names no host", "write https://HOST/PATH")
    }
    // `http://user:pass/word@host/`: the apparent host is part of a password.
    let mayBeCutOff = text[authority.endIndex...].contains("@")
    if host.hasPrefix("["), !host.contains("]") {
      throw UsageError(
        mayBeCutOff
          ? "the address has no closing bracket"
          : "the address “\(TerminalText.visible(String(host)))” has no closing bracket",
        "write it as in http://[::1]/")
    }
    let portText = port(in: host).map { ":" + $0 } ?? ""
    let name = host.dropLast(portText.count)
    if !name.utf8.allSatisfy({ $0 < 0x80 }) {
      let encoded: String
      do throws(UsageError) {
        encoded = try hostInASCII(name)
      } catch {
        if mayBeCutOff { throw UsageError("the host is no valid name", "check its spelling") }
        throw error
      }
      let whole = text[..<host.startIndex] + encoded + portText + text[host.endIndex...]
      return try checked(String(whole))
    }
    if let port = port(in: host), !port.isEmpty, !(1...65535).contains(Int(port) ?? 0) {
      if mayBeCutOff {
        throw UsageError(
          "what precedes the path is neither a port nor a whole password",
          "write a port from 1 to 65535, and a “/”, “?” or “#” of a password as %2F, %3F or %23")
      }
      let isNumber = port.utf8.allSatisfy { $0 >= 0x30 && $0 <= 0x39 }
      throw UsageError(
        isNumber
          ? "invalid port \(port)"
          : "the port in “\(TerminalText.visible(Shown.url(text)))” is not a number",
        "write a number from 1 to 65535, or leave it out")
    }
    guard let url = URL(string: URLText.encoded(text)), url.host() != nil else {
      throw UsageError(
        "“\(TerminalText.visible(Shown.url(text)))” is not a valid URL",
        "percent-encode what is not a letter, a digit or one of -._~")
    }
    return url
  }

  /// `host` unchanged if it is ASCII, otherwise its encoded form.
  static func hostInASCII(_ host: some StringProtocol) throws(UsageError) -> String {
    guard !host.utf8.allSatisfy({ $0 < 0x80 }) else { return String(host) }
    do throws(DataServiceError) {
      return try InternationalHost.encoded(String(host))
    } catch {
      throw UsageError(TerminalText.visible(error.message), error.hint ?? "")
    }
  }

  /// The remedy for text that was clearly not meant as a URL.
  private static func mistaken(_ text: String) -> String? {
    if text == "-" { return "write cachefetch preload - to read URLs from standard input" }
    if text.hasPrefix("{") || text.hasPrefix("[{") || text.hasPrefix("[\"") { return Suggestion.jsonBody }
    if text.hasPrefix("/") && !text.hasPrefix("//") || text.hasPrefix("./") || text.hasPrefix("../")
      || text.hasPrefix("~/")
    {
      return "it is the path of a file; write a whole URL: https://HOST/PATH"
    }
    return nil
  }

  /// Whether `text` contains a pattern that curl would expand: `[1-9]`, `[a-z]`, `[1-9:2]`, or, in the path, `{a,b}`.
  private static func hasPattern(_ text: String) -> Bool {
    var isInPath = true
    for start in text.indices {
      switch text[start] {
      case "?", "#": isInPath = false
      case "[":
        guard let end = text[start...].firstIndex(of: "]") else { continue }
        if isRange(text[text.index(after: start)..<end]) { return true }
      case "{" where isInPath:
        guard let end = text[start...].firstIndex(of: "}") else { continue }
        let inner = text[text.index(after: start)..<end]
        if inner.contains(","), !inner.contains("\""), !inner.contains(":") { return true }
      default: break
      }
    }
    return false
  }

  /// `1-9` or `a-z`, each optionally followed by `:2`.
  private static func isRange(_ text: Substring) -> Bool {
    let parts = text.split(separator: ":", omittingEmptySubsequences: false)
    let ends = parts.first?.split(separator: "-", omittingEmptySubsequences: false) ?? []
    guard parts.count <= 2, ends.count == 2, parts.count == 1 || isNumber(parts[1]) else { return false }
    if ends.allSatisfy(isNumber) { return true }
    return ends.allSatisfy { $0.count == 1 && $0.utf8.allSatisfy { 0x61 <= $0 | 0x20 && $0 | 0x20 <= 0x7A } }
  }

  private static func isNumber(_ text: Substring) -> Bool {
    !text.isEmpty && text.utf8.allSatisfy { $0 >= 0x30 && $0 <= 0x39 }
  }

  private static func port(in host: Substring) -> String? {
    let afterAddress = host.lastIndex(of: "]").map { host[host.index(after: $0)...] } ?? host
    return afterAddress.firstIndex(of: ":").map { String(afterAddress[afterAddress.index(after: $0)...]) }
  }

  /// The scheme in lower case; `nil` for `example.com:8080/x`, where a host precedes the colon.
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
    let shown = Shown.url(text)
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
