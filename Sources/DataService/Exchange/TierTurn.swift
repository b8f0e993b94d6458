internal import CacheStore
internal import PlatformFoundation

/// The fleet's second tier in an exchange: one question before the first byte goes to the origin, whose candidate is
/// stored; at the end, what was kept is offered.
struct TierTurn {
  let exchange: Exchange
  private var core: ServiceCore { exchange.core }
  private var plan: ExchangePlan { exchange.plan }
  private var prepared: PreparedRequest { exchange.prepared }
  private var generation: AccountGeneration { exchange.generation }

  /// Asks the tier for a row and a ticket, and hands a usable row to the loads. Takes no longer than the
  /// tier's patience, and for a long body no longer than half of what is left until `deadline`, the limit of
  /// the whole exchange.
  /// - Returns: Whether the row is all that the loads want.
  func ask(until deadline: Int64) async throws(DataServiceError) -> Bool {
    guard let tier = core.tier() else { return false }
    // A `freshOnly` load cannot use a row of the tier, and must not wait for a ticket.
    guard plan.mayFollow else { return keepApart(.policy) }
    if case .no(let reason) = Sharing.verdict(core.asked(prepared), tier.terms) { return keepApart(reason) }
    let question = core.question(prepared)
    exchange.updateTier { $0.question = question }
    core.count(TierCounts(asked: 1))
    switch await tier.ask(question) {
    case .silent(let reason):
      core.trace("the tier is silent: \(reason)")
      core.count(TierCounts(silent: 1))
      exchange.updateTier { $0.unshared = .silent }
      return false
    case .answered(let ticket, let found, let pause):
      exchange.take(ticket)
      if let pause { note(Pause(heard: core.timekeeper.startMark, milliseconds: pause)) }
      guard let found else {
        core.trace("the tier has nothing")
        return false
      }
      guard let row = await usable(found, tier, question, until: deadline) else { return false }
      let age = Freshness.age(of: row, now: core.timekeeper.wallMilliseconds)
      core.trace("the tier has a response, \(Explain.duration(age)) old")
      // Another process may have signed the account out while the body came.
      try await generation.checkSignOut()
      return exchange.serve(Box(try await storedFirst(row)))
    }
  }

  private func note(_ pause: Pause) {
    guard pause.milliseconds > 0 else { return }
    core.trace("another machine was asked to wait")
    exchange.updateTier { $0.pause = pause }
  }

  /// Ends the exchange where another machine of the fleet was asked to wait (`Retry-After`). The pause then
  /// holds for this one.
  func obeyFleet() async throws(DataServiceError) {
    guard core.configuration.tier != nil, let pause = exchange.tier.pause else { return }
    let pauses = OriginPauses(exchange: exchange)
    await pauses.record(pause, of: prepared.responder(of: prepared.url))
    try pauses.check(pause, of: prepared.url)
  }

  /// Tells the fleet of a pause that this exchange was asked for.
  func share(_ pause: Pause, of responder: String) {
    let mine = exchange.tier
    guard let tier = core.tier(), !tier.terms.isReadOnly, mine.ticket != nil, mine.unshared == nil,
      let question = mine.question, question.responder == responder
    else { return }
    core.tierWork { await tier.pause(pause.milliseconds, question) }
  }

  private func keepApart(_ reason: DataService.UnsharedReason) -> Bool {
    core.trace("not shared: \(reason.text)")
    exchange.updateTier { $0.unshared = reason }
    return false
  }

  /// The tier's row in the terms of the store, with its body; `nil` where it is of no use here.
  private func usable(
    _ found: TierRow, _ tier: any SecondTier, _ question: TierQuestion, until deadline: Int64
  ) async -> StoredResponse? {
    let limit = min(
      prepared.request.limits.bodyBytes, tier.terms.largestBody, core.store.largestBody)
    var found = found
    found.head.started = found.head.started.odd
    let (head, request) = (found.head, prepared.request)
    guard (200..<300).contains(head.status), head.status != 206, found.length <= limit,
      request.acceptedStatuses?.contains(head.status) ?? true,
      MediaTypes.accepts(head.fields, accepted: request.acceptedMediaTypes),
      !(prepared.decodesContent && ContentCoding.isCoded(head)),
      Sharing.mayShare(vary: found.vary, core.configuration.secrets),
      plan.candidate.map({ $0.isOlder(than: head) }) ?? true, await !isRemoved(head.started)
    else {
      core.trace("the tier's response is of no use here")
      return nil
    }
    var body = found.body
    if body == nil { body = await self.body(of: found, tier, question, until: deadline) }
    guard let body, Int64(body.count) == found.length else {
      core.trace("the body of the tier's response is gone")
      return nil
    }
    let variant = Vary.variant(names: found.vary, requestFields: prepared.fields, protect: core.protect)
    return StoredResponse(found, body: body, variant: variant)
  }

  /// The body of the tier's row, which did not come with it. At most half of the time that is left goes to
  /// it: the origin needs the rest.
  private func body(
    of row: TierRow, _ tier: any SecondTier, _ question: TierQuestion, until deadline: Int64
  ) async -> Data? {
    let fetching = Task(executorPreference: core.thread) { await tier.body(of: row, for: question) }
    let left = max(0, deadline - core.timekeeper.bootNanoseconds)
    let timer = core.timekeeper.after(.nanoseconds(left / 2)) { fetching.cancel() }
    defer { timer.cancel() }
    return await withTaskCancellationHandler {
      await fetching.value
    } onCancel: {
      fetching.cancel()
    }
  }

  /// Whether the target was removed here, or made invalid, since the exchange that brought the row (law 8).
  private func isRemoved(_ started: StartMark) async -> Bool {
    // The exchange may have begun without the store's answer. Where that answer had no account's row, nothing
    // was removed.
    if generation.known == nil, !plan.isRowKnown, await !generation.learnInTime() { return true }
    guard let id = generation.known else { return false }
    let found = await core.commitWaiting.result { [core, prepared] () async throws(CacheStoreError) in
      try await core.store.isRemoved(prepared.key.target, accountID: id, since: started)
    }
    // While the store does not answer, what it removed must not come back: that costs a miss.
    if found == nil, !plan.isRowKnown { return true }
    if case .success(true) = found { return true }
    return false
  }

  /// Notes what the sharing rule looks at in the way to an answer.
  func note(_ arrival: Hops.Arrival) {
    guard core.configuration.tier != nil else { return }
    var hops = Sharing.Answered()
    hops.isNoStoreChain = arrival.isNoStoreChain
    hops.wasPlainHTTP = arrival.wasPlainHTTP
    hops.leftHostTemporarily = arrival.leftHostTemporarily
    hops.hasSecretURL = core.redacted(arrival.url) != arrival.url.string
    exchange.updateTier { $0.hops = hops }
  }

  // MARK: - Offering

  /// Whether an answer goes to the tier; `nil` where there is none.
  func shared(_ answer: Answer) -> DataService.Shared? {
    guard let terms = core.tierEngine?.terms else { return nil }
    let tier = exchange.tier
    if let reason = tier.unshared { return .no(reason) }
    // What another exchange has stored is its own to offer.
    guard tier.ticket != nil, answer.head.started == exchange.started else {
      return .no(plan.isShared ? .followed : .passThrough)
    }
    guard answer.isGood else { return .no(.status) }
    var answered = tier.hops
    answered.status = answer.head.status
    answered.fields = answer.head.fields
    answered.length = answer.body.length
    let verdict = Sharing.verdict(core.asked(prepared), answered, terms)
    guard verdict == .yes else { return verdict }
    return answer.kept == .yes ? .yes : .no(.notKept)
  }

  /// Offers an answer that is in the store. No delivery waits for it; the end of the service does for a moment.
  /// - Parameter head: Its head as the row has it.
  func offer(_ answer: Answer, as head: ReceivedHead) {
    let mine = exchange.tier
    guard let tier = core.tier(), let question = mine.question, let ticket = mine.ticket else { return }
    core.tierWork { [core] in
      let body: Data
      do throws(DataServiceError) {
        body = try await core.collect(answer.body, limit: tier.terms.largestBody)
      } catch {
        return core.trace("not offered: the body cannot be read back")
      }
      let age = Freshness.currentAge(
        fields: head.fields, requestedAt: head.requestedAt, receivedAt: head.receivedAt,
        now: core.timekeeper.wallMilliseconds)
      let offered = await tier.offer(
        TierOffer(
          question: question, ticket: ticket, head: head, vary: Vary.names(in: answer.head.fields), age: age,
          body: body))
      switch offered {
      case .stored:
        core.count(TierCounts(offered: 1))
        core.trace("offered to the tier")
      case .superseded: core.trace("the tier has a newer response")
      case .refused(let reason): core.trace("the tier did not take it: \(reason)")
      }
    }
  }

  // MARK: - Storing a candidate

  /// Stores a candidate, which is an ordinary row from then on. Its odd mark says that no exchange of this machine
  /// brought it, so that no follower takes it for the leader's answer.
  /// - Parameter isConfirmed: Whether the origin has confirmed it, so that it may replace a good response (law 5).
  /// - Returns: The row, or why there is none.
  func store(
    _ candidate: StoredResponse, isConfirmed: Bool
  ) async throws(DataServiceError) -> (row: StoredResponse?, refusal: DataService.KeptReason) {
    guard exchange.beginWriting() else { throw DataServiceError(.cancelled, "the exchange was stopped") }
    core.trace("storing the tier's response")
    var write = ResponseStore.Write(
      accountID: 0, key: prepared.key, head: candidate.head, body: .bytes(candidate.body.firstChunk))
    write.variant = candidate.variant
    write.vary = candidate.vary
    let answers = core.answering(prepared)
    if isConfirmed { write.replaces = answers }
    (write.isPinned, write.tags) = exchange.wishes
    let ready = write
    let done = await core.commitWaiting.result {
      [core, generation, prepared, plan]
      () async throws(CacheStoreError) -> (accountID: Int64, ResponseStore.Overwritten) in
      await plan.pendingLookup?.value
      if !isConfirmed {
        // A good response that the loads here refuse still counts: other callers may accept it.
        let stored = try await core.lookup(prepared).rows
        let isInPlace = stored.contains { other in
          other.isGood && (other.variant == ready.variant || answers(other.variant, other.vary))
        }
        guard !isInPlace else { return (0, .superseded) }
      }
      return try await generation.with { (id) async throws(CacheStoreError) in
        var write = ready
        write.accountID = id
        return (id, try await core.store.overwrite(write))
      }
    }
    switch done {
    case .success((let accountID, .stored(let id, let body))):
      core.count(TierCounts(stored: 1))
      core.trace("stored from the tier")
      var row = StoredResponse(
        id: id, accountID: accountID, variant: ready.variant, vary: ready.vary, head: ready.head,
        isPinned: ready.isPinned, body: body)
      row.isFromSharedCache = true
      return (row, .superseded)
    case .success((_, .superseded)):
      core.trace("not stored: the store has a response, or it was removed")
      return (nil, .superseded)
    case .failure(let error):
      if error.reason == .signedOut { throw .signedOut }
      core.warn(store: error)
      return (nil, .init(error))
    case nil: return (nil, .busy)
    }
  }

  /// Stores a candidate where nothing is stored and no load that is here refuses it: a failed refresh changes no last
  /// good response (law 5).
  /// - Returns: The row, or the candidate where the store does not take it.
  private func storedFirst(_ candidate: StoredResponse) async throws(DataServiceError) -> StoredResponse {
    guard plan.row == nil else { return candidate }
    guard await exchange.refusal(of: Answer(row: candidate, comparedWith: nil), by: exchange.waiters) == nil
    else {
      core.trace("not stored: a load refuses it")
      return candidate
    }
    let row = try await store(candidate, isConfirmed: false).row
    try exchange.stopWriting()
    return row ?? candidate
  }
}

extension StoredResponse {
  /// Whether the head is that of a later exchange. Marks of different boots do not compare; then the time of
  /// receipt decides, which both have by this machine's clock.
  fileprivate func isOlder(than head: ReceivedHead) -> Bool {
    if isImported { return true }
    guard started.boot == head.started.boot else { return receivedAt < head.receivedAt }
    return started.nanoseconds < head.started.nanoseconds
  }
}
