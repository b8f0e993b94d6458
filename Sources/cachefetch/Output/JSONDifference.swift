internal import DataService
internal import FoundationEssentials

/// What differs between two JSON documents, by path. Depends only on its arguments.
enum JSONDifference {
  /// One line for each value that went (`- /path: value`) or came (`+ /path: value`), in the order of the paths; `nil`
  /// where either is not JSON.
  static func lines(from old: Data, to new: Data, ignoring pointers: [String]) -> [String]? {
    guard var old = JSONValue(old), var new = JSONValue(new) else { return nil }
    for pointer in pointers.compactMap({ JSONPointer($0) }) {
      old = old.removing(pointer)
      new = new.removing(pointer)
    }
    var lines: [String] = []
    compare(old, new, at: "", &lines)
    return lines
  }

  private static func compare(_ old: JSONValue?, _ new: JSONValue?, at path: String, _ lines: inout [String])
  {
    if old == new { return }
    switch (old, new) {
    case (.object(let old)?, .object(let new)?):
      for name in Set(old.keys).union(new.keys).sorted() {
        compare(old[name], new[name], at: path + "/" + escaped(name), &lines)
      }
    case (.array(let old)?, .array(let new)?):
      for index in 0..<max(old.count, new.count) {
        compare(
          index < old.count ? old[index] : nil, index < new.count ? new[index] : nil, at: "\(path)/\(index)",
          &lines)
      }
    default:
      if let old { lines.append("- \(path): \(text(old))") }
      if let new { lines.append("+ \(path): \(text(new))") }
    }
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
  static func text(_ value: JSONValue) -> String {
    switch value {
    case .null: "null"
    case .boolean(let value): value ? "true" : "false"
    case .decimal(let value): value.description
    case .double(let value): value.description
    case .string(let value): string(value)
    case .array(let values): "[" + values.map(text).joined(separator: ",") + "]"
    case .object(let members):
      "{"
        + members.sorted { $0.key < $1.key }.map { "\(string($0.key)):\(text($0.value))" }.joined(
          separator: ",") + "}"
    }
  }

  private static func string(_ value: String) -> String {
    var bytes: [UInt8] = []
    JSONWriter.append(value, to: &bytes)
    return String(decoding: bytes, as: UTF8.self)
  }
}
