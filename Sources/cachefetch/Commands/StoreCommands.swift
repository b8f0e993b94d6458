internal import CacheStore
internal import DataService

/// The verbs that work on the store alone: they need it, so that trouble with it ends them with 74.
struct StoreCommands {
  let arguments: Arguments
  let diagnostics: Diagnostics
  let service: DataService
  /// Milliseconds since 1970-01-01 UTC.
  let now = SystemClock.wallMilliseconds

  init(_ arguments: Arguments, _ diagnostics: Diagnostics) {
    self.arguments = arguments
    self.diagnostics = diagnostics
    service = .forCommand(arguments, diagnostics: diagnostics)
  }

  /// `list`.
  func list() throws(UsageError) -> ExitStatus {
    let selection = try RowSelection(arguments, now: now, target: target)
    return run { () async throws(DataServiceError) in
      try await self.entries(selection)
    } then: { entries in
      let order = arguments.text(.sort).flatMap { ListOrder(rawValue: $0) } ?? .url
      let sorted = EntryTable.sorted(entries, by: order)
      let table = EntryTable(now: now)
      if arguments.has(.json) {
        return Output.write(sorted.flatMap(table.line), diagnostics)
      }
      if entries.isEmpty {
        diagnostics.say(selection.isAll ? "nothing is stored" : "nothing stored is like that")
      }
      let width = diagnostics.terminal.isOutput ? Terminal.width(of: 1) : nil
      return Output.write(table.text(sorted, width: width), diagnostics)
    }
  }

  /// `rm`: asks on a terminal where more than one row goes.
  func rm() throws(UsageError) -> ExitStatus {
    let selection = try RowSelection(arguments, now: now, target: target)
    if selection.isAll {
      throw UsageError(
        "rm is not told what to remove", "name URLs, or select rows: --older-than 0s is every row")
    }
    return run { () async throws(DataServiceError) in
      try await self.entries(selection)
    } then: { entries in
      if entries.isEmpty {
        diagnostics.say("nothing stored is like that")
        return .success
      }
      let what = entries.count == 1 ? "1 stored answer" : "\(entries.count) stored answers"
      if entries.count > 1, !isConfirmed("Remove \(what)?") { return .usage }
      return remove(entries)
    }
  }

  private func remove(_ entries: [StoredEntry]) -> ExitStatus {
    let service = service
    return run { () async throws(DataServiceError) in
      var removed = 0
      // In runs: a statement has room for so many identifiers.
      for start in stride(from: 0, to: entries.count, by: 500) {
        var selection = EntrySelection()
        selection.rowIDs = entries[start..<min(start + 500, entries.count)].map(\.rowID)
        removed += try await service.remove(selection)
      }
      return removed
    } then: { removed in
      diagnostics.show("removed \(removed) stored answer\(removed == 1 ? "" : "s")\n")
      return .success
    }
  }

  /// `sign-out`.
  func signOut() throws(UsageError) -> ExitStatus {
    guard let account = arguments.text(.account) else {
      throw UsageError("sign-out needs an account", "write --account NAME, as cachefetch list shows it")
    }
    let service = service
    var selection = EntrySelection()
    selection.accounts = [account]
    let chosen = selection
    return run { () async throws(DataServiceError) in
      try await service.entries(chosen).count
    } then: { count in
      if count > 1, !isConfirmed("Remove \(count) stored answers of \(account)?") { return .usage }
      return run { () async throws(DataServiceError) in
        try await service.signOut(.named(account))
      } then: { _ in
        diagnostics.show(
          "signed out \(TerminalText.visible(account)): \(count) stored answer\(count == 1 ? "" : "s") gone\n"
        )
        return .success
      }
    }
  }

  // MARK: Shared

  /// Does the work and hands its result on; trouble with the store is said and comes to 74.
  func run<Value: Sendable>(
    _ work: @escaping @Sendable () async throws(DataServiceError) -> Value, then finish: (Value) -> ExitStatus
  ) -> ExitStatus {
    switch Await.result(work) {
    case .success(let value): return finish(value)
    case .failure(let error):
      diagnostics.say(Diagnostics.joined(error.message, hint(for: error)))
      return .inputOutput
    case nil: return Signals.exitStatus
    }
  }

  /// What to do about an error; where other processes have the store, who they are.
  private func hint(for error: DataServiceError) -> String? {
    // A hint that is not the one for every such error says more.
    guard let cause = error.underlying as? CacheStoreError, cause.reason == .busy,
      cause.hint == CacheStoreError(.busy, "").hint
    else { return error.hint }
    return "\(service.store.holders) holds it: try again, or end that"
  }

  /// The rows that a selection means.
  func entries(_ selection: RowSelection) async throws(DataServiceError) -> [StoredEntry] {
    try await service.entries(selection.selection).filter { selection.includes($0, now: now) }
  }

  /// A yes, from `--yes` or from the person at the terminal; without either, what was wanted is said.
  private func isConfirmed(_ question: String) -> Bool {
    if arguments.has(.yes) { return true }
    guard diagnostics.terminal.isInput, diagnostics.terminal.isError else {
      diagnostics.say("\(question) There is nobody to ask; write --yes")
      return false
    }
    diagnostics.show("\(TerminalText.visible(question)) [y/N] ")
    return ["y", "yes"].contains(InputFile.line()?.lowercased())
  }

  /// The target under which a URL is stored.
  func target(_ request: DataService.Request) throws(UsageError) -> String {
    do throws(DataServiceError) {
      return try service.key(for: request).target
    } catch {
      throw UsageError(error.message, error.hint ?? "see cachefetch help rm")
    }
  }
}
