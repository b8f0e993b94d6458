/// User names and passwords by host, from a file as curl and ftp(1) read it: `machine`, `default`, `login`, `password`,
/// `account` and `macdef`, separated by white space, with `#` before a comment and `"` around values that contain white
/// space.
struct Netrc {
  /// Credentials; text of any bytes.
  struct Credentials: Hashable {
    var login: [UInt8] = []
    var password: [UInt8] = []
  }

  private struct Entry {
    /// In lower case; `nil` for `default`.
    let host: String?
    var login: [UInt8]?
    var password: [UInt8]?
  }

  private var entries: [Entry] = []

  /// The file: `$NETRC`, else `.netrc` in the home folder.
  static func path() -> String {
    if let path = Environment.value("NETRC"), !path.isEmpty { return path }
    return (Environment.value("HOME") ?? "") + "/.netrc"
  }

  /// Reads the user's file. Errors name the mistake but quote nothing from the file.
  static func ofUser() throws(UsageError) -> Netrc {
    let path = path()
    return try Netrc(try InputFile.read(path, for: "-n"), name: TerminalText.visible(path))
  }

  init(_ bytes: [UInt8], name: String = "netrc") throws(UsageError) {
    var tokens = NetrcTokens(bytes)
    func refuse(_ what: String) -> UsageError {
      UsageError(
        "\(name), line \(tokens.line): \(what)", "write machine HOST login USER password PASSWORD")
    }
    func value(of word: String) throws(UsageError) -> [UInt8] {
      guard let value = tokens.next() else { throw refuse("nothing follows “\(word)”") }
      return value
    }
    while let token = tokens.next() {
      let word = String(decoding: token, as: UTF8.self)
      switch word {
      case "machine":
        entries.append(Entry(host: String(decoding: try value(of: word), as: UTF8.self).lowercased()))
      case "default": entries.append(Entry(host: nil))
      case "macdef": tokens.skipMacro()
      case "login", "password", "account":
        let value = try value(of: word)
        guard !entries.isEmpty else { throw refuse("“\(word)” stands before the first machine") }
        if word == "login" { entries[entries.count - 1].login = value }
        if word == "password" { entries[entries.count - 1].password = value }
      default:
        // The word may be part of a password that contains a space, so it is not shown.
        throw refuse("a word is none of machine, default, login, password, account, macdef")
      }
    }
    if tokens.isUnclosed { throw refuse("a quotation mark is not closed") }
  }

  /// The credentials for a host: those of the first entry that names it, otherwise of `default`. If a user is given,
  /// only entries for that user, or without a user, count.
  func credentials(for host: String, user: String?) -> Credentials? {
    let host = host.lowercased()
    let wanted = user.map { Array($0.utf8) }
    let found = entries.first { entry in
      (entry.host == host || entry.host == nil)
        && (wanted == nil || entry.login == nil || entry.login == wanted)
    }
    guard let found, found.login != nil || found.password != nil else { return nil }
    return Credentials(login: wanted ?? found.login ?? [], password: found.password ?? [])
  }
}

/// The words of a netrc file.
private struct NetrcTokens {
  private let bytes: [UInt8]
  private var position = 0
  /// The line last read, counted from 1.
  private(set) var line = 1
  /// Whether the text ended within quotation marks.
  private(set) var isUnclosed = false

  init(_ bytes: [UInt8]) { self.bytes = bytes }

  mutating func next() -> [UInt8]? {
    while let byte = peek {
      if byte == UInt8(ascii: "#") {
        while let byte = peek, byte != 0x0A { position += 1 }
      } else if Self.isSpace(byte) {
        advance()
      } else {
        return byte == UInt8(ascii: "\"") ? quoted() : plain()
      }
    }
    return nil
  }

  /// A macro ends with an empty line.
  mutating func skipMacro() {
    var wasLineFeed = false
    while let byte = peek {
      advance()
      if byte == 0x0A, wasLineFeed { return }
      if byte != 0x0D { wasLineFeed = byte == 0x0A }
    }
  }

  private var peek: UInt8? { position < bytes.count ? bytes[position] : nil }

  private mutating func advance() {
    if bytes[position] == 0x0A { line += 1 }
    position += 1
  }

  private mutating func plain() -> [UInt8] {
    let start = position
    while let byte = peek, !Self.isSpace(byte) { position += 1 }
    return Array(bytes[start..<position])
  }

  private mutating func quoted() -> [UInt8] {
    var text: [UInt8] = []
    advance()
    while let byte = peek {
      advance()
      if byte == UInt8(ascii: "\"") { return text }
      guard byte == UInt8(ascii: "\\"), let escaped = peek else {
        text.append(byte)
        continue
      }
      advance()
      switch escaped {
      case UInt8(ascii: "n"): text.append(0x0A)
      case UInt8(ascii: "r"): text.append(0x0D)
      case UInt8(ascii: "t"): text.append(0x09)
      default: text.append(escaped)
      }
    }
    isUnclosed = true
    return text
  }

  private static func isSpace(_ byte: UInt8) -> Bool { byte == 0x20 || (0x09...0x0D).contains(byte) }
}
