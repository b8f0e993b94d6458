/// Text fitted into columns.
enum Columns {
  /// At most `width` characters of `text`, with an ellipsis where something was cut off.
  static func cut(_ text: String, to width: Int) -> String {
    guard text.count > width else { return text }
    return width < 2 ? String(text.prefix(width)) : text.prefix(width - 1) + "…"
  }

  /// The words of `text` in lines of at most `width`; a longer word has a line of its own.
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

  /// `text` filled with spaces to `width`, at its end or, for figures, before it.
  static func pad(_ text: String, to width: Int, isFigure: Bool = false) -> String {
    let space = String(repeating: " ", count: max(0, width - text.count))
    return isFigure ? space + text : text + space
  }
}
