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
    case .get: "a fresh response of any status was delivered, or a stored one where no more was wanted"
    case .preload: "every response was fetched and stored, or young enough not to be"
    case .watch: "a change was seen (--until-changed)"
    case .diff: "the responses do not differ, or nothing was stored and the fresh one is now"
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
    case .preload: "a response could not be fetched, or may not be stored; an earlier one is"
    case .diff: "no fresh response could be had to compare with the stored one"
    default: nil
    }
  }

  private static func nothing(_ verb: Verb) -> String? {
    switch verb {
    case .get: "nothing that the policy allows could be delivered"
    case .preload: "a response could not be fetched, or may not be stored, and none is"
    case .diff: "nothing could be had at all, or nothing was stored and the fresh response may not be"
    case .show: "no stored response matches"
    case .export: "no stored response matches; the file is as it was"
    case .import: "the file has no response that was asked for, or the store has no room for them"
    default: nil
    }
  }

  private static func httpFailure(_ verb: Verb) -> String? {
    switch verb {
    case .get: "--fail, --fail-with-body or -o is given and the last delivered status is 400 or more"
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
    case .explain, .list, .show, .rm, .unpin, .untag, .signOut, .stats, .limits:
      "the store that is named is not there or could not be used, or an output could not be written"
    default: "the store could not be used, or an output could not be written"
    }
  }

  /// Whether a verb can be interrupted with something to clean up.
  private static func waits(_ verb: Verb) -> Bool { verb != .completions && verb != .help }
}
