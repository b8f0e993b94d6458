/// The bytes that separate or quote parts of field values.
enum Ascii {
  static let tab: UInt8 = 0x09
  static let space: UInt8 = 0x20
  static let quote: UInt8 = 0x22
  static let comma: UInt8 = 0x2C
  static let hyphen: UInt8 = 0x2D
  static let equals: UInt8 = 0x3D
  static let backslash: UInt8 = 0x5C
}

extension UInt8 {
  /// Whether the byte is an ASCII digit.
  var isAsciiDigit: Bool { self >= 0x30 && self <= 0x39 }
  /// The value of the byte as a hexadecimal digit.
  var hexDigitValue: UInt8? {
    switch self {
    case 0x30...0x39: self - 0x30
    case 0x41...0x46: self - 0x41 + 10
    case 0x61...0x66: self - 0x61 + 10
    default: nil
    }
  }
}

extension ArraySlice<UInt8> {
  /// The bytes, percent-decoded as in a form: a plus sign becomes a space.
  var formDecoded: [UInt8] { decoded(plus: 0x20) }

  /// The bytes, percent-decoded (RFC 3986 section 2.1).
  var percentDecoded: [UInt8] { decoded(plus: UInt8(ascii: "+")) }

  private func decoded(plus: UInt8) -> [UInt8] {
    var output: [UInt8] = []
    output.reserveCapacity(count)
    var rest = self
    while let byte = rest.popFirst() {
      if byte == UInt8(ascii: "%"), let high = rest.first?.hexDigitValue,
        let low = rest.dropFirst().first?.hexDigitValue
      {
        rest = rest.dropFirst(2)
        output.append(high << 4 | low)
      } else {
        output.append(byte == UInt8(ascii: "+") ? plus : byte)
      }
    }
    return output
  }
}
