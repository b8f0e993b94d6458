/// Finds the values of secret parameters in a URL. Keys, messages and redirects all use this one definition of where
/// a parameter begins and ends.
///
/// A part ends at `&`, `;`, `,`, `?` or `#`, and in a path at `/` too, since each of them is a separator in some
/// framework. `&amp;` counts as `&` followed by `;`. The text before the first equals sign is the name. A comma ends no
/// secret value, since it may be a part of one: what follows is hidden up to the next other border. What stands
/// between `//` and `@` is the user-info of a nested URL, as secret as the URL's own.
enum QueryParts {
  /// The bytes with each secret value replaced, or `nil` if there is none.
  ///
  /// - Parameters:
  ///   - bytes: Everything in a URL after its host, or a part of that.
  ///   - isQuery: Whether the bytes begin after the `?`.
  static func replacing(
    _ bytes: ArraySlice<UInt8>, isQuery: Bool = false, secrets: SecretList,
    by replacement: (_ value: ArraySlice<UInt8>) -> [UInt8]
  ) -> [UInt8]? {
    replacing(bytes, isQuery: isQuery, secrets: secrets, looksInside: true, by: replacement)
  }

  /// Whether a URL has a character without which nothing in it is replaced.
  static func mayBeIn(_ bytes: some Sequence<UInt8>) -> Bool {
    func isMark(_ byte: UInt8) -> Bool {
      byte == UInt8(ascii: "=") || byte == UInt8(ascii: "@") || byte == UInt8(ascii: "%")
    }
    return bytes.withContiguousStorageIfAvailable { $0.contains(where: isMark) }
      ?? bytes.contains(where: isMark)
  }

  private static func replacing(
    _ bytes: ArraySlice<UInt8>, isQuery: Bool, secrets: SecretList, looksInside: Bool,
    by replacement: (_ value: ArraySlice<UInt8>) -> [UInt8]
  ) -> [UInt8]? {
    guard mayBeIn(bytes) else { return nil }
    let hidden = withoutUserInfo(bytes, by: replacement)
    let bytes = hidden?[...] ?? bytes
    var output: [UInt8] = []
    var copied = bytes.startIndex
    var start = bytes.startIndex
    var secretStart: Int?
    var isPath = !isQuery
    for end in bytes.startIndex...bytes.endIndex {
      let byte = end < bytes.endIndex ? bytes[end] : UInt8(ascii: "&")
      guard isBorder(byte, isPath: isPath) else { continue }
      secretStart = secretStart ?? secretValue(in: bytes[start..<end], secrets, looksInside)?.startIndex
      if let first = secretStart, byte != UInt8(ascii: ",") {
        output += bytes[copied..<first]
        output += replacement(bytes[first..<end])
        copied = end
        secretStart = nil
      }
      if byte == UInt8(ascii: "?") || byte == UInt8(ascii: "#") { isPath = false }
      start = end + 1
    }
    return copied > bytes.startIndex ? output + bytes[copied...] : hidden
  }

  /// The bytes with the user-info of nested URLs replaced, or `nil` if there is none.
  private static func withoutUserInfo(
    _ bytes: ArraySlice<UInt8>, by replacement: (_ value: ArraySlice<UInt8>) -> [UInt8]
  ) -> [UInt8]? {
    guard bytes.contains(UInt8(ascii: "@")) else { return nil }
    var output: [UInt8] = []
    var copied = bytes.startIndex
    for index in bytes.indices.dropFirst()
    where index >= copied && bytes[(index - 1)...index].elementsEqual("//".utf8) {
      let authority = bytes[(index + 1)...].prefix { !"/?#".utf8.contains($0) }
      guard let at = authority.lastIndex(of: UInt8(ascii: "@")), at > authority.startIndex else { continue }
      output += bytes[copied..<authority.startIndex]
      output += replacement(authority[..<at])
      copied = at
    }
    return copied > bytes.startIndex ? output + bytes[copied...] : nil
  }

  private static func isBorder(_ byte: UInt8, isPath: Bool) -> Bool {
    switch byte {
    case UInt8(ascii: "&"), UInt8(ascii: ";"), UInt8(ascii: ","), UInt8(ascii: "?"), UInt8(ascii: "#"): true
    case UInt8(ascii: "/"): isPath
    default: false
    }
  }

  /// The value of one `name=value`, or a part without a name, if it is secret or is a URL that contains a secret.
  private static func secretValue(
    in part: ArraySlice<UInt8>, _ secrets: SecretList, _ looksInside: Bool
  ) -> ArraySlice<UInt8>? {
    let equals = part.firstIndex(of: UInt8(ascii: "="))
    let value = equals.map { part[($0 + 1)...] } ?? part
    if let equals, secrets.isSecretParameter(encoded: part[..<equals]) { return value }
    // A URL can be nested, and encoded once per level: `redirect_uri=https%3A%2F%2Fhost%2F%3Ftoken%3D…`.
    guard looksInside else { return nil }
    var inner = value
    for _ in 0..<3 where inner.contains(UInt8(ascii: "%")) {
      inner = inner.formDecoded[...]
      let found = replacing(inner, isQuery: false, secrets: secrets, looksInside: false, by: { Array($0) })
      if found != nil { return value }
    }
    return nil
  }
}

extension SecretList {
  /// The text with user-info and secret parameter values replaced by `~` in every URL it contains.
  package func withoutSecrets(_ text: String) -> String {
    let bytes = Array(text.utf8)
    guard QueryParts.mayBeIn(bytes) else { return text }
    var shown: [UInt8] = []
    var start = 0
    for end in 0...bytes.count where end == bytes.count || Self.isBorder(bytes[end]) {
      shown += withoutSecrets(word: bytes[start..<end])
      if end < bytes.count { shown.append(bytes[end]) }
      start = end + 1
    }
    return String(decoding: shown, as: UTF8.self)
  }

  private static func isBorder(_ byte: UInt8) -> Bool {
    byte <= 0x20 || [0x22, 0x27, 0x2C, 0x3C, 0x3E].contains(byte)
  }

  /// Replaces the secrets of one word: a URL or a run of parameters.
  func withoutSecrets(word: ArraySlice<UInt8>) -> [UInt8] {
    var word = Array(word)
    if let slashes = word.indices.first(where: { word[$0...].starts(with: "//".utf8) }) {
      let authority = word[(slashes + 2)...].prefix { $0 != UInt8(ascii: "/") }
      if let at = authority.lastIndex(of: UInt8(ascii: "@")) {
        word.replaceSubrange(authority.startIndex..<at, with: CollectionOfOne(UInt8(ascii: "~")))
      }
    }
    return QueryParts.replacing(word[...], secrets: self) { _ in [UInt8(ascii: "~")] } ?? word
  }
}
