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

  /// The page of `cachefetch help VERB`.
  static func verb(_ verb: Verb) -> String {
    let operands = verb.operands.isEmpty ? "" : " " + verb.operands
    var text = "cachefetch \(verb.rawValue): \(verb.summary)\n\n"
    text += "usage: cachefetch \(verb == .get ? "[get]" : verb.rawValue) [options]\(operands)\n\noptions:\n"
    for option in options(of: verb) {
      let usage = option.usage
      // Help stands on one line where the usage leaves room for it.
      text +=
        usage.count <= 28
        ? "  \(Columns.pad(usage, to: 30))\(option.help)\n" : "  \(usage)\n\(indent)\(option.help)\n"
    }
    text += "\nexamples:\n"
    for (line, meaning) in verb.examples { text += "  \(line)\n      \(meaning)\n" }
    text += "\nexit status:\n"
    for status in statuses(of: verb) {
      text += "  \(Columns.pad(String(status.rawValue), to: 5, isFigure: true))  \(status.meaning)\n"
    }
    return text
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

  private static let indent = String(repeating: " ", count: 32)
}
