internal import CacheStore
internal import PlatformFoundation

/// Writes an answer's effect on the stored row. A delivery waits at most 250 ms for the write, which then continues
/// without it.
struct Commit {
  static let rowIsGone = "the validated response is gone"
  private static let storeIsGone = "the store was removed while the body arrived"

  let exchange: Exchange
  private var core: ServiceCore { exchange.core }

  init(exchange: Exchange) { self.exchange = exchange }

  // MARK: - A new row

  /// Replaces the row.
  func replace(
    _ answer: Answer, _ collected: BodyCollector.Collected
  ) async throws(DataServiceError) -> ExchangeStep {
    guard exchange.beginWriting() else { throw DataServiceError(.cancelled, "the exchange was stopped") }
    let reply = await reply(to: answer, collected)
    if reply.isMissing, case .long = collected { return .askAgain(because: Self.storeIsGone) }
    return .done(try outcome(of: reply, answer))
  }

  private func reply(
    to answer: Answer, _ collected: BodyCollector.Collected
  ) async -> Reply<ResponseStore.Overwritten> {
    if case .short = collected, exchange.plan.pendingLookup == nil, let id = exchange.generation.known {
      // Handing over a write takes no task that waits for it.
      let pending = Pending<ResponseStore.Overwritten>()
      let isUnderWay = core.store.overwrite(
        write(answer, collected, accountID: id), soon: core.thread.perform
      ) { pending.set($0) }
      if isUnderWay {
        let reply = await core.door.reply(of: pending, for: .commit)
        if !reply.isMissing { return reply }
      }
    }
    return await core.door.ask(for: .commit) { [self] (store) async throws(CacheStoreError) in
      await exchange.plan.pendingLookup?.value
      return try await exchange.generation.with { (id) async throws(CacheStoreError) in
        try await store.overwrite(write(answer, collected, accountID: id), soon: core.thread.perform)
      }
    }
  }

  private func write(
    _ answer: Answer, _ collected: BodyCollector.Collected, accountID: Int64
  ) -> ResponseStore.Write {
    let prepared = exchange.prepared
    let vary = Vary.names(in: answer.head.fields)
    let isSame = answer.comparison?.isSame ?? false
    let body: ResponseStore.Write.Body =
      switch collected {
      case .short(let data): .bytes(data)
      case .long(let unfinished): .unfinished(unfinished)
      case .live, .askAgain: .bytes(Data())
      }
    let head = storedHead(
      of: answer, fields: storableFields(of: answer), endedAt: core.timekeeper.wallMilliseconds)
    var write = ResponseStore.Write(accountID: accountID, key: prepared.key, head: head, body: body)
    write.isGood = answer.isGood
    write.variant = Vary.variant(names: vary, requestFields: prepared.fields, protect: core.protect)
    write.vary = vary
    if isSame, let row = exchange.row { write.changedAt = row.value.changedAt }
    write.replaces = core.answering(prepared)
    write.marks = exchange.marks
    return write
  }

  /// The fields of an answer as its row stores them, and other machines are offered them.
  func storableFields(of answer: Answer) -> HTTPFields {
    var fields = StoredFields.storable(
      answer.head.fields, secretNames: core.secretFieldNames, receivedAt: answer.head.receivedAt)
    // Nothing is in no coding, whatever its fields say.
    if answer.body.length == 0 { fields.remove("Content-Encoding") }
    return fields
  }

  /// The head of an answer in the form that its row stores.
  ///
  /// - Parameter endedAt: The time at which the body was complete, if the exchange received one.
  func storedHead(of answer: Answer, fields: HTTPFields, endedAt: Int64? = nil) -> ReceivedHead {
    var head = answer.head
    head.fields = fields
    head.started = exchange.started
    if let endedAt { head.endedAt = endedAt }
    return head
  }

  private func outcome(
    of reply: Reply<ResponseStore.Overwritten>, _ answer: Answer
  ) throws(DataServiceError) -> CompletedExchange {
    var outcome = CompletedExchange(answer: answer)
    switch reply {
    case .done(.stored(_, let body)):
      outcome.answer.kept = .yes
      if case .stored = answer.body { outcome.answer.body = .stored(body) }
    case .done(.superseded): outcome.answer.kept = .no(.superseded)
    case .failed(let error):
      if error.reason == .signedOut { throw .signedOut }
      core.warn(store: error.storing(exchange.prepared.shownURL))
      outcome.answer.kept = .no(.init(error))
    case .silent(let write):
      outcome.answer.kept = .no(.busy)
      outcome.pendingWrite = Task(executorPreference: core.thread) { end(of: await write.value) }
    }
    return outcome
  }

  /// What became of a write that no delivery waited for any longer. A failed one is told: its delivery could not.
  private func end(
    of result: Result<ResponseStore.Overwritten, CacheStoreError>
  ) -> ResponseStore.Overwritten? {
    switch result {
    case .success(let written): return written
    case .failure(let error):
      if error.reason != .signedOut, error.reason != .missing {
        core.warn(store: error.storing(exchange.prepared.shownURL))
      }
      return nil
    }
  }

  // MARK: - Nothing written

  /// An answer for which nothing is written: it is delivered unless its account was signed out meanwhile.
  func conclude(_ answer: Answer, kept: DataService.Kept) async throws(DataServiceError) -> ExchangeStep {
    try await exchange.generation.checkSignOut()
    var answer = answer
    answer.kept = kept
    return .answered(answer)
  }

  /// Marks the row stale, since the origin has something newer that is not stored, or has it no more: it stays for the
  /// time without a network, and no policy takes it for young (law 5). Nobody's exchange marks nothing (law 11).
  func outdateRow() async throws(DataServiceError) {
    guard let row = exchange.candidate, row.isInStore, !row.isInvalid else { return }
    guard exchange.beginWriting() else { throw DataServiceError(.cancelled, "the exchange was stopped") }
    await core.change { [exchange] (store) async throws(CacheStoreError) in
      try await store.invalidate(
        accountID: row.accountID, targets: [exchange.prepared.key.target], started: exchange.started)
    }
    try exchange.stopWriting()
  }

  // MARK: - The same row, confirmed

  /// Merges a 304 into the row and delivers the stored body.
  func freshen(
    by notModified: Answer, row: AnswerRule.Row
  ) async throws(DataServiceError) -> ExchangeStep {
    guard var stored = exchange.candidate else { return .askAgain(because: Self.rowIsGone) }
    var answer = notModified.validating(stored, secretNames: core.secretFieldNames)
    guard
      Validators.isWithin(exchange.prepared.request.limits, answer.head.fields, stored: stored.fields)
    else { return .askAgain(because: "the 304 adds more fields than a response may have") }
    answer.confirmsCandidate = !stored.isInStore
    let refusal = await exchange.refusal(of: answer)
    // What it would confirm again and again is of no use to that load.
    if refusal == .undecodable { return .askAgain(because: "what is stored does not decode") }
    if !stored.isInStore {
      // Unlike a stored body, no load here has accepted this body yet (law 5).
      if let refusal { return try await conclude(answer, kept: .no(refusal)) }
      if case .freshened = row {
        let (confirmed, refusal) = try await UpstreamStep(exchange: exchange).store(stored, isConfirmed: true)
        guard let confirmed else {
          answer.addCookies(of: notModified)
          answer.kept = .no(refusal)
          return .answered(answer)
        }
        stored = confirmed
      }
    }
    let freshening = ResponseStore.Freshening(
      rowID: stored.id, body: stored.body, head: storedHead(of: answer, fields: answer.head.fields),
      variant: variant(of: stored, freshenedBy: notModified, to: answer.head.fields), marks: exchange.marks)
    answer.addCookies(of: notModified)
    if case .untouched(let reason) = row { return try await conclude(answer, kept: .no(reason)) }
    guard exchange.beginWriting() else { throw DataServiceError(.cancelled, "the exchange was stopped") }
    let pending = Pending<ResponseStore.Overwritten>()
    core.store.freshen(freshening, soon: core.thread.perform) { pending.set($0) }
    let reply = await core.door.reply(of: pending, for: .commit)
    if case .done(.superseded) = reply { return try await newerRow(answer) }
    if reply.isMissing { return .askAgain(because: Self.rowIsGone) }
    return .done(try outcome(of: reply, answer))
  }

  /// What selects the row once it has the merged fields; `nil` where that stays as it is.
  private func variant(
    of stored: StoredResponse, freshenedBy answer: Answer, to fields: HTTPFields
  ) -> (vary: String, variant: String)? {
    let prepared = exchange.prepared
    let names = answer.head.fields.contains("Vary") ? Vary.names(in: fields) : stored.vary
    // With the same names the row has matched this request, so its variant is the same too, but for credentials.
    guard names != stored.vary || prepared.credentials != nil else { return nil }
    return (names, Vary.variant(names: names, requestFields: prepared.fields, protect: core.protect))
  }

  /// Handles a row that changed during the exchange: a newer row is the answer; a missing one means asking again.
  private func newerRow(
    _ notModified: Answer
  ) async throws(DataServiceError) -> ExchangeStep {
    let prepared = exchange.prepared
    let looked = await core.door.ask(for: .commit) { (store) async throws(CacheStoreError) in
      try await store.lookup(prepared.key)
    }
    // Before the origin is asked again too.
    try await exchange.generation.checkSignOut()
    // If the store does not answer, or its row did not come from this origin since the exchange began, or was asked for
    // before a load that wants nothing older, only a complete response from the origin will do.
    guard let found = looked.value, let row = core.select(from: found, for: prepared),
      !row.isUnconfirmed, !row.started.isFromElsewhere, row.receivedAt >= exchange.candidate?.receivedAt ?? 0,
      exchange.isFreshEnough(row)
    else {
      return .askAgain(because: Self.rowIsGone)
    }
    await exchange.mark(row)
    var answer = Answer(row: row, comparedWith: exchange.candidate)
    answer.head.url = notModified.head.url
    answer.interim = notModified.interim
    answer.redirects = notModified.redirects
    answer.addCookies(of: notModified)
    // The 304 does not validate another body.
    answer.wasValidated = row.body == exchange.candidate?.body
    return .answered(answer)
  }

  /// Freshens or invalidates the stored response after an answer to HEAD (RFC 9111 section 4.3.5).
  /// - Returns: Whether the row was written.
  func freshenByHead(_ answer: Answer, row: AnswerRule.Row) async -> DataService.Kept {
    guard let stored = exchange.candidate else { return .no(.method) }
    let done = await core.door.ask(for: .commit) {
      [self] (store) async throws(CacheStoreError) -> DataService.Kept in
      let fields = Validators.freshened(
        stored: stored.fields, by: answer.head.fields, secretNames: core.secretFieldNames,
        receivedAt: answer.head.receivedAt)
      guard Validators.isWithin(exchange.prepared.request.limits, fields, stored: stored.fields) else {
        return .no(.tooLarge)
      }
      let head = storedHead(of: answer, fields: fields)
      // A redirect led to another URL than the row came from, so the target now leads elsewhere.
      if row == .invalidatedByHead || head.url != stored.responseURL {
        let key = exchange.prepared.key
        try await store.invalidate(
          accountName: key.account, targets: [key.target], started: exchange.started)
        return .no(.method)
      }
      let written = try await store.freshen(
        ResponseStore.Freshening(
          rowID: stored.id, body: stored.body, head: head,
          variant: variant(of: stored, freshenedBy: answer, to: fields)))
      return written.isStored ? .yes : .no(.superseded)
    }
    switch done {
    case .done(let kept): return kept
    case .failed(let error):
      core.warn(store: error)
      return .no(.init(error))
    case .silent: return .no(.busy)
    }
  }
}

extension Reply {
  /// Whether the store was removed while it was in use.
  fileprivate var isMissing: Bool {
    if case .failed(let error) = self { return error.reason == .missing }
    return false
  }
}

/// The answer of an exchange, and the write that still runs.
struct CompletedExchange: Sendable {
  var answer: Answer
  /// A write that exceeded the delivery's time limit and still runs.
  var pendingWrite: LateWrite?
}

/// What becomes of a write that no delivery waits for any longer; `nil` where it fails.
typealias LateWrite = Task<ResponseStore.Overwritten?, Never>

/// The result of one request, including its redirects.
enum ExchangeStep: Sendable {
  case done(CompletedExchange)
  /// The request must be sent again without a condition.
  case askAgain(because: String)

  static func answered(_ answer: Answer) -> Self { .done(CompletedExchange(answer: answer)) }
}
