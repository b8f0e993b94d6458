internal import DataService

/// `show`: one stored answer, exactly as it is stored; a `get --offline` that says where else the URL is stored.
enum ShowCommand {
  static func run(_ arguments: Arguments, _ diagnostics: Diagnostics) throws(UsageError) -> ExitStatus {
    var plan = try GetPlan(arguments)
    plan.policy = .storedOnly
    let service = DataService.forCommand(arguments, diagnostics: diagnostics)
    return FetchRun(plan, fetcher: Fetcher(service: service), diagnostics: diagnostics).run()
  }
}
