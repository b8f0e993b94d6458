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
      let outlook = await outlook(knowing: known)
      try check(outlook.pause, of: plan.prepared.url)
      // Nearly always there is none, and then this asks no other thread.
      let resumption = outlook.mayHavePartialBody ? await resumption() : nil
      return try await hops(
        until: deadline, validating: plan.row, resuming: resumption, isRepeated: false)
    } catch {
      guard error.kind == .repeatUnconditional else { throw error }
      core.trace("repeating the request without a condition: \(error.message)")
      return try await hops(until: deadline, validating: nil, resuming: nil, isRepeated: true)
    }
  }

  nonisolated(nonsending) private func hops(
    until deadline: Int64, validating row: Box<StoredResponse>?, resuming resumption: Resumption?,
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
      if chain.redirects > 0 { try check(await pause(of: chain.hop.url), of: chain.hop.url) }
      let requestedAt = core.timekeeper.wallMilliseconds
      let validators = validators(of: row, for: chain.hop)
      var request = try transportRequest(for: chain.hop, until: deadline)
      request.fields = HTTPExchangeFields.fields(
        caller: request.fields, conditions: validators, isForStore: plan.isForStore)
      // The rest is asked of who sent the beginning: the URL itself, before any redirect.
      let resumption = chain.redirects == 0 ? resumption : nil
      resumption?.ask(in: &request)
      core.trace("\(validators.isEmpty ? "request" : "conditional request") to \(chain.hop.url.authority)")
      core.trace(heads: {
        $0.request(
          chain.hop.method, chain.hop.url, request.fields, isHTTP11Only: request.connection.isHTTP11Only)
      })
      let received = try await core.transport.response(to: request)
      noteAnswer()
      core.trace(heads: { $0.response(received) })
      chain.interim += received.interim
      if let next = try redirect(from: chain, original: original, response: received) {
        resumption?.body.end()
        chain = next
        continue
      }
      let (response, resumed) = try Resumption.joined(
        received, to: resumption, secretNames: core.secretFieldNames)
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
      situation.isAcceptedMediaType = MediaTypes.accepts(
        response.fields, accepted: prepared.request.acceptedMediaTypes)
      if chain.leftHostTemporarily { situation.isPortalSuspect = await !rowCameFrom(chain.hop.url) }
      return try await takeIn(
        response, situation: situation,
        from: Source(
          url: chain.hop.url, redirects: chain.redirects, interim: chain.interim,
          requestedAt: requestedAt),
        resuming: resumed)
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
    if hop.url.origin != plan.prepared.url.origin {
      // A credential like those in the fields.
      connection.clientCertificateFile = nil
      connection.clientKeyFile = nil
    }
    // RFC 9111 decides over what the caller asks for, and nothing is asked for besides.
    if plan.prepared.isHTTP { connection.isCompressed = false }
    var request = TransportRequest(
      url: try foundationURL(of: hop.url), method: hop.method, fields: fields, body: hop.body,
      connection: connection, limits: limits)
    if plan.prepared.request.isRead { request.isRepeatable = true }
    return request
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
    of row: Box<StoredResponse>?, for hop: RedirectRule.Hop
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
        .tooManyRedirects, "more than \(Counted.text(limit, "redirect"))",
        hint: "the last one led to \(next.url.authority)")
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
  nonisolated(nonsending) private func rowCameFrom(_ url: NormalisedURL) async -> Bool {
    var row = plan.candidate
    if row == nil, let pending = plan.pendingLookup {
      // The store had not answered when the exchange began: what it has by now decides, and where it says nothing the
      // answer is not trusted with the row.
      let looked = await core.commitWaiting.result {
        [core, prepared = plan.prepared] () async throws(CacheStoreError) in
        await pending.value
        return try await core.lookup(prepared)
      }
      guard case .success(let found)? = looked else { return false }
      row = core.select(from: found, for: plan.prepared)
    }
    guard let row else { return true }
    let source = row.responseURL ?? plan.prepared.url.string
    return (try? NormalisedURL(source))?.host == url.host
  }

  /// What the store knows that matters before the request goes out.
  nonisolated(nonsending) private func outlook(
    knowing known: ResponseStore.Outlook?
  ) async -> ResponseStore.Outlook {
    if let known { return known }
    if isStoreSilent { return ResponseStore.Outlook() }
    let prepared = plan.prepared
    guard let id = generation.known else {
      var outlook = ResponseStore.Outlook()
      outlook.pause = await pause(of: prepared.url)
      return outlook
    }
    return await core.storeCall { [core] in
      core.store.outlookNow(
        accountID: id, responder: prepared.responder(of: prepared.url), target: prepared.key.target)
    } ?? ResponseStore.Outlook()
  }

  /// Whether a look-up has not come back: another would not either.
  private var isStoreSilent: Bool { plan.pendingLookup.map { $0.current == nil } ?? false }

  nonisolated(nonsending) private func pause(of url: NormalisedURL) async -> Pause? {
    // Without the store nothing is known of a pause.
    if isStoreSilent { return nil }
    let found = await core.storeCall { [core, prepared = plan.prepared] in
      try? core.store.pauseNow(
        accountName: prepared.key.account, responder: prepared.responder(of: url))
    }
    return (found ?? nil) ?? nil
  }

  private func check(_ pause: Pause?, of url: NormalisedURL) throws(DataServiceError) {
    guard let left = pause?.remaining(at: core.timekeeper.startMark) else { return }
    let until = HTTPDate.format(core.timekeeper.wallMilliseconds + left)
    throw DataServiceError(
      .paused, "\(url.authority) asked clients to wait (Retry-After): paused until \(until)",
      hint: "the stored response is unaffected; try again then")
  }
}
