/// Replaces the typographic marks of messages and help with ASCII if the locale lacks them.
enum Typography {
  /// `text` for the locale: in ASCII if the locale names a character set other than UTF-8. Without a locale, as in many
  /// containers and cron jobs, UTF-8 is assumed.
  static func fitting(_ text: String, isUTF8: () -> Bool = { Typography.isUTF8(Environment.value) }) -> String
  {
    text.utf8.contains { $0 >= 0x80 } && !isUTF8() ? ascii(text) : text
  }

  /// Whether the locale's character set is UTF-8 or not named.
  static func isUTF8(_ variable: (String) -> String?) -> Bool {
    for name in ["LC_ALL", "LC_CTYPE", "LANG"] {
      guard let locale = variable(name), !locale.isEmpty else { continue }
      let name = locale.lowercased()
      return name.contains("utf-8") || name.contains("utf8")
    }
    return true
  }

  /// `text` with the marks that messages use in their ASCII form; other characters stay.
  static func ascii(_ text: String) -> String {
    var plain = ""
    for scalar in text.unicodeScalars {
      switch scalar {
      case "“", "”": plain += "\""
      case "‘", "’": plain += "'"
      case "→": plain += "->"
      case "…": plain += "..."
      case "·": plain += "-"
      case "–", "—": plain += "-"
      default: plain.unicodeScalars.append(scalar)
      }
    }
    return plain
  }
}

/// Converts text in a single-byte encoding that web servers still declare to UTF-8, for a terminal.
///
/// ISO 8859-1 and US-ASCII are read as Windows-1252, as browsers do: it has printable characters where those have
/// control characters.
struct SingleByteText {
  /// The encoding that a `Content-Type` declares; `nil` for UTF-8, for unknown encodings and without a declaration.
  init?(contentType: String?) {
    guard let parameters = contentType?.split(separator: ";").dropFirst() else { return nil }
    for parameter in parameters {
      let parts = parameter.split(separator: "=", maxSplits: 1).map { part in
        part.filter { $0 != " " && $0 != "\t" && $0 != "\"" && $0 != "'" }.lowercased()
      }
      if parts.count == 2, parts[0] == "charset" {
        guard Self.names.contains(parts[1]) else { return nil }
        return
      }
    }
    return nil
  }

  /// The bytes as UTF-8. The five undefined bytes stay unchanged.
  func utf8(_ bytes: some Collection<UInt8>) -> [UInt8] {
    var text: [UInt8] = []
    text.reserveCapacity(bytes.count)
    for byte in bytes {
      switch byte {
      case 0x00..<0x80: text.append(byte)
      case 0x80..<0xA0:
        let value = Self.upper[Int(byte) - 0x80]
        if value == 0 { text.append(byte) } else { text += (Unicode.Scalar(value) ?? "?").utf8 }
      default:
        text.append(0xC0 | byte >> 6)
        text.append(0x80 | byte & 0x3F)
      }
    }
    return text
  }

  private static let names = [
    "iso-8859-1", "iso8859-1", "iso_8859-1", "latin1", "latin-1", "l1", "windows-1252", "cp1252", "x-cp1252",
    "us-ascii", "ascii",
  ]

  /// The code points of Windows-1252 from 0x80 to 0x9F; 0 if undefined.
  private static let upper: [UInt32] = [
    0x20AC, 0, 0x201A, 0x0192, 0x201E, 0x2026, 0x2020, 0x2021, 0x02C6, 0x2030, 0x0160, 0x2039, 0x0152, 0,
    0x017D, 0,
    0, 0x2018, 0x2019, 0x201C, 0x201D, 0x2022, 0x2013, 0x2014, 0x02DC, 0x2122, 0x0161, 0x203A, 0x0153, 0,
    0x017E,
    0x0178,
  ]
}
