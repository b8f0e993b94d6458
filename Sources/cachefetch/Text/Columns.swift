/// Text fitted into columns.
enum Columns {
  /// At most `width` characters of `text`, with an ellipsis if something was cut off.
  static func cut(_ text: String, to width: Int) -> String {
    guard text.count > width else { return text }
    return width < 2 ? String(text.prefix(width)) : text.prefix(width - 1) + "…"
  }

  /// At most `width` characters from the end of `text`, with an ellipsis if something was cut off: URLs differ mostly
  /// at the end.
  static func end(of text: String, to width: Int) -> String {
    guard text.count > width else { return text }
    return width < 2 ? String(text.suffix(width)) : "…" + text.suffix(width - 1)
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
    var lines: [String] = []
    for word in text.split(separator: " ") {
      if let last = lines.last, last.count + 1 + word.count <= width {
        lines[lines.count - 1] = last + " " + word
      } else {
        lines.append(String(word))
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
