internal import CacheStore
internal import PlatformFoundation

/// Writes an answer's effect on the stored row. A delivery waits at most 250 ms for the write, which then continues
/// without it.
struct Commit {
  static let rowIsGone = "the validated response is gone"
  private static let storeIsGone = "the store was removed while the body arrived"
  /// From this many running exchanges on, sharing a commit is faster than one commit each on this thread.
  private static let many = 4

  let exchange: Exchange
  private var core: ServiceCore { exchange.core }
  private var isOneOfMany: Bool { core.exchangeCount >= Self.many }

  init(exchange: Exchange) { self.exchange = exchange }

  // MARK: - A new row

  /// Replaces the row.
  func replace(
    _ answer: Answer, _ collected: BodyCollector.Collected
  ) async throws(DataServiceError) -> ExchangeStep {
    guard exchange.beginWriting() else { throw DataServiceError(.cancelled, "the exchange was stopped") }
    let isOneOfMany = isOneOfMany
    if case .short = collected, exchange.plan.pendingLookup == nil, let accountID = exchange.generation.known
    {
      let write = write(answer, collected, accountID: accountID)
      // Handing over a write takes no task that waits for it.
      if let (done, pending) = await together(write), done?.isMissing != true {
        return .done(try outcome(done, pending, answer))
      }
    }
    let (done, pending) = await bounded(isStored: { (written: ResponseStore.Overwritten) in written.isStored }
    ) { [self] () async throws(CacheStoreError) in
      await exchange.plan.pendingLookup?.value
      return try await exchange.generation.with { (id) async throws(CacheStoreError) in
        try await core.store.overwrite(
          write(answer, collected, accountID: id), isOneOfMany: isOneOfMany, soon: core.thread.perform)
      }
    }
    if done?.isMissing == true, case .long = collected { return .askAgain(because: Self.storeIsGone) }
    return .done(try outcome(done, pending, answer))
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
    (write.isPinned, write.tags) = exchange.wishes
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
    _ done: Result<ResponseStore.Overwritten, CacheStoreError>?, _ pending: Task<LateWrite, Never>?,
    _ answer: Answer
  ) throws(DataServiceError) -> CompletedExchange {
    var outcome = CompletedExchange(answer: answer)
    switch done {
    case .success(.stored(_, let body)):
      outcome.answer.kept = .yes
      if case .stored = answer.body { outcome.answer.body = .stored(body) }
    case .success(.superseded): outcome.answer.kept = .no(.superseded)
    case .failure(let error):
      if error.reason == .signedOut { throw .signedOut }
      core.warn(store: error.storing(exchange.prepared.shownURL))
      outcome.answer.kept = .no(.init(error))
    case nil:
      outcome.answer.kept = .no(.busy)
      outcome.pendingWrite = pending
    }
    return outcome
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
    if !stored.isInStore {
      answer.confirmsCandidate = true
      // Unlike a stored body, no load here has accepted this body yet (law 5).
      if let reason = await exchange.refusal(of: answer) {
        try await exchange.generation.checkSignOut()
        answer.kept = .no(reason)
        return .answered(answer)
      }
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
    let (isPinned, tags) = exchange.wishes
    let freshening = ResponseStore.Freshening(
      rowID: stored.id, body: stored.body, head: storedHead(of: answer, fields: answer.head.fields),
      variant: variant(of: stored, freshenedBy: notModified, to: answer.head.fields), isPinned: isPinned,
      tags: tags)
    answer.addCookies(of: notModified)
    if case .untouched(let reason) = row {
      try await exchange.generation.checkSignOut()
      answer.kept = .no(reason)
      return .answered(answer)
    }
    if await exchange.refusal(of: answer) == .undecodable {
      return .askAgain(because: "what is stored does not decode")
    }
    guard exchange.beginWriting() else { throw DataServiceError(.cancelled, "the exchange was stopped") }
    let isOneOfMany = isOneOfMany
    let (done, pending) = await bounded(isStored: { (isStored: Bool) in isStored }) {
      [core] () async throws(CacheStoreError) in
      try await core.store.freshen(freshening, isOneOfMany: isOneOfMany, soon: core.thread.perform)
    }
    switch done {
    case .success(true): answer.kept = .yes
    case .success(false): return try await newerRow(answer)
    case .failure(let error):
      if error.reason == .signedOut { throw .signedOut }
      if error.reason == .missing { return .askAgain(because: Self.rowIsGone) }
      core.warn(store: error)
      answer.kept = .no(.init(error))
    case nil:
      answer.kept = .no(.busy)
      return .done(CompletedExchange(answer: answer, pendingWrite: pending))
    }
    return .answered(answer)
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
    let looked = await core.commitWaiting.result { [core] () async throws(CacheStoreError) in
      try await core.lookup(prepared)
    }
    try await exchange.generation.checkSignOut()
    // If the store does not answer, or its row did not come from this origin since the exchange began, only a
    // complete response from the origin will do.
    guard case .success(let found) = looked, let row = core.select(from: found, for: prepared),
      !row.isUnconfirmed, !row.started.isFromElsewhere, row.receivedAt >= exchange.candidate?.receivedAt ?? 0
    else {
      return .askAgain(because: Self.rowIsGone)
    }
    await exchange.applyWishes(to: row)
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
    let done = await core.commitWaiting.result {
      [self] () async throws(CacheStoreError) -> DataService.Kept in
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
        try await core.store.invalidate(
          accountName: key.account, targets: [key.target], started: exchange.started)
        return .no(.method)
      }
      let isWritten = try await core.store.freshen(
        ResponseStore.Freshening(
          rowID: stored.id, body: stored.body, head: head,
          variant: variant(of: stored, freshenedBy: answer, to: fields)))
      return isWritten ? .yes : .no(.superseded)
    }
    switch done {
    case .success(let kept): return kept
    case .failure(let error):
      core.warn(store: error)
      return .no(.init(error))
    case nil: return .no(.busy)
    }
  }

  // MARK: - How a write is waited for

  /// Hands a write over to be committed with others, and waits for it like ``bounded(isStored:_:)`` but without a task
  /// of its own.
  /// - Returns: `nil` if the store cannot take the write this way.
  private func together(
    _ write: ResponseStore.Write
  ) async -> (Result<ResponseStore.Overwritten, CacheStoreError>?, Task<LateWrite, Never>?)? {
    typealias Done = Result<ResponseStore.Overwritten, CacheStoreError>
    let (first, last) = (FirstValue<Done?>(), FirstValue<Done>())
    let isUnderWay = core.store.overwriteTogether(write, soon: core.thread.perform) { done in
      last.set(done)
      first.set(done)
    }
    guard isUnderWay else { return nil }
    if let done = await core.commitWaiting.value(of: first) { return (done, nil) }
    let pending = Task(executorPreference: core.thread) {
      end(of: await last.value, isStored: { $0.isStored })
    }
    return (nil, pending)
  }

  /// Runs a queued write and waits for it within the time limit of a delivery. The returned task gives what became of
  /// the write.
  private func bounded<Value: Sendable>(
    isStored: @escaping @Sendable (Value) -> Bool,
    _ write: @escaping @Sendable () async throws(CacheStoreError) -> Value
  ) async -> (Result<Value, CacheStoreError>?, Task<LateWrite, Never>?) {
    let first = FirstValue<Result<Value, CacheStoreError>?>()
    let task = Task(executorPreference: core.thread) {
      let result: Result<Value, CacheStoreError>
      do throws(CacheStoreError) {
        result = .success(try await write())
      } catch {
        result = .failure(error)
      }
      first.set(result)
      return end(of: result, isStored: isStored)
    }
    return (await core.commitWaiting.value(of: first), task)
  }

  /// What became of a write. A failed one is reported, since a delivery that did not wait for it cannot. If the store
  /// was removed meanwhile, the origin is asked again.
  private func end<Value>(
    of result: Result<Value, CacheStoreError>, isStored: (Value) -> Bool
  ) -> LateWrite {
    switch result {
    case .success(let value): return isStored(value) ? .stored : .superseded
    case .failure(let error):
      if error.reason != .signedOut, error.reason != .missing {
        core.warn(store: error.storing(exchange.prepared.shownURL))
      }
      return .failed
    }
  }
}

extension ResponseStore.Overwritten {
  /// Whether the row is committed.
  fileprivate var isStored: Bool {
    if case .stored = self { return true }
    return false
  }
}

extension Result where Failure == CacheStoreError {
  /// Whether the store was removed while it was in use.
  fileprivate var isMissing: Bool {
    if case .failure(let error) = self { return error.reason == .missing }
    return false
  }
}

/// The answer of an exchange, and the write that still runs.
struct CompletedExchange: Sendable {
  var answer: Answer
  /// A write that exceeded the delivery's time limit and still runs.
  var pendingWrite: Task<LateWrite, Never>?
}

/// What became of a write that no delivery waited for any longer.
enum LateWrite: Sendable {
  /// The row is committed.
  case stored
  /// A newer row stands in its place, or its target was removed meanwhile.
  case superseded
  case failed
}

/// The result of one request, including its redirects.
enum ExchangeStep: Sendable {
  case done(CompletedExchange)
  /// The request must be sent again without a condition.
  case askAgain(because: String)

  static func answered(_ answer: Answer) -> Self { .done(CompletedExchange(answer: answer)) }
}
