internal import CacheStore
internal import PlatformFoundation

/// The upstream in an exchange: one question before the first byte goes to the origin, whose candidate is stored; at
/// the end, what was kept is offered.
struct UpstreamStep {
  let exchange: Exchange
  private var core: ServiceCore { exchange.core }
  private var plan: ExchangePlan { exchange.plan }
  private var prepared: PreparedRequest { exchange.prepared }
  private var generation: AccountGeneration { exchange.generation }
  private var name: String { core.upstream?.name ?? "" }

  /// Asks for another machine's response, and hands a usable one to the loads.
  /// - Returns: Whether it is all that they want.
  func ask(until deadline: Int64) async throws(DataServiceError) -> Bool {
    guard let upstream = core.upstream else { return false }
    let turn = await upstream.turn(core.question(prepared, mayFollow: plan.mayFollow), until: deadline)
    exchange.take(turn)
    guard let candidate = turn.candidate, let row = await usable(candidate) else { return false }
    let age = Freshness.age(of: row, now: core.timekeeper.wallMilliseconds)
    core.trace("\(upstream.name) has a response, \(Explain.duration(age)) old")
    // Another process may have signed the account out while the body came.
    try await generation.checkSignOut()
    return exchange.serve(Box(try await storedFirst(row)))
  }

  /// Ends the exchange where another machine was asked to wait (`Retry-After`). The pause then holds for this one.
  func obeyPause() async throws(DataServiceError) {
    guard let left = exchange.turn?.pause else { return }
    let pauses = OriginPauses(exchange: exchange)
    let pause = Pause(heard: core.timekeeper.startMark, milliseconds: left)
    await pauses.record(pause, of: prepared.responder(of: prepared.url))
    try pauses.check(pause, of: prepared.url)
  }

  /// A candidate in the terms of the store, with its body; `nil` where it is of no use here.
  private func usable(_ candidate: UpstreamCandidate) async -> StoredResponse? {
    let limit = min(prepared.request.limits.bodyBytes, core.store.largestBody)
    let (head, request) = (candidate.head, prepared.request)
    guard (200..<300).contains(head.status), head.status != 206, candidate.length <= limit,
      request.acceptedStatuses?.contains(head.status) ?? true,
      MediaTypes.accepts(head.fields, accepted: request.acceptedMediaTypes),
      !(prepared.decodesContent && ContentCoding.isCoded(head)),
      plan.candidate.map({ $0.isOlder(than: head) }) ?? true, await !isRemoved(head.started)
    else {
      core.trace("\(name)'s response is of no use here")
      return nil
    }
    guard let body = await candidate.body(), Int64(body.count) == candidate.length else {
      core.trace("the body of \(name)'s response is gone")
      return nil
    }
    let variant = Vary.variant(
      names: candidate.vary, requestFields: prepared.fields, protect: core.protect)
    return StoredResponse(candidate, body: body, variant: variant)
  }

  /// Whether the target was removed here, or made invalid, since the exchange that brought the row (law 8).
  private func isRemoved(_ started: StartMark) async -> Bool {
    // The exchange may have begun without the store's answer. Where that answer had no account's row, nothing
    // was removed.
    if generation.known == nil, !plan.isRowKnown, await !generation.learnInTime() { return true }
    guard let id = generation.known else { return false }
    let found = await core.door.ask(for: .commit) { [prepared] (store) async throws(CacheStoreError) in
      try await store.isRemoved(prepared.key.target, accountID: id, since: started)
    }
    // While the store does not answer, what it removed must not come back: that costs a miss.
    if case .silent = found { return !plan.isRowKnown }
    return found.value == true
  }

  // MARK: - Offering

  /// Whether other machines get an answer; `nil` where there are none.
  func shared(_ answer: Answer) -> DataService.Shared? {
    core.upstream?.verdict(
      on: UpstreamAnswer(
        status: answer.head.status, fields: answer.head.fields, length: answer.body.length, path: answer.path,
        isOwn: answer.head.started == exchange.started, isGood: answer.isGood, isKept: answer.kept == .yes,
        isShareable: plan.isShared),
      in: exchange.turn)
  }

  /// Offers an answer that is in the store. No delivery waits for it; the end of the service does for a moment.
  /// - Parameter head: Its head as the row has it.
  func offer(_ answer: Answer, as head: ReceivedHead) {
    guard let upstream = core.upstream, let turn = exchange.turn else { return }
    upstream.offer(head, vary: Vary.names(in: answer.head.fields), in: turn) {
      [core] (limit) async throws(DataServiceError) in try await core.collect(answer.body, limit: limit)
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
    core.trace("storing \(name)'s response")
    var write = ResponseStore.Write(
      accountID: 0, key: prepared.key, head: candidate.head, body: .bytes(candidate.body.firstChunk))
    write.variant = candidate.variant
    write.vary = candidate.vary
    let answers = core.answering(prepared)
    if isConfirmed { write.replaces = answers }
    write.marks = exchange.marks
    let ready = write
    let done = await core.door.ask(for: .commit) {
      [generation, prepared, plan]
      (store) async throws(CacheStoreError) -> (accountID: Int64, ResponseStore.Overwritten) in
      await plan.pendingLookup?.value
      if !isConfirmed {
        // A good response that the loads here refuse still counts: other callers may accept it.
        let stored = try await store.lookup(prepared.key).rows
        let isInPlace = stored.contains { other in
          other.isGood && (other.variant == ready.variant || answers(other.variant, other.vary))
        }
        guard !isInPlace else { return (0, .superseded) }
      }
      return try await generation.with { (id) async throws(CacheStoreError) in
        var write = ready
        write.accountID = id
        return (id, try await store.overwrite(write))
      }
    }
    switch done {
    case .done((let accountID, .stored(let id, let body))):
      core.upstream?.noteStored()
      core.trace("stored from \(name)")
      var row = StoredResponse(
        id: id, accountID: accountID, variant: ready.variant, vary: ready.vary, head: ready.head,
        isPinned: ready.marks.isPinned, body: body)
      row.isFromSharedCache = true
      return (row, .superseded)
    case .done((_, .superseded)):
      core.trace("not stored: the store has a response, or it was removed")
      return (nil, .superseded)
    case .failed(let error):
      if error.reason == .signedOut { throw .signedOut }
      core.warn(store: error)
      return (nil, .init(error))
    case .silent: return (nil, .busy)
    }
  }

  /// Stores a candidate where nothing is stored and a load that is here accepts it: a failed refresh changes no last
  /// good response (law 5).
  /// - Returns: The row, or the candidate where the store does not take it.
  private func storedFirst(_ candidate: StoredResponse) async throws(DataServiceError) -> StoredResponse {
    guard plan.row == nil else { return candidate }
    let answer = Answer(row: candidate, comparedWith: nil)
    guard await exchange.verdict(on: answer, by: exchange.waiters).refusal == nil else {
      core.trace("not stored: the loads refuse it")
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

extension ServiceCore {
  /// The request, as far as it matters to other machines.
  func question(_ prepared: PreparedRequest, mayFollow: Bool = true) -> UpstreamQuestion {
    var known = prepared.fields
    known.removeAll(where: configuration.secrets.isSecretField)
    let content =
      prepared.request.isRead ? prepared.request.body.map { Data(KeyRule.content($0, known)) } : nil
    return UpstreamQuestion(
      key: prepared.key, request: prepared.request, fields: prepared.fields, content: content,
      responder: prepared.responder(of: prepared.url), isPassThrough: prepared.isPassThrough,
      mayFollow: mayFollow, isPlainHTTP: !prepared.url.isSecure,
      hasSecretURL: prepared.url.userInfo != nil || redacted(prepared.url) != prepared.url.string)
  }

  /// Invalidates other machines' rows of these keys, and waits for that.
  /// - Returns: How many of them were not confirmed.
  func invalidateUpstream(_ keys: [RequestKey]) async -> Int {
    guard let upstream else { return 0 }
    let targets = Set(
      keys.map { key in
        // The responder is named so that its pause ends too: who removes its responses wants to ask it again.
        let responder = try? NormalisedURL(key.target)
        return UpstreamTarget(
          account: key.account, target: key.target,
          responder: responder.map { KeyRule.reached($0.origin, isSecure: $0.isSecure, digest) } ?? "")
      })
    return await upstream.invalidate(Array(targets), isRemoval: true).value
  }
}
