internal import CacheStore
internal import FoundationEssentials

extension DataServiceError.Kind {
  /// Inside an exchange only: the 304 cannot be used, ask once more without a condition.
  static let repeatUnconditional = Self("repeatUnconditional")
}

extension Exchange {
  /// Where the final answer came from.
  struct Source {
    let url: NormalisedURL
    /// How many redirects led there.
    let redirects: Int
    let interim: [TransportResponse.Interim]
    let requestedAt: Int64
  }

  /// Judges the final answer, takes its body in, stores it where it may be, and says what came of it.
  nonisolated(nonsending) func takeIn(
    _ response: TransportResponse, situation: AnswerRule.Situation, from source: Source,
    resuming resumed: Resumption.Resumed?
  ) async throws(DataServiceError) -> ExchangeOutcome {
    let url = source.url
    let outcome =
      plan.prepared.isHTTP
      ? httpOutcome(status: response.status, fields: response.fields, situation: situation)
      : AnswerRule.decide(status: response.status, fields: response.fields, situation: situation)
    if case .untouched = outcome.row { endLease(storedRow: false) }
    let receivedAt = core.timekeeper.wallMilliseconds
    let responseURL = shown(url)
    let answer = Answer(
      version: response.version, status: response.status, reason: response.reason, fields: response.fields,
      interim: source.interim, redirects: source.redirects, url: responseURL,
      body: .data(Data()), wasValidated: false, requestedAt: source.requestedAt, receivedAt: receivedAt,
      kept: .no(.status))
    switch outcome.delivery {
    case .protocolFailure:
      throw DataServiceError(
        .protocol, "\(url.authority) answered \(response.status) without having been asked for it",
        status: response.status)
    case .repeatUnconditional:
      throw DataServiceError(.repeatUnconditional, "the validated response is gone", status: 304)
    case .freshByValidation:
      return try await freshen(answer, row: outcome.row)
    case .mediaTypeFailure:
      if mayInvalidate { await invalidate(answer, url: url) }
      throw .unaccepted(answer, of: url.authority, accepted: plan.prepared.request.acceptedMediaTypes)
    // Whether it is a failure depends on the load: on its policy, and on what it can fall back on.
    case .fresh, .statusFailure, .portalFailure:
      return try await store(answer, body: response.body, row: outcome.row, from: source, resuming: resumed)
    }
  }

  nonisolated(nonsending) private func store(
    _ head: Answer, body: DataService.BodyStream, row: AnswerRule.Row, from source: Source,
    resuming: Resumption.Resumed?
  ) async throws(DataServiceError) -> ExchangeOutcome {
    var answer = head
    let store = core.store
    let limits = plan.prepared.request.limits
    let length = resuming?.wholeLength ?? body.length ?? 0
    var fits = length <= store.largestBody
    // The store may allow more by now than this process knows of.
    if !fits {
      let limit = await core.commitWaiting.result { await store.readLargestBody() }
      if case .success(let bytes) = limit { fits = length <= bytes }
    }
    if let resuming, !fits || !row.isStored {
      // What may not be stored is not put together in the store either.
      resuming.body.giveUp()
      resuming.body.end()
      throw .unresumable("the rest of the download may not be stored")
    }
    // Worked out only for a body that is long, or cut off.
    let partial = {
      @Sendable [core, prepared = plan.prepared, isRedirected = source.redirects > 0] () -> UnfinishedBody
        .Partial? in
      // What came after a redirect is not resumed: who sends it next is for another redirect to say.
      guard !isRedirected else { return nil }
      return Resumption.partial(
        of: head, for: prepared, length: body.length, protect: core.protect,
        secretNames: core.secretFieldNames)
    }
    var open: (@Sendable () async throws(CacheStoreError) -> UnfinishedBody)?
    if row.isStored, fits {
      open = { [self] () async throws(CacheStoreError) in
        try await generation.with { (id) async throws(CacheStoreError) in
          try await store.beginBody(accountID: id, partial: partial())
        }
      }
    }
    var collector = BodyCollector(
      store: store, waiting: core.commitWaiting, chunkBytes: core.configuration.store.chunkBytes,
      previous: plan.candidate?.body, limit: limits.bodyBytes,
      isResumable: { resuming != nil || partial() != nil },
      resuming: resuming, open: open,
      chunk: { [core] (number, body) async throws(CacheStoreError) in
        try await core.read { () async throws(CacheStoreError) in
          try await core.store.chunk(number, of: body.id, accountID: body.accountID)
        }
      }
    ) { [self] received in
      report(
        DataService.TransferProgress(
          received: received, expected: resuming?.wholeLength ?? body.length))
    }
    let collected = try await collector.collect(body)
    if Task.isCancelled { throw DataServiceError(.cancelled, "cancelled") }
    if let previous = plan.candidate?.body { answer.comparison = (previous, collector.isSameAsPrevious) }
    answer.isGood = row != .keptBeside
    answer.retryAfter = retryAfter(answer)
    if answer.retryAfter != nil { answer.responder = plan.prepared.responder(of: source.url) }
    if mayInvalidate { await invalidate(answer, url: source.url) }
    if case .untouched(let reason) = row {
      answer.kept = .no(reason)
    } else if !row.isStored {
      answer.kept = await takeInHead(answer, row: row)
    } else if !fits {
      answer.kept = .no(.tooLarge)
    } else if let failure = collector.storeFailure {
      if failure.reason == .signedOut { throw DataServiceError.signedOut }
      answer.kept = .no(.init(failure))
      core.warn(store: failure)
    } else {
      return try await keep(answer, collected)
    }
    return try await unkept(answer, collected)
  }

  /// Asks the decoders, then commits.
  nonisolated(nonsending) private func keep(
    _ head: Answer, _ collected: BodyCollector.Outcome
  ) async throws(DataServiceError) -> ExchangeOutcome {
    var answer = head
    answer.body = deliverable(collected)
    let decoders = closeToNewLoads().filter { $0.decodes }
    if !decoders.isEmpty, await !accept(answer, decoders) {
      answer.kept = .no(.undecodable)
      return ExchangeOutcome(answer: answer)
    }
    return try await commit(answer, collected)
  }

  nonisolated(nonsending) private func unkept(
    _ head: Answer, _ collected: BodyCollector.Outcome
  ) async throws(DataServiceError) -> ExchangeOutcome {
    var answer = head
    answer.body = deliverable(collected)
    try await checkGeneration()
    _ = await accept(answer, closeToNewLoads().filter { $0.decodes })
    return ExchangeOutcome(answer: answer)
  }

  private func deliverable(_ collected: BodyCollector.Outcome) -> DeliveredBody {
    switch collected {
    case .short(let data): .data(data)
    case .long(let unfinished): .stored(unfinished.whole())
    case .live(let stream): .live(core.watched(stream, of: plan.prepared))
    }
  }

  /// Whether every load that decodes takes the body. One that refuses keeps the stored row as it is, for all of
  /// them: it knows better than the bytes what a good answer is (law 5).
  nonisolated(nonsending) private func accept(_ answer: Answer, _ waiters: [ExchangeWaiter]) async -> Bool {
    guard !waiters.isEmpty else { return true }
    guard let data = await core.wholeBody(answer.body, limit: plan.prepared.request.limits.dataBytes) else {
      return true
    }
    return await core.decoding { waiters.map { $0.accepts(answer, data) }.allSatisfy { $0 } }
  }

  /// What belongs to an account that was signed out meanwhile is not delivered, stored or not (design section 2).
  nonisolated(nonsending) func checkGeneration() async throws(DataServiceError) {
    guard let id = plan.accountID, !plan.prepared.key.account.isEmpty else { return }
    let isRevoked = await core.commitWaiting.result { [core] () async throws(CacheStoreError) in
      try await core.store.isRevoked(accountID: id)
    }
    // Of a store that does not say, or is another, nothing follows.
    if case .success(true) = isRevoked { throw DataServiceError.signedOut }
  }

  private func retryAfter(_ answer: Answer) -> Duration? {
    guard [408, 429, 503].contains(answer.status) else { return nil }
    return answer.fields["Retry-After"].flatMap {
      RetryAfter.delay($0, date: answer.fields["Date"], now: core.timekeeper.wallMilliseconds)
    }
  }

  /// Whether the request is one that changes what it names (RFC 9111 section 4.4).
  private var mayInvalidate: Bool {
    !plan.prepared.request.method.isSafe && !plan.prepared.request.isRead
  }

  nonisolated(nonsending) private func invalidate(_ answer: Answer, url: NormalisedURL) async {
    let prepared = plan.prepared
    guard let foundationURL = try? url.foundationURL() else { return }
    let targets = Invalidation.targets(
      method: prepared.request.method, url: foundationURL, status: answer.status, fields: answer.fields)
    guard !targets.isEmpty else { return }
    let keys = targets.compactMap { (try? NormalisedURL($0.absoluteString)).map(core.redacted) }
    let done = await core.commitWaiting.result { [core, started] () async throws(CacheStoreError) in
      try await core.store.invalidate(accountName: prepared.key.account, targets: keys, started: started)
    }
    if case .failure(let error) = done { core.warn(store: error) }
  }
}

extension DataServiceError {
  /// For an answer of a media type that the request does not accept.
  fileprivate static func unaccepted(_ answer: Answer, of authority: String, accepted: [String]) -> Self {
    let type = answer.fields["Content-Type"].map { "“\($0)”" } ?? "no media type"
    return DataServiceError(
      .mediaType, "\(authority) answered with \(type), which is not accepted",
      hint: "accepted is \(accepted.joined(separator: ", ")); the stored response is unaffected",
      status: answer.status)
  }

  static let signedOut = DataServiceError(
    .signedOut, "the account was signed out while the request was under way")
}
