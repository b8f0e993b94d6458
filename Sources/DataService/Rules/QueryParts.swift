/// Finds the values of secret parameters in a URL. Keys, messages and redirects all use this one definition of where
/// a parameter begins and ends.
///
/// A part ends at `&`, `;`, `?` or `#`, and in a path at `/` too, since each of them is a separator in some
/// framework. `&amp;` counts as `&` followed by `;`. The text before the first equals sign is the name.
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

  private static func replacing(
    _ bytes: ArraySlice<UInt8>, isQuery: Bool, secrets: SecretList, looksInside: Bool,
    by replacement: (_ value: ArraySlice<UInt8>) -> [UInt8]
  ) -> [UInt8]? {
    guard bytes.contains(UInt8(ascii: "=")) else { return nil }
    var output: [UInt8] = []
    var copied = bytes.startIndex
    var start = bytes.startIndex
    var isPath = !isQuery
    for end in bytes.startIndex...bytes.endIndex {
      let byte = end < bytes.endIndex ? bytes[end] : UInt8(ascii: "&")
      guard isBorder(byte, isPath: isPath) else { continue }
      if let value = secretValue(in: bytes[start..<end], secrets, looksInside) {
        output += bytes[copied..<value.startIndex]
        output += replacement(value)
        copied = value.endIndex
      }
      if byte == UInt8(ascii: "?") || byte == UInt8(ascii: "#") { isPath = false }
      start = end + 1
    }
    guard copied > bytes.startIndex else { return nil }
    return output + bytes[copied...]
  }

  private static func isBorder(_ byte: UInt8, isPath: Bool) -> Bool {
    switch byte {
    case UInt8(ascii: "&"), UInt8(ascii: ";"), UInt8(ascii: "?"), UInt8(ascii: "#"): true
    case UInt8(ascii: "/"): isPath
    default: false
    }
  }

  /// The value of one `name=value` if it is secret or is a URL that contains a secret.
  private static func secretValue(
    in part: ArraySlice<UInt8>, _ secrets: SecretList, _ looksInside: Bool
  ) -> ArraySlice<UInt8>? {
    guard let equals = part.firstIndex(of: UInt8(ascii: "=")) else { return nil }
    let value = part[(equals + 1)...]
    if secrets.isSecretParameter(encoded: part[..<equals]) { return value }
    // A URL can be nested, and encoded once per level: `redirect_uri=https%3A%2F%2Fhost%2F%3Ftoken%3D…`.
    guard looksInside else { return nil }
    var inner = value
    for _ in 0..<3 where inner.contains(UInt8(ascii: "%")) {
      inner = decoded(inner)[...]
      let found = replacing(inner, isQuery: false, secrets: secrets, looksInside: false, by: { Array($0) })
      if found != nil { return value }
    }
    return nil
  }

  /// The bytes, percent-decoded; a plus sign becomes a space.
  static func decoded(_ bytes: ArraySlice<UInt8>) -> [UInt8] {
    var output: [UInt8] = []
    output.reserveCapacity(bytes.count)
    var rest = bytes
    while let byte = rest.popFirst() {
      if byte == UInt8(ascii: "%"), let high = rest.first?.hexDigitValue,
        let low = rest.dropFirst().first?.hexDigitValue
      {
        rest = rest.dropFirst(2)
        output.append(high << 4 | low)
      } else {
        output.append(byte == UInt8(ascii: "+") ? 0x20 : byte)
      }
    }
    return output
  }
}
