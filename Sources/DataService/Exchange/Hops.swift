internal import CacheStore
internal import FoundationEssentials

/// The way from a request to its final answer: one hop after another, as redirects lead (RFC 9110 section 15.4).
struct Hops {
  /// The final answer's head, and how it was reached.
  struct Arrival {
    let response: TransportResponse
    /// Who answered.
    let url: NormalisedURL
    /// How many redirects led there.
    let redirects: Int
    /// All 1xx answers on the way.
    let interim: [TransportResponse.Interim]
    let requestedAt: Int64
    /// Whether the stored row's validators went along.
    let wasConditional: Bool
    /// Whether the request or a redirect said `no-store`.
    let isNoStoreChain: Bool
    /// Whether a temporary redirect has led to another host.
    let leftHostTemporarily: Bool
    /// The cut-off download whose rest was asked for.
    let resumption: Resumption?
  }

  /// What is remembered along the way.
  private struct Chain {
    var hop: RedirectRule.Hop
    var redirects = 0
    var isNoStore: Bool
    var leftHostTemporarily = false
    var interim: [TransportResponse.Interim] = []
  }

  let exchange: Exchange
  /// Until when all hops together may take, in nanoseconds since boot.
  let deadline: Int64
  private var core: ServiceCore { exchange.core }
  private var prepared: PreparedRequest { exchange.prepared }

  init(exchange: Exchange, deadline: Int64) {
    self.exchange = exchange
    self.deadline = deadline
  }

  /// Sends the request, with the row's validators, and follows it to the final answer's head.
  nonisolated(nonsending) func follow(
    validating row: Box<StoredResponse>?, resuming resumption: Resumption?
  ) async throws(DataServiceError) -> Arrival {
    let original = RedirectRule.Hop(
      url: prepared.url, method: prepared.request.method, fields: prepared.fields, body: prepared.request.body
    )
    var chain = Chain(hop: original, isNoStore: CacheControl.forbidsStoring(prepared.fields))
    while true {
      // That of the request itself has been asked for before the first hop.
      if chain.redirects > 0 { try await exchange.checkPause(of: chain.hop.url) }
      let requestedAt = core.timekeeper.wallMilliseconds
      let validators = validators(of: row, for: chain.hop)
      var request = try transportRequest(for: chain.hop)
      request.fields = HTTPExchangeFields.fields(
        caller: request.fields, conditions: validators, isForStore: exchange.plan.isForStore)
      // The rest is asked of who sent the beginning: the URL itself, before any redirect.
      let resumption = chain.redirects == 0 ? resumption : nil
      resumption?.ask(in: &request)
      core.trace("\(validators.isEmpty ? "request" : "conditional request") to \(chain.hop.url.authority)")
      core.trace(heads: {
        $0.request(
          chain.hop.method, chain.hop.url, request.fields, isHTTP11Only: request.connection.isHTTP11Only)
      })
      let response = try await core.transport.response(to: request)
      exchange.noteAnswer()
      core.trace(heads: { $0.response(response) })
      chain.interim += response.interim
      guard let next = try redirect(from: chain, original: original, response: response) else {
        return Arrival(
          response: response, url: chain.hop.url, redirects: chain.redirects, interim: chain.interim,
          requestedAt: requestedAt, wasConditional: !validators.isEmpty, isNoStoreChain: chain.isNoStore,
          leftHostTemporarily: chain.leftHostTemporarily, resumption: resumption)
      }
      resumption?.body.end()
      chain = next
    }
  }

  private func transportRequest(
    for hop: RedirectRule.Hop
  ) throws(DataServiceError) -> TransportRequest {
    var limits = prepared.request.limits
    limits.totalTimeout = .nanoseconds(max(1, deadline - core.timekeeper.bootNanoseconds))
    var fields = hop.fields
    fields.remove("Content-Length")
    var connection = prepared.request.connection
    if hop.url.origin != prepared.url.origin {
      // A credential like those in the fields.
      connection.clientCertificateFile = nil
      connection.clientKeyFile = nil
    }
    // RFC 9111 decides over what the caller asks for, and nothing is asked for besides.
    if prepared.isHTTP { connection.isCompressed = false }
    var request = TransportRequest(
      url: try foundationURL(of: hop.url), method: hop.method, fields: fields, body: hop.body,
      connection: connection, limits: limits)
    if prepared.request.isRead { request.isRepeatable = true }
    return request
  }

  /// The caller's own value where it says the same: making one of a text takes longer than the comparison.
  private func foundationURL(of url: NormalisedURL) throws(DataServiceError) -> URL {
    let own = prepared.request.url
    return exchange.shown(url) == own.absoluteString ? own : try url.foundationURL()
  }

  /// The validators go only to the URL that gave them.
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
    if CacheControl.forbidsStoring(response.fields) { following.isNoStore = true }
    if next.url.host != chain.hop.url.host, RedirectRule.temporaryStatuses.contains(response.status) {
      following.leftHostTemporarily = true
    }
    following.hop = next
    return following
  }
}
