/// The command's verbs.
enum Verb: String, CaseIterable, Sendable {
  case get, preload, watch, diff, serve, explain, list, show, rm, unmark
  case signOut = "sign-out"
  case stats, report, limits, doctor, export
  case `import` = "import"
  case completions, help

  /// The verb with this name. `init(rawValue:)` would first build a table of all verbs, for one lookup.
  static func named(_ name: String) -> Verb? { allCases.first { $0.rawValue == name } }

  /// The operands, as help shows them.
  var operands: String { row.operands }
  /// How many operands it takes.
  var operandCount: ClosedRange<Int> { row.count }
  /// A one-line summary.
  var summary: String { row.summary }

  private var row: (operands: String, count: ClosedRange<Int>, summary: String) {
    switch self {
    case .get: ("URL…", 1...Int.max, "print the stored response, then the fresh one (the default verb)")
    case .preload: ("PLAN | LIST | URL… | -", 1...Int.max, "fetch a list of requests into the store")
    case .watch: ("URL…", 1...Int.max, "check URLs again and again, and print changes only")
    case .diff: ("URL", 1...1, "compare the stored response with the fresh one")
    case .serve: ("", 0...0, "keep connections, for commands and programs that ask over a Unix socket")
    case .explain: ("URL", 1...1, "show what would be printed, and why")
    case .list: ("", 0...0, "list stored responses")
    case .show: ("URL | --key KEY", 0...1, "print a stored response, without using the network")
    case .rm: ("[URL…]", 0...Int.max, "remove stored responses")
    case .unmark: ("[URL…]", 0...Int.max, "remove the pin or tags from stored responses")
    case .signOut: ("", 0...0, "securely erase everything stored for an account")
    case .stats: ("", 0...0, "show how much traffic and time the store has saved")
    case .report: ("", 0...0, "write a page about the store, for a browser")
    case .limits: ("", 0...0, "show or set how large the store may become")
    case .doctor: ("", 0...0, "check the store and what it depends on")
    case .export: ("FILE", 1...1, "write a portable copy of the store")
    case .import: ("FILE", 1...1, "add the responses of a portable copy to the store")
    case .completions: ("bash|zsh|fish", 1...Int.max, "print the completion script for a shell")
    case .help:
      ("[VERB|tier|manual]", 0...1, "show help for the command, a verb or the tier, or the manual page")
    }
  }

  /// Examples for help and the manual: a command line and what it does.
  var examples: [(line: String, meaning: String)] {
    NamedText.lines(Self.allExamples).filter { $0.name == rawValue }.map {
      let parts = $0.text.split(separator: "  # ")
      return (String(parts[0]), String(parts[1]))
    }
  }

  private static let allExamples = """
    get | cachefetch https://example.com/news.json  # the stored response at once, then the fresh one
    get | cachefetch --offline https://example.com/news.json  # the stored one, without using the network
    get | cachefetch --one --max-age 5m https://example.com/news.json | jq .  # one body; asks only if the stored one is older
    get | cachefetch --one --deadline 2s https://example.com/news.json  # the fresh one if it comes in time, else the stored one
    preload | cachefetch preload --parallel 8 - < urls.txt  # fill the store before a journey
    watch | cachefetch watch --every 1m --json https://example.com/news.json  # one line of JSON per change, outage or recovery
    diff | cachefetch diff https://example.com/news.json  # what changed since the stored response
    serve | cachefetch serve --idle 1h  # while it runs, refreshes go over connections that it keeps
    explain | cachefetch explain https://example.com/news.json  # what would be printed, and which rule decides under each policy
    list | cachefetch list --host example.com --sort size  # the largest last
    list | cachefetch list --stale --json  # one line of JSON per stale entry
    show | cachefetch show -i https://example.com/news.json  # headers and body as stored
    rm | cachefetch rm --older-than 30d --yes  # without asking
    rm | cachefetch rm --exact https://example.com/news.json  # not what is stored of it for accounts, or with -k
    unmark | cachefetch unmark --pin --host example.com  # the limits of the store apply to them again
    unmark | cachefetch unmark --tag demo  # the entries stay, without the tag
    sign-out | cachefetch sign-out --account alice  # leaves nothing of alice in the file
    stats | cachefetch stats --json  # the counts by account and host
    report | cachefetch report -o report.html  # open it in a browser, or mail it
    report | cachefetch report --host example.com --bodies > example.html  # of one host, with the bodies of accounts
    limits | cachefetch limits --bytes 500M --older-than 90d  # for every program that uses the store
    doctor | cachefetch doctor  # exit status 1 if something is wrong
    export | cachefetch export --tag demo demo.cfx  # an offline copy for a demonstration
    import | cachefetch import demo.cfx  # checked as a whole before an entry is added
    completions | source <(cachefetch completions bash)  # in this shell, now
    help | cachefetch help watch  # the options of one verb
    """
}

/// A set of verbs: those an option applies to.
struct VerbSet: OptionSet, Sendable, Hashable {
  let rawValue: UInt32

  init(rawValue: UInt32) { self.rawValue = rawValue }

  init(_ verb: Verb) { rawValue = 1 << UInt32(Verb.allCases.firstIndex(of: verb) ?? 0) }

  static let get = VerbSet(.get)
  static let preload = VerbSet(.preload)
  static let watch = VerbSet(.watch)
  static let diff = VerbSet(.diff)
  static let serve = VerbSet(.serve)
  static let explain = VerbSet(.explain)
  static let list = VerbSet(.list)
  static let show = VerbSet(.show)
  static let rm = VerbSet(.rm)
  static let unmark = VerbSet(.unmark)
  static let signOut = VerbSet(.signOut)
  static let stats = VerbSet(.stats)
  static let report = VerbSet(.report)
  static let limits = VerbSet(.limits)
  static let doctor = VerbSet(.doctor)
  static let export = VerbSet(.export)
  static let `import` = VerbSet(.import)
  static let completions = VerbSet(.completions)
  static let help = VerbSet(.help)

  /// Verbs that use the network.
  static let fetching: VerbSet = [.get, .preload, .watch, .diff]
  /// Verbs that name a request, if only to look it up.
  static let requesting: VerbSet = [.get, .preload, .watch, .diff, .explain, .show]
  /// Those, and the verb that is told requests: the road and the authorities are options of it.
  static let reaching = VerbSet.requesting.union(.serve)
  /// Verbs that select rows.
  static let selecting: VerbSet = [.list, .rm, .unmark, .export, .report]
  /// Those of them that URLs and the options of a key select for, too.
  static let choosing: VerbSet = [.rm, .unmark]
  /// Verbs that open the store.
  static let storing = VerbSet.all.subtracting(.help)
  /// Verbs that change nothing.
  static let asking: VerbSet = [
    .list, .show, .stats, .report, .explain, .diff, .doctor, .completions, .help,
  ]
  /// Verbs that combine the outcomes of several loads.
  static let combining: VerbSet = [.get, .preload]
  /// Verbs that name a request but only look it up.
  static let offlineOnly: VerbSet = [.explain, .show]
  /// Every verb.
  static let all = VerbSet(rawValue: (1 << UInt32(Verb.allCases.count)) - 1)
}
