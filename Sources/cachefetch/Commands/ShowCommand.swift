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
    let status = GetCommand(
      plan, loadStarter: LoadStarter(service: commands.service), diagnostics: diagnostics
    ).run()
    if status == .nothing { try sayElsewhere(plan.requests[0], arguments, diagnostics) }
    return status
  }

  /// The custom key, from `--key` or as `list` shows it.
  private static func ownKey(_ arguments: Arguments) -> String? {
    if let key = arguments.text(.key) { return key }
    return RowSelection.ownKey(arguments.operand)
  }

  /// The command line with a placeholder URL: a custom key does not depend on the URL.
  private static func named(_ arguments: Arguments) -> Arguments {
    Arguments(verb: arguments.verb, options: arguments.options, operands: ["http://localhost/"])
  }

  /// Reports under which other accounts or options the same URL is stored.
  private static func sayElsewhere(
    _ request: DataService.Request, _ arguments: Arguments, _ diagnostics: Diagnostics
  ) throws(UsageError) {
    let commands = StoreCommands(arguments, diagnostics)
    let target = try commands.key(request).target
    var selection = EntrySelection()
    selection.prefix = target
    let chosen = selection
    let service = commands.service
    let found = Await.result { () async throws(DataServiceError) in try await service.entries(chosen) }
    guard case .success(let entries) = found else { return }
    // The same key: what differs are the headers that its Vary names.
    let key = try commands.key(request)
    let same = entries.filter { $0.key == key }
    let names = Set(same.map(\.response.vary)).subtracting([""]).sorted()
    if let name = names.first {
      return diagnostics.say(
        "it is stored for other request headers: ask with the same -H (Vary: \(TerminalText.visible(name)))")
    }
    let ways = EntryGroups(entries.filter { $0.key.target == target && $0.key != key }).waysToAsk
    if !ways.isEmpty {
      diagnostics.say("it is stored for other requests: ask \(ways.joined(separator: ", or "))")
    }
  }
}
