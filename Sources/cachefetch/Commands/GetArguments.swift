internal import CacheStore
internal import DataService

/// A parsed `get`: what to load, by which policy, and what to print where.
struct GetArguments {
  var requests: [DataService.Request]
  /// How each request's deliveries are labelled.
  var lines: [DeliveryLine]
  var policy: PolicyChoice
  var print = PrintMode.both
  /// Whether `--one` prints one body of each URL, in the order of the arguments.
  var isAlone = false
  var form: DeliveryPrinter.Form
  /// The text that `-w` prints after each URL.
  var writeOut: WriteOut?
  /// The order for the background process, if one does the refresh.
  var background: BackgroundOrder?
  /// The age up to which what is stored needs no refresh in the background; `nil` refreshes always.
  var backgroundAge: Duration?
  /// `--stale-ok`: a stored response in place of a fresh one is a success in an outage.
  var isStaleFine = false
  /// How many loads run at once; `nil` starts them all, so that no stored response waits for another load's exchange.
  var parallel: Int?
  /// What to say where an option is about what is stored, and nothing is of such a request.
  var unstored: String?
  /// Whether the request has `only-if-cached`, whose failure is a generated 504.
  var isOnlyIfCached = false
  /// The store that `--store` names, if nothing but what is stored can be delivered.
  var namedStore: String?

  /// Reads the options of `get` and checks their combinations.
  init(_ arguments: Arguments) throws(UsageError) {
    policy = PolicyChoice.chosen(arguments)
    try Self.checkCombinations(arguments, policy)
    if arguments.has(.background) { InputFile.remember() }
    defer { InputFile.forget() }
    let requesting = try RequestArguments(arguments)
    requests = try requesting.requests()
    lines = []
    for (operand, request) in zip(arguments.operands, requests) {
      lines.append(DeliveryLine(url: requesting.url(operand), request: request))
    }
    form = try DeliveryPrinter.Form(arguments)
    isStaleFine = arguments.has(.staleOK)
    if let text = arguments.text(.print), let mode = PrintMode(rawValue: text) {
      print = mode
    } else if form.isOne {
      (print, isAlone) = (.last, true)
    }
    if let format = arguments.text(.writeOut) { writeOut = try WriteOut(argument: format) }
    if policy == .storedOnly { namedStore = arguments.text(.store) }
    if arguments.has(.background) {
      if case .storedElseFresh(let age, _) = policy { backgroundAge = age }
      policy = .storedOnly
      try checkBackgroundRequests()
      background = BackgroundOrder(words: Background.words(arguments), files: InputFile.remembered)
    }
    if ProcessStart.isBackground {
      for index in requests.indices { requests[index].yieldsToOthers = true }
    }
    parallel = arguments.count(.parallel)
    let idle = [OptionName.maxAge, .maxStale, .pin, .tag].filter(arguments.has)
    if let request = requests.first, !request.method.isSafe, !request.isRead, let option = idle.first {
      unstored =
        "\(request.method.rawValue) is not stored, so that --\(option.rawValue) has no effect; write --read if the "
        + "request only reads"
    }
    if let fields = requests.first?.fields { isOnlyIfCached = CacheControl(fields: fields).onlyIfCached }
  }

  /// Options that have an effect only on the network. Limits and connection options are allowed offline: a limit holds
  /// when nothing is transferred.
  private static let idleOffline: [OptionName] = [.pin, .tag, .keepAnyway, .ignorePath, .waitOnline]

  private static func checkCombinations(_ arguments: Arguments, _ policy: PolicyChoice) throws(UsageError) {
    if arguments.has(.keepAnyway), policy == .http {
      throw UsageError(
        "--keep-anyway and --policy http cannot be combined", "RFC 9111 forbids storing it: leave one out")
    }
    if let path = arguments.text(.output), path != "-", arguments.operands.count > 1 {
      throw UsageError(
        "-o takes the body of one URL, and \(arguments.operands.count) are given",
        "run cachefetch once for each")
    }
    try RequestArguments.checkKey(arguments, urls: arguments.operands.count)
    try checkPrint(arguments, policy)
    try checkHead(arguments)
    if arguments.has(.background) { try checkBackground(arguments, policy) }
    if policy == .storedOnly, let idle = idleOffline.first(where: arguments.has) {
      throw UsageError("--\(idle.rawValue) does nothing with --offline", "leave one of them out")
    }
  }

  /// Refuses combinations that could never print anything.
  private static func checkPrint(_ arguments: Arguments, _ policy: PolicyChoice) throws(UsageError) {
    switch arguments.text(.print) {
    case "fresh" where policy == .storedOnly || arguments.has(.background),
      "changed" where policy == .storedOnly || arguments.has(.background):
      let option =
        arguments.has(.background)
        ? "--background" : arguments.has(.offline) ? "--offline" : "--policy stored-only"
      throw UsageError(
        "--print \(arguments.text(.print) ?? "") prints nothing with \(option), which delivers what is stored",
        "leave --print out, or write --print last")
    case "stored" where policy == .freshOnly:
      throw UsageError(
        "--print stored prints nothing with --policy fresh-only", "leave --print out, or write --print last")
    case "none":
      if let path = arguments.text(.output), path != "-" {
        throw UsageError("--print none and -o exclude each other", "leave one of them out")
      }
    default: break
    }
  }

  /// Refuses `-X HEAD` where nothing else than the body is to be printed, since a response to it has none. It does not
  /// stand for `-I`, since `-X` is the method and nothing else.
  private static func checkHead(_ arguments: Arguments) throws(UsageError) {
    let others = [OptionName.include, .json, .writeOut, .verbose].contains(where: arguments.has)
    guard arguments.text(.method) == "HEAD", !others, arguments.text(.print) != "none" else { return }
    throw UsageError(
      "-X HEAD prints nothing, since the response to HEAD has no body", "write -I, which prints its headers")
  }

  private static func checkBackground(_ arguments: Arguments, _ policy: PolicyChoice) throws(UsageError) {
    switch policy {
    case .storedThenFresh, .storedElseFresh(_, nil): break
    default:
      throw UsageError(
        "--background has a policy of its own",
        "leave --policy, --offline and --deadline out; --max-age D says what is young enough")
    }
  }

  /// Refuses unsafe methods, since the result of a request in the background is not reported.
  private func checkBackgroundRequests() throws(UsageError) {
    for request in requests where !request.method.isSafe && !request.isRead {
      throw UsageError(
        "--background would send \(request.method.rawValue) and nobody would learn its outcome",
        "leave --background out, or write --read if this request only reads")
    }
  }
}
