internal import PlatformFoundation

/// Base64 (RFC 4648 section 4), by FoundationEssentials.
enum Base64 {
  static func encode(_ bytes: some Sequence<UInt8>) -> String { Data(bytes).base64EncodedString() }
}
