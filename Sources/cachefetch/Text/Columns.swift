/// Text fitted into columns.
enum Columns {
  /// The ellipsis of the locale, which may be longer than one character.
  static let ellipsis = Typography.fitting("…")

  /// At most `width` characters of `text`, with an ellipsis if something was cut off.
  static func cut(_ text: String, to width: Int, ellipsis: String = Columns.ellipsis) -> String {
    guard text.count > width else { return text }
    guard width > ellipsis.count else { return String(text.prefix(width)) }
    return "\(text.prefix(width - ellipsis.count))\(ellipsis)"
  }

  /// At most `width` characters from the end of `text`, with an ellipsis if something was cut off: URLs differ mostly
  /// at the end.
  static func end(of text: String, to width: Int, ellipsis: String = Columns.ellipsis) -> String {
    guard text.count > width else { return text }
    guard width > ellipsis.count else { return String(text.suffix(width)) }
    return "\(ellipsis)\(text.suffix(width - ellipsis.count))"
  }

  /// `text` with every word of more than `limit` characters cut in its middle: a message need not repeat a URL of a
  /// megabyte.
  static func shortened(_ text: String, wordsTo limit: Int = 300) -> String {
    guard text.utf8.count > limit else { return text }
    return text.split(separator: " ", omittingEmptySubsequences: false).map { word in
      guard word.utf8.count > limit, word.count > limit else { return String(word) }
      return word.prefix(limit * 2 / 3) + "…" + word.suffix(limit / 3)
    }.joined(separator: " ")
  }

  /// The words of `text` in lines of at most `width`; a longer word gets its own line.
  static func wrapped(_ text: String, to width: Int) -> [String] {
    wrapped(text.split(separator: " ").map(String.init), to: width)
  }

  /// `parts`, none of which is broken, in lines of at most `width`; a longer one gets its own line.
  static func wrapped(_ parts: [String], to width: Int) -> [String] {
    var lines: [String] = []
    for part in parts {
      if let last = lines.last, last.count + 1 + part.count <= width {
        lines[lines.count - 1] = last + " " + part
      } else {
        lines.append(part)
      }
    }
    return lines
  }

  /// `text` padded with spaces to `width`: after it or, for figures, before it.
  static func pad(_ text: String, to width: Int, isFigure: Bool = false) -> String {
    let space = String(repeating: " ", count: max(0, width - text.count))
    return isFigure ? space + text : text + space
  }
}
