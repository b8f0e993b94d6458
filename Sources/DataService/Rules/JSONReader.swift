package import PlatformFoundation

/// Reads a JSON document (RFC 8259) in one pass, visiting each byte a bounded number of times.
///
/// A decoder that tries one type after another would read nested parts once per enclosing level.
package struct JSONReader {
  /// The nesting limit. Reading, comparing and freeing a document recurse once per level on one stack.
  package static let depth = 512

  /// The limit on the number of values: each takes about a hundred bytes of memory, however short its text.
  package static let limit = 4 << 20

  private let bytes: ArraySlice<UInt8>
  private var index: Int
  private var level = 0
  /// How many more values the document may have.
  private var room: Int
  /// The steps taken, so that tests can measure the cost of a document.
  private var steps = 0

  /// The document and the steps taken. The document is `nil` if the bytes are not JSON, are nested too deep or have
  /// too many values.
  package static func read(_ data: Data, limit: Int = limit) -> (value: JSONValue?, steps: Int) {
    var reader = JSONReader(Array(data)[...], limit)
    let value = reader.document()
    return (value, reader.steps)
  }

  private init(_ bytes: ArraySlice<UInt8>, _ limit: Int) {
    self.bytes = bytes
    room = limit
    index = bytes.startIndex
  }

  private mutating func document() -> JSONValue? {
    // A byte-order mark is not part of the text. Strings are checked for valid UTF-8 where they are read.
    if bytes.starts(with: [0xEF, 0xBB, 0xBF]) { index += 3 }
    guard let value = value() else { return nil }
    skipSpace()
    return current == nil ? value : nil
  }

  private var current: UInt8? { index < bytes.endIndex ? bytes[index] : nil }

  private mutating func next() {
    index += 1
    steps += 1
  }

  private mutating func skipSpace() {
    while let byte = current, byte == 0x20 || byte == 0x0A || byte == 0x0D || byte == 0x09 { next() }
  }

  /// Consumes `byte`, after any white space.
  private mutating func take(_ byte: UInt8) -> Bool {
    skipSpace()
    guard current == byte else { return false }
    next()
    return true
  }

  private mutating func value() -> JSONValue? {
    guard room > 0 else { return nil }
    room -= 1
    skipSpace()
    switch current {
    case 0x7B: return nested { $0.object() }
    case 0x5B: return nested { $0.array() }
    case 0x22: return string().map { .string($0) }
    case 0x74: return word("true") ? .boolean(true) : nil
    case 0x66: return word("false") ? .boolean(false) : nil
    case 0x6E: return word("null") ? .null : nil
    default: return number()
    }
  }

  private mutating func nested(_ body: (inout JSONReader) -> JSONValue?) -> JSONValue? {
    level += 1
    defer { level -= 1 }
    guard level <= Self.depth else { return nil }
    next()
    return body(&self)
  }

  private mutating func object() -> JSONValue? {
    var members: [String: JSONValue] = [:]
    if take(0x7D) { return .object(members) }
    repeat {
      skipSpace()
      guard current == 0x22, let name = string(), take(0x3A), let value = value() else { return nil }
      members[name] = value
    } while take(0x2C)
    return take(0x7D) ? .object(members) : nil
  }

  private mutating func array() -> JSONValue? {
    var elements: [JSONValue] = []
    if take(0x5D) { return .array(elements) }
    repeat {
      guard let value = value() else { return nil }
      elements.append(value)
    } while take(0x2C)
    return take(0x5D) ? .array(elements) : nil
  }

  private mutating func word(_ word: StaticString) -> Bool {
    for place in 0..<word.utf8CodeUnitCount {
      guard current == word.utf8Start[place] else { return false }
      next()
    }
    return true
  }

  private mutating func number() -> JSONValue? {
    let start = index
    if current == 0x2D { next() }
    if current == 0x30 { next() } else { guard digits() else { return nil } }
    if current == 0x2E {
      next()
      guard digits() else { return nil }
    }
    if let byte = current, byte | 0x20 == 0x65 {
      next()
      if current == 0x2B || current == 0x2D { next() }
      guard digits() else { return nil }
    }
    return .number(JSONNumber(bytes[start..<index]))
  }

  /// Consumes digits; false if there is none.
  private mutating func digits() -> Bool {
    let start = index
    while let byte = current, byte.isAsciiDigit { next() }
    return index > start
  }

  /// Reads a string, starting at its opening quotation mark.
  private mutating func string() -> String? {
    next()
    let start = index
    while let byte = current, byte >= 0x20 {
      if byte == 0x22 {
        defer { next() }
        return String(validating: bytes[start..<index], as: UTF8.self)
      }
      if byte == 0x5C { return escapedString(from: start) }
      next()
    }
    return nil
  }

  /// Reads the rest of a string, starting at its first escape.
  private mutating func escapedString(from start: Int) -> String? {
    var text = Array(bytes[start..<index])
    while let byte = current, byte >= 0x20 {
      next()
      if byte == 0x22 { return String(validating: text, as: UTF8.self) }
      guard byte == 0x5C else {
        text.append(byte)
        continue
      }
      guard let escape = current else { return nil }
      next()
      switch escape {
      case 0x22, 0x5C, 0x2F: text.append(escape)
      case 0x62: text.append(0x08)
      case 0x66: text.append(0x0C)
      case 0x6E: text.append(0x0A)
      case 0x72: text.append(0x0D)
      case 0x74: text.append(0x09)
      case 0x75:
        guard let scalar = scalar() else { return nil }
        text.append(contentsOf: String(Character(scalar)).utf8)
      default: return nil
      }
    }
    return nil
  }

  /// Reads the scalar of `\uXXXX`, or of a surrogate pair, starting at the first digit. A lone surrogate gives `nil`.
  private mutating func scalar() -> Unicode.Scalar? {
    guard let first = codeUnit() else { return nil }
    guard (0xD800..<0xDC00).contains(first) else { return Unicode.Scalar(first) }
    guard current == 0x5C else { return nil }
    next()
    guard current == 0x75 else { return nil }
    next()
    guard let second = codeUnit(), (0xDC00..<0xE000).contains(second) else { return nil }
    return Unicode.Scalar(0x10000 + (first - 0xD800) << 10 + (second - 0xDC00))
  }

  private mutating func codeUnit() -> UInt32? {
    var unit: UInt32 = 0
    for _ in 0..<4 {
      guard let byte = current, let digit = Character(UnicodeScalar(byte)).hexDigitValue else { return nil }
      unit = unit << 4 | UInt32(digit)
      next()
    }
    return unit
  }
}

extension JSONValue {
  /// The document in the bytes, or `nil` if they are not JSON, are nested deeper than ``JSONReader/depth`` or have
  /// more values than ``JSONReader/limit``.
  package init?(_ data: Data) {
    guard let value = JSONReader.read(data).value else { return nil }
    self = value
  }
}
