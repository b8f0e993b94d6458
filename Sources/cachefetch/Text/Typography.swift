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
