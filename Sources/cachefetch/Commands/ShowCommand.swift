internal import CacheStore
internal import DataService

/// `show`: prints one response exactly as stored. It is a `get --offline` that also accepts custom keys and reports
/// under which other keys the URL is stored.
enum ShowCommand {
  static func run(_ arguments: Arguments, _ diagnostics: Diagnostics) throws(UsageError) -> ExitStatus {
    let own = ownKey(arguments)
    if own == nil, arguments.operands.isEmpty {
      throw UsageError("no URL is given", "write cachefetch show URL, or cachefetch show --key KEY")
    }
    var plan = try GetArguments(own == nil ? arguments : named(arguments))
    plan.policy = .storedOnly
    if let own {
      plan.requests[0].key = own
      plan.lines[0] = DeliveryLine(key: own, request: plan.requests[0])
    }
    let commands = StoreCommands(arguments, diagnostics)
    if let missing = commands.missing() { return missing }
    let command = GetCommand(plan, commands.service, diagnostics)
    let status = command.run()
    try sayElsewhere(plan, command.notStored, arguments, diagnostics)
    return status
  }

  /// The custom key, from `--key` or as `list` shows it.
  private static func ownKey(_ arguments: Arguments) -> String? {
    if let key = arguments.text(.key) { return key }
    return RowSelection.ownKey(arguments.operand)
  }

  /// The command line with a placeholder URL: a custom key does not depend on the URL.
  private static func named(_ arguments: Arguments) -> Arguments {
    Arguments(verb: arguments.verb, options: arguments.options, operands: [RowSelection.placeholder])
  }

  /// Reports under which other accounts, options or headers the URLs of the requests are stored.
  static func sayElsewhere(
    _ plan: GetArguments, _ missing: [Int], _ arguments: Arguments, _ diagnostics: Diagnostics
  ) throws(UsageError) {
    guard !missing.isEmpty, diagnostics.saysFailures else { return }
    let commands = StoreCommands(arguments, diagnostics)
    guard !commands.service.store.isMissing else { return }
    for index in missing {
      guard let place = try elsewhere(plan.requests[index], commands) else { continue }
      diagnostics.say(plan.requests.count > 1 ? "\(plan.lines[index].url): \(place)" : place)
    }
  }

  /// The headers of the request that a variant was stored for, as options.
  private static func headers(of variant: DataService.Explanation.Variant) -> String {
    let lines = variant.fields.split(separator: "\n").map { TerminalText.visible(String($0)) }
    // A digest stands in the place of what may be a secret.
    if KeyedParts.areIn(RequestKey(target: ""), variant: variant.fields) { return "with the same -H" }
    let sent = Set(lines.map { $0.prefix { $0 != ":" } })
    let missing = variant.vary.split(separator: ",").filter { !sent.contains($0) }
    let with = lines.map { "-H \(StoreLocation.quoted($0))" }.joined(separator: " ")
    let without =
      missing.isEmpty
      ? "" : "without " + missing.map { TerminalText.visible(String($0)) }.joined(separator: ", ")
    return [with.isEmpty ? "" : "with " + with, without].filter { !$0.isEmpty }.joined(separator: " and ")
  }

  /// Where else the URL of a request is stored, and how to ask for that.
  private static func elsewhere(
    _ request: DataService.Request, _ commands: StoreCommands
  ) throws(UsageError) -> String? {
    let key = try commands.key(request)
    var selection = EntrySelection()
    selection.prefix = key.target
    let chosen = selection
    let service = commands.service
    let found = Await.result { () async throws(DataServiceError) in try await service.entries(chosen) }
    guard case .success(let entries) = found else { return nil }
    // The same key: what differs are the headers that its Vary names.
    let explained = Await.result { () async throws(DataServiceError) in try await service.explain(request) }
    if case .success(let explanation) = explained,
      let variant = explanation.variants.first(where: { !$0.isMatch && !$0.vary.isEmpty })
    {
      return "it is stored for other request headers (Vary: \(TerminalText.visible(variant.vary))): "
        + "ask \(headers(of: variant))"
    }
    let others = entries.filter { $0.key.target == key.target && $0.key != key }
    guard !others.isEmpty else { return nil }
    let isOfCredentials = others.contains { $0.key.account.hasPrefix("auto:") }
    return "it is stored for other requests: ask \(EntryGroups(others).waysToAsk.joined(separator: ", or "))"
      + (isOfCredentials ? "; what is fetched with --account NAME is found with any credentials" : "")
  }
}
