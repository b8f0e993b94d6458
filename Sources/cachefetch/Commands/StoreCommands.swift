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
      cause.remedy == .tryAgain
    else { return error.advice }
    return "it is held by \(service.store.holders): try again, or end what holds it"
  }

  /// 74, said, where the store was named and there is none: a name that was mistyped must not look like a store without
  /// entries. Where it is not named, there may be none yet.
  func missing() -> ExitStatus? {
    guard StoreLocation.isNamed(arguments), service.store.isMissing else { return nil }
    diagnostics.say(StoreLocation.missing(arguments))
    return .inputOutput
  }

  /// The rows that a selection means.
  func entries(_ selection: RowSelection) async throws(DataServiceError) -> [StoredEntry] {
    try await service.entries(selection.selection).filter { selection.includes($0, now: now) }
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
