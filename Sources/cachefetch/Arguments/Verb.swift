/// What the command can be asked to do.
enum Verb: String, CaseIterable, Sendable {
  case get, preload, watch, diff, explain, list, show, rm
  case signOut = "sign-out"
  case stats, doctor, export
  case `import` = "import"
  case completions, help

  /// The operands, as help shows them.
  var operands: String {
    switch self {
    case .get, .watch: "URL…"
    case .preload: "PLAN.json | URL… | -"
    case .diff, .explain, .show: "URL"
    case .rm: "[URL…]"
    case .list, .signOut, .stats, .doctor: ""
    case .export, .import: "FILE"
    case .completions: "bash|zsh|fish"
    case .help: "[VERB|manual]"
    }
  }

  /// How many operands it takes.
  var operandCount: ClosedRange<Int> {
    switch self {
    case .get, .watch, .preload, .completions: 1...Int.max
    case .diff, .explain, .show, .export, .import: 1...1
    case .rm: 0...Int.max
    case .list, .signOut, .stats, .doctor: 0...0
    case .help: 0...1
    }
  }

  /// What it does, in one line.
  var summary: String {
    switch self {
    case .get: "print the stored answer, then the fresh one (the default verb)"
    case .preload: "fetch a list of requests into the store"
    case .watch: "fetch again and again, and print changes only"
    case .diff: "compare the stored answer with the fresh one"
    case .explain: "say what the store and the caching rules would do, and why"
    case .list: "list what is stored"
    case .show: "write one stored answer, exactly as it is stored"
    case .rm: "remove stored answers"
    case .signOut: "remove everything of an account, until its bytes are gone"
    case .stats: "say what the store saved"
    case .doctor: "check the store and say what is wrong with it"
    case .export: "write a portable copy of the store"
    case .import: "take the answers of a portable copy into the store"
    case .completions: "print the completion script of a shell"
    case .help: "explain the command, a verb, or print the manual page"
    }
  }

  /// Examples for help and the manual: a command line and what it does.
  var examples: [(line: String, meaning: String)] {
    switch self {
    case .get:
      [
        ("cachefetch https://example.com/news.json", "the stored answer at once, then the fresh one"),
        ("cachefetch --offline https://example.com/news.json", "the stored one, without the network"),
        ("cachefetch --max-age 5m --print last URL | jq .", "the network only where the stored one is older"),
        (
          "cachefetch --deadline 2s --print last URL",
          "the fresh one if it comes in time, else the stored one"
        ),
      ]
    case .preload: [("cachefetch preload --parallel 8 - < urls.txt", "fill the store before a journey")]
    case .watch: [("cachefetch watch --every 1m --json URL", "one line of JSON a change")]
    case .diff: [("cachefetch diff https://example.com/news.json", "what changed since the stored answer")]
    case .explain:
      [("cachefetch explain URL", "which rule decides under each policy, and until when it is fresh")]
    case .list:
      [
        ("cachefetch list --host example.com --sort size", "the largest last"),
        ("cachefetch list --stale --json", "one line of JSON for each stale row"),
      ]
    case .show: [("cachefetch show -i https://example.com/news.json", "head and body as stored")]
    case .rm: [("cachefetch rm --older-than 30d --yes", "without being asked")]
    case .signOut: [("cachefetch sign-out --account alice", "nothing of alice is left in the file")]
    case .stats: [("cachefetch stats --json", "the counts by account and host")]
    case .doctor: [("cachefetch doctor", "exit status 1 where something is wrong")]
    case .export: [("cachefetch export --tag demo demo.cfx", "an offline copy for a demonstration")]
    case .import: [("cachefetch import demo.cfx", "checked as a whole before a row is taken in")]
    case .completions: [("source <(cachefetch completions bash)", "in this shell, now")]
    case .help: [("cachefetch help watch", "the options of one verb")]
    }
  }
}

/// A set of verbs: those an option applies to.
struct VerbSet: OptionSet, Sendable, Hashable {
  let rawValue: UInt32

  init(rawValue: UInt32) { self.rawValue = rawValue }

  init(_ verb: Verb) {
    self =
      switch verb {
      case .get: .get
      case .preload: .preload
      case .watch: .watch
      case .diff: .diff
      case .explain: .explain
      case .list: .list
      case .show: .show
      case .rm: .rm
      case .signOut: .signOut
      case .stats: .stats
      case .doctor: .doctor
      case .export: .export
      case .import: .import
      case .completions: .completions
      case .help: .help
      }
  }

  static let get = VerbSet(rawValue: 1 << 0)
  static let preload = VerbSet(rawValue: 1 << 1)
  static let watch = VerbSet(rawValue: 1 << 2)
  static let diff = VerbSet(rawValue: 1 << 3)
  static let explain = VerbSet(rawValue: 1 << 4)
  static let list = VerbSet(rawValue: 1 << 5)
  static let show = VerbSet(rawValue: 1 << 6)
  static let rm = VerbSet(rawValue: 1 << 7)
  static let signOut = VerbSet(rawValue: 1 << 8)
  static let stats = VerbSet(rawValue: 1 << 9)
  static let doctor = VerbSet(rawValue: 1 << 10)
  static let export = VerbSet(rawValue: 1 << 11)
  static let `import` = VerbSet(rawValue: 1 << 12)
  static let completions = VerbSet(rawValue: 1 << 13)
  static let help = VerbSet(rawValue: 1 << 14)

  /// Verbs that make an exchange.
  static let fetching: VerbSet = [.get, .preload, .watch, .diff]
  /// Verbs that name a request, if only to look it up.
  static let requesting: VerbSet = [.get, .preload, .watch, .diff, .explain, .show]
  /// Verbs that select rows.
  static let selecting: VerbSet = [.list, .rm, .export]
  /// Verbs that open the store.
  static let storing: VerbSet = [
    .get, .preload, .watch, .diff, .explain, .list, .show, .rm, .signOut, .stats, .doctor, .export, .import,
    .completions,
  ]
  /// Every verb.
  static let all = VerbSet(rawValue: (1 << 15) - 1)
}
