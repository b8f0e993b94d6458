/// Writes one JSON object on one line, members in the order they are added.
///
/// Characters that a terminal interprets are escaped; JSON allows that, and it changes no value.
struct JSONWriter {
  private(set) var bytes: [UInt8] = [0x7B]
  private var isFirst = true

  /// The object, closed, with a line feed.
  consuming func line() -> [UInt8] {
    bytes += [0x7D, 0x0A]
    return bytes
  }

  /// The object, closed, for a member of another.
  consuming func object() -> [UInt8] {
    bytes.append(0x7D)
    return bytes
  }

  mutating func member(_ name: String, _ value: String) {
    begin(name)
    Self.append(value, to: &bytes)
  }

  mutating func member(_ name: String, _ value: Int64) {
    begin(name)
    bytes += String(value).utf8
  }

  mutating func member(_ name: String, _ value: Int) { member(name, Int64(value)) }

  mutating func member(_ name: String, _ value: Bool) {
    begin(name)
    bytes += (value ? "true" : "false").utf8
  }

  /// A member whose value is already JSON.
  mutating func member(_ name: String, json: [UInt8]) {
    begin(name)
    bytes += json
  }

  /// An array of objects.
  mutating func member(_ name: String, objects: [[UInt8]]) {
    begin(name)
    bytes.append(0x5B)
    bytes += objects.joined(separator: [0x2C])
    bytes.append(0x5D)
  }

  /// An array of strings.
  mutating func member(_ name: String, _ values: [String]) {
    begin(name)
    bytes.append(0x5B)
    for (index, value) in values.enumerated() {
      if index > 0 { bytes.append(0x2C) }
      Self.append(value, to: &bytes)
    }
    bytes.append(0x5D)
  }

  /// An array of pairs.
  mutating func member(_ name: String, pairs: [(String, String)]) {
    begin(name)
    bytes.append(0x5B)
    for (index, pair) in pairs.enumerated() {
      bytes += index > 0 ? [0x2C, 0x5B] : [0x5B]
      Self.append(pair.0, to: &bytes)
      bytes.append(0x2C)
      Self.append(pair.1, to: &bytes)
      bytes.append(0x5D)
    }
    bytes.append(0x5D)
  }

  private mutating func begin(_ name: String) {
    if !isFirst { bytes.append(0x2C) }
    isFirst = false
    Self.append(name, to: &bytes)
    bytes.append(0x3A)
  }

  /// Adds a string with its quotation marks (RFC 8259 section 7).
  static func append(_ text: String, to bytes: inout [UInt8]) {
    bytes.append(0x22)
    // Most text needs no escapes, and is copied as a whole.
    if text.utf8.allSatisfy({ 0x20..<0x7F ~= $0 && $0 != 0x22 && $0 != 0x5C }) {
      bytes += text.utf8
    } else {
      for scalar in text.unicodeScalars { append(scalar, to: &bytes) }
    }
    bytes.append(0x22)
  }

  private static func append(_ scalar: Unicode.Scalar, to bytes: inout [UInt8]) {
    switch scalar {
    case "\"": bytes += [0x5C, 0x22]
    case "\\": bytes += [0x5C, 0x5C]
    case "\n": bytes += [0x5C, 0x6E]
    case "\r": bytes += [0x5C, 0x72]
    case "\t": bytes += [0x5C, 0x74]
    default: appendHarmless(scalar, to: &bytes)
    }
  }

  /// Foreign JSON, given on one line, with the characters escaped that a terminal interprets.
  static func harmless(_ json: String) -> [UInt8] {
    var bytes: [UInt8] = []
    for scalar in json.unicodeScalars { appendHarmless(scalar, to: &bytes) }
    return bytes
  }

  private static func appendHarmless(_ scalar: Unicode.Scalar, to bytes: inout [UInt8]) {
    guard TerminalText.isUnsafe(scalar) else {
      if scalar.isASCII { bytes.append(UInt8(scalar.value)) } else { bytes += String(scalar).utf8 }
      return
    }
    let digits = String(scalar.value, radix: 16)
    bytes += "\\u\(String(repeating: "0", count: 4 - digits.utf8.count))\(digits)".utf8
  }
}
