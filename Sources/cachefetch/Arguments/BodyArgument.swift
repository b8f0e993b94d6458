/// The data of `-d TEXT`, `-d @FILE`, `-d @-` and `--data-urlencode`.
enum BodyArgument {
  /// The request body of all these options, joined by `&` as in curl; `nil` if none is given.
  static func body(_ arguments: Arguments) throws(UsageError) -> [UInt8]? {
    var body: [UInt8]?
    for option in arguments.options {
      guard [.data, .dataBinary, .dataURLEncode].contains(option.name), case .text(let text) = option.value
      else { continue }
      let part = option.name == .dataURLEncode ? try encoded(text) : try plain(text)
      body = body.map { $0 + [UInt8(ascii: "&")] + part } ?? part
    }
    return body
  }

  /// The bytes unchanged.
  private static func plain(_ text: String) throws(UsageError) -> [UInt8] {
    text.hasPrefix("@") ? try InputFile.read(String(text.dropFirst()), for: "-d") : Array(text.utf8)
  }

  /// `CONTENT`, `=CONTENT`, `NAME=CONTENT`, `@FILE` or `NAME@FILE`: the content is encoded, the name is not.
  private static func encoded(_ text: String) throws(UsageError) -> [UInt8] {
    let parts = parts(text)
    let content = try parts.file.map { path throws(UsageError) in
      try InputFile.read(path, for: "--data-urlencode")
    }
    let name = parts.name.isEmpty ? [] : Array(parts.name.utf8) + [UInt8(ascii: "=")]
    return name + (content ?? Array(parts.content.utf8)).flatMap(encoded)
  }

  private static func parts(_ text: String) -> (name: Substring, content: Substring, file: String?) {
    // As in curl: splits at the first =, or if there is none at the first @.
    guard let mark = text.firstIndex(of: "=") ?? text.firstIndex(of: "@") else { return ("", text[...], nil) }
    let rest = text[text.index(after: mark)...]
    return text[mark] == "=" ? (text[..<mark], rest, nil) : (text[..<mark], "", String(rest))
  }

  /// Encodes as in an HTML form: a space becomes `+`.
  private static func encoded(_ byte: UInt8) -> [UInt8] {
    switch byte {
    case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, 0x2D, 0x2E, 0x5F, 0x7E: return [byte]
    case 0x20: return [0x2B]
    default:
      let digits = Array("0123456789ABCDEF".utf8)
      return [0x25, digits[Int(byte >> 4)], digits[Int(byte & 15)]]
    }
  }
}
