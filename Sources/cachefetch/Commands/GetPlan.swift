internal import CacheStore
internal import DataService

/// A `get` as understood: what to load, by which policy, and what to print where.
struct GetPlan {
  var requests: [DataService.Request]
  /// What is known of each request when its deliveries are shown.
  var lines: [DeliveryLine]
  var policy: PolicyChoice
  var print = PrintMode.both
  var form: DeliveryPrinter.Form
  /// The command line of the process that refreshes, where the refresh is left to one.
  var background: [String]?
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
    lines = []
    for (url, request) in zip(arguments.operands, requests) {
      lines.append(DeliveryLine(url: url, request: request))
    }
    form = try DeliveryPrinter.Form(arguments)
    if let text = arguments.text(.print), let mode = PrintMode(rawValue: text) { print = mode }
    if arguments.has(.background) {
      policy = .storedOnly
      background = Background.words(arguments)
    }
    if Background.isThisProcess {
      for index in requests.indices { requests[index].yieldsToOthers = true }
    }
    parallel = arguments.count(.parallel)
    if let fields = requests.first?.fields { isOnlyIfCached = CacheControl(fields: fields).onlyIfCached }
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
    if arguments.has(.background) { try checkBackground(arguments, policy) }
    if policy == .storedOnly, let idle = [OptionName.pin, .waitOnline].first(where: arguments.has) {
      throw UsageError("--\(idle.rawValue) does nothing with --offline", "leave one of them out")
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
