internal import PlatformFoundation

/// Finds the line where each value of a JSON text begins, and the first line that is not JSON. A person needs both to
/// correct a file, and the decoder reports neither.
struct JSONLines {
  /// The first line that is not JSON, counted from 1; `nil` if no mistake was found.
  private(set) var broken: Int?

  private let bytes: [UInt8]
  private var position = 0
  private var line = 1
  private var path: [String] = []
  private var lines: [[String]: Int] = [:]

  init(_ text: Data) {
    bytes = Array(text)
    if !value() || next() != nil { broken = line }
  }

  /// The line where a value begins, or that of the nearest enclosing value with a known line.
  func line(of path: [String]) -> Int? {
    var path = path[...]
    while !path.isEmpty {
      if let line = lines[Array(path)] { return line }
      path.removeLast()
    }
    return lines[[]]
  }

  /// The decoder's own limit of nesting.
  private static let depth = 512

  /// Skips white space and returns the next byte without consuming it.
  private mutating func next() -> UInt8? {
    while position < bytes.count {
      switch bytes[position] {
      case UInt8(ascii: "\n"): line += 1
      case UInt8(ascii: " "), UInt8(ascii: "\t"), UInt8(ascii: "\r"): break
      default: return bytes[position]
      }
      position += 1
    }
    return nil
  }

  private mutating func take(_ character: Unicode.Scalar) -> Bool {
    guard next() == UInt8(ascii: character) else { return false }
    position += 1
    return true
  }

  private mutating func value() -> Bool {
    guard let first = next(), path.count < Self.depth else { return false }
    lines[path] = line
    switch first {
    case UInt8(ascii: "{"): return members(until: "}") { $0.name() }
    case UInt8(ascii: "["): return members(until: "]") { _ in "" }
    case UInt8(ascii: "\""): return string() != nil
    default: return word()
    }
  }

  /// Reads the members of an object or the elements of an array, which are named by their index.
  private mutating func members(
    until end: Unicode.Scalar, naming: (inout JSONLines) -> String?
  ) -> Bool {
    position += 1
    guard !take(end) else { return true }
    var number = 0
    repeat {
      guard let name = naming(&self) else { return false }
      path.append(name.isEmpty && end == "]" ? String(number) : name)
      guard value() else { return false }
      path.removeLast()
      number += 1
    } while take(",")
    return take(end)
  }

  private mutating func name() -> String? {
    guard next() == UInt8(ascii: "\""), let name = string(), take(":") else { return nil }
    return name
  }

  /// Reads a string, starting at its opening quotation mark.
  private mutating func string() -> String? {
    let start = position
    position += 1
    while position < bytes.count, bytes[position] >= 0x20 {
      if bytes[position] == UInt8(ascii: "\"") {
        position += 1
        return decoded(String.self, start)
      }
      position += bytes[position] == UInt8(ascii: "\\") ? 2 : 1
    }
    return nil
  }

  /// Reads a number, `true`, `false` or `null`.
  private mutating func word() -> Bool {
    let start = position
    while position < bytes.count, !" \t\r\n,:[]{}\"".utf8.contains(bytes[position]) { position += 1 }
    if ["true", "false", "null"].contains(where: { $0.utf8.elementsEqual(bytes[start..<position]) }) {
      return true
    }
    return decoded(Double.self, start) != nil
  }

  /// Decodes the value between `start` and the current position. The decoder judges what is a number or a string.
  private func decoded<Value: Decodable>(_ type: Value.Type, _ start: Int) -> Value? {
    try? JSONDecoder().decode(type, from: Data(bytes[start..<position]))
  }
}
