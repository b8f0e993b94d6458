internal import CacheStore

/// What in the name of a field or of a query parameter gives a secret away, beside the names on a list.
///
/// It takes too much rather than too little: `page_token` counts, and costs a digest in a key; a token that is not
/// recognised stands on the disk.
enum SecretPattern {
  /// Runs of letters that no harmless name has in it, or hardly one.
  private static let parts: [StaticString] = [
    "token", "secret", "password", "passwd", "passphrase", "passcode", "credential", "apikey", "accesskey",
    "signature", "session", "sessid", "bearer", "jwt", "authoriz", "authentic", "authcode", "assertion",
    "saml",
    "cookie",
  ]
  /// Words between the other characters of a name.
  private static let words: [StaticString] = [
    "auth", "sig", "pass", "pwd", "pw", "otp", "pin", "hmac", "sid",
  ]
  /// What a word ends with: `X-Auth-Key`, `subscription_key`, `sortKey` too.
  private static let endings: [StaticString] = ["key", "auth", "pwd", "pass"]

  /// Fields that look like secrets and tell nobody anything.
  private static let harmless: [StaticString] = [
    "idempotency-key", "x-idempotency-key", "sec-websocket-key", "cache-key", "x-cache-key", "surrogate-key",
  ]

  /// Whether a field's name, in any case, looks like a secret's.
  static func isField(_ name: some Sequence<UInt8>) -> Bool {
    let name = name.map(\.asciiLowercased)
    return looksSecret(name) && !harmless.contains { isSame(name[...], $0) }
  }

  /// Whether the name of a query parameter, decoded, does.
  static func isParameter(_ name: [UInt8]) -> Bool { looksSecret(name) }

  /// - Parameter name: In lower case.
  private static func looksSecret(_ name: [UInt8]) -> Bool {
    var start = 0
    for end in 0...name.count where end == name.count || !name[end].isLetterOrDigit {
      let word = name[start..<end]
      start = end + 1
      guard word.count >= 2 else { continue }
      if words.contains(where: { isSame(word, $0) }) { return true }
      if endings.contains(where: { isSame(word.suffix($0.utf8CodeUnitCount), $0) }) { return true }
    }
    // `accessToken` is one word, and so is `apikey2`.
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
  /// Whether the byte is a letter or a digit; those outside ASCII count as letters.
  var isLetterOrDigit: Bool {
    switch self {
    case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, 0x80...0xFF: true
    default: false
    }
  }
}
