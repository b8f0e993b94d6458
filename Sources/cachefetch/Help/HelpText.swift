/// The help text, generated from the table of options and the verbs.
enum HelpText {
  /// The page of `cachefetch help`: at most one screen.
  static func overview() -> String {
    var text = """
      cachefetch prints the last good response now, and the fresh one as soon as it arrives.

      usage: cachefetch [get] [options] URL…
             cachefetch VERB [options] …

      verbs:

      """
    for verb in Verb.allCases {
      text += "  \(Columns.pad(verb.rawValue, to: 12))\(verb.summary)\n"
    }
    text += "\nexamples:\n"
    for (line, meaning) in Verb.get.examples { text += "  \(line)\n      \(meaning)\n" }
    return text + """

      Durations: 500ms, 30s, 5m, 2h, 7d; a bare number is seconds. Sizes: 64k, 10M, 1G.
      cachefetch help get lists the options, cachefetch help VERB those of a verb, cachefetch help manual | man -l -
      shows the manual.

      """
  }

  /// The page of `cachefetch help VERB`, in lines of at most `width` columns, unless a single word is longer.
  static func verb(_ verb: Verb, width: Int = 80) -> String {
    let operands = verb.operands.isEmpty ? "" : " " + verb.operands
    var text = "cachefetch \(verb.rawValue): \(verb.summary)\n\n"
    text += "usage: cachefetch \(verb == .get ? "[get]" : verb.rawValue) [options]\(operands)\n\noptions:\n"
    // A narrow window has no room for the wide second column.
    let column = width < 70 ? 6 : 32
    for option in options(of: verb) {
      text += line(option.usage, option.help(for: verb), column: column, width: width)
    }
    text += notes(of: verb, width: width)
    text += "\nexamples:\n"
    for (line, meaning) in verb.examples { text += "  \(line)\n      \(meaning)\n" }
    text += "\nexit status:\n"
    for (status, meaning) in statuses(of: verb) {
      text += line(
        Columns.pad(String(status.rawValue), to: 3, isFigure: true), meaning, column: 7, width: width)
    }
    if VerbSet.combining.contains(VerbSet(verb)) {
      text += paragraph("(" + ExitStatus.combination + ")", indent: 2, width: width)
    }
    return text
  }

  /// A name with its explanation beside it, or below it if the name is too long.
  private static func line(_ name: String, _ help: String, column: Int, width: Int) -> String {
    let lines = Columns.wrapped(help, to: max(20, width - column))
    let space = String(repeating: " ", count: column)
    let isBeside = name.count + 4 <= column
    let first = isBeside ? "  " + Columns.pad(name, to: column - 2) : "  \(name)\n\(space)"
    return first + lines.joined(separator: "\n" + space) + "\n"
  }

  private static func notes(of verb: Verb, width: Int) -> String {
    var text = ""
    for note in verb.notes {
      switch note {
      case .heading(let heading): text += "\n\(heading):\n"
      case .paragraph(let words): text += paragraph(words, indent: 2, width: width)
      case .literal(let lines): text += lines.map { "    \($0)\n" }.joined()
      }
    }
    return text
  }

  private static func paragraph(_ text: String, indent: Int, width: Int) -> String {
    let space = String(repeating: " ", count: indent)
    return Columns.wrapped(text, to: max(20, width - indent)).map { space + $0 + "\n" }.joined()
  }

  /// The options of a verb, in the table's order.
  static func options(of verb: Verb) -> [Option] { Option.table.filter { $0.verbs.contains(VerbSet(verb)) } }

  /// The exit statuses a verb can end with, and what they mean there.
  static func statuses(of verb: Verb) -> [(status: ExitStatus, meaning: String)] {
    ExitStatus.allCases.compactMap { status in status.meaning(for: verb).map { (status, $0) } }
  }
}
