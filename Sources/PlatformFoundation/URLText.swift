/// The texts of URLs, as people and servers write them.
public enum URLText {
  /// The text with every byte percent-encoded that its parts may not have (RFC 3986), and nothing else.
  ///
  /// Foundation encodes such bytes too, but with them every `%` of the same part once more: it would make `/%2520a%7Cb`
  /// of `/%20a|b`.
  public static func encoded(_ text: String) -> String {
    guard URL(string: text, encodingInvalidCharacters: false) == nil else { return text }
    let bytes = Array(text.utf8)
    let start = authorityEnd(of: bytes)
    var output = Array(bytes[..<start])
    output.reserveCapacity(bytes.count + 16)
    var isInFragment = false
    for index in start..<bytes.count {
      let byte = bytes[index]
      switch byte {
      case UInt8(ascii: "%") where isEncoded(bytes, at: index): output.append(byte)
      case UInt8(ascii: "#") where !isInFragment:
        isInFragment = true
        output.append(byte)
      case _ where isPlain(byte): output.append(byte)
      default: append(byte, to: &output)
      }
    }
    return String(decoding: output, as: UTF8.self)
  }

  /// Where the path begins; 0 for a reference without an authority.
  private static func authorityEnd(of bytes: [UInt8]) -> Int {
    let slash = UInt8(ascii: "/")
    guard let first = bytes.firstIndex(of: slash), first + 1 < bytes.count, bytes[first + 1] == slash,
      first == 0 || bytes[first - 1] == UInt8(ascii: ":")
    else { return 0 }
    let ends = [slash, UInt8(ascii: "?"), UInt8(ascii: "#")]
    return bytes[(first + 2)...].firstIndex(where: ends.contains) ?? bytes.count
  }

  private static func isEncoded(_ bytes: [UInt8], at index: Int) -> Bool {
    index + 2 < bytes.count && isHexDigit(bytes[index + 1]) && isHexDigit(bytes[index + 2])
  }

  private static func isHexDigit(_ byte: UInt8) -> Bool {
    (0x30...0x39).contains(byte) || (0x41...0x46).contains(byte & 0xDF)
  }

  /// Whether a path, query and fragment may have the byte as it is: letters, digits, and the marks
  /// `-._~:/?@!$&'()*+,;=` (RFC 3986 section 3.3).
  @inlinable package static func isPlain(_ byte: UInt8) -> Bool {
    // One bit for each byte: every request's URL is looked at, at the start too.
    let bits: UInt64 = byte < 0x40 ? 0xAFFF_FFD2_0000_0000 : byte < 0x80 ? 0x47FF_FFFE_87FF_FFFF : 0
    return bits >> (byte & 0x3F) & 1 == 1
  }

  private static func append(_ byte: UInt8, to output: inout [UInt8]) {
    let digits = Array("0123456789ABCDEF".utf8)
    output += [UInt8(ascii: "%"), digits[Int(byte >> 4)], digits[Int(byte & 15)]]
  }
}
