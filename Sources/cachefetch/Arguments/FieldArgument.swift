internal import CacheStore
internal import PlatformFoundation

/// The fields of `-H 'N: V'` and `-H @FILE`. No message ever shows a value: it may be a secret.
enum FieldArgument {
  /// Adds the fields of one `-H`.
  static func append(_ argument: String, to fields: inout HTTPFields) throws(UsageError) {
    if argument.hasPrefix("@") {
      let path = String(argument.dropFirst())
      let lines = try InputFile.read(path, for: "-H").split(
        separator: 0x0A, omittingEmptySubsequences: false)
      for (index, line) in lines.enumerated() {
        let line = line.last == 0x0D ? line.dropLast() : line
        if line.isEmpty { continue }
        try append(line: line, origin: "line \(index + 1) of \(TerminalText.visible(path))", to: &fields)
      }
    } else {
      try append(line: Array(argument.utf8)[...], origin: "-H", to: &fields)
    }
  }

  private static func append(line: ArraySlice<UInt8>, origin: String, to fields: inout HTTPFields)
    throws(UsageError)
  {
    // As in curl, `Name;` sends an empty field.
    if line.last == 0x3B, !line.contains(0x3A) {
      return try take(name: line.dropLast(), value: [], origin: origin, into: &fields)
    }
    guard let colon = line.firstIndex(of: 0x3A) else {
      throw UsageError("\(origin) has no colon in it", "write -H 'Name: value'")
    }
    let value = line[(colon + 1)...]
    if value.allSatisfy({ $0 == 0x20 || $0 == 0x09 }) {
      let name = TerminalText.visible(String(decoding: line[..<colon], as: UTF8.self))
      throw UsageError("header “\(name)” has no value", "write -H '\(name);' to send it empty")
    }
    try take(name: line[..<colon], value: value, origin: origin, into: &fields)
  }

  private static func take(
    name: ArraySlice<UInt8>, value: ArraySlice<UInt8>, origin: String, into fields: inout HTTPFields
  ) throws(UsageError) {
    var one = HTTPFields()
    one.append(name: Array(name), value: Array(value))
    if let refused = one.refused {
      throw UsageError("\(origin): \(TerminalText.visible(refused))", "write -H 'Name: value', on one line")
    }
    fields.append(contentsOf: one)
  }

  /// The `Authorization` value of `-u USER:PASSWORD` or `-u @FILE`.
  static func basicCredentials(_ argument: String) throws(UsageError) -> String {
    var bytes = Array(argument.utf8)
    if argument.hasPrefix("@") {
      bytes = try InputFile.read(String(argument.dropFirst()), for: "-u")
      while let last = bytes.last, last == 0x0A || last == 0x0D { bytes.removeLast() }
    }
    guard bytes.contains(0x3A) else {
      throw UsageError(
        "-u has no colon in it", "write -u USER:PASSWORD, or -u @FILE to keep it off the command line")
    }
    return basic(bytes)
  }

  /// The `Authorization` value of `user:password`.
  static func basic(_ bytes: [UInt8]) -> String { "Basic " + Data(bytes).base64EncodedString() }
}
