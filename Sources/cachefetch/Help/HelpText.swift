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

extension Verb {
  /// What help and the manual say about a verb besides its options: headings, paragraphs, and preformatted text.
  enum Note {
    case heading(String)
    case paragraph(String)
    case literal([String])
  }

  /// The notes on a verb; none for most.
  var notes: [Note] {
    switch self {
    case .preload: Self.preloadNotes
    case .list: Self.listNotes
    case .rm: [.heading("what rm removes"), .paragraph(Self.choosing), .paragraph(Self.asking)]
    case .unpin: [.heading("what unpin changes"), .paragraph(Self.choosing)]
    case .untag: [.heading("what untag changes"), .paragraph(Self.choosing)]
    case .signOut: [.heading("what sign-out asks"), .paragraph(Self.asking)]
    case .limits: Self.limitsNotes
    default: []
    }
  }

  private static let listNotes: [Note] = [
    .heading("columns of list"),
    .paragraph(
      "When the entry was received, its size, its state (and its status where that is not 200), and what it is stored "
        + "for: the URL or key:KEY, the [account], the options that are part of the key, the request headers that Vary "
        + "names in parentheses, #tags. A terminal shows a header and a total too."),
  ]

  private static let choosing =
    "A URL means its entries of every account and of every option that is part of the key; the options "
    + "above that list shows too (--account, -k, --resolve and others) narrow that. With --exact it is the entry alone "
    + "that show prints with the same options. key:KEY means the entry stored with --key KEY."

  private static let asking =
    "One entry is removed without a question. More than one are removed after a yes, from the person at the terminal "
    + "or from --yes; without either it ends with 64."

  private static let limitsNotes: [Note] = [
    .heading("limits of the store"),
    .paragraph(
      "Without options the limits are shown, with what is used of them. A limit that is set is kept in the store and "
        + "holds for every program that uses it; what is over it is removed at once, least recently used first. Pinned "
        + "entries stay."),
  ]

  private static let preloadNotes: [Note] = [
    .heading("lists and plans"),
    .paragraph(
      "One operand may be a file: a list, or a plan, told apart by content; - is standard input. A list has one whole "
        + "URL per line; empty lines and lines that begin with # are skipped."),
    .paragraph(
      "A plan gives each request headers, an account and tags of its own:"),
    .literal([
      #"{"deadline_ms": 3000, "max_age_ms": 60000, "parallel": 6, "steps": ["#,
      #"  {"url": "https://news.example.com/feed", "name": "feed", "account": "alice","#,
      #"   "fields": {"Accept": "application/json"}, "tags": ["launch"]},"#,
      #"  {"url": "https://news.example.com/advert"}]}"#,
    ]),
    .paragraph(
      "Only steps and the url of each must be there. deadline_ms, max_age_ms and parallel are what --deadline, "
        + "--max-age and --parallel say, which win over them; what a step leaves open is as the options say. "
        + "readiness, weight and critical are understood too; apps use them, preload waits for every step."),
  ]
}
