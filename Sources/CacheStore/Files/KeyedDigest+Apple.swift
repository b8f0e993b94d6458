internal import CryptoKit
internal import PlatformFoundation

/// The same on Apple's systems, which have no libsodium: sixteen bytes of HMAC-SHA256.
enum KeyedDigest {
  static let library = "CryptoKit"

  static func of(_ message: [UInt8], key: [UInt8]) -> [UInt8] {
    Array(HMAC<SHA256>.authenticationCode(for: message, using: SymmetricKey(data: key)).prefix(16))
  }
}
