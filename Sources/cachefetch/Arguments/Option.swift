/// One row of the table of options, which the parser, help, manual and completions all use.
struct Option: Sendable {
  /// What an option's value must be; parsed and checked in `OptionValue`.
  enum ValueKind: Sendable {
    case text
    case duration
    case size
    case count(ClosedRange<Int>)
    case choice([String])
    case file
    case account
    case tag
    case tier
  }

  /// An option's help text for some of its verbs.
  typealias VerbText = (verbs: VerbSet, text: String)

  let name: OptionName
  /// The short form, if there is one.
  let short: Character?
  /// What its value must be; `nil` for a flag.
  let value: ValueKind?
  /// How help names the value.
  let placeholder: String
  /// The verbs it applies to.
  let verbs: VerbSet
  /// Whether each of several counts, not the last alone.
  let repeats: Bool

  /// A flag.
  init(_ name: OptionName, _ short: Character? = nil, for verbs: VerbSet) {
    self.init(name, short, nil, "", for: verbs)
  }

  /// An option with a value.
  init(
    _ name: OptionName, _ short: Character? = nil, _ value: ValueKind?, _ placeholder: String,
    repeats: Bool = false, for verbs: VerbSet
  ) {
    self.name = name
    self.short = short
    self.value = value
    self.placeholder = placeholder
    self.verbs = verbs
    self.repeats = repeats
  }

  /// The help text for a verb.
  func help(for verb: Verb) -> String {
    Self.texts.first { line in
      line.words[0] == name.rawValue
        && (line.words.count == 1 || line.words.dropFirst().contains { $0 == verb.rawValue })
    }?.text ?? ""
  }

  /// Its help texts, each with its verbs, in the order of the verbs.
  var helpByVerbs: [VerbText] {
    var all: [VerbText] = []
    for verb in Verb.allCases where verbs.contains(VerbSet(verb)) {
      let text = help(for: verb)
      if let index = all.firstIndex(where: { $0.text == text }) {
        all[index].verbs.insert(VerbSet(verb))
      } else {
        all.append((VerbSet(verb), text))
      }
    }
    return all
  }

  /// Whether the value may be omitted: a number cannot be mistaken for an operand.
  var mayStandAlone: Bool { name == .parallel }

  /// Whether it chooses the policy, the output or a limit, so that an alias of `get` may hold it. Before a verb that
  /// changes nothing it has no effect.
  var isAliased: Bool {
    switch name {
    case .one, .staleOK, .policy, .offline, .maxAge, .deadline, .maxStale, .waitOnline, .accept: true
    case .print, .include, .json, .output, .fail, .failWithBody, .writeOut, .background: true
    case .parallel, .connectTimeout, .timeout, .retry, .maxBody: true
    default: false
    }
  }

  /// The spelling `--name`.
  var spelling: String { "--" + name.rawValue }

  /// How help shows it: `-m, --timeout D`.
  var usage: String {
    let name = short.map { "-\($0), \(spelling)" } ?? "    \(spelling)"
    return placeholder.isEmpty ? name : "\(name) \(placeholder)"
  }
}

/// What options are about: the headings of `help get`.
enum OptionGroup: String, CaseIterable, Sendable {
  case answer = "which answer"
  case printed = "what is printed"
  case request = "the request"
  case identity = "who I am"
  case network = "network, TLS, proxy"
  case store = "the store"
  case selection = "which entries"
  case other = "help"
}

/// Every option by the name it is written with, in the order help shows them.
enum OptionName: String, CaseIterable, Sendable {
  // Which answer.
  case one, staleOK = "stale-ok", policy, offline, maxAge = "max-age", deadline, maxStale = "max-stale",
    background
  case waitOnline = "wait-online", accept
  // What is printed.
  case print, include, json, output, fail, failWithBody = "fail-with-body", writeOut = "write-out"
  case ignorePath = "ignore-path", quiet, showError = "show-error", verbose
  // The request.
  case method = "request", head, header, data, dataBinary = "data-binary", dataURLEncode = "data-urlencode"
  case asQuery = "get", read, key, noLocation = "no-location"
  // Who I am.
  case account, user, netrc, cert, keyFile = "key-file", secretField = "secret-field"
  case secretParameter = "secret-parameter"
  // Network, TLS, proxy.
  case parallel, connectTimeout = "connect-timeout", timeout, retry, maxBody = "max-body", proxy, cacert,
    insecure
  case resolve, unixSocket = "unix-socket", http11 = "http1.1", noCompressed = "no-compressed", noSandbox =
    "no-sandbox"
  // The store.
  case store, pin, tag, keepAnyway = "keep-anyway", tier, noTier = "no-tier"
  // Which entries.
  case stale, olderThan = "older-than", host, prefix, largerThan = "larger-than", status, type, exact
  // Of single verbs.
  case idle, every, untilChanged = "until-changed", onFailure = "on-failure", sort, reverse, limit, bodies,
    bytes,
    rows, pause, fleet
  case yes, prometheus, repair, newFleetKey = "new-fleet-key", help, version

  /// The option with this spelling. `init(rawValue:)` would first build a table of all options, for one or two
  /// lookups.
  static func named(_ name: String) -> OptionName? { allCases.first { $0.rawValue == name } }

  /// The last option of each group but the last group.
  private static let ends: [(last: OptionName, group: OptionGroup)] = [
    (.accept, .answer), (.verbose, .printed), (.noLocation, .request), (.secretParameter, .identity),
    (.noSandbox, .network), (.noTier, .store), (.exact, .selection),
  ]

  /// What it is about.
  var group: OptionGroup {
    let place = Self.allCases.firstIndex(of: self) ?? 0
    return Self.ends.first { place <= Self.allCases.firstIndex(of: $0.last) ?? 0 }?.group ?? .other
  }
}
