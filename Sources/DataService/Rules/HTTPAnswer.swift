package import CacheStore

/// Decides what an origin's answer does under `http` (RFC 9111 sections 3, 4.3.3, 4.3.4 and 4.3.5).
package enum HTTPAnswer {
  /// Decides from the final answer; `fields` are its fields, received at `now`.
  package static func decide(
    status: Int, fields: HTTPFields, situation: AnswerRule.Situation, now: Int64
  ) -> AnswerRule.Decision {
    switch status {
    case 200..<300 where !situation.isAcceptedMediaType:
      return .init(.mediaTypeFailure, .untouched(.mediaType))
    // A captive portal's page changes no stored response under any policy (law 5); it is delivered. A part is no page,
    // and is never stored.
    case 200..<300 where status != 206 && situation.isPortalSuspect && !situation.isPassThrough:
      return .init(.fresh, .untouched(.portal))
    case 304 where situation.wasConditional:
      let row = situation.row
      return AnswerRule.validated(fields, situation, rowFields: row?.fields) {
        isForbidden(status: row?.status ?? status, fields: fields, situation)
      }
    case _ where AnswerRule.isUnasked(status, situation): return .protocolFailure
    // Each load serves its own stored response.
    case 500... where mayServeStale(status: status, situation: situation, now: now):
      return .init(.fresh, .untouched(.status))
    case _ where situation.method == .head:
      return .init(.fresh, rowAfterHead(status: status, fields: fields, situation))
    default: break
    }
    switch HTTPStoring.decide(
      method: situation.method, requestFields: situation.requestFields, isRead: situation.isRead,
      status: status, fields: fields, receivedAt: now, isNoStoreChain: situation.isNoStoreChain)
    {
    case .good: return .init(.fresh, .replaced)
    case .forHTTPOnly: return .init(.fresh, .keptForHTTPOnly)
    case .no(let reason): return .init(.fresh, .untouched(reason))
    }
  }

  private static func isForbidden(
    status: Int, fields: HTTPFields, _ situation: AnswerRule.Situation
  ) -> Bool {
    situation.isNoStoreChain
      || HTTPStoring.isForbidden(requestFields: situation.requestFields, status: status, fields: fields)
  }

  private static func mayServeStale(status: Int, situation: AnswerRule.Situation, now: Int64) -> Bool {
    guard let row = situation.row else { return false }
    return HTTPStaleness.isAllowed(
      row, after: .status(status), directives: RequestDirectives(fields: situation.requestFields), now: now)
  }

  /// Section 4.3.5: a 200 to HEAD freshens the stored GET response if both describe the same representation, and
  /// invalidates it otherwise.
  private static func rowAfterHead(
    status: Int, fields: HTTPFields, _ situation: AnswerRule.Situation
  ) -> AnswerRule.Row {
    guard status == 200, let row = situation.row, row.status == 200 else { return .untouched(.method) }
    guard HeadUpdate.agrees(stored: row, answer: fields) else { return .invalidatedByHead }
    if isForbidden(status: status, fields: fields, situation) { return .untouched(.noStore) }
    return Vary.names(in: fields) == "*" ? .untouched(.vary) : .freshenedByHead
  }
}

/// Whether an answer to HEAD describes the stored response (RFC 9111 section 4.3.5).
package enum HeadUpdate {
  /// Whether every validator in the answer, and its `Content-Length`, equal those of the stored response.
  package static func agrees(stored: StoredResponse, answer: HTTPFields) -> Bool {
    // No origin has confirmed these fields, so there is nothing to compare with.
    guard !stored.isUnconfirmed else { return false }
    for name in ["ETag", "Last-Modified"] {
      guard let answered = answer.exact[name] else { continue }
      guard let held = stored.fields.exact[name], FieldList.isSame(answered, held) else { return false }
    }
    // The length of a coded body says nothing of one that was decoded.
    guard let length = answer["Content-Length"],
      !answer.contains("Content-Encoding") || stored.fields.contains("Content-Encoding")
    else { return true }
    return length == stored.fields["Content-Length"] ?? String(stored.body.length)
  }
}
