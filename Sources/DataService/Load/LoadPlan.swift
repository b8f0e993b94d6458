internal import CacheStore
internal import PlatformFoundation

/// What a load was asked for, and what can be said without its state: which rows and answers suit it, what its responses
/// look like, and in which words it fails. Of its functions those of failures alone may run under the load's lock: others
/// read clocks, or run the caller's decoder.
struct LoadPlan<Value: Sendable>: Sendable {
  let core: ServiceCore
  let prepared: PreparedRequest
  let policy: FetchPolicy
  let form: ValueForm<Value>
  let acceptedStatuses: ClosedRange<Int>?
  /// When the load began, in nanoseconds since boot.
  let beganAt: Int64
  /// Whether the request forbids any exchange (RFC 9111 section 5.2.1.7).
  let isOnlyIfCached: Bool

  init(core: ServiceCore, prepared: PreparedRequest, policy: FetchPolicy, form: ValueForm<Value>) {
    self.core = core
    self.prepared = prepared
    self.policy = policy
    self.form = form
    acceptedStatuses = form.acceptedStatuses(for: prepared.request)
    beganAt = core.timekeeper.bootNanoseconds
    isOnlyIfCached = prepared.isHTTP && CacheControl(fields: prepared.fields).onlyIfCached
  }

  var elapsed: Duration { .nanoseconds(core.timekeeper.bootNanoseconds - beganAt) }

  /// Until when it waits for the fresh response, in nanoseconds since boot; `nil` where it has no deadline.
  func waitsUntil(mayHaveStored: Bool) -> Int64? {
    guard let deadline = policy.kind.deadline, policy.kind.endsAnyway || mayHaveStored else { return nil }
    let (instant, overflow) = beganAt.addingReportingOverflow(deadline.clampedNanoseconds)
    return overflow ? nil : instant
  }

  /// Whether nobody else is asked where the store has nothing.
  var asksNobody: Bool { policy == .storedOnly || isOnlyIfCached }
}

// What is stored.
extension LoadPlan {
  /// Whether the load accepts the row's status and age.
  func accepts(_ row: StoredResponse) -> Bool {
    (acceptedStatuses?.contains(row.status) ?? true) && !core.isTooOld(row, for: prepared.request)
  }

  /// Whether the policy accepts the row's age without asking the origin.
  func isYoung(_ row: StoredResponse) -> Bool {
    let now = core.timekeeper.wallMilliseconds
    switch policy.kind {
    case .storedThenFresh(let age?):
      return Freshness.isRecent(row, within: age.clampedNanoseconds / 1_000_000, now: now)
    case .storedElseFresh(let maxAge, _):
      return Freshness.isYoung(row, maxAge: maxAge.clampedNanoseconds / 1_000_000, now: now)
    default: return true
    }
  }

  /// Why none of the rows is used; `nil` where there are none.
  func unfit(_ rows: [StoredResponse]) -> Unfit? {
    guard !rows.isEmpty else { return nil }
    if rows.allSatisfy({ core.isTooOld($0, for: prepared.request) }) { return .age }
    return Unfit(rows, for: prepared, statuses: acceptedStatuses, protect: core.protect)
  }

  /// A description of the row and of the policy's decision, for the trace.
  func traceLine(of row: StoredResponse?, _ unfit: Unfit?) -> String {
    guard let row else { return unfit.map { "what is stored \($0.words)" } ?? "nothing is stored" }
    let stored =
      "a response is stored, \(Explain.duration(Freshness.age(of: row, now: core.timekeeper.wallMilliseconds))) old"
    switch policy.kind {
    case .storedOnly: return "\(stored); the policy sends no request"
    case .freshOnly: return "\(stored); the policy does not use it"
    case .storedThenFresh(let age?):
      let limit = Explain.duration(age.clampedNanoseconds / 1_000_000)
      return isYoung(row)
        ? "\(stored), received less than \(limit) ago: no request"
        : "\(stored), received at least \(limit) ago"
    case .storedElseFresh(let maxAge, _):
      let limit = Explain.duration(maxAge.clampedNanoseconds / 1_000_000)
      return isYoung(row)
        ? "\(stored), not older than \(limit): no request" : "\(stored), older than \(limit)"
    default: return stored
    }
  }

  /// What is told of another machine's response, judged like a stored one; `nil` where it does not suit the load.
  func judged(
    served row: StoredResponse
  ) -> (answer: LoadMachine.StoreAnswer, forward: CacheStatus.Forward?)? {
    guard accepts(row) else { return nil }
    guard prepared.isHTTP else {
      return MediaTypes.accepts(row.fields, accepted: prepared.request.acceptedMediaTypes)
        ? (.candidate(isYoung: isYoung(row)), nil) : nil
    }
    let decision = core.judge(prepared, rows: [row])
    guard decision.row != nil else { return nil }
    core.trace("http: \(decision.reason.rawValue)")
    return (.judged(decision.action, hasRow: true), decision.forward)
  }

  /// Under `http`: whether the stored response is served after that failure (RFC 9111 section 4.2.4).
  func mayServeStale(_ row: StoredResponse, after failure: HTTPStaleness.Failure) -> Bool {
    HTTPStaleness.isAllowed(
      row, after: failure, directives: RequestDirectives(fields: prepared.fields),
      now: core.timekeeper.wallMilliseconds)
  }
}

// What the origin answers.
extension LoadPlan {
  /// Whether the answer's status is a failure: the load does not accept it, or it is 408, 429 or 5xx and there may be a
  /// stored response to fall back on.
  func isStatusFailure(_ status: Int, mayHaveStored: () -> Bool) -> Bool {
    if let acceptedStatuses, !acceptedStatuses.contains(status) { return true }
    return AnswerRule.isFailure(status) && policy.fallsBack && mayHaveStored()
  }

  /// The head of a response made of the answer.
  func head(
    of answer: Answer, forward: CacheStatus.Forward?, row: Box<StoredResponse>?
  ) -> Box<DataService.ResponseHead> {
    let forward = prepared.isPassThrough ? .bypass : forward
    let now = core.timekeeper.wallMilliseconds
    var staleReference: FreshnessInputs?
    if forward == nil, let row {
      let beganAtWall = now - (core.timekeeper.bootNanoseconds - beganAt) / 1_000_000
      staleReference = FreshnessInputs(stored: row.value, now: beganAtWall)
    }
    return Box(
      HeadRule.head(
        of: answer, prepared: prepared, now: now, elapsed: elapsed, forward: forward,
        staleReference: staleReference))
  }

  /// The response whose body is a stream, or in memory.
  func response(
    of body: DeliveredBody, data: Data, head: Box<DataService.ResponseHead>
  ) throws -> DataService.Response<Value> {
    switch form {
    case .streamed(let make): .init(value: make(core.stream(body)), head: head)
    case .whole: try decode(data, head: head).get()
    }
  }

  func decode(
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
}

// The failures.
extension LoadPlan {
  /// The failure of a load that asks nobody, with the reason where something is stored.
  func notStored(_ unfit: Unfit?) -> DataServiceError {
    let place = prepared.shownPlace
    let message =
      if prepared.isPassThrough {
        "nothing that is stored \(place) is used: the request bypasses the store"
      } else if let unfit {
        "what is stored \(place) \(unfit.words)"
      } else {
        "nothing is stored \(place)"
      }
    return DataServiceError(.notStored, message, remedy: unfit == .coded ? .asStored : nil)
  }

  /// The failure for a row that does not match its checksum, in a store that is only read.
  var damaged: DataServiceError {
    DataServiceError(
      .corrupt, "what is stored \(prepared.shownPlace) does not match its checksum",
      hint: "the store is only read, and is left as it is")
  }

  /// The reason why the stored response is not delivered.
  func unusable(_ error: any Error) -> DataServiceError {
    if let error = error as? DataServiceError, error.kind != .undecodable { return error }
    return .storedUndecodable(
      of: prepared.url.authority, underlying: (error as? DataServiceError)?.underlying ?? error)
  }

  func undecodable(_ error: (any Error)?, status: Int? = nil) -> DataServiceError {
    DataServiceError(
      .undecodable, "the response of \(prepared.url.authority) does not decode",
      hint: "what is stored is unaffected", status: status, underlying: error)
  }

  /// The failure that a status is.
  func statusError(
    _ answer: Answer, _ response: DataService.Response<Data>? = nil
  ) -> DataServiceError {
    let pause = answer.retryAfter.map { min($0.clampedNanoseconds / 1_000_000, Pause.longestMilliseconds) }
    let until = pause.map { "; paused until \(HTTPDate.format(core.timekeeper.wallMilliseconds + $0))" }
    let status = DataService.ResponseHead.text(answer.head.status, answer.head.reason)
    return .status(
      "\(prepared.url.authority) answered \(status)\(until ?? "")", status: answer.head.status,
      retryAfter: pause.map { .milliseconds($0) }, response: response)
  }

  /// The failure for a captive portal's page, under every policy but `http`; `nil` where the answer is none.
  func portalFailure(_ answer: Answer) -> DataServiceError? {
    guard answer.kept == .no(.portal), !prepared.isHTTP else { return nil }
    let other = (try? NormalisedURL(answer.head.url ?? prepared.shownURL).authority) ?? "another host"
    return DataServiceError(
      .portal, "\(other) answered in place of \(prepared.url.authority), as captive portals do",
      hint: "sign in to the network; if \(other) is right, remove the stored response",
      status: answer.head.status)
  }
}
