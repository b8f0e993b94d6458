internal import CSodium

/// Sixteen bytes of BLAKE2b that stand for a message. Only the holder of the key can compute them; with an empty key anybody
/// can.
enum KeyedDigest {
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
}
