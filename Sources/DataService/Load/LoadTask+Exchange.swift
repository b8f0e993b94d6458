internal import CacheStore
internal import Guards
internal import PlatformFoundation

// Handles the answer of the exchange.
extension LoadTask {
  /// This load's callbacks for its exchange.
  var waiter: ExchangeWaiter {
    var received: (@Sendable (DataService.TransferProgress) -> Void)?
    if progress != nil { received = { update in self.received(update) } }
    return ExchangeWaiter(
      load: self, acceptedStatuses: acceptedStatuses, decodes: form.canRefuse,
      accepts: { answer, data in self.accepts(answer, data: data) },
      tierAnswered: { row in self.tierAnswered(row) }, received: received,
      answered: { result in self.exchangeAnswered(result) }, committed: { self.exchangeCommitted() })
  }

  private func accepts(_ answer: Answer, data: Data) -> Bool {
    let head = head(of: answer)
    let decoded = decode(prepared.isHead ? Data() : data, head: head)
    let made = Decoded(
      status: answer.head.status, requestedAt: answer.head.requestedAt, receivedAt: answer.head.receivedAt,
      value: decoded.map { $0.value })
    // Released outside the lock, since its `deinit` may run the caller's code.
    _ = state.withLock { state -> Decoded? in
      defer { state.decoded = made }
      return state.decoded
    }
    if case .success = decoded { return true }
    return false
  }

  /// Forgets what the decoder made of an earlier attempt's answer: after a 304 nothing is decoded before the
  /// delivery.
  private func forgetDecoded(unlessOf answer: Answer) {
    _ = state.withLock { state -> Decoded? in
      guard let decoded = state.decoded, !decoded.isOf(answer) else { return nil }
      state.decoded = nil
      return decoded
    }
  }

  /// Handles the row of the tier, where nothing is stored.
  private func tierAnswered(_ row: Box<StoredResponse>) {
    state.withLock { $0.tierRow = row }
    if let event = takeTierRow() { handle(event) }
  }

  /// Uses the tier's row as the stored one if the machine has room for it: judged and decoded like a stored
  /// row.
  /// - Returns: The event of it; `nil` where there is no row, or no room.
  func takeTierRow() -> LoadMachine.Event? {
    let (row, hasRoom) = state.withLock { ($0.tierRow, $0.machine.hasRoomForTier) }
    guard hasRoom, let row, accepts(row.value) else { return nil }
    var answer = LoadMachine.StoreAnswer.candidate(isYoung: true)
    var forward: CacheStatus.Forward?
    if prepared.isHTTP {
      let decision = core.judge(prepared, rows: [row.value])
      guard decision.row != nil else { return nil }
      core.trace("http: \(decision.reason.rawValue)")
      answer = .judged(decision.action, hasRow: true)
      forward = decision.forward
    } else {
      guard MediaTypes.accepts(row.value.fields, accepted: prepared.request.acceptedMediaTypes) else {
        return nil
      }
      answer = .candidate(isYoung: isYoung(row.value))
    }
    state.withLock { state in
      state.tierRow = nil
      state.row = row
      state.isRowUnusable = false
      state.storeError = nil
      state.forward = forward
    }
    return .tierAnswered(answer)
  }

  private func exchangeAnswered(_ result: ExchangeResult) {
    endProgress()
    switch result {
    case .failure(let error) where error.kind == .signedOut:
      // Nothing of the account is delivered any more, so no policy falls back on what is stored. The exchange still
      // says when its writes are over.
      state.withLock { $0.isAnswered = true }
      stop(with: error)
    case .failure(let error):
      if HTTPStaleness.isUnheard(error.kind) { noteStale(after: .noAnswer) }
      exchangeEnded(.failure(error))
    case .answer(var answer):
      forgetDecoded(unlessOf: answer)
      // A row that a 304 confirmed, or another process refreshed, has the body of a GET (RFC 9110 section
      // 9.3.2).
      if prepared.isHead { answer.body = .data(Data()) }
      // The 304 confirmed the tier's body, which differs from the one this load found in its own store.
      if answer.wasValidatedInTier, state.withLock({ $0.row?.value.isFromTier == false }) {
        answer.wasValidated = false
      }
      if noteStale(after: .status(answer.head.status)) || isStatusFailure(answer) {
        return statusFailed(answer)
      }
      if let failure = portalFailure(answer) { return exchangeEnded(.failure(failure)) }
      guard prepared.isHTTP else { return makeFresh(answer) }
      let row = state.withLock { $0.row }
      makeFresh(HTTPPresentation.answer(answer, candidate: row?.value, prepared: prepared, core: core))
    }
  }

  private func exchangeCommitted() {
    let hasEnded = state.withLock { state in
      state.exchange = nil
      state.isCommitted = true
      return endIfCommitted(&state)
    }
    if hasEnded { announceEnd() }
  }

  /// Whether the answer's status is a failure: the load does not accept it, or it is 408, 429 or 5xx and there is a
  /// stored response to fall back on.
  private func isStatusFailure(_ answer: Answer) -> Bool {
    if let acceptedStatuses, !acceptedStatuses.contains(answer.head.status) { return true }
    return AnswerRule.isFailure(answer.head.status) && policy.fallsBack && mayHaveStored
  }

  /// Ends the exchange with a failure that carries the answer, and its body if that may be delivered as `Data`.
  private func statusFailed(_ answer: Answer) {
    let head = head(of: answer)
    let limit = prepared.request.limits.dataBytes
    if case .data(let data) = answer.body {
      let body = Int64(data.count) <= limit ? data : Data()
      return exchangeEnded(.failure(statusError(answer, .init(value: body, head: head))))
    }
    Task(executorPreference: core.thread) { [self] in
      // The status is a failure even if the body cannot be read.
      let body = try? await core.collect(answer.body, limit: limit)
      exchangeEnded(.failure(statusError(answer, .init(value: body ?? Data(), head: head))))
    }
  }

  /// The failure for a captive portal's page, if there is a stored response, under every policy but `http`.
  private func portalFailure(_ answer: Answer) -> DataServiceError? {
    guard answer.kept == .no(.portal), !prepared.isHTTP, mayHaveStored else { return nil }
    let other = (try? NormalisedURL(answer.head.url ?? prepared.shownURL).authority) ?? "another host"
    return DataServiceError(
      .portal, "\(other) answered in place of \(prepared.url.authority), as captive portals do",
      hint: "sign in to the network; if \(other) is right, remove the stored response",
      status: answer.head.status)
  }

  /// Whether there is a usable stored response, even if its value is not ready yet.
  private var mayHaveStored: Bool {
    state.withLock { $0.stored != nil || ($0.row != nil && !$0.isRowUnusable) }
  }

  /// Under `http`: whether the stored response is served although the exchange failed (RFC 9111 section 4.2.4).
  ///
  /// Called when the exchange has failed and when the stored response is ready; the later call decides.
  @discardableResult func noteStale(after failure: HTTPStaleness.Failure? = nil) -> Bool {
    guard prepared.isHTTP else { return false }
    let (row, failure) = state.withLock { state in
      if let failure { state.httpFailure = failure }
      return (state.stored == nil ? nil : state.row, state.httpFailure)
    }
    guard let row, let failure,
      HTTPStaleness.isAllowed(
        row.value, after: failure, directives: RequestDirectives(fields: prepared.fields),
        now: core.timekeeper.wallMilliseconds)
    else { return false }
    let answered = state.withLock { $0.answer }.map { statusError($0) }
    // The replaced answer is released outside the lock, since its `deinit` may run the caller's code.
    _ = state.withLock { state -> Fresh? in
      // This event alone returns no effects.
      _ = state.machine.handle(.staleWillDo)
      // An error status arrived before the stored response was ready and counted as the answer. It is now the reason
      // for serving stale.
      guard case .success = state.result, let answered else { return nil }
      defer { state.result = .failure(answered) }
      return state.result
    }
    return true
  }

  private func statusError(
    _ answer: Answer, _ response: DataService.Response<Data>? = nil
  ) -> DataServiceError {
    let pause = answer.retryAfter.map { min($0.clampedNanoseconds / 1_000_000, Pause.longestMilliseconds) }
    let until = pause.map { "; paused until \(HTTPDate.format(core.timekeeper.wallMilliseconds + $0))" }
    let status = DataService.ResponseHead.text(answer.head.status, answer.head.reason)
    return .status(
      "\(prepared.url.authority) answered \(status)\(until ?? "")", status: answer.head.status,
      retryAfter: pause.map { .milliseconds($0) }, response: response)
  }

  private func makeFresh(_ answer: Answer) {
    let head = head(of: answer)
    switch form {
    case .streamed:
      exchangeEnded(streamed(answer, head: head), answer: answer)
    case .whole:
      if let decoded = state.withLock({ $0.decoded }) {
        return exchangeEnded(decoded.value.map { .init(value: $0, head: head) }, answer: answer)
      }
      if case .data(let data) = answer.body, !form.canRefuse {
        return exchangeEnded(decode(data, head: head), answer: answer)
      }
      Task(executorPreference: core.thread) { [self] in
        do throws(DataServiceError) {
          let data = try await core.collect(answer.body, limit: prepared.request.limits.dataBytes)
          exchangeEnded(await core.decoding { self.decode(data, head: head) }, answer: answer)
        } catch {
          exchangeEnded(.failure(error), answer: answer)
        }
      }
    }
  }

  private func streamed(_ answer: Answer, head: Box<DataService.ResponseHead>) -> Result<
    DataService.Response<Value>, DataServiceError
  > {
    do {
      return .success(try value(of: answer.body, data: Data(), head: head))
    } catch {
      return .failure(error as? DataServiceError ?? undecodable(error))
    }
  }

  private func exchangeEnded(
    _ result: Result<DataService.Response<Value>, DataServiceError>, answer: Answer? = nil
  ) {
    let row = state.withLock { state in
      state.answer = answer
      state.isAnswered = true
      return state.row
    }
    let change =
      answer.map { ChangeJudge.change(of: $0, from: row, for: prepared) } ?? .new
    let isFresh = state.withLock { state -> Bool in
      // Whoever stopped the load meanwhile has set the result.
      if !state.isStopped { state.result = result.map { ($0, change) } }
      if case .success = state.result { return true }
      return false
    }
    handle(.exchangeFinished(isFresh: isFresh))
  }

  private func head(of answer: Answer) -> Box<DataService.ResponseHead> {
    let (known, row) = state.withLock { ($0.forward, $0.row) }
    let forward = prepared.isPassThrough ? .bypass : known
    var staleReference: FreshnessInputs?
    if forward == nil, let row { staleReference = FreshnessInputs(stored: row.value, now: wallAtBeginning) }
    return Box(
      HeadRule.head(
        of: answer, prepared: prepared, now: core.timekeeper.wallMilliseconds, elapsed: elapsed,
        forward: forward, staleReference: staleReference))
  }

  /// The start of the load by the wall clock.
  private var wallAtBeginning: Int64 {
    core.timekeeper.wallMilliseconds - (core.timekeeper.bootNanoseconds - beganAt) / 1_000_000
  }

  var elapsed: Duration { .nanoseconds(core.timekeeper.bootNanoseconds - beganAt) }

  func value(
    of body: DeliveredBody, data: Data, head: Box<DataService.ResponseHead>
  ) throws -> DataService.Response<Value> {
    switch form {
    case .streamed(let make): .init(value: make(core.stream(body)), head: head)
    case .whole: try decode(data, head: head).get()
    }
  }

  private func decode(
    _ data: Data, head: Box<DataService.ResponseHead>
  ) -> Result<DataService.Response<Value>, DataServiceError> {
    guard case .whole(_, let decode) = form else { return .failure(undecodable(nil)) }
    guard Int64(data.count) <= prepared.request.limits.dataBytes else {
      return .failure(ServiceCore.tooLargeForData(prepared.request.limits.dataBytes))
    }
    do {
      return .success(.init(value: try decode(.init(value: data, head: head)), head: head))
    } catch {
      return .failure(undecodable(error, status: head.value.status))
    }
  }

  private func undecodable(_ error: (any Error)?, status: Int? = nil) -> DataServiceError {
    DataServiceError(
      .undecodable, "the response of \(prepared.url.authority) does not decode",
      hint: "what is stored is unaffected", status: status, underlying: error)
  }
}
