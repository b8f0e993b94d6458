/// The help text, generated from the table of options and the verbs.
enum HelpText {
  /// The page of `cachefetch help`: within 24 lines of 80 columns, unless the store's path is longer than that.
  ///
  /// - Parameter store: Where the store is.
  static func overview(store: String) -> String {
    """
    cachefetch prints the last good response now, and the fresh one when it comes.

    usage: cachefetch [get] [options] URL…, or cachefetch VERB [options] …

    examples:
      cachefetch URL                     the stored response, then the fresh one
      cachefetch --one URL | jq .        one body, and never an error page
      cachefetch --offline URL           the stored one, without the network
      cachefetch --one --max-age 5m URL  asks the server if it is older than that
      cachefetch watch --every 1m URL    prints each change
    in a script: cachefetch --one URL; 0 fresh, 3 stored, 4 or 22 nothing

    verbs:
      get, preload, watch, diff           fetch: one, many, again and again, compare
      list, show, explain, stats, report  look at what is stored
      rm, unmark, sign-out, limits        remove some of it, or limit it
      export, import, doctor              copy the store, check it
      serve, completions, help            keep connections; for shells; this

    store: \(store)
           ($CACHEFETCH_STORE or --store PATH names another)
    more:  cachefetch help get (all options), cachefetch help VERB, man cachefetch
           (or cachefetch help manual | man -l -), cachefetch help tier (Redis)

    """
  }

  /// The page of `cachefetch help VERB`, in lines of at most `width` columns, unless a single word is longer.
  static func verb(_ verb: Verb, width: Int = 80) -> String {
    let operands = verb.operands.isEmpty ? "" : " " + verb.operands
    var text = paragraph("cachefetch \(verb.rawValue): \(verb.summary)", indent: 0, width: width)
    text += "\nusage: cachefetch \(verb == .get ? "[get]" : verb.rawValue) [options]\(operands)\n"
    text += optionTexts(of: verb, width: width) + Self.text(verb.notes, width: width)
    text += "\nexamples:\n"
    for (line, meaning) in verb.examples {
      text += "  \(line)\n" + paragraph(meaning, indent: 6, width: width)
    }
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

  /// The options of `get` in their groups; of another verb those of its own, and the names of those that the page of
  /// `get` or `list` explains in the same words.
  private static func optionTexts(of verb: Verb, width: Int) -> String {
    let all = options(of: verb)
    func texts(_ heading: String, _ options: [Option]) -> String {
      options.isEmpty
        ? ""
        : "\n\(heading):\n"
          + options.map {
            line($0.usage, $0.help(for: verb), column: column(32, width), width: width)
          }.joined()
    }
    if verb == .get {
      return OptionGroup.allCases.map { group in texts(group.rawValue, all.filter { $0.name.group == group })
      }.joined()
    }
    var text = texts("options", all.filter { model(of: $0, for: verb) == nil })
    for other in [Verb.get, .list] {
      let shared = all.filter { model(of: $0, for: verb) == other }
      if shared.isEmpty { continue }
      text += "\nand, from cachefetch help \(other.rawValue):\n"
      for group in OptionGroup.allCases {
        let names = shared.filter { $0.name.group == group }.map { $0.short.map { "-\($0)" } ?? $0.spelling }
        if names.isEmpty { continue }
        text += line(group.rawValue, names.joined(separator: ", "), column: column(24, width), width: width)
      }
    }
    return text
  }

  /// The verb whose page explains an option in the same words, if that is not the verb's own.
  static func model(of option: Option, for verb: Verb) -> Verb? {
    verb == .get
      ? nil
      : [Verb.get, .list].first {
        $0 != verb && option.verbs.contains(VerbSet($0)) && option.help(for: $0) == option.help(for: verb)
      }
  }

  /// A narrow window has no room for a wide second column.
  private static func column(_ column: Int, _ width: Int) -> Int { width < 70 ? 6 : column }

  /// A name with its explanation beside it, or below it if the name is too long.
  private static func line(_ name: String, _ help: String, column: Int, width: Int) -> String {
    let lines = Columns.wrapped(help, to: max(20, width - column))
    let space = String(repeating: " ", count: column)
    let isBeside = name.count + 4 <= column
    let first = isBeside ? "  " + Columns.pad(name, to: column - 2) : "  \(name)\n\(space)"
    return first + lines.joined(separator: "\n" + space) + "\n"
  }

  /// Notes as they stand on a page.
  static func text(_ notes: [Note], width: Int) -> String {
    var text = ""
    for note in notes {
      switch note {
      case .heading(let heading): text += "\n\(heading):\n"
      case .paragraph(let words): text += paragraph(words, indent: 2, width: width)
      case .literal(let lines): text += lines.map { "    \($0)\n" }.joined()
      case .items(let items):
        text += NamedText.lines(items).map { line($0.name, $0.text, column: column(24, width), width: width) }
          .joined()
      }
    }
    return text
  }

  private static func paragraph(_ text: String, indent: Int, width: Int) -> String {
    let space = String(repeating: " ", count: indent)
    return Columns.wrapped(text, to: max(20, width - indent)).map { space + $0 + "\n" }.joined()
  }

  /// The options of a verb, in the table's order. Of the key of a fleet its own page tells.
  static func options(of verb: Verb) -> [Option] {
    Option.table.filter { $0.verbs.contains(VerbSet(verb)) && $0.name != .newFleetKey }
  }

  /// The exit statuses a verb can end with, and what they mean there.
  static func statuses(of verb: Verb) -> [(status: ExitStatus, meaning: String)] {
    ExitStatus.allCases.compactMap { status in status.meaning(for: verb).map { (status, $0) } }
  }
}

/// What help and the manual say besides options.
enum Note {
  case heading(String)
  case paragraph(String)
  case literal([String])
  /// Lines of `name | explanation`.
  case items(String)
}

extension HelpText {
  /// The page of `cachefetch help tier`.
  static let tier: [Note] = [
    .heading("sharing responses through Redis"),
    .paragraph(
      "Machines can share what one of them has fetched, through a Redis server (6.2 or newer, or Valkey). Each keeps a "
        + "store of its own; where the server is away, nothing fails, and each machine fetches for itself."),
    .literal(["export CACHEFETCH_TIER='rediss://USER@HOST:6380/0?key-file=FILE'", "cachefetch doctor"]),
    .paragraph(
      "The URL, in $CACHEFETCH_TIER or with --tier (--no-tier: no server, whatever the variable says):"),
    .items(
      """
      redis://HOST:PORT/DB | plain; rediss:// is TLS, redis+unix:///SOCKET a local socket
      key-file=FILE | required: the keys that seal what is shared, one per line; the first seals, all of them open
      password-file=FILE | the user's password; ca-file, cert-file, cert-key-file: for TLS
      accounts=A,B | share what is stored for these accounts (--account), where the server says public, s-maxage or must-revalidate
      keep=1d, max-body=8M | how long a response stays there, and how large it may be; patience=95ms: how long to wait for an answer
      plain-http=yes | share what comes from http:// too; read-only=yes: ask, and share nothing
      """),
    .paragraph("Make the key on one machine and copy it to all:"),
    .literal(["(umask 077; cachefetch doctor --new-fleet-key > fleet.key)"]),
    .paragraph(
      "Without accounts only responses to requests without credentials are shared; cachefetch explain URL says whether "
        + "one is, and why. cachefetch rm --fleet removes from the server too, and cachefetch sign-out --account makes "
        + "what it has of the account unreadable. Other machines keep what they have stored."),
  ]
}

extension Verb {
  /// The notes on a verb; none for most.
  var notes: [Note] {
    switch self {
    case .get: Self.getNotes
    case .preload: Self.preloadNotes
    case .list: Self.listNotes
    case .rm: [.heading("what rm removes"), .paragraph(Self.choosing), .paragraph(Self.asking)]
    case .unmark: [.heading("what unmark changes"), .paragraph(Self.choosing)]
    case .signOut: [.heading("what sign-out asks"), .paragraph(Self.asking)]
    case .limits: Self.limitsNotes
    case .report: Self.reportNotes
    default: []
    }
  }

  private static let getNotes: [Note] = [
    .heading("policies"),
    .items(
      """
      stored-then-fresh | the stored response at once, then the fresh one (default)
      stored-only | the stored response, whatever its age, without the network (--offline)
      fresh-only | the fresh response or nothing; the stored one only saves its transfer if it is unchanged
      fresh-else-stored | the fresh response, else the stored one; --deadline D limits the wait
      --max-age D | the stored response if it is not older than D; else the fresh one, else the stored one
      http | as RFC 9111 has it: the stored response while the server's max-age or Expires allows it, else the fresh one; a stale one only if there is no answer and the server has not forbidden it
      """),
    .heading("values"),
    .paragraph("Durations: 500ms, 30s, 5m, 2h, 7d; a bare number is seconds. Sizes: 64k, 10M, 1G."),
    .paragraph("As in curl, -L, -s (here -q), --compressed and --url URL are accepted."),
  ]

  private static let listNotes: [Note] = [
    .heading("columns of list"),
    .paragraph(
      "On a terminal: when the entry was received, its size, its state (and its status if that is not 200), and what it "
        + "is stored for: the URL or key:KEY, the [account], the options that are part of the key, the request headers "
        + "that Vary names in parentheses, #tags. Fresh and stale are said where the server has given a lifetime."
    ),
    .paragraph(
      "In a pipe, separated by tabs: 1 the time (ISO 8601, UTC), 2 the size in bytes, 3 the status, 4 the state, 5 the "
        + "account, 6 the URL or key:KEY, 7 the options of the key and the headers, 8 the #tags."),
  ]

  private static let choosing =
    "A URL means its entries of every account and of every option that is part of the key; the options "
    + "above that list shows too (--account, -k, --resolve and others) narrow that. With --exact it is the entry alone "
    + "that show prints with the same options, among them -H. key:KEY means the entry stored with --key KEY."

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

  private static let reportNotes: [Note] = [
    .heading("what report writes"),
    .paragraph(
      "One HTML file that loads nothing: the entries that are selected, each with its headers, what explain says of it, "
        + "and its body; and plots of what stats counts, for their accounts and hosts. Secrets are left out, as in list."
    ),
    .paragraph(
      "Of bodies it holds text and images up to 64 KiB each and 16 MiB in all, those used last; without --bodies none that "
        + "belongs to an account. Of more than 50,000 entries it holds those used last."),
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
      #"  {"url": "https://news.example.com/feed", "name": "feed","#,
      #"   "account": "alice", "fields": {"Accept": "text/html"}, "tags": ["launch"]},"#,
      #"  {"url": "https://news.example.com/advert"}]}"#,
    ]),
    .paragraph(
      "Only steps and the url of each must be there. deadline_ms, max_age_ms and parallel are what --deadline, "
        + "--max-age and --parallel say, which win over them; what a step leaves open is as the options say. "
        + "readiness, weight and critical are understood too; apps use them, preload waits for every step."),
  ]
}
