internal import CacheStore
internal import PlatformFoundation

/// The hops from a request through its redirects to the final answer (RFC 9110 section 15.4).
struct Hops {
  /// The final answer's head, and the path to it.
  struct Arrival {
    let response: TransportResponse
    /// The URL that answered.
    let url: NormalisedURL
    /// The number of redirects followed.
    let redirects: Int
    /// The interim 1xx responses of all hops.
    let interim: [TransportResponse.Interim]
    let requestedAt: Int64
    /// Whether the request carried the stored row's validators.
    let wasConditional: Bool
    /// Whether the request or a redirect said `no-store`.
    let isNoStoreChain: Bool
    /// Whether a temporary redirect has led to another host.
    let leftHostTemporarily: Bool
    /// Whether a hop was over plain http.
    let wasPlainHTTP: Bool
    /// The truncated download whose rest was requested.
    let resumption: Resumption?
  }

  /// The state from hop to hop.
  private struct Chain {
    var hop: RedirectRule.Hop
    var redirects = 0
    /// The host and port that redirected to the hop.
    var redirector: String?
    var isNoStore: Bool
    var leftHostTemporarily = false
    var wasPlainHTTP = false
    var interim: [TransportResponse.Interim] = []
  }

  let exchange: Exchange
  private var core: ServiceCore { exchange.core }
  private var prepared: PreparedRequest { exchange.prepared }

  /// Sends the request, with the row's validators, and follows it to the final answer's head.
  func follow(
    validating row: Box<StoredResponse>?, resuming resumption: Resumption?
  ) async throws(DataServiceError) -> Arrival {
    let original = RedirectRule.Hop(
      url: prepared.url, method: prepared.request.method, fields: prepared.fields, body: prepared.request.body
    )
    var chain = Chain(hop: original, isNoStore: CacheControl.forbidsStoring(prepared.fields))
    while true {
      if !chain.hop.url.isSecure { chain.wasPlainHTTP = true }
      // The pause of the request's own URL was checked before the first hop.
      if chain.redirects > 0 { try await OriginPauses(exchange: exchange).checkPause(of: chain.hop.url) }
      let requestedAt = core.timekeeper.wallMilliseconds
      let validators = validators(of: row, for: chain.hop)
      var request = try transportRequest(for: chain.hop)
      request.fields = HTTPExchangeFields.fields(
        caller: request.fields, conditions: validators, isForStore: exchange.plan.isForStore)
      let accepted = prepared.request.acceptedMediaTypes
      if !accepted.isEmpty, !request.fields.contains("Accept") {
        request.fields["Accept"] = accepted.joined(separator: ", ")
      }
      // The rest is requested only from the URL that sent the beginning, before any redirect.
      let resumption = chain.redirects == 0 ? resumption : nil
      resumption?.ask(in: &request)
      core.trace("\(validators.isEmpty ? "request" : "conditional request") to \(chain.hop.url.authority)")
      core.trace(heads: {
        $0.request(
          chain.hop.method, chain.hop.url, request.fields, isHTTP11Only: request.connection.isHTTP11Only)
      })
      request.isPrefetch = prepared.isPrefetch
      // A transport may keep the request, which keeps no service with it.
      request.onPlace = { [weak exchange, isFirst = !exchange.hasAsked] isWaiting in
        guard let exchange else { return }
        exchange.core.thread.performHere { exchange.notePlace(isWaiting: isWaiting, isFirst: isFirst) }
      }
      request.onPlace?(false)
      let askedAt = core.configuration.onEvent == nil ? 0 : core.timekeeper.bootNanoseconds
      let response = try await send(request, of: chain)
      exchange.noteAnswer()
      exchange.tell(
        .hop(
          .init(
            url: exchange.shown(chain.hop.url), status: response.status, version: response.version,
            isConditional: !validators.isEmpty,
            untilHead: .nanoseconds(core.timekeeper.bootNanoseconds - askedAt))))
      core.trace(heads: { $0.response(response) })
      await invalidate(after: response, to: chain.hop)
      chain.interim += response.interim
      guard let next = try redirect(from: chain, original: original, response: response) else {
        return Arrival(
          response: response, url: chain.hop.url, redirects: chain.redirects, interim: chain.interim,
          requestedAt: requestedAt, wasConditional: !validators.isEmpty, isNoStoreChain: chain.isNoStore,
          leftHostTemporarily: chain.leftHostTemporarily, wasPlainHTTP: chain.wasPlainHTTP,
          resumption: resumption)
      }
      resumption?.body.end()
      chain = next
    }
  }

  /// Invalidates the stored responses that an unsafe request has made out of date (RFC 9111 section 4.4): those of its
  /// account, and those of no account, of everything that was asked for before this answer. The origin may have made
  /// the change at any time until then.
  ///
  /// Called for each hop as soon as its head is here: the change is made, whatever becomes of the body and of
  /// further hops.
  private func invalidate(after response: TransportResponse, to hop: RedirectRule.Hop)
    async
  {
    guard !hop.method.isRegisteredAsSafe, !prepared.request.isRead else { return }
    let targets = Invalidation.targets(
      method: hop.method, url: hop.url, status: response.status, fields: response.fields)
    guard !targets.isEmpty else { return }
    let keys = targets.map(core.redacted)
    let accounts = Set(["", prepared.key.account])
    let answered = core.timekeeper.startMark
    await core.outdateExchanges { accounts.contains($0.account) && keys.contains($0.target) }
    await core.change { (store) async throws(CacheStoreError) in
      for account in accounts {
        try await store.invalidate(accountName: account, targets: keys, started: answered)
      }
    }
    // Responses of no account may be there too.
    core.upstream?.invalidate(
      accounts.sorted().flatMap { account in keys.map { UpstreamTarget(account: account, target: $0) } },
      isRemoval: false)
  }

  /// Sends a hop's request. Where no answer comes behind a redirect, the error names the server that redirected, and
  /// where to.
  private func send(
    _ request: TransportRequest, of chain: Chain
  ) async throws(DataServiceError) -> TransportResponse {
    do throws(DataServiceError) {
      return try await core.transport.response(to: request)
    } catch {
      guard let redirector = chain.redirector, ![.cancelled, .closed].contains(error.kind) else {
        throw error
      }
      let isInvalid = error.kind == .invalidRequest
      let target = "“\(exchange.shown(chain.hop.url))”\(isInvalid ? ", which cannot be asked" : "")"
      throw DataServiceError(
        isInvalid ? .protocol : error.kind, "\(redirector) redirects to \(target): \(error.message)",
        remedy: isInvalid ? nil : error.remedy, status: error.status,
        underlying: isInvalid ? error : error.underlying,
        retryAfter: error.retryAfter)
    }
  }

  private func transportRequest(
    for hop: RedirectRule.Hop
  ) throws(DataServiceError) -> TransportRequest {
    var limits = prepared.request.limits
    limits.totalTimeout = .nanoseconds(max(1, exchange.deadline - core.timekeeper.bootNanoseconds))
    var fields = hop.fields
    fields.remove("Content-Length")
    var connection = prepared.request.connection
    if !hop.url.isOfOrigin(of: prepared.url) {
      // A client certificate is a credential, like those in the fields.
      connection.clientCertificateFile = nil
      connection.clientKeyFile = nil
    }
    // Under `http` only the caller's fields select a stored variant, so no `Accept-Encoding` is added.
    connection.isCompressed = prepared.decodesContent
    var request = TransportRequest(
      url: try foundationURL(of: hop.url), method: hop.method, fields: fields, body: hop.body,
      connection: connection, limits: limits)
    request.decodesUnasked = prepared.decodesUnasked
    request.spelling = hop.url.wire
    if prepared.request.isRead { request.isRepeatable = true }
    return request
  }

  /// The caller's own `URL` if it has the same text: comparing is faster than parsing a new one.
  private func foundationURL(of url: NormalisedURL) throws(DataServiceError) -> URL {
    let own = prepared.request.url
    return exchange.shown(url) == own.absoluteString ? own : try url.foundationURL()
  }

  /// The row's validators, which are sent only to the URL that gave them.
  private func validators(of row: Box<StoredResponse>?, for hop: RedirectRule.Hop) -> HTTPFields {
    guard let row, !prepared.isPassThrough, hop.method == prepared.request.method else { return [:] }
    let source = row.value.responseURL ?? prepared.key.target
    return exchange.shown(hop.url) == source ? Validators.conditionalFields(for: row.value) : [:]
  }

  private func redirect(
    from chain: Chain, original: RedirectRule.Hop, response: TransportResponse
  ) throws(DataServiceError) -> Chain? {
    let limit = prepared.request.limits.redirects
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
    following.redirector = chain.hop.url.authority
    if CacheControl.forbidsStoring(response.fields) { following.isNoStore = true }
    if next.url.host != chain.hop.url.host, RedirectRule.temporaryStatuses.contains(response.status) {
      following.leftHostTemporarily = true
    }
    following.hop = next
    return following
  }
}
