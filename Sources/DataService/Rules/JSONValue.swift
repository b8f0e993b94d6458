/// A JSON document as a comparable value. Strings are equal if their bytes are, numbers if their values are.
package indirect enum JSONValue: Sendable, Hashable {
  /// `null`.
  case null
  /// `true` or `false`.
  case boolean(Bool)
  /// A number.
  case number(JSONNumber)
  /// A string.
  case string(String)
  /// An array.
  case array([JSONValue])
  /// An object.
  case object([String: JSONValue])

  package static func == (one: JSONValue, other: JSONValue) -> Bool {
    switch (one, other) {
    case (.null, .null): true
    case (.boolean(let one), .boolean(let other)): one == other
    case (.number(let one), .number(let other)): one == other
    case (.string(let one), .string(let other)): FieldList.isSame(one, other)
    case (.array(let one), .array(let other)): one == other
    case (.object(let one), .object(let other)): one.count == other.count && one.allSatisfy(other.hasMember)
    default: false
    }
  }

  package func hash(into hasher: inout Hasher) {
    switch self {
    case .null: hasher.combine(0)
    case .boolean(let value): hasher.combine(value)
    case .number(let value): hasher.combine(value)
    case .string(let value): hasher.combine(value)
    case .array(let value): hasher.combine(value)
    case .object(let value): hasher.combine(value.count)
    }
  }

  /// The value without the part that the pointer selects; unchanged if there is no such part.
  package func removing(_ pointer: JSONPointer) -> JSONValue { removing(pointer.tokens[...]) }

  private func removing(_ tokens: ArraySlice<String>) -> JSONValue {
    // The empty pointer is the whole document (RFC 6901 section 5).
    guard let token = tokens.first else { return .null }
    let rest = tokens.dropFirst()
    switch self {
    case .object(var members):
      guard let member = members[token] else { return self }
      members[token] = rest.isEmpty ? nil : member.removing(rest)
      return .object(members)
    case .array(var elements):
      guard let index = JSONPointer.index(token), elements.indices.contains(index) else { return self }
      // Replaced by null rather than removed, so that later elements keep their indices.
      elements[index] = elements[index].removing(rest)
      return .array(elements)
    default: return self
    }
  }
}

extension [String: JSONValue] {
  /// Whether the object has that member under a name of the same bytes.
  fileprivate func hasMember(_ name: String, _ value: JSONValue) -> Bool {
    guard let index = index(forKey: name) else { return false }
    return FieldList.isSame(self[index].key, name) && self[index].value == value
  }
}

/// A number of a JSON document, of any size and precision: `100`, `1e2` and `100.0` are the same.
package struct JSONNumber: Sendable, Hashable {
  /// The number as written.
  package let text: String
  /// The sign and significant digits, without leading or trailing zeros; empty for 0.
  private let digits: String
  /// The power of ten of the last digit.
  private let exponent: Int

  package static func == (one: JSONNumber, other: JSONNumber) -> Bool {
    one.exponent == other.exponent && one.digits == other.digits
  }

  package func hash(into hasher: inout Hasher) {
    hasher.combine(exponent)
    hasher.combine(digits)
  }

  /// The number in the bytes, whose grammar the reader has checked.
  init(_ bytes: ArraySlice<UInt8>) {
    text = String(decoding: bytes, as: UTF8.self)
    let mantissa = bytes.prefix { $0 | 0x20 != 0x65 }
    let whole = mantissa.prefix { $0 != 0x2E }
    let fraction = mantissa.dropFirst(whole.count).dropFirst()
    var digits = (whole + fraction).filter { $0 != 0x2D }.drop { $0 == 0x30 }[...]
    // An exponent is clamped to ±2^60. Only numbers beyond that could compare as equal without being so.
    let written = bytes.dropFirst(mantissa.count).dropFirst()
    var exponent = Self.exponent(written) - fraction.count
    while digits.last == 0x30 {
      digits.removeLast()
      exponent += 1
    }
    self.digits = (digits.isEmpty || bytes.first != 0x2D ? "" : "-") + String(decoding: digits, as: UTF8.self)
    self.exponent = digits.isEmpty ? 0 : exponent
  }

  private static func exponent(_ text: ArraySlice<UInt8>) -> Int {
    let digits = text.drop { $0 == 0x2B || $0 == 0x2D }.drop { $0 == 0x30 }
    let limit = 1 << 60
    let size = digits.count > 18 ? limit : digits.reduce(0) { $0 * 10 + Int($1 - 0x30) }
    return text.first == 0x2D ? -size : size
  }
}

/// A place in a JSON document (RFC 6901).
package struct JSONPointer: Sendable, Hashable {
  /// The unescaped names and indices, from the root down.
  package let tokens: [String]

  /// The pointer in the text. `nil` if a nonempty text does not begin with `/`, or if `~` is not followed by `0` or
  /// `1`.
  package init?(_ text: String) {
    guard !text.isEmpty else {
      tokens = []
      return
    }
    var tokens: [String] = []
    for part in text.utf8.split(separator: 0x2F, omittingEmptySubsequences: false) {
      guard let token = Self.unescaped(part) else { return nil }
      tokens.append(token)
    }
    guard tokens.first?.isEmpty == true else { return nil }
    self.tokens = Array(tokens.dropFirst())
  }

  /// The array index in a token: digits without a leading zero.
  static func index(_ token: String) -> Int? {
    guard token == "0" || token.utf8.first != 0x30, token.utf8.allSatisfy(\.isAsciiDigit) else { return nil }
    return Int(token)
  }

  private static func unescaped(_ part: Substring.UTF8View) -> String? {
    var bytes: [UInt8] = []
    var isEscape = false
    for byte in part {
      switch (isEscape, byte) {
      case (true, 0x30): bytes.append(0x7E)
      case (true, 0x31): bytes.append(0x2F)
      case (true, _): return nil
      case (false, 0x7E): break
      case (false, _): bytes.append(byte)
      }
      isEscape = !isEscape && byte == 0x7E
    }
    return isEscape ? nil : String(decoding: bytes, as: UTF8.self)
  }
}
