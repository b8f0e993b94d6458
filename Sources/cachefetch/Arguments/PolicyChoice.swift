internal import DataService

/// The policy a command line asks for.
enum PolicyChoice: Sendable, Hashable {
  case storedThenFresh
  case storedOnly
  case freshOnly
  case freshElseStored(Duration?)
  case storedElseFresh(Duration)
  case http

  /// The values of `--policy`. `stored-else-fresh` needs an age and is written `--max-age`.
  static let spellings = ["stored-then-fresh", "stored-only", "fresh-only", "fresh-else-stored", "http"]

  /// The library's policy.
  var fetchPolicy: FetchPolicy {
    switch self {
    case .storedThenFresh: .storedThenFresh
    case .storedOnly: .storedOnly
    case .freshOnly: .freshOnly
    case .freshElseStored(let deadline): .freshElseStored(within: deadline)
    case .storedElseFresh(let maxAge): .storedElseFresh(maxAge: maxAge)
    case .http: .http
    }
  }

  /// Whether a stored response is delivered in place of a fresh one, and never beside it.
  var prefersFresh: Bool {
    switch self {
    case .freshElseStored, .storedElseFresh: true
    case .storedThenFresh, .storedOnly, .freshOnly, .http: false
    }
  }

  /// The policy that the options choose. Each of these options is a whole policy, so more than one is bad usage.
  static func chosen(_ arguments: Arguments) throws(UsageError) -> PolicyChoice {
    let given = [OptionName.policy, .offline, .maxAge, .deadline].filter(arguments.has)
    if given.count > 1 {
      throw UsageError(
        "--\(given[0].rawValue) and --\(given[1].rawValue) cannot be combined",
        "give one of --policy, --offline, --max-age, --deadline")
    }
    if arguments.has(.offline) { return .storedOnly }
    if let age = arguments.duration(.maxAge) { return .storedElseFresh(age) }
    if let deadline = arguments.duration(.deadline) { return .freshElseStored(deadline) }
    switch arguments.text(.policy) {
    case "stored-only": return .storedOnly
    case "fresh-only": return .freshOnly
    case "fresh-else-stored": return .freshElseStored(nil)
    case "http": return .http
    default: return .storedThenFresh
    }
  }
}
