internal import CacheStore
internal import Guards
internal import PlatformFoundation

// The work of an exchange, from top to bottom: lease, attempts, request, verdict, body, commit, result. Its functions
// are `nonisolated(nonsending)` and stay on the caller's executor. Otherwise each call and return would look up the
// task's executor preference: about two hundred instructions, sixty times per exchange.
extension Exchange {
  /// Runs the exchange and publishes its result.
  nonisolated(nonsending) func run() async {
    tell(.began)
    var mayStoreTierRow = true
    do throws(DataServiceError) {
      if var outcome = try await refresh() {
        outcome.answer.shared = shared(outcome.answer)
        // The lease ends after the commit: a process that then gets the lease finds the row.
        if outcome.pendingWrite == nil { endLease(storedRow: outcome.answer.kept == .yes) }
        tell(.answered(outcome.answer.event))
        // Offered before the deliveries, because the program may exit after them; an exit waits briefly for offers in
        // progress.
        if outcome.answer.shared == .yes { offer(outcome.answer) }
        closeAndPublish(.answer(outcome.answer))
        if let write = outcome.pendingWrite { await finish(outcome.answer, after: write) }
        mayStoreTierRow =
          outcome.pendingWrite == nil && ![.yes, .no(.superseded)].contains(outcome.answer.kept)
      } else {
        endLease(storedRow: false)
        tell(.answeredByTier)
      }
    } catch {
      endLease(storedRow: false)
      closeToNewLoads()
      let failure = await unlessSignedOut(error)
      tell(.failed(failure))
      closeAndPublish(.failure(failure))
    }
    if mayStoreTierRow { await storeTierRow() }
    tier.end?()
    core.state.withLock { $0.exchanges.forget(self) }
    reportCommitted()
    core.exchangeEnded()
  }

  /// Ends the lease once a late write is over, and offers the answer if it is in the store by then.
  nonisolated(nonsending) private func finish(
    _ answer: Answer, after write: Task<LateWrite, Never>
  ) async {
    let written = await write.value
    endLease(storedRow: written != .failed)
    guard written == .stored else { return }
    if answer.wasValidatedInTier { noteTierRowStored() }
    var kept = answer
    kept.kept = .yes
    if shared(kept) == .yes { offer(kept) }
  }

  private func closeAndPublish(_ result: ExchangeResult) {
    closeToNewLoads()
    let now = core.timekeeper.bootNanoseconds
    core.state.withLock { $0.noteNetwork(after: result, now: now) }
    publish(result)
  }

  /// Uses the answer of another process that is refreshing the same entry, or asks the origin while holding the
  /// lease. The first step may be one question to the tier.
  /// - Returns: `nil` where the tier's row is all that the loads want.
  nonisolated(nonsending) private func refresh() async throws(DataServiceError) -> CompletedExchange? {
    let deadline = core.timekeeper.instant(after: prepared.request.limits.totalTimeout)
    guard plan.isShared else {
      // An unshared request looks nothing up, so it only learns an account that exists.
      if !prepared.key.account.isEmpty { await learnGeneration() }
      return try await attempts(until: deadline, knowing: plan.preflight)
    }
    switch try await Leasing(exchange: self, deadline: deadline).obtain() {
    case .follow(let answer):
      // The account may have been signed out while this exchange waited.
      try await checkGeneration()
      core.noteFollowing()
      tell(.followed)
      return CompletedExchange(answer: answer)
    case .lead(let lease, let isAtOnce):
      hold(lease)
      if core.configuration.tier != nil {
        // A sign-out while the tier answers is noticed only if the account has a row.
        if !prepared.key.account.isEmpty { generation.begin(on: core.thread) }
        // Without an account the row is created only after the tier's answer: creating a store would delay
        // that answer on one processor.
        if await askTier(until: deadline) { return nil }
        if Task.isCancelled { throw DataServiceError(.cancelled, "cancelled") }
      }
      generation.begin(on: core.thread)
      try await obeyFleet()
      return try await attempts(until: deadline, knowing: isAtOnce ? plan.preflight : nil)
    }
  }

  /// Runs one attempt. If the answer depends on stored bytes that are gone, it asks the origin for the whole
  /// response.
  nonisolated(nonsending) func attempt(
    until deadline: Int64, knowing known: ResponseStore.Preflight?
  ) async throws(DataServiceError) -> CompletedExchange {
    let preflight = await preflight(knowing: known)
    try check(preflight.pause, of: prepared.url)
    // Truncated downloads are rare, and looking for one takes a switch to another thread.
    let resumption = preflight.mayHavePartialBody ? await Resumption.find(for: self) : nil
    switch try await request(until: deadline, validating: self.row, resuming: resumption, isRepeated: false) {
    case .done(let outcome): return outcome
    case .askAgain(let reason): core.trace("repeating the request without a condition: \(reason)")
    }
    try stopWriting()
    switch try await request(until: deadline, validating: nil, resuming: nil, isRepeated: true) {
    case .done(let outcome): return outcome
    case .askAgain(let reason): throw DataServiceError(.store, reason)
    }
  }

  // MARK: - Request and verdict

  /// Sends one request, follows its redirects, and judges, receives and stores the final answer.
  nonisolated(nonsending) private func request(
    until deadline: Int64, validating row: Box<StoredResponse>?, resuming resumption: Resumption?,
    isRepeated: Bool
  ) async throws(DataServiceError) -> ExchangeStep {
    let hops = Hops(exchange: self, deadline: deadline)
    let arrival = try await hops.follow(validating: row, resuming: resumption)
    note(arrival)
    let response: TransportResponse
    let resumed: Resumption.Resumed?
    switch Resumption.joined(
      arrival.response, to: arrival.resumption, wasConditional: arrival.wasConditional,
      secretNames: core.secretFieldNames)
    {
    case .response(let whole, let beginning): (response, resumed) = (whole, beginning)
    case .useless(let reason): return .askAgain(because: reason)
    }
    let verdict = await verdict(on: response, at: arrival, validating: row, isRepeated: isRepeated)
    if case .untouched = verdict.row { endLease(storedRow: false) }
    let url = shown(arrival.url)
    let head = ReceivedHead(
      status: response.status, reason: response.reason, fields: response.fields, version: response.version,
      url: url == prepared.key.target ? nil : url, started: started, requestedAt: arrival.requestedAt,
      receivedAt: core.timekeeper.wallMilliseconds)
    let answer = Answer(
      head: head, interim: arrival.interim, redirects: arrival.redirects, body: .data(Data()),
      kept: .no(.status))
    switch verdict.delivery {
    case .protocolFailure:
      throw DataServiceError(
        .protocol, "\(arrival.url.authority) answered \(response.status) without having been asked for it",
        status: response.status)
    case .repeatUnconditional: return .askAgain(because: Commit.rowIsGone)
    case .freshByValidation:
      closeToNewLoads()
      return try await Commit(exchange: self).freshen(by: answer, row: verdict.row)
    case .mediaTypeFailure:
      throw .unaccepted(answer, of: arrival.url.authority, accepted: prepared.request.acceptedMediaTypes)
    // Each load decides whether this is a failure, from its policy and its stored response.
    case .fresh, .statusFailure, .portalFailure:
      return try await receive(response, of: answer, row: verdict.row, from: arrival, resuming: resumed)
    }
  }

  nonisolated(nonsending) private func verdict(
    on response: TransportResponse, at arrival: Hops.Arrival, validating row: Box<StoredResponse>?,
    isRepeated: Bool
  ) async -> AnswerRule.Decision {
    var situation = AnswerRule.Situation()
    situation.method = prepared.request.method
    situation.isPassThrough = prepared.isPassThrough
    situation.hasCallerRange = PassThrough.hasRange(prepared.fields)
    situation.hasCallerPrecondition = PassThrough.hasPrecondition(prepared.fields)
    situation.wasConditional = arrival.wasConditional
    situation.rowFields = row?.value.fields
    situation.isRepeated = isRepeated
    situation.isNoStoreChain = arrival.isNoStoreChain
    situation.keepsAnyway = prepared.request.keepsAnyway
    situation.isAcceptedMediaType = MediaTypes.accepts(
      response.fields, accepted: prepared.request.acceptedMediaTypes)
    if arrival.leftHostTemporarily { situation.isPortalSuspect = await !rowCameFrom(arrival.url) }
    guard prepared.isHTTP else {
      return AnswerRule.decide(status: response.status, fields: response.fields, situation: situation)
    }
    return AnswerRule.decideHTTP(
      status: response.status, fields: response.fields, situation: situation, prepared: prepared,
      row: candidate, now: core.timekeeper.wallMilliseconds)
  }

  /// Whether the stored row came from the same host, so that a temporary redirect to it is normal. True if nothing is
  /// stored, since there is no row to protect.
  nonisolated(nonsending) private func rowCameFrom(_ url: NormalisedURL) async -> Bool {
    var row = candidate
    if row == nil, let pending = plan.pendingLookup {
      // The store had not answered when the exchange began, so ask it again. If it still does not answer, protect the
      // row.
      let found = await core.commitWaiting.result { [core, prepared] () async throws(CacheStoreError) in
        await pending.value
        return try await core.lookup(prepared)
      }
      guard case .success(let found)? = found else { return false }
      row = core.select(from: found, for: prepared)
    }
    guard let row else { return true }
    let source = row.responseURL ?? prepared.url.string
    return (try? NormalisedURL(source))?.host == url.host
  }

  // MARK: - Body and commit

  /// Collects the body, a long one in the store if it may be stored, and commits the row.
  nonisolated(nonsending) private func receive(
    _ response: TransportResponse, of head: Answer, row: AnswerRule.Row, from arrival: Hops.Arrival,
    resuming: Resumption.Resumed?
  ) async throws(DataServiceError) -> ExchangeStep {
    let body = response.body
    let length = resuming?.wholeLength ?? body.length ?? 0
    var fits = length <= core.store.largestBody
    // Another process may have raised the store's limit.
    if !fits {
      let limit = await core.commitWaiting.result { [core] in await core.store.readLargestBody() }
      if case .success(let bytes) = limit { fits = length <= bytes }
    }
    if let resuming, !fits || !row.isStored {
      // A body that may not be stored must not be assembled in the store either.
      resuming.body.giveUp()
      resuming.body.end()
      return .askAgain(because: "the rest of the download may not be stored")
    }
    var collector = collector(
      of: body, head, isStored: row.isStored && fits,
      isResumable: arrival.redirects == 0 && !response.wasDecodedUnasked, resuming: resuming)
    let collected = try await collector.collect(body)
    if case .askAgain(let reason) = collected { return .askAgain(because: reason) }
    if Task.isCancelled { throw DataServiceError(.cancelled, "cancelled") }
    var answer = head
    if let previous = candidate?.body { answer.comparison = (previous, collector.isSameAsPrevious) }
    answer.isGood = row != .keptForHTTPOnly
    answer.retryAfter = RetryAfter.delay(of: answer, now: core.timekeeper.wallMilliseconds)
    if answer.retryAfter != nil { answer.responder = prepared.responder(of: arrival.url) }
    answer.body = deliverable(collected)
    switch row {
    case .untouched(let reason): answer.kept = .no(reason)
    case .freshened, .freshenedByHead, .invalidatedByHead:
      answer.kept = await Commit(exchange: self).freshenByHead(answer, row: row)
    case .replaced, .keptForHTTPOnly:
      if !fits {
        answer.kept = .no(.tooLarge)
        core.warn(store: core.store.tooLarge(length).storing(prepared.shownURL))
      } else if let failure = collector.storeFailure {
        if failure.reason == .signedOut { throw DataServiceError.signedOut }
        answer.kept = .no(.init(failure))
        // Its beginning alone was too large already. Unless it still arrives, its length is known now.
        let isTooLarge = failure.remedy?.code == .largerStore && collector.received > core.store.largestBody
        let told = isTooLarge ? core.store.tooLarge(collector.received) : failure
        core.warn(store: told.storing(prepared.shownURL))
      } else {
        if let reason = await refusal(of: answer) {
          if case .long(let body) = collected { body.refuse() }
          try await checkGeneration()
          answer.kept = .no(reason)
          return .answered(answer)
        }
        return try await Commit(exchange: self).replace(answer, collected)
      }
    }
    try await checkGeneration()
    _ = await refusal(of: answer)
    return .answered(answer)
  }

  private func collector(
    of body: DataService.BodyStream, _ head: Answer, isStored: Bool, isResumable: Bool,
    resuming: Resumption.Resumed?
  ) -> BodyCollector {
    // Computed only for a body that is long or truncated.
    let partial = { @Sendable [core, prepared] () -> UnfinishedBody.Partial? in
      // A body behind a redirect is not resumed: the redirect may lead elsewhere next time. Nor is one that was
      // decoded: the rest would be counted in other bytes.
      guard isResumable else { return nil }
      return Resumption.partial(
        of: head, for: prepared, length: body.length, protect: core.protect,
        secretNames: core.secretFieldNames)
    }
    var open: (@Sendable () async throws(CacheStoreError) -> UnfinishedBody)?
    if isStored {
      open = { [core, generation] () async throws(CacheStoreError) in
        try await generation.with { (id) async throws(CacheStoreError) in
          try await core.store.beginBody(accountID: id, partial: partial())
        }
      }
    }
    return BodyCollector(
      store: core.store, waiting: core.commitWaiting, chunkBytes: core.configuration.store.chunkBytes,
      previous: candidate?.body, limit: prepared.request.limits.bodyBytes,
      isResumable: { resuming != nil || partial() != nil }, resuming: resuming, open: open,
      chunk: { [core] (number, body) async throws(CacheStoreError) in
        try await core.read { () async throws(CacheStoreError) in
          try await core.store.chunk(number, of: body.id, accountID: body.accountID)
        }
      }
    ) { [self] received in
      report(
        DataService.TransferProgress(received: received, expected: resuming?.wholeLength ?? body.length))
    }
  }

  private func deliverable(_ collected: BodyCollector.Collected) -> DeliveredBody {
    switch collected {
    case .short(let data): .data(data)
    case .long(let unfinished): .stored(unfinished.whole())
    case .live(let stream): .live(core.watched(stream, of: prepared))
    case .askAgain: .data(Data())
    }
  }

  /// The reason why some load refuses the answer, because of its status or because its decoder rejects the body;
  /// `nil` if all accept it. One refusal keeps the stored row for all loads, since a decoder knows best what a good
  /// answer is (law 5).
  nonisolated(nonsending) func refusal(of answer: Answer) async -> DataService.KeptReason? {
    let waiters = closeToJudge()
    // A variant for `http` only does not replace the last good response, so no load needs to accept it.
    let isRefused = answer.isGood && !waiters.allSatisfy { $0.takes(status: answer.head.status) }
    let decoders = waiters.filter { $0.decodes && $0.takes(status: answer.head.status) }
    // A live body can be read only once, and is not stored.
    guard !decoders.isEmpty, !answer.body.isLive else { return isRefused ? .status : nil }
    let data: Data
    do throws(DataServiceError) {
      data = try await core.collect(answer.body, limit: prepared.request.limits.dataBytes)
    } catch {
      // A body that no decoder can be given is one that none has accepted.
      return isRefused ? .status : error.kind == .tooLarge ? .undecodable : .busy
    }
    let isDecoded = await core.decoding { decoders.map { $0.accepts(answer, data) }.allSatisfy { $0 } }
    return isRefused ? .status : isDecoded ? nil : .undecodable
  }
}

extension Answer {
  fileprivate var event: DataService.Event.Answered {
    .init(
      status: head.status, bytes: body.length, redirects: redirects, wasValidated: wasValidated, kept: kept)
  }
}

extension DataServiceError {
  /// The error for an answer whose media type the request does not accept.
  fileprivate static func unaccepted(_ answer: Answer, of authority: String, accepted: [String]) -> Self {
    let type = answer.head.fields["Content-Type"].map { "“\($0)”" } ?? "no media type"
    return DataServiceError(
      .mediaType, "\(authority) answered with \(type), which is not accepted",
      hint: "accepted is \(accepted.joined(separator: ", ")); what is stored is unaffected",
      status: answer.head.status)
  }
}
