/// Pretty-prints a JSON document for a terminal: indented and, if wanted, coloured. Numbers, strings and order stay as
/// written; control characters are made visible.
struct JSONText {
  private enum Colour: String {
    case key = "\u{1B}[34m"
    case string = "\u{1B}[32m"
    case number = "\u{1B}[36m"
    case literal = "\u{1B}[35m"
  }

  private let bytes: [UInt8]
  private let hasColour: Bool
  private var index = 0
  private var shown: [UInt8] = []
  private var depth = 0

  /// The indented document, with a final line feed; `nil` if the bytes are not one JSON document or are nested more
  /// than 200 deep.
  static func pretty(_ bytes: [UInt8], hasColour: Bool) -> [UInt8]? {
    guard String(validating: bytes, as: UTF8.self) != nil else { return nil }
    var text = JSONText(bytes: bytes, hasColour: hasColour)
    text.shown.reserveCapacity(bytes.count * 2)
    text.skipSpace()
    guard text.value() else { return nil }
    text.skipSpace()
    guard text.index == bytes.count else { return nil }
    text.shown.append(0x0A)
    return text.shown
  }

  private init(bytes: [UInt8], hasColour: Bool) {
    self.bytes = bytes
    self.hasColour = hasColour
  }

  private var current: UInt8? { index < bytes.count ? bytes[index] : nil }

  private mutating func skipSpace() {
    while let byte = current, byte == 0x20 || byte == 0x0A || byte == 0x0D || byte == 0x09 { index += 1 }
  }

  private mutating func value() -> Bool {
    switch current {
    case 0x7B: return container(closing: 0x7D, isObject: true)
    case 0x5B: return container(closing: 0x5D, isObject: false)
    case 0x22: return string(.string)
    case 0x2D?, 0x30?, 0x31?, 0x32?, 0x33?, 0x34?, 0x35?, 0x36?, 0x37?, 0x38?, 0x39?: return number()
    default: return literal("true") || literal("false") || literal("null")
    }
  }

  private mutating func container(closing: UInt8, isObject: Bool) -> Bool {
    guard depth < 200 else { return false }
    shown.append(bytes[index])
    index += 1
    skipSpace()
    if current == closing { return close(closing) }
    depth += 1
    while true {
      newLine()
      skipSpace()
      if isObject { guard key() else { return false } }
      guard value() else { return false }
      skipSpace()
      guard current == 0x2C else { break }
      shown.append(0x2C)
      index += 1
    }
    depth -= 1
    guard current == closing else { return false }
    newLine()
    return close(closing)
  }

  private mutating func close(_ closing: UInt8) -> Bool {
    shown.append(closing)
    index += 1
    return true
  }

  private mutating func key() -> Bool {
    guard current == 0x22, string(.key) else { return false }
    skipSpace()
    guard current == 0x3A else { return false }
    index += 1
    shown += [0x3A, 0x20]
    skipSpace()
    return true
  }

  private mutating func string(_ colour: Colour) -> Bool {
    let start = index
    index += 1
    while let byte = current, byte != 0x22 {
      guard byte >= 0x20 else { return false }
      index += byte == 0x5C ? 2 : 1
    }
    guard index < bytes.count else { return false }
    index += 1
    add(TerminalText.visible(String(decoding: bytes[start..<index], as: UTF8.self)), colour)
    return true
  }

  private mutating func number() -> Bool {
    let start = index
    while let byte = current, "+-.eE0123456789".utf8.contains(byte) { index += 1 }
    let text = String(decoding: bytes[start..<index], as: UTF8.self)
    guard Double(text) != nil else { return false }
    add(text, .number)
    return true
  }

  private mutating func literal(_ word: String) -> Bool {
    guard bytes[index...].starts(with: word.utf8) else { return false }
    index += word.utf8.count
    add(word, .literal)
    return true
  }

  private mutating func newLine() {
    shown.append(0x0A)
    shown.append(contentsOf: repeatElement(0x20, count: depth * 2))
  }

  private mutating func add(_ text: String, _ colour: Colour) {
    if hasColour { shown += colour.rawValue.utf8 }
    shown += text.utf8
    if hasColour { shown += "\u{1B}[0m".utf8 }
  }
}
