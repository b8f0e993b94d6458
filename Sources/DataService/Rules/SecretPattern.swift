internal import CacheStore

/// Recognises names of fields and query parameters that look secret, in addition to the listed names.
///
/// The patterns match too much rather than too little. A false match such as `page_token` only costs a digest in a
/// key; a missed token would be written to disk.
enum SecretPattern {
  /// Runs of letters that hardly any harmless name contains.
  private static let parts: [StaticString] = [
    "token", "secret", "password", "passwd", "passphrase", "passcode", "credential", "apikey", "accesskey",
    "signature", "session", "sessid", "bearer", "jwt", "authoriz", "authentic", "authcode", "assertion",
    "saml",
    "cookie",
  ]
  /// Whole words, delimited by characters other than letters and digits.
  private static let words: [StaticString] = [
    "auth", "sig", "pass", "pwd", "pw", "otp", "pin", "hmac", "sid",
  ]
  /// Endings of words, as in `X-Auth-Key` and `subscription_key`. `sortKey` matches too.
  private static let endings: [StaticString] = ["key", "auth", "pwd", "pass"]

  /// Fields that look secret but are harmless.
  private static let harmless: [StaticString] = [
    "idempotency-key", "x-idempotency-key", "sec-websocket-key", "cache-key", "x-cache-key", "surrogate-key",
  ]

  /// Whether a field's name, in any case, looks secret.
  static func isField(_ name: some Sequence<UInt8>) -> Bool {
    let name = name.map(\.asciiLowercased)
    return looksSecret(name) && !harmless.contains { isSame(name[...], $0) }
  }

  /// Whether the decoded name of a query parameter looks secret.
  static func isParameter(_ name: [UInt8]) -> Bool { looksSecret(name) }

  /// - Parameter name: The name in lower case.
  private static func looksSecret(_ name: [UInt8]) -> Bool {
    var start = 0
    for end in 0...name.count where end == name.count || !name[end].isLetterOrDigit {
      let word = name[start..<end]
      start = end + 1
      guard word.count >= 2 else { continue }
      if words.contains(where: { isSame(word, $0) }) { return true }
      if endings.contains(where: { isSame(word.suffix($0.utf8CodeUnitCount), $0) }) { return true }
    }
    // `accessToken` and `apikey2` are single words here, so the parts are searched for anywhere in the name.
    return parts.contains { contains(name, $0) }
  }

  private static func isSame(_ bytes: ArraySlice<UInt8>, _ text: StaticString) -> Bool {
    bytes.count == text.utf8CodeUnitCount
      && bytes.elementsEqual(UnsafeBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount))
  }

  private static func contains(_ name: [UInt8], _ text: StaticString) -> Bool {
    let length = text.utf8CodeUnitCount
    guard name.count >= length else { return false }
    for start in 0...(name.count - length) where name[start] == text.utf8Start.pointee {
      if isSame(name[start..<(start + length)], text) { return true }
    }
    return false
  }
}

extension UInt8 {
  /// Whether the byte is a letter or digit; bytes outside ASCII count as letters.
  var isLetterOrDigit: Bool {
    switch self {
    case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, 0x80...0xFF: true
    default: false
    }
  }
}
