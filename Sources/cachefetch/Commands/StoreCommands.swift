internal import CacheStore
internal import DataService

/// The verbs that work only on the store. They cannot do without it, so a store error ends them with 74.
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

  /// Runs `work` and passes its result to `finish`; reports a store error and returns 74.
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

  /// What to do about an error; if other processes hold the store, which ones.
  private func hint(for error: DataServiceError) -> String? {
    // Any hint but the general one is more specific.
    guard let cause = error.underlying as? CacheStoreError, cause.reason == .busy,
      cause.remedy == .tryAgain
    else { return error.advice }
    return "it is held by \(service.store.holders): try again, or end what holds it"
  }

  /// Reports a named store that does not exist and returns 74: a mistyped name must not look like an empty store. The
  /// default store may not exist yet.
  func missing() -> ExitStatus? {
    guard StoreLocation.isNamed(arguments), service.store.isMissing else { return nil }
    diagnostics.say(StoreLocation.missing(arguments))
    return .inputOutput
  }

  /// Checks a copy, of which nothing is repaired: what a damaged page has lost must not look as if it had never been
  /// there.
  func checkCopy() async throws(DataServiceError) {
    guard service.store.configuration.isReadOnly else { return }
    do throws(CacheStoreError) { try await service.store.requireSoundStructure() } catch {
      throw DataServiceError(store: error)
    }
  }

  /// The rows of a selection.
  func entries(_ selection: RowSelection) async throws(DataServiceError) -> [StoredEntry] {
    try await checkCopy()
    return try await service.entries(selection.selection).filter { selection.includes($0, now: now) }
  }

  /// The key under which a request is stored.
  func key(_ request: DataService.Request) throws(UsageError) -> RequestKey {
    do throws(DataServiceError) {
      return try service.key(for: request)
    } catch {
      throw UsageError(error.message, error.advice ?? "see cachefetch help \(arguments.verb.rawValue)")
    }
  }
}

extension StoreCommands {
  /// `list`: in a pipe one line for each entry; on a terminal also a header and the total.
  func list() throws(UsageError) -> ExitStatus {
    let selection = try RowSelection(arguments, now: now, key: key)
    if let missing = missing() { return missing }
    return run { () async throws(DataServiceError) in
      try await self.entries(selection)
    } then: { entries in
      let order = arguments.text(.sort).flatMap { ListOrder(rawValue: $0) } ?? .url
      var sorted = EntryTable.sorted(entries, by: order)
      if arguments.has(.reverse) { sorted.reverse() }
      let shown = arguments.count(.limit).map { Array(sorted.prefix($0)) } ?? sorted
      let table = EntryTable(now: now)
      if arguments.has(.json) { return Output.write(shown.flatMap(table.line), diagnostics) }
      if entries.isEmpty {
        diagnostics.say(selection.isAll ? "nothing is stored" : "no stored entry matches")
      }
      guard diagnostics.terminal.isOutput, !entries.isEmpty else {
        return Output.write(table.text(shown, width: nil), diagnostics)
      }
      let text = table.text(shown, width: Terminal.width(of: 1), hasHeader: true)
      return Output.write(text + EntryTable.total(of: entries, shown: shown.count), diagnostics)
    }
  }
}
