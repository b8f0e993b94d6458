internal import CacheStore

extension Exchange {
  /// What RFC 9111 makes of an answer, in the terms of the table that the other policies share.
  func httpOutcome(
    status: Int, fields: HTTPFields, situation: AnswerRule.Situation
  ) -> AnswerRule.Outcome {
    let prepared = plan.prepared
    if (200..<300).contains(status), !situation.isAcceptedMediaType {
      return .init(.mediaTypeFailure, .untouched(.mediaType))
    }
    // A captive portal's page changes no stored response under any policy (law 5); it is delivered.
    if (200..<300).contains(status), situation.isPortalSuspect, !situation.isPassThrough {
      return .init(.fresh, .untouched(.portal))
    }
    var judged = HTTPAnswer.Situation(method: prepared.request.method, requestFields: prepared.fields)
    judged.isRead = prepared.request.isRead
    judged.wasConditional = situation.wasConditional
    judged.row = plan.candidate
    judged.isRepeated = situation.isRepeated
    judged.isNoStoreChain = situation.isNoStoreChain
    let outcome = HTTPAnswer.decide(
      status: status, fields: fields, situation: judged, now: core.timekeeper.wallMilliseconds)
    switch outcome {
    case .deliver(.good): return .init(.fresh, .replaced)
    case .deliver(.beside): return .init(.fresh, .keptBeside)
    case .deliver(.no(let reason)): return .init(.fresh, .untouched(reason))
    case .freshen(let isWritten):
      return .init(.freshByValidation, isWritten ? .freshened : .untouched(.noStore))
    case .deliverAndFreshen: return .init(.fresh, .freshenedByHead)
    case .deliverAndInvalidate: return .init(.fresh, .invalidatedByHead)
    // Each load serves its own stored response.
    case .serveStale: return .init(.statusFailure, .untouched(.status))
    case .repeatUnconditional: return .init(.repeatUnconditional, .untouched(.status))
    case .protocolFailure: return .init(.protocolFailure, .untouched(.status))
    }
  }

  /// Writes what an answer to HEAD says of the stored response (RFC 9111 section 4.3.5), and whether it was written.
  nonisolated(nonsending) func takeInHead(_ answer: Answer, row: AnswerRule.Row) async -> DataService.Kept {
    guard let stored = plan.candidate else { return .no(.method) }
    let done = await core.commitWaiting.result {
      [self] () async throws(CacheStoreError) -> DataService.Kept in
      if row == .invalidatedByHead {
        try await core.store.invalidate(
          accountName: plan.prepared.key.account, targets: [plan.prepared.key.target], started: started)
        return .no(.method)
      }
      let fields = Validators.freshened(
        stored: stored.fields, by: answer.fields, secretNames: core.secretFieldNames,
        receivedAt: answer.receivedAt)
      let isWritten = try await core.store.freshen(
        ResponseStore.Freshening(
          rowID: stored.id, body: stored.body, head: storedHead(of: answer, fields: fields)))
      return isWritten ? .yes : .no(.superseded)
    }
    switch done {
    case .success(let kept): return kept
    case .failure(let error):
      core.warn(store: error)
      return .no(.init(error))
    case nil: return .no(.busy)
    }
  }
}
