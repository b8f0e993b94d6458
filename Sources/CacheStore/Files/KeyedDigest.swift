#if canImport(CryptoKit)
  internal import CryptoKit
  internal import PlatformFoundation
#else
  internal import CSodium
#endif

/// Sixteen bytes that stand for a message. Only the holder of the key can compute them; with an empty key anybody can.
///
/// They lead to rows and accounts of a store. The two forms differ, so a store that is copied between them finds
/// nothing of its requests with credentials again, as after the loss of its key.
enum KeyedDigest {
  #if canImport(CryptoKit)
    /// What computes them, for a finding.
    static let library = "CryptoKit"

    static func of(_ message: [UInt8], key: [UInt8]) -> [UInt8] {
      Array(HMAC<SHA256>.authenticationCode(for: message, using: SymmetricKey(data: key)).prefix(16))
    }
  #else
    /// What computes them, for a finding.
    static var library: String { "libsodium \(String(cString: sodium_version_string()))" }

    static func of(_ message: [UInt8], key: [UInt8]) -> [UInt8] {
      _ = chosen
      var output = [UInt8](repeating: 0, count: 16)
      // Fails only for lengths out of range; these constants are within range.
      crypto_generichash(&output, output.count, message, UInt64(message.count), key, key.count)
      return output
    }

    /// Chooses the fastest implementation for this processor, once.
    private static let chosen: Int32 = sodium_init()
  #endif
}
