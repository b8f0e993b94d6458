/// What each exit status means for each verb, for help and the manual.
extension ExitStatus {
  /// Its meaning for `verb`; `nil` if the verb never ends with it.
  func meaning(for verb: Verb) -> String? {
    switch self {
    case .success: Self.success(verb)
    case .different: Self.different(verb)
    case .storedOnly: Self.storedOnly(verb)
    case .nothing: Self.nothing(verb)
    case .httpFailure: Self.httpFailure(verb)
    case .usage: "bad usage"
    case .badData: Self.badData(verb)
    case .inputOutput: Self.inputOutput(verb)
    case .interrupted: Self.waits(verb) ? "interrupted (SIGINT), after cleaning up" : nil
    case .brokenPipe: nil
    case .terminated: Self.waits(verb) ? "terminated (SIGTERM), after cleaning up" : nil
    }
  }

  /// Its meanings, each with the verbs it is for, in the order of the verbs.
  var meaningsByVerbs: [Option.VerbText] {
    var all: [Option.VerbText] = []
    for verb in Verb.allCases {
      guard let text = meaning(for: verb) else { continue }
      if let index = all.firstIndex(where: { $0.text == text }) {
        all[index].verbs.insert(VerbSet(verb))
      } else {
        all.append((VerbSet(verb), text))
      }
    }
    return all
  }

  /// How the statuses of several loads combine.
  static let combination =
    "with several URLs the exit status is the first of 74, 4, 22, 3, 0 that applies to any of them"

  private static func success(_ verb: Verb) -> String {
    switch verb {
    case .get: "a fresh response of any status was delivered, or a stored one if no more was wanted"
    case .preload: "every response was fetched and stored, or was young enough already"
    case .watch: "a change was seen (--until-changed)"
    case .diff: "the responses do not differ, or the first one has been stored"
    case .doctor: "nothing is wrong"
    default: "success"
    }
  }

  private static func different(_ verb: Verb) -> String? {
    switch verb {
    case .diff: "the responses differ"
    case .doctor: "something is wrong"
    case .rm, .signOut: "the question was answered with no"
    default: nil
    }
  }

  private static func storedOnly(_ verb: Verb) -> String? {
    switch verb {
    case .get: "a fresh response was wanted but could not be had; the stored one was delivered"
    case .preload: "a response could not be fetched or stored, but an earlier one is stored"
    case .diff: "no fresh response could be had to compare with the stored one"
    default: nil
    }
  }

  private static func nothing(_ verb: Verb) -> String? {
    switch verb {
    case .get: "nothing that the policy allows could be delivered"
    case .preload: "a response could not be fetched or stored, and no earlier one is stored"
    case .diff: "there is no response at all, or the first one may not be stored"
    case .show: "no stored response matches"
    case .export: "no stored response matches; the file is as it was"
    case .import: "the file has no response that was asked for, or the store has no room for them"
    default: nil
    }
  }

  private static func httpFailure(_ verb: Verb) -> String? {
    switch verb {
    case .get: "--one, --fail, --fail-with-body or -o is given, and a status of 400 or more is all there was"
    case .preload: "--fail is given and a status is 400 or more"
    case .watch: "--fail is given and the server answered with a status of 400 or more"
    default: nil
    }
  }

  private static func badData(_ verb: Verb) -> String? {
    switch verb {
    case .preload: "the list or the plan is malformed"
    case .import: "the file cannot be read, or is not a copy whose every byte is right"
    default: nil
    }
  }

  private static func inputOutput(_ verb: Verb) -> String {
    switch verb {
    case .get:
      "the store could not be used under --offline, an output could not be written, or the process of "
        + "--background could not be started"
    case .watch, .completions, .help: "an output could not be written"
    case .diff: "the store could not be used the first time, or an output could not be written"
    case .explain, .list, .show, .rm, .unmark, .signOut, .stats, .limits:
      "the store that is named is not there or could not be used, or an output could not be written"
    default: "the store could not be used, or an output could not be written"
    }
  }

  /// Whether a verb can be interrupted with something to clean up.
  private static func waits(_ verb: Verb) -> Bool { verb != .completions && verb != .help }
}
