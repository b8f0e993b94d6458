internal import DataService

/// The policy a command line asks for.
enum PolicyChoice: Sendable, Hashable {
  case storedThenFresh
  case storedOnly
  case freshOnly
  case freshElseStored(Duration?)
  /// With the time that the fresh one has, if it is limited.
  case storedElseFresh(Duration, Duration?)
  case http

  /// The values of `--policy`. `stored-else-fresh` needs an age and is written `--max-age`.
  static let spellings = ["stored-then-fresh", "stored-only", "fresh-only", "fresh-else-stored", "http"]

  /// How the command spells the library's name of a policy: as a value of `--policy`, or as the option of its own.
  static func spelling(of name: String) -> String {
    spellings.contains(name) ? name : "--max-age D"
  }

  /// The library's policy.
  var fetchPolicy: FetchPolicy {
    switch self {
    case .storedThenFresh: .storedThenFresh
    case .storedOnly: .storedOnly
    case .freshOnly: .freshOnly
    case .freshElseStored(let deadline): .freshElseStored(within: deadline)
    case .storedElseFresh(let maxAge, let deadline): .storedElseFresh(maxAge: maxAge, within: deadline)
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

  /// The policy that the options choose. The last one counts, but that `--max-age` and `--deadline` go together, and that
  /// `--offline` yields to `--policy` alone.
  static func chosen(_ arguments: Arguments) -> PolicyChoice {
    var (isOffline, maxAge, deadline): (Bool, Duration?, Duration?) = (false, nil, nil)
    var named: String?
    for option in arguments.options {
      switch (option.name, option.value) {
      case (.offline, _): isOffline = true
      case (.policy, .text(let name)): (isOffline, maxAge, deadline, named) = (false, nil, nil, name)
      case (.maxAge, .duration(let age)): (maxAge, named) = (age, nil)
      case (.deadline, .duration(let time)): (deadline, named) = (time, nil)
      default: continue
      }
    }
    if isOffline { return .storedOnly }
    if let maxAge { return .storedElseFresh(maxAge, deadline) }
    if let deadline { return .freshElseStored(deadline) }
    switch named {
    case "stored-only": return .storedOnly
    case "fresh-only": return .freshOnly
    case "fresh-else-stored": return .freshElseStored(nil)
    case "http": return .http
    default: return .storedThenFresh
    }
  }
}

extension Arguments {
  /// Whether only what is stored may be delivered: `--offline`, or the policy by its name, as far as no later one counts.
  var isOffline: Bool { PolicyChoice.chosen(self) == .storedOnly }
}
