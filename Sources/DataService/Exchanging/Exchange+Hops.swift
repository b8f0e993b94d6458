internal import CacheStore
internal import FoundationEssentials

extension Exchange {
  /// What is remembered along a chain of redirects.
  private struct Chain {
    var hop: RedirectRule.Hop
    var redirects = 0
    var isNoStore = false
    /// Whether a temporary redirect has led to another host.
    var leftHostTemporarily = false
    var interim: [TransportResponse.Interim] = []
  }

  /// One try: the request, its redirects, and the answer taken in and stored.
  nonisolated(nonsending) func hops(
    until deadline: Int64, knowing known: ResponseStore.Outlook?
  ) async throws(DataServiceError) -> ExchangeOutcome {
    do throws(DataServiceError) {
      let outlook = known ?? outlook()
      try checkPause(of: plan.prepared.url, until: outlook.pausedUntil)
      // Nearly always there is none, and then this asks no other thread.
      let resumption = outlook.mayHavePartialBody ? await resumption() : nil
      return try await hops(
        until: deadline, validating: plan.row, resuming: resumption, isRepeated: false)
    } catch {
      guard error.kind == .repeatUnconditional else { throw error }
      core.trace("asks again without a condition: \(error.message)")
      return try await hops(until: deadline, validating: nil, resuming: nil, isRepeated: true)
    }
  }

  nonisolated(nonsending) private func hops(
    until deadline: Int64, validating row: Shared<StoredResponse>?, resuming resumption: Resumption?,
    isRepeated: Bool
  ) async throws(DataServiceError) -> ExchangeOutcome {
    let prepared = plan.prepared
    let original = RedirectRule.Hop(
      url: prepared.url, method: prepared.request.method, fields: prepared.fields, body: prepared.request.body
    )
    var chain = Chain(hop: original)
    chain.isNoStore = CacheControl.forbidsStoring(prepared.fields)
    while true {
      // That of the request itself has been asked for before the first hop.
      if chain.redirects > 0 { try checkPause(of: chain.hop.url, until: pausedUntil(chain.hop.url)) }
      let requestedAt = core.timekeeper.wallMilliseconds
      let validators = validators(of: row, for: chain.hop)
      var request = try transportRequest(for: chain.hop, until: deadline)
      request.fields = HTTPExchangeFields.fields(
        caller: request.fields, conditions: validators, isForStore: plan.isForStore)
      let isResuming = resumption.map { shown(chain.hop.url) == $0.source } ?? false
      if isResuming { resumption?.ask(in: &request) }
      core.trace("asks \(chain.hop.url.authority)\(validators.isEmpty ? "" : " with validators")")
      core.trace(heads: { $0.request(chain.hop.method, chain.hop.url, request.fields) })
      let response = try await core.transport.response(to: request)
      core.trace(heads: { $0.response(response) })
      chain.interim += response.interim
      if let next = try redirect(from: chain, original: original, response: response) {
        chain = next
        continue
      }
      var situation = AnswerRule.Situation()
      situation.method = prepared.request.method
      situation.isPassThrough = prepared.isPassThrough
      situation.hasCallerRange = PassThrough.hasRange(prepared.fields)
      situation.hasCallerPrecondition = PassThrough.hasPrecondition(prepared.fields)
      situation.wasConditional = !validators.isEmpty
      situation.rowFields = row?.value.fields
      situation.isRepeated = isRepeated
      situation.isNoStoreChain = chain.isNoStore
      situation.keepsAnyway = prepared.request.keepsAnyway
      situation.isPortalSuspect = chain.leftHostTemporarily && !rowCameFrom(chain.hop.url)
      return try await takeIn(
        response, situation: situation, from: chain.hop.url, interim: chain.interim, requestedAt: requestedAt,
        resumption: isResuming ? resumption : nil)
    }
  }

  private func transportRequest(for hop: RedirectRule.Hop, until deadline: Int64) throws(DataServiceError)
    -> TransportRequest
  {
    var limits = plan.prepared.request.limits
    limits.totalTimeout = .nanoseconds(max(1, deadline - core.timekeeper.bootNanoseconds))
    var fields = hop.fields
    fields.remove("Content-Length")
    var connection = plan.prepared.request.connection
    // RFC 9111 decides over what the caller asks for, and nothing is asked for besides.
    if plan.prepared.isHTTP { connection.isCompressed = false }
    return TransportRequest(
      url: try foundationURL(of: hop.url), method: hop.method, fields: fields, body: hop.body,
      connection: connection, limits: limits)
  }

  /// The URL as it may be stored and shown; that of the request has been worked out already.
  func shown(_ url: NormalisedURL) -> String {
    url == plan.prepared.url ? plan.prepared.shownURL : core.redacted(url)
  }

  /// The caller's own value where it says the same: making one of a text takes longer than the comparison.
  private func foundationURL(of url: NormalisedURL) throws(DataServiceError) -> URL {
    let own = plan.prepared.request.url
    return shown(url) == own.absoluteString ? own : try url.foundationURL()
  }

  /// The validators go only to the URL that gave them.
  private func validators(
    of row: Shared<StoredResponse>?, for hop: RedirectRule.Hop
  ) -> HTTPFields {
    guard let row, !plan.prepared.isPassThrough, hop.method == plan.prepared.request.method else {
      return [:]
    }
    let source = row.value.responseURL ?? plan.prepared.key.target
    return shown(hop.url) == source ? Validators.conditionalFields(for: row.value) : [:]
  }

  private func redirect(
    from chain: Chain, original: RedirectRule.Hop, response: TransportResponse
  ) throws(DataServiceError) -> Chain? {
    let limit = plan.prepared.request.limits.redirects
    guard limit > 0 else { return nil }
    let next = try RedirectRule.next(
      after: chain.hop, from: original, status: response.status, fields: response.fields,
      secrets: core.configuration.secrets)
    guard let next else { return nil }
    guard chain.redirects < limit else {
      throw DataServiceError(
        .tooManyRedirects, "more than \(limit) redirects", hint: "the last one led to \(next.url.authority)")
    }
    var following = chain
    following.redirects += 1
    if CacheControl.forbidsStoring(response.fields) { following.isNoStore = true }
    if next.url.host != chain.hop.url.host, RedirectRule.temporaryStatuses.contains(response.status) {
      following.leftHostTemporarily = true
    }
    following.hop = next
    return following
  }

  /// Whether the stored row was answered by the same host, so that a temporary redirect to it is the usual way. With
  /// nothing stored there is nothing to protect.
  private func rowCameFrom(_ url: NormalisedURL) -> Bool {
    guard let row = plan.candidate else { return true }
    let source = row.responseURL ?? plan.prepared.url.string
    return (try? NormalisedURL(source))?.host == url.host
  }

  /// What the store knows that matters before the request goes out.
  private func outlook() -> ResponseStore.Outlook {
    let prepared = plan.prepared
    guard let id = generation.known else {
      var outlook = ResponseStore.Outlook()
      outlook.pausedUntil = pausedUntil(prepared.url)
      return outlook
    }
    return core.store.outlookNow(accountID: id, origin: prepared.url.origin, target: prepared.key.target)
  }

  private func pausedUntil(_ url: NormalisedURL) -> Int64? {
    // Without the store nothing is known of a pause.
    (try? core.store.pausedUntilNow(accountName: plan.prepared.key.account, origin: url.origin)) ?? nil
  }

  private func checkPause(of url: NormalisedURL, until: Int64?) throws(DataServiceError) {
    guard let until, until > core.timekeeper.wallMilliseconds else { return }
    throw DataServiceError(
      .paused, "\(url.authority) asked to be left alone: paused until \(HTTPDate.format(until))",
      hint: "the stored response is unaffected; try again then")
  }
}
