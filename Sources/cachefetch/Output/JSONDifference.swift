internal import DataService
internal import PlatformFoundation

/// The differences between two JSON documents: each removed or added value with its path, in the order of the paths.
/// Each value is visited once, whatever the documents' shape.
struct JSONDifference {
  /// One place where they differ.
  struct Change {
    /// A JSON Pointer (RFC 6901).
    let path: String
    /// The old value; `nil` if there was none.
    let old: JSONValue?
    /// The new value; `nil` if there is none.
    let new: JSONValue?
  }

  /// The first differences, at most ``limit``.
  private(set) var changes: [Change] = []
  /// How many more differences there are.
  private(set) var omitted = 0
  /// The most differences that are shown, to a user or a program.
  static let limit = 10_000

  private var path: [String] = []

  /// `nil` if either is not JSON or is nested too deep.
  init?(from old: Data, to new: Data, ignoring pointers: [String]) {
    guard var old = JSONValue(old), var new = JSONValue(new) else { return nil }
    for pointer in pointers.compactMap({ JSONPointer($0) }) {
      old = old.removing(pointer)
      new = new.removing(pointer)
    }
    compare(old, new)
  }

  /// One line for each removed value (`- /path: value`) or added one (`+ /path: value`), and one for those omitted.
  var lines: [String] {
    var lines: [String] = []
    for change in changes {
      if let old = change.old { lines.append("- \(change.path): \(Self.text(old))") }
      if let new = change.new { lines.append("+ \(change.path): \(Self.text(new))") }
    }
    if omitted > 0 {
      let differences = omitted == 1 ? "difference" : "differences"
      lines.append(Typography.fitting("… and \(omitted) more \(differences)"))
    }
    return lines
  }

  private mutating func compare(_ old: JSONValue?, _ new: JSONValue?) {
    switch (old, new) {
    case (.object(let old)?, .object(let new)?):
      for name in Set(old.keys).union(new.keys).sorted() {
        compare(old[name], new[name], at: name)
      }
    case (.array(let old)?, .array(let new)?):
      for index in 0..<max(old.count, new.count) {
        compare(
          index < old.count ? old[index] : nil, index < new.count ? new[index] : nil, at: String(index))
      }
    default:
      // Here at least one is no container, or they are containers of different kinds, which differ whatever they
      // contain.
      if old != new { add(old, new) }
    }
  }

  private mutating func compare(_ old: JSONValue?, _ new: JSONValue?, at name: String) {
    path.append(name)
    compare(old, new)
    path.removeLast()
  }

  private mutating func add(_ old: JSONValue?, _ new: JSONValue?) {
    guard changes.count < Self.limit else {
      omitted += 1
      return
    }
    changes.append(Change(path: path.map { "/" + Self.escaped($0) }.joined(), old: old, new: new))
  }

  /// A name in a JSON Pointer (RFC 6901 section 3).
  private static func escaped(_ name: String) -> String {
    var escaped = ""
    for character in name {
      switch character {
      case "~": escaped += "~0"
      case "/": escaped += "~1"
      default: escaped.append(character)
      }
    }
    return escaped
  }

  /// The value on one line, names sorted.
  static func text(_ value: JSONValue) -> String { String(decoding: bytes(value), as: UTF8.self) }

  /// The value as JSON on one line, names sorted.
  static func bytes(_ value: JSONValue) -> [UInt8] {
    var bytes: [UInt8] = []
    append(value, to: &bytes)
    return bytes
  }

  private static func append(_ value: JSONValue, to bytes: inout [UInt8]) {
    switch value {
    case .null: bytes += "null".utf8
    case .boolean(let value): bytes += (value ? "true" : "false").utf8
    case .number(let value): bytes += value.text.utf8
    case .string(let value): JSONWriter.append(value, to: &bytes)
    case .array(let values):
      bytes.append(0x5B)
      for (index, value) in values.enumerated() {
        if index > 0 { bytes.append(0x2C) }
        append(value, to: &bytes)
      }
      bytes.append(0x5D)
    case .object(let members):
      bytes.append(0x7B)
      for (index, member) in members.sorted(by: { $0.key < $1.key }).enumerated() {
        if index > 0 { bytes.append(0x2C) }
        JSONWriter.append(member.key, to: &bytes)
        bytes.append(0x3A)
        append(member.value, to: &bytes)
      }
      bytes.append(0x7D)
    }
  }
}
