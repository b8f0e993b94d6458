internal import CacheStore
internal import Guards

/// The work of an exchange, read downwards: the lease, a question upstream, the attempts, the result.
struct ExchangeRun {
  let exchange: Exchange
  private var core: ServiceCore { exchange.core }
  private var prepared: PreparedRequest { exchange.prepared }
  private var upstream: UpstreamStep { UpstreamStep(exchange: exchange) }

  /// Runs the exchange and publishes its result.
  func run() async {
    exchange.tell(.began)
    do throws(DataServiceError) {
      if var outcome = try await refresh() {
        outcome.answer.shared = upstream.shared(outcome.answer)
        // The lease ends after the commit: a process that then gets the lease finds the row.
        if outcome.pendingWrite == nil { exchange.endLease(storedRow: outcome.answer.kept == .yes) }
        exchange.tell(.answered(outcome.answer.event))
        // Offered before the deliveries, because the program may exit after them; an exit waits briefly for offers in
        // progress.
        if outcome.answer.shared == .yes { offer(outcome.answer) }
        closeAndPublish(.answer(outcome.answer))
        if let write = outcome.pendingWrite { await finish(outcome.answer, after: write) }
      } else {
        exchange.endLease(storedRow: false)
        exchange.tell(.answeredUpstream)
      }
    } catch {
      exchange.endLease(storedRow: false)
      exchange.closeToNewLoads()
      let failure = await exchange.generation.unlessSignedOut(error)
      exchange.tell(.failed(failure))
      closeAndPublish(.failure(failure))
    }
    core.engine.exchanges.forget(exchange)
    exchange.reportCommitted()
    core.exchangeEnded()
  }

  /// Ends the lease once a late write is over, and offers the answer if it is in the store by then.
  private func finish(
    _ answer: Answer, after write: LateWrite
  ) async {
    let written = await write.value
    exchange.endLease(storedRow: written != nil)
    guard written?.isStored == true else { return }
    var kept = answer
    kept.kept = .yes
    if upstream.shared(kept) == .yes { offer(kept) }
  }

  private func offer(_ answer: Answer) {
    let commit = Commit(exchange: exchange)
    upstream.offer(answer, as: commit.storedHead(of: answer, fields: commit.storableFields(of: answer)))
  }

  private func closeAndPublish(_ result: ExchangeResult) {
    let now = core.timekeeper.bootNanoseconds
    core.state.withLock { $0.noteNetwork(after: result, now: now) }
    exchange.publish(result)
  }

  /// Uses the answer of another process that is refreshing the same entry, or asks the origin while holding the
  /// lease. The first step may be one question upstream.
  /// - Returns: `nil` where another machine's response is all that the loads want.
  private func refresh() async throws(DataServiceError) -> CompletedExchange? {
    let attempts = Attempts(exchange: exchange)
    guard exchange.plan.isShared else {
      // An unshared request looks nothing up, so it only learns an account that exists.
      if !prepared.key.account.isEmpty { await exchange.generation.learnInTime() }
      return try await attempts.run(knowing: exchange.plan.preflight)
    }
    if let answer = try await handedOver() {
      try await exchange.generation.checkSignOut()
      exchange.tell(.followed, trace: "done: the process that serves the store has made the exchange")
      return CompletedExchange(answer: answer)
    }
    switch try await Leasing(exchange: exchange).obtain() {
    case .follow(let answer):
      // The account may have been signed out while this exchange waited.
      try await exchange.generation.checkSignOut()
      core.noteFollowing()
      exchange.tell(.followed, trace: "done: another process has refreshed the entry")
      return CompletedExchange(answer: answer)
    case .lead(let lease, let isAtOnce):
      exchange.hold(lease)
      if core.upstream != nil {
        // A sign-out while the upstream answers is noticed only if the account has a row.
        if !prepared.key.account.isEmpty { exchange.generation.begin(on: core.thread) }
        // Without an account the row is created only after that answer: creating a store would delay
        // that answer on one processor.
        if try await upstream.ask(until: exchange.deadline) { return nil }
        try exchange.check()
      }
      exchange.generation.begin(on: core.thread)
      try await upstream.obeyPause()
      return try await attempts.run(knowing: isAtOnce ? exchange.plan.preflight : nil)
    }
  }
}

extension ExchangeRun {
  /// The answer of another process that this one may hand its exchanges over to; `nil` where it makes none.
  private func handedOver() async throws(DataServiceError) -> Answer? {
    // Under `http` rows and conditions count that this exchange alone knows.
    guard let handOver = core.configuration.handOver, !prepared.isHTTP else { return nil }
    let outcome = await handOver(prepared.request)
    try exchange.check()
    switch outcome {
    case .failure(let error)?: throw error
    case .stored(let wasValidated)?:
      // As for the answer of a process that was waited for. Where it is gone already, this one asks.
      var answer = await Leasing(exchange: exchange).othersAnswer()
      answer?.wasValidated = wasValidated
      return answer
    case .unkept(let status, let fields, let url, let body, let reason)?:
      let head = ReceivedHead(
        status: status, fields: fields, isDecoded: true, url: url, started: exchange.started,
        receivedAt: core.timekeeper.wallMilliseconds)
      return Answer(head: head, body: .data(body), isAnothers: true, kept: .no(reason))
    case nil: return nil
    }
  }
}

extension Answer {
  fileprivate var event: DataService.Event.Answered {
    .init(
      status: head.status, bytes: body.length, redirects: redirects, wasValidated: wasValidated, kept: kept)
  }
}

// Here, so that an exchange names nothing of its work.
extension Exchange: AnyExchange {
  func start() {
    adopt(Task(executorPreference: core.thread) { await ExchangeRun(exchange: self).run() })
  }
}
