/// Makes foreign text safe for a terminal: it shows characters that would move the cursor, change colours, ring, set
/// the title or reorder the line. Output to a pipe is left byte for byte.
enum TerminalText {
  /// `text` on one line: every control character is made visible, including line breaks and tabs.
  static func visible(_ text: String) -> String {
    var shown = ""
    for scalar in text.unicodeScalars { append(scalar, to: &shown) }
    return shown
  }

  /// A text body: line breaks and tabs stay, CR LF is a line break, other control characters are made visible; bytes
  /// that are not UTF-8 are shown as `\xNN`.
  static func body(_ bytes: some Collection<UInt8>) -> [UInt8] {
    var shown: [UInt8] = []
    shown.reserveCapacity(bytes.count)
    var decoder = UTF8Pieces(Array(bytes))
    while let piece = decoder.next() {
      switch piece {
      case .scalar(let scalar, let isBeforeLineFeed):
        if scalar == "\n" || scalar == "\t" || (0x20..<0x7F).contains(scalar.value) {
          shown.append(UInt8(scalar.value))
        } else if scalar == "\r", isBeforeLineFeed {
          continue
        } else if isUnsafe(scalar) {
          var text = ""
          append(scalar, to: &text)
          shown += text.utf8
        } else {
          shown += scalar.utf8
        }
      case .invalid(let byte): shown += "\\x\(hex(UInt32(byte), digits: 2))".utf8
      }
    }
    return shown
  }

  /// Whether a terminal would interpret a scalar: C0, DEL, C1, and the marks that reorder text.
  static func isUnsafe(_ scalar: Unicode.Scalar) -> Bool {
    switch scalar.value {
    case 0x00...0x1F, 0x7F...0x9F: true
    case 0x061C, 0x200E, 0x200F, 0x2028, 0x2029, 0x202A...0x202E, 0x2066...0x2069, 0xFEFF: true
    default: false
    }
  }

  private static func append(_ scalar: Unicode.Scalar, to text: inout String) {
    guard isUnsafe(scalar) else {
      text.unicodeScalars.append(scalar)
      return
    }
    if scalar.value < 0x20, let letter = Unicode.Scalar(scalar.value + 0x40) {
      text += "^"
      text.unicodeScalars.append(letter)
    } else if scalar.value == 0x7F {
      text += "^?"
    } else {
      text += "<U+\(hex(scalar.value, digits: 4))>"
    }
  }

  private static func hex(_ value: UInt32, digits: Int) -> String {
    let text = String(value, radix: 16, uppercase: true)
    return String(repeating: "0", count: max(0, digits - text.utf8.count)) + text
  }
}

/// Splits bytes into scalars and bytes that belong to none.
private struct UTF8Pieces {
  enum Piece {
    case scalar(Unicode.Scalar, isBeforeLineFeed: Bool)
    case invalid(UInt8)
  }

  private let bytes: [UInt8]
  private var index = 0

  init(_ bytes: [UInt8]) { self.bytes = bytes }

  mutating func next() -> Piece? {
    guard index < bytes.count else { return nil }
    let lead = bytes[index]
    if lead < 0x80 {
      index += 1
      let isBeforeLineFeed = index < bytes.count && bytes[index] == 0x0A
      return .scalar(Unicode.Scalar(lead), isBeforeLineFeed: isBeforeLineFeed)
    }
    let length = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : 2
    let end = min(index + length, bytes.count)
    if let text = String(validating: bytes[index..<end], as: UTF8.self), text.unicodeScalars.count == 1,
      let scalar = text.unicodeScalars.first
    {
      index = end
      return .scalar(scalar, isBeforeLineFeed: false)
    }
    index += 1
    return .invalid(lead)
  }
}
