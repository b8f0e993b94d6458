/// A command line as bash sees it during completion. It splits the line into words, and quotes candidates so that bash
/// reads each as one word. Pure.
///
/// bash inserts a completion function's reply unchanged. The reply replaces the text after the last word-breaking
/// character (`COMP_WORDBREAKS`) or after an opening quotation mark.
struct BashLine {
  /// The quotation mark open at the end of the last word.
  enum Quote: Character { case none = " ", single = "'", double = "\"" }

  /// The words without their quotation marks, the one being typed last.
  private(set) var words: [String] = []
  /// The quotation mark open at the end of the line.
  private(set) var quote = Quote.none
  /// How many characters of the last word precede the text that bash replaces.
  private(set) var kept = 0

  /// Splits the line up to the cursor.
  init(_ line: String, breaks: String) {
    let breaks = Set(breaks)
    var word: String?
    var isEscaped = false
    for character in line {
      if isEscaped {
        isEscaped = false
        // Within double quotes a backslash is literal before most characters.
        if quote == .double, !"$`\"\\".contains(character) { word = (word ?? "") + "\\" }
        word = (word ?? "") + String(character)
        continue
      }
      switch (quote, character) {
      case (.none, "\\"), (.double, "\\"):
        isEscaped = true
        word = word ?? ""
      case (.none, "'"), (.none, "\""):
        quote = Quote(rawValue: character) ?? .none
        kept = word?.count ?? 0
        word = word ?? ""
      case (.single, "'"), (.double, "\""):
        quote = .none
        kept = word?.count ?? 0
      case (.none, " "), (.none, "\t"), (.none, "\n"):
        if let word { words.append(word) }
        word = nil
        kept = 0
      case (.none, ";"), (.none, "|"), (.none, "&"):
        // Another command begins.
        words = []
        word = nil
        kept = 0
      default:
        word = (word ?? "") + String(character)
        if quote == .none, breaks.contains(character) { kept = word?.count ?? 0 }
      }
    }
    words.append(word ?? "")
  }

  /// The text that replaces the end of the last word to make it `candidate`; `nil` if no quoting is safe.
  func replacement(for candidate: String) -> String? {
    guard !candidate.unicodeScalars.contains(where: TerminalText.isUnsafe), let word = words.last,
      candidate.hasPrefix(word.prefix(kept))
    else { return nil }
    let rest = candidate.dropFirst(kept)
    switch quote {
    case .none: return Self.escaped(rest, isWordStart: kept == 0)
    case .single: return rest.reduce(into: "") { $0 += $1 == "'" ? "'\\''" : String($1) }
    case .double:
      return rest.reduce(into: "") { text, character in
        switch character {
        case "$", "`", "\"", "\\": text += "\\" + String(character)
        // Within double quotes a backslash before `!` stays, so `!` goes into single quotes.
        case "!": text += "\"'!'\""
        default: text.append(character)
        }
      }
    }
  }

  /// A word outside of quotation marks, with a backslash before each character special to bash.
  private static func escaped(_ text: Substring, isWordStart: Bool) -> String {
    var escaped = ""
    for (index, character) in text.enumerated() {
      let isPlain =
        character.isLetter || character.isNumber || "_./:=@%+,-".contains(character) || !character.isASCII
      let isTilde = character == "~" && !(isWordStart && index == 0)
      escaped += isPlain || isTilde ? String(character) : "\\" + String(character)
    }
    return escaped
  }
}
