internal import CacheStore
internal import DataService

/// A `get` as understood: what to load, by which policy, and what to print where.
struct GetPlan {
  var requests: [DataService.Request]
  /// The URLs as they were given, without user-info.
  var urls: [String]
  var policy: PolicyChoice
  var print = PrintMode.both
  var isJSON = false
  var includesHead = false
  /// `-I`: the head is all there is.
  var isHeadOnly = false
  var failsOnStatus = false
  /// `-o FILE`; `-o -` is `insistsOnBytes`.
  var file: ReplacedFile?
  var insistsOnBytes = false
  var isBackground = false
  /// How many loads to have under way at once; `nil` starts them all, so that none waits for the network to show what
  /// is stored.
  var parallel: Int?
  /// Whether the request says `only-if-cached`, whose failure is a generated 504.
  var isOnlyIfCached = false

  /// Reads the options of `get` and checks what only they together can say.
  init(_ arguments: Arguments) throws(UsageError) {
    policy = try PolicyChoice.chosen(arguments)
    try Self.checkCombinations(arguments, policy)
    requests = try RequestArguments(arguments).requests()
    urls = arguments.operands.map(URLArgument.withoutUserInfo)
    if let text = arguments.text(.print), let mode = PrintMode(rawValue: text) { print = mode }
    isJSON = arguments.has(.json)
    isHeadOnly = arguments.has(.head)
    includesHead = arguments.has(.include) || isHeadOnly
    failsOnStatus = arguments.has(.fail)
    isBackground = arguments.has(.background)
    parallel = arguments.count(.parallel)
    isOnlyIfCached =
      requests.first?.fields.combined("Cache-Control")?.lowercased().contains("only-if-cached") ?? false
    if let path = arguments.text(.output) {
      insistsOnBytes = path == "-"
      file = path == "-" ? nil : try ReplacedFile(path)
    }
  }

  private static func checkCombinations(_ arguments: Arguments, _ policy: PolicyChoice) throws(UsageError) {
    if arguments.has(.keepAnyway), policy == .http {
      throw UsageError(
        "--keep-anyway and --policy http exclude each other", "RFC 9111 forbids to store it: leave one out")
    }
    if let path = arguments.text(.output), path != "-", arguments.operands.count > 1 {
      throw UsageError(
        "-o takes the body of one URL, and \(arguments.operands.count) are given",
        "run cachefetch once for each")
    }
    if arguments.has(.json), arguments.has(.include) {
      throw UsageError("--json and -i exclude each other", "leave -i out: --json has the head in \"fields\"")
    }
    if arguments.has(.background) { try checkBackground(arguments, policy) }
    if arguments.has(.pin) || arguments.has(.waitOnline), policy == .storedOnly {
      throw UsageError(
        "--\(arguments.has(.pin) ? "pin" : "wait-online") does nothing with --offline",
        "leave one of them out")
    }
  }

  private static func checkBackground(_ arguments: Arguments, _ policy: PolicyChoice) throws(UsageError) {
    if policy != .storedThenFresh {
      throw UsageError(
        "--background has a policy of its own", "leave --policy, --offline, --max-age and --deadline out")
    }
    if arguments.options.contains(where: { $0.value == .text("@-") }) {
      throw UsageError("--background cannot hand standard input on", "put it in a file: @FILE")
    }
  }
}
