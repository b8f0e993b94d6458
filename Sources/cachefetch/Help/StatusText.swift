/// What each exit status means for each verb, for help and the manual.
extension ExitStatus {
  /// The meanings; of those for a verb the first counts.
  private static let meanings: [(status: ExitStatus, verbs: VerbSet, text: String)] = [
    (.success, .get, "a fresh response of any status was delivered, or a stored one if no more was wanted"),
    (.success, .preload, "every response was fetched and stored, or was young enough already"),
    (.success, .watch, "a change was seen (--until-changed)"),
    (.success, .serve, "nobody has asked for the time of --idle, or the store is gone"),
    (.success, .diff, "the responses do not differ, or the first one has been stored"),
    (.success, .doctor, "nothing is wrong"), (.success, .all, "success"),
    (.different, .diff, "the responses differ"), (.different, .doctor, "something is wrong"),
    (.different, [.rm, .signOut], "the question was answered with no"),
    (.storedOnly, .get, "a fresh response was wanted but could not be had; the stored one was delivered"),
    (.storedOnly, .preload, "a response could not be fetched or stored, but an earlier one is stored"),
    (.storedOnly, .diff, "no fresh response could be had to compare with the stored one"),
    (.nothing, .get, "nothing that the policy allows could be delivered"),
    (.nothing, .preload, "a response could not be fetched or stored, and no earlier one is stored"),
    (.nothing, .diff, "there is no response at all, or the first one may not be stored"),
    (.nothing, .show, "no stored response matches"),
    (.nothing, .export, "no stored response matches; the file is as it was"),
    (.nothing, .import, "the file has no response that was asked for, or the store has no room for them"),
    (
      .httpFailure, .get,
      "--one, --fail, --fail-with-body or -o is given, and a status of 400 or more is all there was"
    ),
    (.httpFailure, .preload, "--fail is given, and a status of 400 or more is all there was"),
    (
      .httpFailure, .watch,
      "--fail is given and the server answered with a status of 400 or more that is no outage"
    ),
    (.usage, .all, "bad usage"), (.badData, .preload, "the list or the plan is malformed"),
    (.badData, .import, "the file cannot be read, or is not a copy whose every byte is right"),
    (
      .inputOutput, .get,
      "the store could not be used under --offline, an output could not be written, or the process of --background "
        + "could not be started"
    ), (.inputOutput, [.watch, .completions, .help], "an output could not be written"),
    (.inputOutput, .serve, "another process serves the store, or it could not be used"),
    (.inputOutput, .diff, "the store could not be used the first time, or an output could not be written"),
    (
      .inputOutput, [.preload, .stats, .doctor, .export, .import],
      "the store could not be used, or an output could not be written"
    ),
    (
      .inputOutput, .all,
      "the store that is named is not there or could not be used, or an output could not be written"
    ),
    (.interrupted, .storing.subtracting(.completions), "interrupted (SIGINT), after cleaning up"),
    (.terminated, .storing.subtracting(.completions), "terminated (SIGTERM), after cleaning up"),
  ]

  /// Its meaning for `verb`; `nil` if the verb never ends with it.
  func meaning(for verb: Verb) -> String? {
    Self.meanings.first { $0.status == self && $0.verbs.contains(VerbSet(verb)) }?.text
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
}
