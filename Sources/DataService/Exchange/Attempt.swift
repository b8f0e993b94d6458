internal import CacheStore
internal import PlatformFoundation

/// One attempt of an exchange: a request and its redirects, the verdict on the answer, the body, the commit.
struct Attempt {
  let exchange: Exchange
  private var core: ServiceCore { exchange.core }
  private var prepared: PreparedRequest { exchange.prepared }

  /// Runs one attempt. If the answer depends on stored bytes that are gone, it asks the origin for the whole
  /// response.
  func complete(
    mayHavePartialBody: Bool
  ) async throws(DataServiceError) -> CompletedExchange {
    // Truncated downloads are rare, and looking for one takes a switch to another thread.
    let resumption = mayHavePartialBody ? await Resumption.find(for: exchange) : nil
    switch try await request(
      validating: exchange.plan.lendsValidator ? exchange.row : exchange.served, resuming: resumption,
      isRepeated: false)
    {
    case .done(let outcome): return outcome
    case .askAgain(let reason): core.trace("repeating the request without a condition: \(reason)")
    }
    try exchange.stopWriting()
    switch try await request(validating: nil, resuming: nil, isRepeated: true) {
    case .done(let outcome): return outcome
    case .askAgain(let reason): throw DataServiceError(.store, reason)
    }
  }

  // MARK: - Request and verdict

  /// Sends one request, follows its redirects, and judges, receives and stores the final answer.
  private func request(
    validating row: Box<StoredResponse>?, resuming resumption: Resumption?, isRepeated: Bool
  ) async throws(DataServiceError) -> ExchangeStep {
    let hops = Hops(exchange: exchange)
    let arrival = try await hops.follow(validating: row, resuming: resumption)
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
    if case .untouched = verdict.row { exchange.endLease(storedRow: false) }
    let url = exchange.shown(arrival.url)
    let head = ReceivedHead(
      status: response.status, reason: response.reason, fields: response.fields,
      isDecoded: response.isDecoded
        ?? (prepared.decodesContent && ContentCoding.isNamed(in: response.fields)),
      version: response.version,
      url: url == prepared.key.target ? nil : url, started: exchange.started,
      requestedAt: arrival.requestedAt, receivedAt: core.timekeeper.wallMilliseconds)
    var answer = Answer(
      head: head, interim: arrival.interim, redirects: arrival.redirects, body: .data(Data()),
      kept: .no(.status))
    if core.upstream != nil {
      answer.path.isNoStoreChain = arrival.isNoStoreChain
      answer.path.wasPlainHTTP = arrival.wasPlainHTTP
      answer.path.leftHostTemporarily = arrival.leftHostTemporarily
      answer.path.hasSecretURL = core.redacted(arrival.url) != arrival.url.string
    }
    switch verdict.delivery {
    case .protocolFailure:
      throw DataServiceError(
        .protocol, "\(arrival.url.authority) answered \(response.status) without having been asked for it",
        status: response.status)
    case .repeatUnconditional: return .askAgain(because: Commit.rowIsGone)
    case .freshByValidation:
      exchange.closeToNewLoads()
      return try await Commit(exchange: exchange).freshen(by: answer, row: verdict.row)
    case .mediaTypeFailure:
      throw .unaccepted(answer, of: arrival.url.authority, accepted: prepared.request.acceptedMediaTypes)
    case .fresh:
      return try await receive(response, of: answer, row: verdict.row, from: arrival, resuming: resumed)
    }
  }

  private func verdict(
    on response: TransportResponse, at arrival: Hops.Arrival, validating row: Box<StoredResponse>?,
    isRepeated: Bool
  ) async -> AnswerRule.Decision {
    var situation = AnswerRule.Situation()
    situation.method = prepared.request.method
    situation.isRead = prepared.request.isRead
    situation.requestFields = prepared.fields
    situation.isPassThrough = prepared.isPassThrough
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
    situation.row = exchange.candidate
    return HTTPAnswer.decide(
      status: response.status, fields: response.fields, situation: situation,
      now: core.timekeeper.wallMilliseconds)
  }

  /// Whether the stored row came from the same host, so that a temporary redirect to it is normal. True if nothing is
  /// stored, since there is no row to protect.
  private func rowCameFrom(_ url: NormalisedURL) async -> Bool {
    var row = exchange.candidate
    if row == nil, let pending = exchange.plan.pendingLookup {
      // The store had not answered when the exchange began, so ask it again. If it still does not answer, protect the
      // row.
      let found = await core.door.ask(for: .commit) { [prepared] (store) async throws(CacheStoreError) in
        await pending.value
        return try await store.lookup(prepared.key)
      }
      guard let found = found.value else { return false }
      row = core.select(from: found, for: prepared)
    }
    guard let row else { return true }
    let source = row.responseURL ?? prepared.url.string
    return (try? NormalisedURL(source))?.host == url.host
  }

  // MARK: - Body and commit

  /// Collects the body, a long one in the store if it may be stored, and commits the row.
  private func receive(
    _ response: TransportResponse, of head: Answer, row: AnswerRule.Row, from arrival: Hops.Arrival,
    resuming: Resumption.Resumed?
  ) async throws(DataServiceError) -> ExchangeStep {
    let body = response.body
    let length = resuming?.wholeLength ?? body.length ?? 0
    var fits = length <= core.store.largestBody
    // Another process may have raised the store's limit.
    if !fits {
      let limit = await core.door.ask(for: .commit) { await $0.readLargestBody() }
      if let bytes = limit.value { fits = length <= bytes }
    }
    if let resuming, !fits || !row.isStored {
      // A body that may not be stored must not be assembled in the store either.
      resuming.body.giveUp()
      resuming.body.end()
      return .askAgain(because: "the rest of the download may not be stored")
    }
    var collector = collector(
      of: body, head, isStored: row.isStored && fits,
      isResumable: arrival.redirects == 0 && !head.head.isDecoded, resuming: resuming)
    let collected = try await collector.collect(body)
    if case .askAgain(let reason) = collected { return .askAgain(because: reason) }
    try exchange.check()
    var answer = head
    if let previous = exchange.candidate?.body { answer.comparison = (previous, collector.isSameAsPrevious) }
    answer.isGood = row != .keptForHTTPOnly
    answer.retryAfter = RetryAfter.delay(of: answer, now: core.timekeeper.wallMilliseconds)
    if answer.retryAfter != nil { answer.responder = prepared.responder(of: arrival.url) }
    answer.body = collector.whole.map(DeliveredBody.data) ?? deliverable(collected)
    switch row {
    case .untouched(let reason): answer.kept = .no(reason)
    case .freshened, .freshenedByHead, .invalidatedByHead:
      answer.kept = await Commit(exchange: exchange).freshenByHead(answer, row: row)
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
        if row == .keptForHTTPOnly, isGone(answer) { try await Commit(exchange: exchange).outdateRow() }
        if let reason = await exchange.refusal(of: answer) {
          if case .long(let body) = collected { body.refuse() }
          return try await Commit(exchange: exchange).conclude(answer, kept: .no(reason))
        }
        return try await Commit(exchange: exchange).replace(answer, collected)
      }
    }
    let isAccepted = await exchange.refusal(of: answer) == nil
    if isGone(answer) || isAccepted && isNewer(answer) { try await Commit(exchange: exchange).outdateRow() }
    return try await Commit(exchange: exchange).conclude(answer, kept: answer.kept)
  }

  /// Whether the origin says that there is nothing any more.
  private func isGone(_ answer: Answer) -> Bool {
    !prepared.isHead && (answer.head.status == 404 || answer.head.status == 410)
  }

  /// Whether the answer is newer than the row, and is not kept for what it is.
  private func isNewer(_ answer: Answer) -> Bool {
    (200..<300).contains(answer.head.status)
      && [.no(.noStore), .no(.vary), .no(.tooLarge)].contains(answer.kept)
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
      open = { [core, generation = exchange.generation] () async throws(CacheStoreError) in
        try await generation.with { (id) async throws(CacheStoreError) in
          try await core.store.beginBody(accountID: id, partial: partial())
        }
      }
    }
    return BodyCollector(
      door: core.door, chunkBytes: core.configuration.store.chunkBytes,
      previous: exchange.candidate?.body, limit: prepared.request.limits.bodyBytes,
      isResumable: { resuming != nil || partial() != nil }, resuming: resuming, open: open
    ) { [exchange] received in
      exchange.report(
        DataService.TransferProgress(received: received, expected: resuming?.wholeLength ?? body.length),
        status: head.head.status)
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
