internal import CacheStore
internal import DataService
internal import RedisTier

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
    service = .forCommand(arguments, diagnostics)
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
  @discardableResult func missing() -> ExitStatus? {
    guard StoreLocation.isNamed(arguments), service.store.isMissing else { return nil }
    diagnostics.say(StoreLocation.missing(arguments))
    return .inputOutput
  }

  /// Checks a copy, of which nothing is repaired: what a damaged page has lost must not look as if it had never been
  /// there.
  func checkCopy() async throws(DataServiceError) {
    let store = service.store
    guard store.configuration.isReadOnly, !store.configuration.isForeign, !store.isMissing else { return }
    do throws(CacheStoreError) { try await service.store.requireSoundStructure() } catch {
      throw DataServiceError(store: error)
    }
  }

  /// The rows of a selection; with a limit, no more of each account than the first by URL.
  func entries(
    _ selection: RowSelection, ofEach limit: Int = .max
  ) async throws(DataServiceError) -> [StoredEntry] {
    try await checkCopy()
    var chosen = selection.selection
    // A statement takes a limited number of them; the rows of more are found among all.
    if let targets = selection.targets, targets.count <= 1_000 { chosen.targets = Array(targets) }
    let entries: [StoredEntry]
    do throws(CacheStoreError) {
      entries = try await service.store.entries(chosen, ofEach: limit) { selection.includes($0, now: now) }
    } catch {
      throw DataServiceError(store: error)
    }
    guard let requests = selection.requests else { return entries }
    var variants: Set<String> = []
    for request in requests {
      variants.formUnion(try await service.explain(request).variants.filter(\.isMatch).map(\.fields))
    }
    return entries.filter { variants.contains($0.response.variant) }
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
  /// `unmark`: takes the pin or tags from the selected entries, which stay, and says how many there were.
  func unmark() throws(UsageError) -> ExitStatus {
    let (tags, takesPin, service) = (arguments.texts(.tag), arguments.has(.pin), service)
    guard takesPin || !tags.isEmpty else {
      throw UsageError(
        "nothing says what to take from the entries", "write --pin, or --tag TAG as list shows it")
    }
    let selection = try RowSelection(arguments, now: now, key: key)
    // A tag alone selects the entries that have it.
    if takesPin { try selection.requireSome(to: "unmark") }
    if let missing = missing() { return missing }
    return run { () async throws(DataServiceError) -> (pins: Int, tags: Int, isNone: Bool) in
      var (pins, taken, isNone) = (0, 0, true)
      if takesPin {
        let entries = try await self.entries(selection)
        isNone = entries.isEmpty
        pins = try await selection.inBatches(entries) { (some) throws(DataServiceError) in
          try await service.unpin(some)
        }
      }
      for tag in tags {
        var tagged = selection
        tagged.selection.tag = tag
        let entries = try await self.entries(tagged)
        isNone = isNone && entries.isEmpty
        taken += try await tagged.inBatches(entries) { (some) throws(DataServiceError) in
          try await service.untag(some, tag: tag)
        }
      }
      return (pins, taken, isNone)
    } then: { done in
      if arguments.has(.json) {
        var json = JSONWriter()
        if takesPin { json.member("unpinned", done.pins) }
        if !tags.isEmpty { json.member("untagged", done.tags) }
        return Output.write(json.line(), diagnostics)
      }
      if done.isNone {
        diagnostics.say("no stored entry matches")
      } else {
        let pins = takesPin ? ["unpinned \(Words.entries(done.pins))"] : []
        let taken = tags.isEmpty ? [] : ["removed \(Counted.text(done.tags, "tag"))"]
        diagnostics.show((pins + taken).joined(separator: ", ") + "\n")
      }
      return .success
    }
  }
}

extension StoreCommands {
  /// `list`: in a pipe one line for each entry; on a terminal also a header and the total.
  func list() throws(UsageError) -> ExitStatus {
    let selection = try RowSelection(arguments, now: now, key: key)
    if let missing = missing() { return missing }
    let order = arguments.text(.sort).flatMap { ListOrder(rawValue: $0) } ?? .url
    let limit = arguments.count(.limit) ?? .max
    let readsFirst = limit < .max && order == .url && !arguments.has(.reverse)
    return run { () async throws(DataServiceError) in
      // One more tells whether there are others.
      try await self.entries(selection, ofEach: readsFirst ? limit + 1 : .max)
    } then: { entries in
      var sorted = EntryTable.sorted(entries, by: order)
      if arguments.has(.reverse) { sorted.reverse() }
      let shown = Array(sorted.prefix(limit))
      let table = EntryTable(now: now)
      if arguments.has(.json) { return Output.write(shown.flatMap(table.line), diagnostics) }
      if entries.isEmpty {
        diagnostics.say(selection.isAll ? "nothing is stored" : "no stored entry matches")
      }
      guard diagnostics.terminal.isOutput else {
        return Output.write(Array(table.lines(shown).utf8), diagnostics)
      }
      if entries.isEmpty { return .success }
      let text = table.text(shown, width: Terminal.width(of: 1))
      let isCut = readsFirst && shown.count < entries.count
      let total = EntryTable.total(of: isCut ? shown : entries, shown: shown.count)
      return Output.write(text + (isCut ? "the first " : "") + total, diagnostics)
    }
  }
}

extension StoreCommands {
  /// `limits`: shows the store's limits and their use; with options, it sets limits first.
  func limits() throws(UsageError) -> ExitStatus {
    let change = try LimitsChange(arguments)
    if change.isNone, let missing = missing() { return missing }
    let (service, store) = (service, service.store)
    return run { () async throws(DataServiceError) -> LimitsReport in
      var removed: Int?
      if !change.isNone {
        removed = try await service.setLimits(change.applied(to: try await service.limits().own))
      }
      let (own, inForce) = try await service.limits()
      do throws(CacheStoreError) {
        return LimitsReport(own: own, inForce: inForce, use: try await store.use(), removed: removed)
      } catch {
        throw DataServiceError(store: error)
      }
    } then: { report in
      Output.write(
        arguments.has(.json) ? report.line() : Array(report.text(now: now).utf8), diagnostics)
    }
  }
}

/// The limits that `limits` is to set.
struct LimitsChange: Equatable {
  /// A limit as given: `nil` leaves it unchanged, `none` removes it.
  enum Value<Limit: Equatable & Sendable>: Equatable {
    case none
    case set(Limit)
  }

  var bytes: Value<Int64>?
  var rows: Value<Int>?
  var age: Value<Duration>?

  /// The smallest useful limit.
  private static let fewestBytes: Int64 = 1 << 20

  init(_ arguments: Arguments) throws(UsageError) {
    if arguments.text(.bytes) == "none" { bytes = Value.none }
    if arguments.text(.rows) == "none" { rows = Value.none }
    if arguments.text(.olderThan) == "none" { age = Value.none }
    if let size = arguments.size(.bytes) {
      guard size >= Self.fewestBytes else {
        throw UsageError("--bytes is less than a store needs for itself", "write 1M or more, or none")
      }
      bytes = .set(size)
    }
    if let count = arguments.count(.rows) { rows = .set(count) }
    if let duration = arguments.duration(.olderThan) {
      guard duration >= .seconds(1) else {
        throw UsageError("--older-than of less than a second keeps nothing", "write 1s or more, or none")
      }
      age = .set(duration)
    }
  }

  /// Whether no limit is to be set.
  fileprivate var isNone: Bool { bytes == nil && rows == nil && age == nil }

  /// The limits with the given ones changed.
  func applied(to limits: StoreLimits) -> StoreLimits {
    StoreLimits(
      maximumBytes: Self.applied(bytes, limits.maximumBytes),
      maximumRows: Self.applied(rows, limits.maximumRows), maximumAge: Self.applied(age, limits.maximumAge))
  }

  private static func applied<Limit>(_ value: Value<Limit>?, _ old: Limit?) -> Limit? {
    switch value {
    case nil: old
    case Value.none?: nil
    case .set(let new)?: new
    }
  }
}

/// The verbs that report on the store: `stats` and `doctor`.
extension StoreCommands {
  /// `stats`: what is stored, and how often it was used. A store that is not there yet is said, and is empty.
  func stats() throws(UsageError) -> ExitStatus {
    if arguments.has(.prometheus), arguments.has(.json) {
      throw UsageError("--json and --prometheus exclude each other", "leave one of them out")
    }
    missing()
    let store = service.store
    return run { () async throws(DataServiceError) in
      try await checkCopy()
      do throws(CacheStoreError) { return try await store.statistics() } catch {
        throw DataServiceError(store: error)
      }
    } then: { statistics in
      let account = arguments.text(.account)
      let parts = statistics.parts.filter { account == nil || $0.account == account }
      // What was shared is known of all accounts together.
      let shared = account == nil ? store.tierCounts : TierCounts()
      if arguments.has(.prometheus) {
        return Output.write(MetricsText.text(statistics, parts, shared), diagnostics)
      }
      if arguments.has(.json) {
        return Output.write(parts.flatMap(StatisticsText.line) + StatisticsText.line(shared), diagnostics)
      }
      let width = diagnostics.terminal.isOutput ? Terminal.width(of: 1) : nil
      let text = StatisticsText.text(statistics, parts, shared, isWhole: account == nil, width: width)
      return Output.write(text, diagnostics)
    }
  }

  /// `doctor`: problems of the store and of its dependencies, with remedies. Exits with 1 if there is a problem.
  func doctor() throws(UsageError) -> ExitStatus {
    for option in [OptionName.json, .repair] where arguments.has(.newFleetKey) && arguments.has(option) {
      throw UsageError(
        "--\(option.rawValue) does nothing with --new-fleet-key, which prints a key", "leave one of them out")
    }
    if arguments.has(.newFleetKey) { return Output.write(FleetKey.generate() + "\n", diagnostics) }
    let (service, repairs) = (service, arguments.has(.repair))
    return run { () async throws(DataServiceError) in
      var findings = await service.store.findings(repair: repairs, at: .now)
      // Where its structure is sound, it has one of its schema; reading another would begin a repair.
      if findings.contains(where: { $0.subject == "schema" }), let rows = try? await service.store.newest(5) {
        findings.append(ClockFinding.finding(rows, now: now))
      }
      return (findings, await service.examineUpstream() ?? [])
    } then: { ofStore, shared in
      let findings =
        [transport] + authorities + linked + ofStore + ProxyFindings.all(Environment.value) + shared
      let isWrong = findings.contains { $0.severity == .wrong }
      let status: ExitStatus = isWrong ? .different : .success
      if arguments.has(.json) {
        return Output.write(findings.flatMap(FindingText.line), diagnostics, status: status)
      }
      return Output.write(FindingText.text(findings), diagnostics, status: status)
    }
  }

  /// Libraries linked statically, which only a new build can update.
  private var linked: [StoreFinding] {
    ProcessStart.linkedLibraries.map { [StoreFinding("linked in", .fine, $0)] } ?? []
  }

  /// The certificate authorities, as far as they are known.
  private var authorities: [StoreFinding] {
    var options = ConnectionOptions()
    TrustVariables.apply(to: &options, Environment.value)
    return SystemTransport.authorities(options).map { [$0] } ?? []
  }

  /// The transport, or the finding that there is none.
  private var transport: StoreFinding {
    do throws(DataServiceError) {
      return StoreFinding("transport", .fine, try SystemTransport.version())
    } catch {
      return StoreFinding(
        "transport", .wrong, "\(error.message): only what is stored can be delivered", remedy: error.remedy)
    }
  }
}
