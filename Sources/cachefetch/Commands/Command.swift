internal import DataService
internal import PlatformC

/// The whole command: from words to an exit status.
enum Command {
  /// Runs a command line, without the program's name.
  static func run(_ words: [String]) -> ExitStatus {
    Signals.install()
    if words.isEmpty {
      Diagnostics().status.write(Typography.fitting(HelpCommand.overview()))
      return .usage
    }
    do throws(UsageError) {
      let arguments = try ArgumentParser.parse(words)
      Shown.learn(fields: arguments.texts(.secretField), parameters: arguments.texts(.secretParameter))
      let diagnostics = Diagnostics(
        isQuiet: arguments.has(.quiet), saysFailures: arguments.has(.showError),
        isVerbose: arguments.has(.verbose), terminal: .current())
      if let limit = arguments.duration(.timeout), limit > .zero { CommandDeadline.set(limit) }
      return try run(arguments, diagnostics)
    } catch {
      if Signals.pending == nil { Diagnostics.fail(error) }
      return error.status
    }
  }

  private static func run(_ arguments: Arguments, _ diagnostics: Diagnostics) throws(UsageError) -> ExitStatus
  {
    switch arguments.verb {
    case .get: try get(arguments, diagnostics)
    case .preload: try PreloadCommand.run(arguments, diagnostics)
    case .watch:
      try WatchCommand(WatchPlan(arguments), DataService.forCommand(arguments, diagnostics), diagnostics)
        .run()
    case .diff:
      try DiffCommand(arguments, DataService.forCommand(arguments, diagnostics), diagnostics).run()
    case .serve: try ServeCommand.run(arguments, diagnostics)
    case .explain: try ExplainCommand.run(arguments, diagnostics)
    case .show: try ShowCommand.run(arguments, diagnostics)
    case .list: try StoreCommands(arguments, diagnostics).list()
    case .rm: try StoreCommands(arguments, diagnostics).rm()
    case .unmark: try StoreCommands(arguments, diagnostics).unmark()
    case .stats: try StoreCommands(arguments, diagnostics).stats()
    case .report: try StoreCommands(arguments, diagnostics).report()
    case .limits: try StoreCommands(arguments, diagnostics).limits()
    case .doctor: try StoreCommands(arguments, diagnostics).doctor()
    case .export: try StoreCommands(arguments, diagnostics).export()
    case .import: try StoreCommands(arguments, diagnostics).importBundle()
    case .signOut: try StoreCommands(arguments, diagnostics).signOut()
    case .completions: try CompletionsCommand.run(arguments, diagnostics)
    case .help: try HelpCommand.run(arguments, diagnostics)
    }
  }

  private static func get(_ arguments: Arguments, _ diagnostics: Diagnostics) throws(UsageError) -> ExitStatus
  {
    let plan = try GetArguments(arguments)
    let command = GetCommand(plan, DataService.forCommand(arguments, diagnostics), diagnostics)
    let status = command.run()
    if plan.policy == .storedOnly, plan.background == nil {
      try ShowCommand.sayElsewhere(plan, command.notStored, arguments, diagnostics)
    }
    return status
  }

  /// The command line's words; `nil` if one is not UTF-8, which reading as text would alter. Fields and bodies of other
  /// bytes come from files.
  static func words() -> [String]? {
    if ProcessStart.isBackground { return Background.receivedWords() ?? [] }
    var words: [String] = []
    for index in 1..<max(1, ProcessStart.argumentCount) {
      guard let pointer = ProcessStart.argument(index) else { break }
      guard let word = String(validatingCString: pointer) else { return nil }
      words.append(word)
    }
    return words
  }
}
