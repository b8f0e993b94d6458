internal import CacheStore
internal import FoundationEssentials

extension Exchange {
  /// Replaces the row; where that takes longer than 250 ms the answer goes out without it and the write goes on.
  nonisolated(nonsending) func commit(
    _ head: Answer, _ collected: BodyCollector.Outcome
  ) async throws(DataServiceError) -> ExchangeOutcome {
    guard beginWriting() else { throw DataServiceError(.cancelled, "the exchange was stopped") }
    let isOneOfMany = isOneOfMany
    if case .short = collected, plan.pendingLookup == nil, let accountID = generation.known {
      let write = write(head, collected, accountID: accountID)
      // Kept apart, a write that is handed over needs no task to wait for it.
      if isOneOfMany || core.configuration.keepsStoreApart {
        if let (done, pending) = await together(write), done?.isMissing != true {
          return try outcome(done, pending, head)
        }
      } else if let done = immediately({ () throws(CacheStoreError) in try core.store.overwriteNow(write) }),
        !done.isMissing
      {
        return try outcome(done, nil, head)
      }
    }
    let (done, pending) = await bounded { [self] () async throws(CacheStoreError) in
      await plan.pendingLookup?.value
      return try await generation.with { (id) async throws(CacheStoreError) in
        try await core.store.overwrite(
          write(head, collected, accountID: id), isOneOfMany: isOneOfMany, soon: core.thread.perform)
      }
    }
    if done?.isMissing == true, case .long = collected {
      throw DataServiceError(.repeatUnconditional, "the store was removed while the body arrived")
    }
    return try outcome(done, pending, head)
  }

  private func outcome(
    _ done: Result<ResponseStore.Overwritten, CacheStoreError>?, _ pending: Task<Bool, Never>?, _ head: Answer
  ) throws(DataServiceError) -> ExchangeOutcome {
    if let done { return ExchangeOutcome(answer: try applied(done, to: head)) }
    var answer = head
    answer.kept = .no(.busy)
    return ExchangeOutcome(answer: answer, pendingWrite: pending)
  }

  /// Hands a write over to be committed with others, and waits for it as ``bounded(_:)`` does, without a task of its own.
  /// - Returns: `nil` where it has to go another way.
  nonisolated(nonsending) private func together(
    _ write: ResponseStore.Write
  ) async -> (Result<ResponseStore.Overwritten, CacheStoreError>?, Task<Bool, Never>?)? {
    typealias Done = Result<ResponseStore.Overwritten, CacheStoreError>
    let (first, last) = (FirstValue<Done?>(), FirstValue<Done>())
    let isUnderWay = core.store.overwriteTogether(write, soon: core.thread.perform) { done in
      last.set(done)
      first.set(done)
    }
    guard isUnderWay else { return nil }
    let timer = core.timekeeper.after(core.configuration.timeouts.commit) { first.set(nil) }
    defer { timer.cancel() }
    if let done = await first.value { return (done, nil) }
    let pending = Task(executorPreference: core.thread) {
      if case .success = await last.value { return true }
      return false
    }
    return (nil, pending)
  }

  /// Merges a 304 into the row, and delivers the stored body with it.
  nonisolated(nonsending) func freshen(_ head: Answer, row: AnswerRule.Row) async throws(DataServiceError)
    -> ExchangeOutcome
  {
    guard let stored = plan.candidate else { throw Self.gone }
    var answer = head.validating(stored, secretNames: core.secretFieldNames)
    let storable = answer.fields
    answer.addCookies(of: head)
    closeToNewLoads()
    if case .untouched(let reason) = row {
      answer.kept = .no(reason)
      return ExchangeOutcome(answer: answer)
    }
    guard beginWriting() else { throw DataServiceError(.cancelled, "the exchange was stopped") }
    let freshening = ResponseStore.Freshening(
      rowID: stored.id, body: stored.body, head: storedHead(of: answer, fields: storable))
    let isOneOfMany = isOneOfMany
    var outcome: Result<Bool, CacheStoreError>?
    if !isOneOfMany {
      outcome = immediately { () throws(CacheStoreError) in try core.store.freshenNow(freshening) }
    }
    var pending: Task<Bool, Never>?
    if outcome == nil {
      let (done, task) = await bounded { [core] () async throws(CacheStoreError) in
        try await core.store.freshen(freshening, isOneOfMany: isOneOfMany, soon: core.thread.perform)
      }
      outcome = done
      pending = task
    }
    switch outcome {
    case .success(true): answer.kept = .yes
    case .success(false): return try await newerRow(answer)
    case .failure(let error):
      if error.reason == .signedOut { throw .signedOut }
      if error.reason == .missing { throw Self.gone }
      core.warn(store: error)
      answer.kept = .no(.init(error))
    case nil:
      answer.kept = .no(.busy)
      return ExchangeOutcome(answer: answer, pendingWrite: pending)
    }
    return ExchangeOutcome(answer: answer)
  }

  /// Whether so much is under way that commits are better shared than made at once on this thread.
  private var isOneOfMany: Bool { core.exchangeCount >= Self.many }
  private static let many = 4

  private static var gone: DataServiceError {
    DataServiceError(.repeatUnconditional, "the validated response is gone", status: 304)
  }

  /// The row is gone or newer: a newer one is the answer, a missing one means asking again.
  nonisolated(nonsending) private func newerRow(_ head: Answer) async throws(DataServiceError)
    -> ExchangeOutcome
  {
    let prepared = plan.prepared
    let looked = await core.commitWaiting.result { [core] () async throws(CacheStoreError) in
      try await core.lookup(prepared)
    }
    try await checkGeneration()
    // From a store that does not say, the origin's whole answer is the way.
    guard case .success(let found) = looked, let row = core.select(from: found, for: prepared) else {
      throw Self.gone
    }
    var answer = Answer(row: row, url: head.url, comparedWith: plan.candidate)
    answer.interim = head.interim
    answer.redirects = head.redirects
    answer.addCookies(of: head)
    // Of another body the 304 says nothing.
    answer.wasValidated = row.body == plan.candidate?.body
    return ExchangeOutcome(answer: answer)
  }

  private func write(
    _ answer: Answer, _ collected: BodyCollector.Outcome, accountID: Int64
  ) -> ResponseStore.Write {
    let prepared = plan.prepared
    let vary = Vary.names(in: answer.fields)
    let isSame = answer.comparison?.isSame ?? false
    let body: ResponseStore.Write.Body =
      switch collected {
      case .short(let data): .bytes(data)
      case .long(let unfinished): .unfinished(unfinished)
      case .live: .bytes(Data())
      }
    let fields = StoredFields.storable(
      answer.fields, secretNames: core.secretFieldNames, receivedAt: answer.receivedAt)
    var write = ResponseStore.Write(
      accountID: accountID, key: prepared.key,
      head: storedHead(of: answer, fields: fields, endedAt: core.timekeeper.wallMilliseconds), body: body)
    write.isGood = answer.isGood
    write.variant = Vary.variant(names: vary, requestFields: prepared.fields, protect: core.protect)
    write.vary = vary
    if isSame, let candidate = plan.candidate { write.changedAt = candidate.changedAt }
    write.isPinned = prepared.request.isPinned
    write.tags = prepared.request.tags
    return write
  }

  /// The head of an answer as its row will have it.
  ///
  /// - Parameter endedAt: When the last of the body had come, where it was waited for.
  func storedHead(of answer: Answer, fields: HTTPFields, endedAt: Int64? = nil) -> ResponseHead {
    ResponseHead(
      status: answer.status, reason: answer.reason, fields: fields, version: answer.version,
      url: answer.url == plan.prepared.key.target ? nil : answer.url, started: started,
      requestedAt: answer.requestedAt, receivedAt: answer.receivedAt, endedAt: endedAt)
  }

  private func applied(
    _ result: Result<ResponseStore.Overwritten, CacheStoreError>, to answer: consuming Answer
  ) throws(DataServiceError) -> Answer {
    switch result {
    case .success(.stored(_, let body)):
      answer.kept = .yes
      if case .stored = answer.body { answer.body = .stored(body) }
    case .success(.superseded):
      answer.kept = .no(.superseded)
    case .failure(let error):
      if error.reason == .signedOut { throw .signedOut }
      core.warn(store: error)
      answer.kept = .no(.init(error))
    }
    return answer
  }

  /// Runs a write on this thread if the store is free; `nil` where it has to be queued, or the store is kept apart.
  private func immediately<Value>(
    _ write: () throws(CacheStoreError) -> Value?
  ) -> Result<Value, CacheStoreError>? {
    if core.configuration.keepsStoreApart { return nil }
    do throws(CacheStoreError) {
      return try write().map { .success($0) }
    } catch {
      return error.reason == .busy ? nil : .failure(error)
    }
  }

  /// Runs a queued write, and waits for it no longer than a delivery may; the task tells whether it succeeded.
  nonisolated(nonsending) private func bounded<Value: Sendable>(
    _ write: @escaping @Sendable () async throws(CacheStoreError) -> Value
  ) async -> (Result<Value, CacheStoreError>?, Task<Bool, Never>) {
    let first = FirstValue<Result<Value, CacheStoreError>?>()
    let task = Task(executorPreference: core.thread) {
      let result: Result<Value, CacheStoreError>
      do throws(CacheStoreError) {
        result = .success(try await write())
      } catch {
        result = .failure(error)
      }
      first.set(result)
      if case .success = result { return true }
      return false
    }
    let timer = core.timekeeper.after(core.configuration.timeouts.commit) { first.set(nil) }
    defer { timer.cancel() }
    return (await first.value, task)
  }
}

extension Result where Failure == CacheStoreError {
  /// Whether the store was removed while it was in use.
  fileprivate var isMissing: Bool {
    if case .failure(let error) = self { return error.reason == .missing }
    return false
  }
}
