/// Help, made of the table of options and the verbs.
enum HelpText {
  /// The page of `cachefetch help`: at most one screen.
  static func overview() -> String {
    var text = """
      cachefetch prints the last good answer now, and the fresh one as soon as the network has it.

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

      Durations read 500ms, 30s, 5m, 2h, 7d; sizes 64k, 10M, 1G.
      cachefetch help get lists the options, cachefetch help VERB those of a verb, cachefetch help manual | man -l -
      shows the manual.

      """
  }

  /// The page of `cachefetch help VERB`, in lines of at most `width` columns where its words allow it.
  static func verb(_ verb: Verb, width: Int = 100) -> String {
    let operands = verb.operands.isEmpty ? "" : " " + verb.operands
    var text = "cachefetch \(verb.rawValue): \(verb.summary)\n\n"
    text += "usage: cachefetch \(verb == .get ? "[get]" : verb.rawValue) [options]\(operands)\n\noptions:\n"
    // A narrow window has no room for two columns.
    let column = width < 70 ? 6 : 32
    for option in options(of: verb) { text += line(option.usage, option.help, column: column, width: width) }
    text += "\nexamples:\n"
    for (line, meaning) in verb.examples { text += "  \(line)\n      \(meaning)\n" }
    text += "\nexit status:\n"
    for status in statuses(of: verb) {
      text += line(
        Columns.pad(String(status.rawValue), to: 3, isFigure: true), status.meaning, column: 7, width: width)
    }
    return text
  }

  /// A name and its explanation, beside it or, where it is too long, below it.
  private static func line(_ name: String, _ help: String, column: Int, width: Int) -> String {
    let lines = Columns.wrapped(help, to: max(20, width - column))
    let space = String(repeating: " ", count: column)
    let isBeside = name.count + 4 <= column
    let first = isBeside ? "  " + Columns.pad(name, to: column - 2) : "  \(name)\n\(space)"
    return first + lines.joined(separator: "\n" + space) + "\n"
  }

  /// The options of a verb, in the table's order.
  static func options(of verb: Verb) -> [Option] { Option.table.filter { $0.verbs.contains(VerbSet(verb)) } }

  /// The exit statuses a verb has.
  static func statuses(of verb: Verb) -> [ExitStatus] {
    switch verb {
    case .get, .preload, .watch:
      ExitStatus.allCases.filter { $0 != .different && (verb == .preload || $0 != .badData) }
    case .diff:
      [.success, .different, .storedOnly, .nothing, .usage, .inputOutput, .interrupted, .terminated]
    case .doctor: [.success, .different, .usage, .inputOutput]
    case .import: [.success, .usage, .badData, .inputOutput]
    case .show: [.success, .nothing, .usage, .inputOutput]
    default: [.success, .usage, .inputOutput]
    }
  }
}
