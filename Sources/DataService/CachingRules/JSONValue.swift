package import FoundationEssentials

/// A JSON document as a value, to compare two of them; texts are the same where their bytes are.
package indirect enum JSONValue: Sendable, Hashable, Decodable {
  /// `null`.
  case null
  /// `true` or `false`.
  case boolean(Bool)
  /// A number to 38 significant digits.
  case decimal(Decimal)
  /// A number beyond what a decimal holds.
  case double(Double)
  /// A string.
  case string(String)
  /// An array.
  case array([JSONValue])
  /// An object.
  case object([String: JSONValue])

  package init(from decoder: any Decoder) throws {
    let container = try decoder.singleValueContainer()
    if let value = try? container.decode([String: JSONValue].self) {
      self = .object(value)
    } else if let value = try? container.decode([JSONValue].self) {
      self = .array(value)
    } else if let value = try? container.decode(String.self) {
      self = .string(value)
    } else if let value = try? container.decode(Decimal.self) {
      self = .decimal(value)
    } else if let value = try? container.decode(Double.self) {
      self = .double(value)
    } else if let value = try? container.decode(Bool.self) {
      self = .boolean(value)
    } else {
      guard container.decodeNil() else {
        throw DecodingError.dataCorruptedError(in: container, debugDescription: "not a JSON value")
      }
      self = .null
    }
  }

  /// The document in the bytes, or `nil` where they are not JSON.
  package init?(_ data: Data) {
    guard let value = try? JSONDecoder().decode(JSONValue.self, from: data) else { return nil }
    self = value
  }

  package static func == (one: JSONValue, other: JSONValue) -> Bool {
    switch (one, other) {
    case (.null, .null): true
    case (.boolean(let one), .boolean(let other)): one == other
    case (.decimal(let one), .decimal(let other)): one == other
    case (.double(let one), .double(let other)): one == other
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
    case .decimal(let value): hasher.combine(value)
    case .double(let value): hasher.combine(value)
    case .string(let value): hasher.combine(value)
    case .array(let value): hasher.combine(value)
    case .object(let value): hasher.combine(value.count)
    }
  }

  /// The value without what the pointer points to; itself where that does not exist.
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
      // Blanked, not taken out: the elements behind it keep their places.
      elements[index] = rest.isEmpty ? .null : elements[index].removing(rest)
      return .array(elements)
    default: return self
    }
  }
}

extension [String: JSONValue] {
  /// Whether the object has that member, its name the same bytes.
  fileprivate func hasMember(_ name: String, _ value: JSONValue) -> Bool {
    guard let index = index(forKey: name) else { return false }
    return FieldList.isSame(self[index].key, name) && self[index].value == value
  }
}

/// A place in a JSON document (RFC 6901).
package struct JSONPointer: Sendable, Hashable {
  /// The names and indices from the root down, unescaped.
  package let tokens: [String]

  /// The pointer that the text is: empty, or beginning with `/`; `nil` otherwise, or where `~` is not followed by
  /// `0` or `1`.
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

  /// The array index that a token is: digits without a leading zero.
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
